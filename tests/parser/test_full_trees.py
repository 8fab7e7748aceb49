import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.files import DamagedFileError
from treecrf.network.nn.constituent_scorer import ConstituentScorer
from treecrf.parser import Parser
from treecrf.parser.decoding.constituent_features import SYMBOLS, WORDS
from treecrf.parser.decoding.functions import CATEGORIES, NAMES, SCHEMES
from treecrf.parser.formats import Formatter
from treecrf.parser.models import names
from treecrf.trees.analysis import ParsedSentence
from treecrf.trees.predicates import Predicate, predicates

TREES = toy_trees(30, seed=3)
SENTENCES = [tree.words for tree in TREES]


def with_functions(parser: Parser) -> Parser:
    """The parser with random functions of two schemes."""
    symbols = parser.full_tree_builder.symbols
    scorer = ConstituentScorer(
        width=48, size=16, roles=len(WORDS), symbols=(len(SYMBOLS), symbols.size), classes=2, schemes=2
    )
    for number, parameter in enumerate(scorer.parameters()):
        values = np.random.default_rng(number).normal(size=parameter.shape) / 2
        parameter.data[:] = parameter.new_tensor(values)
    arrays = {name: tensor.numpy().astype(np.float16) for name, tensor in scorer.state_dict().items()}
    categories = "\n".join([" ".join(symbols.categories)] * 2)
    texts = {NAMES: "SBJ\nTMP", SCHEMES: "one\ntwo", CATEGORIES: categories}
    arrays |= {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}
    return Parser(parser.scorer, parser.vocabulary, parser.config, arrays={"functions": arrays})


@pytest.fixture(scope="module", params=[False, True])
def parser(request: pytest.FixtureRequest) -> Parser:
    return with_functions(random_parser(TREES, tag_head=request.param))


def test_functions_are_the_only_difference_between_a_plain_and_a_full_tree(parser: Parser) -> None:
    plain, full = list(parser.parse_many(SENTENCES)), list(parser.parse_many(SENTENCES, functions=True))
    assert [tree.plain() for tree in full] == plain != full
    assert {name for tree in full for node in tree.subtrees() for name in node.functions} == {"SBJ", "TMP"}
    assert [parser.parse(words, functions=True) for words in SENTENCES[:5]] == full[:5]
    assert list(parser.brackets_many(SENTENCES, functions=True)) == [str(tree) for tree in full]
    tags = [tree.tags for tree in TREES]
    assert [tree.tags for tree in parser.parse_many(SENTENCES, tags=tags, functions=True)] == tags


def test_analyses_have_functions_with_their_probabilities(parser: Parser) -> None:
    plain, full = (list(parser.analyze_many(SENTENCES[:9], functions=functions)) for functions in (False, True))
    assert [analysis.tree for analysis in full] == list(parser.parse_many(SENTENCES[:9], functions=True))
    for before, after in zip(plain, full, strict=True):
        (alternative,) = after.alternatives
        assert alternative.tree.plain() == before.alternatives[0].tree
        if alternative.tree.plain() == before.tree:
            assert alternative.tree == after.tree
        nodes = [node for node in after.tree.walk() if not node.is_leaf]
        for node, old, new in zip(nodes, before.constituents, after.constituents, strict=True):
            assert new == replace(old, functions=new.functions) and new.label == node.category
            assert tuple(function.name for function in new.functions) == node.functions
            assert all(0.5 < function.probability <= 1 for function in new.functions)


def test_json_has_functions_beside_the_category(parser: Parser) -> None:
    (analysis,) = parser.analyze_many(SENTENCES[:1], functions=True)
    sentence = ParsedSentence(analysis.tree, [(0, 1)] * len(SENTENCES[0]), analysis)
    for probs in (False, True):
        spans = json.loads(Formatter(format="json", probs=probs, functions=True).sentence(sentence))["spans"]
        nodes = [node for node in analysis.tree.walk() if not node.is_leaf]
        assert [(span["label"], tuple(span["functions"])) for span in spans] == [
            (node.category, node.functions) for node in nodes
        ]
        probabilities = [span.get("function_probabilities", []) for span in spans]
        assert [len(row) for row in probabilities] == [len(node.functions) * probs for node in nodes]


def test_a_saved_parser_has_the_same_functions_in_the_same_scheme(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model", "cpu", precision="float32")
    expected = list(parser.parse_many(SENTENCES, functions=True))
    assert list(loaded.parse_many(SENTENCES, functions=True)) == expected
    loaded.save(tmp_path / "again")
    assert Parser.load(tmp_path / "again", "cpu").arrays["functions"].keys() == loaded.arrays["functions"].keys()


def test_a_parser_without_functions_names_models_that_have_them() -> None:
    parser = random_parser(TREES)
    with pytest.raises(ValueError, match="predicts no function tags; installed models that do: "):
        parser.parse(SENTENCES[0], functions=True)
    with pytest.raises(ValueError, match="predicts no function tags"):
        parser.analyze(SENTENCES[0], functions=True)


def test_weights_of_another_model_are_an_error(parser: Parser) -> None:
    arrays = dict(parser.arrays["functions"])
    for changed in ({**arrays, "symbols": arrays["symbols"][:, :-1]}, {**arrays, NAMES: np.zeros(0, np.uint8)}):
        damaged = Parser(parser.scorer, parser.vocabulary, parser.config, arrays={"functions": changed})
        with pytest.raises(DamagedFileError, match=r"functions\.safetensors"):
            damaged.parse(SENTENCES[0], functions=True)
    missing = {name: array for name, array in arrays.items() if name != "out.weight"}
    with pytest.raises(DamagedFileError, match=r"functions\.safetensors"):
        Parser(parser.scorer, parser.vocabulary, parser.config, arrays={"functions": missing}).parse(
            SENTENCES[0], functions=True
        )


SAMPLES = Path(__file__).parents[1] / "samples" / "predicates.txt"


def read_arguments() -> list[tuple[list[str], Counter[tuple[str, ...]]]]:
    """Sentences, written by hand, with the verb, the role and the text of each argument."""
    sentences: list[tuple[list[str], Counter[tuple[str, ...]]]] = []
    for line in SAMPLES.read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            head, _, arguments = line.strip().partition(": ")
            verb = head.removesuffix(" passive")
            sentences[-1][1].update((verb, *argument.split(" ", 1)) for argument in arguments.split(" | "))
        else:
            sentences.append((line.split(), Counter()))
    return sentences


def arguments_of(predicate: Predicate) -> Iterator[tuple[str, ...]]:
    single = {"subject": predicate.subject, "agent": predicate.agent, "attribute": predicate.attribute}
    several = {"object": predicate.objects, "time": predicate.times, "place": predicate.places}
    for role, arguments in {**{role: filter(None, [one]) for role, one in single.items()}, **several}.items():
        yield from ((predicate.text, role, argument.text) for argument in arguments)


@pytest.mark.parametrize("model", ["en", "en-large", "en-xl"])
def test_models_find_the_arguments_of_predicates(model: str) -> None:
    if not {"functions", "empties"} <= (Parser.load(model, "cpu").arrays.keys() if model in names() else set()):
        pytest.skip(f"{model} is not installed, or predicts no functions or no empty elements")
    sentences = read_arguments()
    trees = Parser.load(model, "cpu").parse_many([words for words, _ in sentences], functions=True, empties=True)
    pairs = [
        (gold, Counter(argument for predicate in predicates(tree) for argument in arguments_of(predicate)))
        for (_, gold), tree in zip(sentences, trees, strict=True)
    ]
    right = sum((gold & found).total() for gold, found in pairs)
    assert right >= 0.9 * sum(gold.total() for gold, _ in pairs)
    assert right >= 0.9 * sum(found.total() for _, found in pairs)
