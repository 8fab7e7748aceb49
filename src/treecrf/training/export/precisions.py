"""Rounded products beside float32; a GPU may compute in half precision if the trees are as good."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from treecrf.network.runtime.scorer import Precision
from treecrf.parser import Parser
from treecrf.parser.evaluate import predict_trees, score_trees
from treecrf.parser.models.model_card import TreebankPrecision
from treecrf.parser.storage import copy_with_config, load_parser_state
from treecrf.trees.evalb import Rules
from treecrf.trees.tree import Tree

_MAX_LOSS = 0.05  # points of F1 on a test set
_MIN_EQUAL = 99.5  # percent of the trees of all test sets


def compare_precisions(
    parser: Parser, folder: Path, tests: Mapping[str, Sequence[Tree]], rules: Rules
) -> tuple[TreebankPrecision, ...]:
    """Compares the precision of a parser's device with float32 on each test set; nothing if it is float32."""
    precision = _rounded_precision(parser)
    if precision is None:
        return ()
    rounded, exact = (Parser.load(folder, parser.device, precision=each) for each in (precision, "float32"))
    return tuple(_compare(name, precision, gold, rounded, exact, rules) for name, gold in tests.items())


def _rounded_precision(parser: Parser) -> Precision | None:
    if parser.device.startswith("cuda"):
        return "float16" if parser.model_config.is_built_in else None
    by_name: dict[str, Precision] = {"int8": "int8", "int14": "int14"}
    return by_name.get(parser.scorer.precision.split()[0])


def _compare(
    name: str, precision: str, gold: Sequence[Tree], rounded: Parser, exact: Parser, rules: Rules
) -> TreebankPrecision:
    trees, exact_trees = (list(predict_trees(parser, gold)) for parser in (rounded, exact))
    f1, exact_f1 = (score_trees(gold, each, rules).all_sentences.f1 for each in (trees, exact_trees))
    equal = sum(tree == other for tree, other in zip(trees, exact_trees, strict=True))
    return TreebankPrecision(
        name=name,
        precision=precision,
        sentences=len(gold),
        f1=f1,
        float32_f1=exact_f1,
        equal_trees=100 * equal / max(1, len(gold)),
    )


def allow_half_precision(folder: Path, precisions: Iterable[TreebankPrecision]) -> None:
    """Makes half precision the default of a saved parser on GPUs, or no longer, as its comparisons with float32 say."""
    halves = [each for each in precisions if each.precision == "float16"]
    if not halves:
        return
    sentences = sum(each.sentences for each in halves)
    equal = sum(each.equal_trees * each.sentences for each in halves) / max(1, sentences)
    is_as_good = equal >= _MIN_EQUAL and all(each.float32_f1 - each.f1 <= _MAX_LOSS for each in halves)
    config = load_parser_state(folder).config
    if config.half_precision != is_as_good:
        copy_with_config(folder, folder, replace(config, half_precision=is_as_good))
