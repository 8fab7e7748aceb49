"""SuPar's parser, if it is installed, from brackets to brackets."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import torch

from treecrf.parser.benchmark import median_seconds
from treecrf.trees.notation import escape_for_treebanks, penn_brackets
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import is_intermediate, to_spans


def supar_speed(
    trees: Sequence[Tree], vocabulary: Sequence[Tree], folder: Path, device: str, repeats: int
) -> float | str:
    """Measures sentences per second of SuPar's `predict` with MBR, or returns why it did not run.

    Current versions of PyTorch load none of SuPar's trained models. So the network of its documented configuration is
    built over the words and labels of `vocabulary`, with random weights. Random weights give flat trees, which are
    faster to build than real ones, so SuPar builds and writes the gold trees instead of its own.
    """
    if device == "cpu" and torch.cuda.is_available():
        return "SuPar uses the GPU if there is one: hide it with CUDA_VISIBLE_DEVICES="
    try:
        parser_class = import_module("supar").CRFConstituencyParser
    except ImportError as error:
        return f"{error}: pip install --no-deps supar dill nltk"
    for name, content in (("train", vocabulary), ("data", trees)):
        (folder / f"{name}.pid").write_text(penn_brackets("".join(f"{tree}\n" for tree in content)))
    options = {"feat": ["char"], "encoder": "lstm", "embed": None, "build": True, "verbose": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = parser_class.build(str(folder / "supar"), train=str(folder / "train.pid"), **options)
        for scorer in (parser.model.span_attn, parser.model.label_attn):
            torch.nn.init.normal_(scorer.weight, std=0.1)  # initially zero: all trees would have the same score

        def predict() -> None:
            parser.predict(str(folder / "data.pid"), pred=str(folder / "out.pid"), mbr=True, verbose=False)

        with _building_gold_trees(trees):
            return len(trees) / median_seconds(predict, repeats)


@contextmanager
def _building_gold_trees(trees: Sequence[Tree]) -> Iterator[None]:
    """Makes SuPar build the gold tree of each sentence in place of the predicted tree."""
    tree_class = import_module("supar.utils.transform").Tree
    build = tree_class.build
    spans = {tuple(map(escape_for_treebanks, tree.words)): _supar_spans(tree) for tree in trees}
    tree_class.build = classmethod(lambda _, tree, predicted: build(tree, spans[tuple(tree.leaves())]))
    try:
        yield
    finally:
        tree_class.build = build


def _supar_spans(tree: Tree) -> list[tuple[int, int, str]]:
    """Returns spans in SuPar's notation: parents first, `S::VP` for unary chains, `NP|<>` for intermediates."""
    return [
        (start, end, label[1:-1] + "|<>" if is_intermediate(label) else label.replace(" ", "::"))
        for start, end, label in sorted(to_spans(tree), key=lambda span: (span.start, -span.end))
    ]
