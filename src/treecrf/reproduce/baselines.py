"""The peers, where they are installed: what they compute and how fast, in the terms of this package."""

import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from treecrf.decoding import Decoded, ExpectedF1
from treecrf.decoding.decode import label_trees
from treecrf.nn import Scores
from treecrf.reproduce.timer import seconds
from treecrf.tree import Tree
from treecrf.treebank.binarize import is_intermediate, to_spans
from treecrf.treebank.escapes import penn_brackets

Answer = tuple[Tensor, Tensor]  # log Z and marginals by fencepost
Chart = Callable[[Tensor, Tensor], Answer]


def charts() -> dict[str, Chart]:
    """Log Z and marginals of scores by fencepost and lengths, by each peer that can be imported."""
    found: dict[str, Chart] = {}
    if torch_struct := _imported("torch_struct"):

        def by_torch_struct(scores: Tensor, lengths: Tensor) -> Answer:
            crf = torch_struct.TreeCRF(scores[:, :-1, 1:, None], lengths=lengths)
            chart = torch.zeros_like(scores)
            chart[:, :-1, 1:] = crf.marginals[..., 0]
            return crf.partition, chart

        found["torch-struct"] = by_torch_struct
    if structs := _imported("supar.structs"):

        def by_supar(scores: Tensor, lengths: Tensor) -> Answer:
            crf = structs.ConstituencyCRF(scores, lengths)
            return crf.log_partition, crf.marginals

        found["SuPar"] = by_supar
    return found


def torch_struct_decode() -> Callable[..., Decoded] | None:
    """`decode` for two-stage scores with the charts of torch-struct, if it is installed; the labels are ours."""
    torch_struct = _imported("torch_struct")
    if torch_struct is None:
        return None

    def decode(scores: Scores, *, mbr: bool = True, expected_f1: ExpectedF1 | None = None) -> Decoded:
        assert expected_f1 is None, "the peer has no expected-F1 decoding"
        with torch.enable_grad(), warnings.catch_warnings():  # it gets its answers from gradients
            warnings.simplefilter("ignore")
            potentials = scores.spans[:, :-1, 1:, None].detach()
            if mbr:
                potentials = torch_struct.TreeCRF(potentials, lengths=scores.lengths).marginals.detach()
            best = torch_struct.TreeCRF(potentials, lengths=scores.lengths).argmax[..., 0]
        trees = torch.zeros_like(scores.spans, dtype=torch.bool)
        trees[:, :-1, 1:] = best > 0.5
        return label_trees(scores, trees)

    return decode


def _imported(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return import_module(name)
    except ImportError:
        return None


def supar_speed(
    trees: Sequence[Tree], vocabulary: Sequence[Tree], folder: Path, device: str, repeats: int
) -> float | str:
    """Sentences/s of SuPar's `predict`, brackets in and brackets out, with MBR; or why there is no figure.

    There is no trained model of it that a current PyTorch loads, so the network of its documented configuration is
    built over the vocabulary's words and labels with random weights. All of its own work is done, and then it builds
    and writes the gold trees, as random weights find flat ones, which are faster to build than those of a trained one.
    """
    if device == "cpu" and torch.cuda.is_available():
        return "it chooses the GPU where there is one: hide it with CUDA_VISIBLE_DEVICES="
    try:
        kind = import_module("supar").CRFConstituencyParser
    except ImportError as error:
        return f"{error}: pip install --no-deps supar dill nltk"
    for name, given in (("train", vocabulary), ("data", trees)):
        (folder / f"{name}.pid").write_text(penn_brackets("".join(f"{tree}\n" for tree in given)))
    options = {"feat": ["char"], "encoder": "lstm", "embed": None, "build": True, "verbose": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = kind.build(str(folder / "supar"), train=str(folder / "train.pid"), **options)
        for scorer in (parser.model.span_attn, parser.model.label_attn):
            torch.nn.init.normal_(scorer.weight, std=0.1)  # they start at zero, where every tree is as good as another

        def predict() -> None:
            parser.predict(str(folder / "data.pid"), pred=str(folder / "out.pid"), mbr=True, verbose=False)

        with _gold_trees(trees):
            return len(trees) / statistics.median(seconds(predict, repeats)[1:])


@contextmanager
def _gold_trees(trees: Sequence[Tree]) -> Iterator[None]:
    """Let SuPar build the gold tree of a sentence from its spans, whichever spans it has found."""
    kind = import_module("supar.utils.transform").Tree
    build = kind.build
    spans = {tuple(map(penn_brackets, tree.words)): _their_spans(tree) for tree in trees}
    kind.build = classmethod(lambda _, tree, found: build(tree, spans[tuple(tree.leaves())]))
    try:
        yield
    finally:
        kind.build = build


def _their_spans(tree: Tree) -> list[tuple[int, int, str]]:
    """A tree's spans as SuPar has them: parents first, chains with colons, parts with a mark."""
    spans = sorted(to_spans(tree), key=lambda span: (span.start, -span.end))
    labels = [
        span.label[1:-1] + "|<>" if is_intermediate(span.label) else span.label.replace(" ", "::") for span in spans
    ]
    return [(span.start, span.end, label) for span, label in zip(spans, labels, strict=True)]
