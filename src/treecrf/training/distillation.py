"""Distillation: trained parsers as teachers, whose probabilities another parser learns beside the gold trees."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from treecrf.nn import SpanModel, TensorBatch
from treecrf.nn.distillation import SoftTargets
from treecrf.parser import Parser


@dataclass(frozen=True, kw_only=True)
class Teachers:
    """Models whose mean probabilities are the soft targets of another model."""

    models: list[SpanModel]
    distillation_weight: float  # of the soft targets beside the gold trees

    @staticmethod
    def load(folders: Sequence[str], student: Parser, *, distillation_weight: float) -> "Teachers":
        """Loads parsers from folders; they must read the student's batches and have the same label ids."""
        models = []
        for folder in folders:
            teacher = Parser.load(folder, student.device, precision="float32")
            _check_teacher(folder, teacher, student)
            models.append(teacher.model.requires_grad_(False))
        return Teachers(models=models, distillation_weight=distillation_weight)

    @torch.no_grad()
    def __call__(self, batch: TensorBatch) -> SoftTargets:
        """Returns the soft targets of a batch; an autocast context of the caller applies."""
        return SoftTargets.from_scores(
            [model(batch) for model in self.models], batch, distillation_weight=self.distillation_weight
        )


def _check_teacher(folder: str, teacher: Parser, student: Parser) -> None:
    if teacher.model_config.loss == "one-stage-margin":
        raise ValueError(f"{folder} has a max-margin loss and no probabilities; expected a teacher with a CRF loss")
    if (teacher.vocabulary, teacher.normalization) != (student.vocabulary, student.normalization):
        raise ValueError(
            f"{folder} has another vocabulary; expected the same data.train, data.normalization and data.vectors"
        )
    missing_inputs = sorted(_input_kinds(teacher) - _input_kinds(student))
    if missing_inputs:
        raise ValueError(f"{folder} reads {' and '.join(missing_inputs)}, and its student does not")
    if teacher.subwords is not None and _subword_ids(teacher) != _subword_ids(student):
        raise ValueError(f"{folder} splits words into other subwords; expected an encoder with the same tokenizer")


def _input_kinds(parser: Parser) -> set[str]:
    config = parser.model_config
    kinds = {"subwords"} if config.transformer else set()
    if config.reads_words and config.char_size:
        kinds.add("characters")
    return kinds | ({"tags"} if config.reads_words and config.tag_size else set())


def _subword_ids(parser: Parser) -> tuple[int, list[list[int]]]:
    """Returns the window size of a parser's tokenizer, and the subwords of each word in its vocabulary."""
    assert parser.subwords is not None
    return parser.subwords.segment_size, parser.subwords.split(parser.vocabulary.words)
