"""Parsers that another one learns from."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from treecrf.nn import Batch, SpanModel
from treecrf.nn.distillation import SoftTargets
from treecrf.parser import Parser


@dataclass(frozen=True, kw_only=True)
class Teachers:
    """Networks whose soft_targets, on average, another one learns beside the gold trees."""

    models: list[SpanModel]
    distillation_weight: float  # how much they count beside the gold trees

    @staticmethod
    def load(folders: Sequence[str], learner: Parser, *, distillation_weight: float) -> "Teachers":
        """The parsers in some folders; they have to read the learner's batches and know its labels by its numbers."""
        models = []
        for folder in folders:
            teacher = Parser.load(folder, learner.device, precision="float32")
            _check(folder, teacher, learner)
            models.append(teacher.model.requires_grad_(False))
        return Teachers(models=models, distillation_weight=distillation_weight)

    @torch.no_grad()
    def __call__(self, batch: Batch) -> SoftTargets:
        """What they believe about a batch, in the number format that the caller has chosen."""
        return SoftTargets.of(
            [model(batch) for model in self.models], batch, distillation_weight=self.distillation_weight
        )


def _check(folder: str, teacher: Parser, learner: Parser) -> None:
    if teacher.model.config.loss == "one-stage-margin":
        raise ValueError(f"{folder} was trained for a margin and has no probabilities to teach; expected a CRF")
    if (teacher.vocabulary, teacher.normalization) != (learner.vocabulary, learner.normalization):
        raise ValueError(
            f"{folder} has another vocabulary; expected the same data.train, data.normalization and data.vectors"
        )
    missing = sorted(_reads(teacher) - _reads(learner))
    if missing:
        raise ValueError(f"{folder} reads {' and '.join(missing)}, which the parser that it should teach does not")
    if teacher.subwords is not None and _cuts(teacher) != _cuts(learner):
        raise ValueError(f"{folder} cuts words into other pieces; expected an encoder with the same tokenizer")


def _reads(parser: Parser) -> set[str]:
    config = parser.model.config
    reads = {"pieces of words"} if config.transformer else set()
    if config.reads_words and config.char_size:
        reads.add("characters")
    return reads | ({"given tags"} if config.reads_words and config.tag_size else set())


def _cuts(parser: Parser) -> tuple[int, list[list[int]]]:
    """How a parser's tokenizer cuts the words that it knows."""
    assert parser.subwords is not None
    return parser.subwords.window, parser.subwords.split(parser.vocabulary.words)
