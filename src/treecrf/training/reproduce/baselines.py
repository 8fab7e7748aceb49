"""Other parsers and chart libraries, if they are installed, with the interfaces of this package."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from treecrf.network.nn import TensorScores
from treecrf.parser.benchmark import median_seconds
from treecrf.parser.decoding import ExpectedF1
from treecrf.parser.decoding.device_decode import PendingTrees, label_trees
from treecrf.trees.notation import escape_for_treebanks, penn_brackets
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import is_intermediate, to_spans


def torch_struct_decode() -> Callable[..., PendingTrees] | None:
    """Returns a `decode` for two-stage scores with the charts of torch-struct; None if it is not installed."""
    torch_struct = import_if_installed("torch_struct")
    if torch_struct is None:
        return None

    def decode(scores: TensorScores, *, mbr: bool = True, expected_f1: ExpectedF1 | None = None) -> PendingTrees:
        assert expected_f1 is None, "torch-struct has no expected-F1 decoding"
        with torch.enable_grad(), warnings.catch_warnings():  # torch-struct computes marginals and trees as gradients
            warnings.simplefilter("ignore")
            potentials = scores.spans[:, :-1, 1:, None].detach()
            if mbr:
                potentials = torch_struct.TreeCRF(potentials, lengths=scores.lengths).marginals.detach()
            best = torch_struct.TreeCRF(potentials, lengths=scores.lengths).argmax[..., 0]
        trees = torch.zeros_like(scores.spans, dtype=torch.bool)
        trees[:, :-1, 1:] = best > 0.5
        return label_trees(scores, trees)

    return decode


def import_if_installed(name: str) -> Any:
    """Returns a module, or None if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError:
        return None


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
