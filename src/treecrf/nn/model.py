"""The parser's network: sentences to the scores of spans, labels and tags, and the losses that train it."""

from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.chart.crf import SpanCRF
from treecrf.chart.margin import margin_loss
from treecrf.data.batch import IGNORED, SPECIAL, Batch, Sizes, Spans
from treecrf.nn.distillation import SoftTargets
from treecrf.nn.embeddings import CharLSTM, Inputs, WordVectors
from treecrf.nn.lstm import BiLSTM, Dropout, RecurrentDropout, SharedDropout
from treecrf.nn.outputs import Scores
from treecrf.nn.scorers import Biaffine, Minus
from treecrf.nn.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of the network; a size of 0 leaves that part out."""

    loss: Literal["two-stage", "one-stage-crf", "one-stage-margin"] = "two-stage"
    scorer: Literal["biaffine", "minus"] = "biaffine"
    encoder: Literal["lstm", "transformer"] = "lstm"
    word_size: int = 100
    char_embedding_size: int = 50
    char_size: int = 100
    tag_size: int = 0  # given part-of-speech tags as input
    lstm_size: int = 400
    lstm_layers: int = 3
    transformer: str = ""  # name or folder: for the LSTM a feature beside the words, or itself the encoder
    transformer_tuned: bool = False  # as a feature: fine-tuned, as the encoder always is, rather than frozen
    add_word_inputs: bool = False  # as the encoder: words and characters enter it, added to its pieces
    transformer_size: int = 100  # of the feature; 0 is the transformer's own
    transformer_layers: int = 4  # mixed, from the last
    span_size: int = 500
    label_size: int = 100
    dropout: float = 0.33
    dropout_kind: Dropout = "shared"
    recurrent_dropout: RecurrentDropout = "sentence"
    tag_head: bool = False  # predict part-of-speech tags as well

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name, value in vars(self).items():
            choices = get_args(hints[name])
            if choices and value not in choices:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}")
            if hints[name] is int and value < (0 if name in _OPTIONAL else 1):
                raise ValueError(f"{name} is {value}; expected {0 if name in _OPTIONAL else 1} or more")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; expected at least 0 and less than 1")
        if self.char_size % 2:
            raise ValueError(f"char_size is {self.char_size}; expected an even number, half for each direction")
        if self.encoder == "transformer" and not self.transformer:
            raise ValueError("encoder is 'transformer' and transformer is empty; set it to a model's name or folder")

    @property
    def reads_words(self) -> bool:
        """Whether there are vectors of words and their characters, rather than pieces alone."""
        return self.encoder == "lstm" or self.add_word_inputs

    @property
    def one_stage(self) -> bool:
        """Whether labelled spans are scored at once, rather than brackets first."""
        return self.loss != "two-stage"


_OPTIONAL = ("char_size", "tag_size", "transformer_size")


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Summed losses of a batch, and how many things each was summed over."""

    spans: Tensor
    labels: Tensor
    tags: Tensor
    words: int
    labelled: int

    def total(self, *, words: int | Tensor | None = None, labelled: int | Tensor | None = None) -> Tensor:
        """The training objective: each part per item, then added.

        A part of a larger batch is given the counts of the whole, so that the parts add up to it.
        """
        per_word = (self.spans + self.tags) / (max(1, self.words) if words is None else words)
        return per_word + self.labels / (max(1, self.labelled) if labelled is None else labelled)


class SpanModel(nn.Module):
    """Words in context to boundary vectors, and those to the scores of spans, labels and tags.

    `encoder` is the Hugging Face encoder that the config names. `pretrained` holds `sizes.vectors` word vectors;
    without it that table is zero, for weights that are loaded later.
    """

    def __init__(
        self, config: ModelConfig, sizes: Sizes, *, pretrained: Tensor | None = None, encoder: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.transformer = _transformer(config, encoder)
        self.inputs = _inputs(config, sizes, pretrained) if config.reads_words else None
        self.lstm = _lstm(config, self.transformer) if config.encoder == "lstm" else None
        width = 2 * (self.transformer.size if self.transformer and not self.lstm else config.lstm_size)
        self.dropout = SharedDropout(config.dropout, kind=config.dropout_kind)
        self.span_scorer = None if config.one_stage else _scorer(config, width, config.span_size)
        self.label_scorer = _scorer(config, width, config.label_size, labels=sizes.labels)
        self.tagger = nn.Linear(width if self.lstm else width // 2, sizes.tags) if config.tag_head else None

    def forward(self, batch: Batch) -> Scores:
        """Scores of all spans, and what those of labels are computed from."""
        words = self._context(batch)  # (b, n + 2, d)
        fenceposts = self._fenceposts(words)
        left, right = _in_full(self.label_scorer.project(fenceposts))
        ends = None if self.span_scorer is None else _in_full(self.span_scorer.project(fenceposts))
        tags = None if self.tagger is None else self.tagger(words[:, 1:-1])
        labels = None
        with torch.autocast(words.device.type, enabled=False):
            if self.span_scorer is not None and ends is not None:
                spans = self.span_scorer(*ends)[..., 0]
            else:
                labels = self.label_scorer(left, right)
                spans = labels.logsumexp(-1) if self._is_crf else labels.amax(-1)
        return Scores(
            total_words=batch.total_words,
            is_crf=self._is_crf,
            lengths=batch.lengths,
            spans=spans,
            left=left,
            right=right,
            label_scorer=self.label_scorer,
            labels=labels,
            tags=tags,
        )

    def _fenceposts(self, words: Tensor) -> Tensor:
        """The vectors of the boundaries between words (b, n + 2, d), (b, n + 1, width).

        Of an LSTM, what was read before and what is read after; of a transformer, both neighbours.
        """
        half = words.shape[-1] // 2 if self.lstm else words.shape[-1]
        return torch.cat([words[:, :-1, :half], words[:, 1:, -half:]], -1)

    @property
    def _is_crf(self) -> bool:
        return self.config.loss != "one-stage-margin"

    def _context(self, batch: Batch) -> Tensor:
        if self.transformer is not None and self.lstm is None:
            words = None if self.inputs is None else self.inputs(batch)
            return self.dropout(self.transformer(batch, words))  # type: ignore[no-any-return]
        assert self.inputs is not None and self.lstm is not None
        features = None if self.transformer is None else self.transformer(batch)
        vectors = self.inputs(batch, features)
        return self.dropout(self.lstm(vectors, batch.positions).flatten(2))  # type: ignore[no-any-return]

    def loss(self, batch: Batch, soft_targets: SoftTargets | None = None) -> Loss:
        """The losses of the gold trees, and of what others believe; nothing waits for the device."""
        gold, gold_labels = batch.spans, batch.labels
        assert gold_labels is not None, "spans have labels"
        scores = self(batch)
        if self.config.loss == "one-stage-margin":
            spans, labels = _margin(scores, gold, gold_labels), scores.spans.new_zeros(())
        else:
            crf, at_gold = SpanCRF(scores.spans, scores.lengths, validate=False), scores.labels_at(gold)
            spans = _bracket_loss(crf, gold)
            labels = F.cross_entropy(at_gold, gold_labels, ignore_index=IGNORED, reduction="sum")
            if soft_targets is not None:
                spans = spans.lerp(soft_targets.span_loss(crf), soft_targets.distillation_weight)
                labels = labels.lerp(
                    F.cross_entropy(at_gold, soft_targets.labels, reduction="sum"), soft_targets.distillation_weight
                )
        if self.config.loss == "one-stage-crf":
            # -log p(brackets) - log p(labels | brackets) is -log p(labelled tree): one loss, per word
            spans, labels = spans + labels, torch.zeros_like(labels)
        return Loss(
            spans=spans,
            labels=labels,
            tags=self._tag_loss(scores, batch, soft_targets),
            words=batch.total_words,
            labelled=batch.total_labels,
        )

    def _tag_loss(self, scores: Scores, batch: Batch, soft_targets: SoftTargets | None) -> Tensor:
        if scores.tags is None:
            return scores.spans.new_zeros(())
        if batch.gold_tags is None:
            raise ValueError("the model has a tag head and the batch has no gold tags; collate it with gold=...")
        tags = scores.tags.flatten(0, 1)
        loss = F.cross_entropy(tags, batch.gold_tags.flatten(), ignore_index=IGNORED, reduction="sum")
        if soft_targets is None or soft_targets.tags is None:
            return loss
        return loss.lerp(
            F.cross_entropy(tags, soft_targets.tags.flatten(0, 1), reduction="sum"), soft_targets.distillation_weight
        )


def _in_full(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Boundaries in float32 at least: scores add up over a tree, and so would their rounding."""
    dtype = torch.promote_types(pair[0].dtype, torch.float32)
    return pair[0].to(dtype), pair[1].to(dtype)


def _bracket_loss(crf: SpanCRF, gold: Spans) -> Tensor:
    """-log p(gold brackets), summed over sentences."""
    trees = torch.zeros_like(crf.scores, dtype=torch.bool)
    trees.view(-1).index_fill_(0, gold.cells, True)
    return -crf.log_prob(trees).sum()


def _margin(scores: Scores, gold: Spans, labels: Tensor) -> Tensor:
    """The max-margin loss, summed over sentences; where the gold label is not known, the best one will do."""
    assert scores.labels is not None
    labels = torch.where(labels == IGNORED, scores.labels_at(gold).detach().argmax(-1), labels)
    chart = torch.full_like(scores.spans, -1, dtype=torch.int64)
    chart.view(-1).index_copy_(0, gold.cells, labels)
    return margin_loss(scores.labels, scores.lengths, chart).sum()


def _transformer(config: ModelConfig, encoder: nn.Module | None) -> Transformer | None:
    if bool(config.transformer) != (encoder is not None):
        raise ValueError(
            f"transformer is {config.transformer!r} and {'no' if encoder is None else 'an'} encoder was given; "
            "expected both or neither"
        )
    if encoder is None:
        return None
    is_feature = config.encoder == "lstm"
    size = config.transformer_size if is_feature else 0
    frozen = is_feature and not config.transformer_tuned
    words = 0 if is_feature or not config.add_word_inputs else _width(config)
    return Transformer(encoder, layers=config.transformer_layers, size=size, words=words, frozen=frozen)


def _width(config: ModelConfig) -> int:
    """Of a word's vector."""
    return config.word_size + config.char_size + config.tag_size


def _inputs(config: ModelConfig, sizes: Sizes, pretrained: Tensor | None) -> Inputs:
    return Inputs(
        words=WordVectors(sizes.words, config.word_size, vectors=sizes.vectors, pretrained=pretrained),
        chars=CharLSTM(sizes.chars, config.char_embedding_size, config.char_size) if config.char_size else None,
        tags=nn.Embedding(len(SPECIAL) + sizes.tags, config.tag_size) if config.tag_size else None,
        dropout=config.dropout,
        kind=config.dropout_kind,
    )


def _lstm(config: ModelConfig, transformer: Transformer | None) -> BiLSTM:
    width = _width(config) + (0 if transformer is None else transformer.size)
    return BiLSTM(
        width,
        config.lstm_size,
        config.lstm_layers,
        dropout=config.dropout,
        kind=config.dropout_kind,
        recurrent_dropout=config.recurrent_dropout,
    )


def _scorer(config: ModelConfig, width: int, size: int, *, labels: int = 0) -> Biaffine | Minus:
    """The scorer of labels, or without any, that of spans."""
    if config.scorer == "minus":
        return Minus(width, size, labels or 1, dropout=config.dropout, kind=config.dropout_kind)
    bias_right = labels > 0
    return Biaffine(width, size, labels or 1, bias_right=bias_right, dropout=config.dropout, kind=config.dropout_kind)
