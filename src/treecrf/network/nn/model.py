"""The parser's network: from batches of sentences to scores of spans, labels and tags."""

import threading
from collections.abc import Callable

import torch
from torch import Tensor, nn

from treecrf.network.data.batch import Batch, Scores, Sizes
from treecrf.network.data.extensions import BUILT_IN, load_extension
from treecrf.network.data.model_config import ModelConfig
from treecrf.network.data.numericalize import CAPITAL_CLASSES
from treecrf.network.nn.batch import TensorBatch
from treecrf.network.nn.embeddings import WordInputs
from treecrf.network.nn.half_precision import tf32_products
from treecrf.network.nn.losses import Loss, SoftTargets, compute_loss
from treecrf.network.nn.lstm import BiLSTM, SharedDropout
from treecrf.network.nn.rounding import rounded_products
from treecrf.network.nn.scorers import Biaffine, Minus, Scorer, TensorScores
from treecrf.network.nn.transformer import Transformer

_THREADS_LOCK = threading.Lock()  # torch's number of threads is global


class SpanModel(nn.Module):
    """Encodes words in context and scores spans, labels and tags.

    `encoder` is the pretrained encoder that the config names. `pretrained` has `sizes.vectors` word vectors; without
    it, the table is zero until weights are loaded. The encoder of another package is built with the size of its input
    vectors and the config. It is called with vectors (b, n + 2, d) and the number of positions of each sentence (b,),
    and returns vectors of its `size`.
    """

    def __init__(
        self, config: ModelConfig, sizes: Sizes, *, pretrained: Tensor | None = None, encoder: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.is_rounded = self.is_half = False
        self.transformer = _transformer(config, encoder, sizes.tags)
        self.inputs = WordInputs(config, sizes, pretrained) if config.reads_words else None
        input_size = config.word_input_size + (0 if self.transformer is None else self.transformer.size)
        self.lstm = BiLSTM(config, input_size) if config.encoder == "lstm" else None
        self.encoder = None
        if config.encoder not in BUILT_IN["encoder"]:
            self.encoder = load_extension("encoder", config.encoder)(input_size, config)
        own_encoder = self.encoder or (None if self.lstm else self.transformer)
        width = 2 * (config.lstm_size if own_encoder is None else int(own_encoder.size))
        self.dropout = SharedDropout(config.dropout, kind=config.dropout_kind)
        self.span_scorer = None if config.one_stage else _scorer(config, width, config.span_size)
        self.label_scorer = _scorer(config, width, config.label_size, labels=sizes.labels)
        self.tagger = nn.Linear(width if self.lstm else width // 2, sizes.tags) if config.tag_head else None
        self.capitals = _capitals(sizes.tags) if config.tag_capitals else None

    def round_products(self, is_rounded: bool) -> None:
        """Rounds products from now on as the CPU runtime does with the precision int8, or no longer."""
        self.is_rounded = self.label_scorer.is_rounded = is_rounded

    def halve_precision(self) -> None:
        """Computes vectors in half precision from now on, without training; scores stay in float32."""
        self.is_half = True
        for module in filter(None, (self.transformer, self.inputs, self.lstm)):
            module.half()
        for scorer in filter(None, (self.span_scorer, self.label_scorer)):
            scorer.halve_projection()
        self.eval()

    @property
    def device(self) -> str:
        """The device of the weights."""
        return str(next(self.parameters()).device)

    @property
    def precision(self) -> str:
        """The type of the vectors, for people to read."""
        return "float16" if self.is_half else str(next(self.parameters()).dtype).removeprefix("torch.")

    @property
    def initialize_thread(self) -> Callable[[], None]:
        """The function that each scoring thread calls once, before its first batch."""
        return use_one_torch_thread

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch as NumPy arrays, without dropout."""
        return self.score_on_device(batch).to_host()

    @torch.no_grad()
    def score_on_device(self, batch: Batch) -> TensorScores:
        """The scores of a batch on the network's device, without dropout."""
        self.eval()
        device = next(self.parameters()).device
        scores: TensorScores = self(TensorBatch.from_host(batch, pin_memory=device.type == "cuda").to(device))
        return scores

    def forward(self, batch: TensorBatch) -> TensorScores:
        """The scores of a batch."""
        with rounded_products(self.is_rounded), tf32_products(self.is_half):
            return self._forward(batch)

    def _forward(self, batch: TensorBatch) -> TensorScores:
        words = self._context(batch)
        fenceposts = self._fenceposts(words)
        left, right = self.label_scorer.project(fenceposts)
        if self.config.one_stage or not self.label_scorer.reads_half(left):
            left, right = _to_float32((left, right))
        boundaries = None if self.span_scorer is None else _to_float32(self.span_scorer.project(fenceposts))
        labels = None
        with torch.autocast(words.device.type, enabled=False):
            if self.span_scorer is not None and boundaries is not None:
                spans = self.span_scorer(*boundaries)[..., 0]
            else:
                labels = self.label_scorer(left, right)
                spans = labels.logsumexp(-1) if self.config.is_crf else labels.amax(-1)
        return TensorScores(
            total_words=batch.total_words,
            is_crf=self.config.is_crf,
            lengths=batch.lengths,
            spans=spans,
            left=left,
            right=right,
            label_scorer=self.label_scorer,
            labels=labels,
            tags=self._tags(words, batch),
            words=words[:, 1:-1],
        )

    def _tags(self, words: Tensor, batch: TensorBatch) -> Tensor | None:
        if self.tagger is None:
            return None
        tags: Tensor = self.tagger(words[:, 1:-1].to(self.tagger.weight.dtype) if self.is_half else words[:, 1:-1])
        if self.capitals is None:
            return tags
        return tags + self.capitals(*batch.require("capitals"))  # type: ignore[no-any-return]

    def _fenceposts(self, words: Tensor) -> Tensor:
        """Vectors of the boundaries between words (b, n + 2, d), as (b, n + 1, width).

        With an LSTM, the forward state of the word before the boundary and the backward state of the word after it, or
        of the same word; with a transformer, the vectors of both neighbors.
        """
        size = words.shape[-1] // 2 if self.lstm else words.shape[-1]
        before, after = words[:, :-1], words[:, 1:]
        backward = before if self.config.boundary == "same-word" else after
        return torch.cat([before[..., :size], backward[..., -size:]], -1)

    def _context(self, batch: TensorBatch) -> Tensor:
        """Context vectors of all positions, (b, n + 2, d)."""
        if self.transformer is not None and self.config.encoder == "transformer":
            word_inputs = None if self.inputs is None else self.inputs(batch)
            return self.dropout(self.transformer(batch, word_inputs))  # type: ignore[no-any-return]
        assert self.inputs is not None
        feature = None if self.transformer is None else self.transformer(batch)
        vectors = self.inputs(batch, feature)
        if self.encoder is not None:
            return self.dropout(self.encoder(vectors, batch.positions.on_device))  # type: ignore[no-any-return]
        assert self.lstm is not None
        return self.dropout(self.lstm(vectors, batch.positions).flatten(2))  # type: ignore[no-any-return]

    def loss(self, batch: TensorBatch, soft_targets: SoftTargets | None = None) -> Loss:
        """The losses of the gold trees and of soft targets, if there are any."""
        return compute_loss(self.config.loss, self(batch), batch, soft_targets, margin=self.config.margin)


def use_one_torch_thread() -> None:
    """Makes torch's operations in the current thread run on that thread alone; other threads keep their number."""
    with _THREADS_LOCK:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        torch.get_num_threads()  # a thread adopts the number at its first query
        # the number for threads that start later has changed too; another thread sets it, which keeps its own number
        other_thread = threading.Thread(target=torch.set_num_threads, args=(before,))
        other_thread.start()
        other_thread.join()


def _to_float32(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Boundary vectors in float32 or float64, because rounding errors of scores add up over a tree."""
    dtype = torch.promote_types(pair[0].dtype, torch.float32)
    return pair[0].to(dtype), pair[1].to(dtype)


def _transformer(config: ModelConfig, encoder: nn.Module | None, tags: int) -> Transformer | None:
    if bool(config.transformer) != (encoder is not None):
        raise ValueError(
            f"transformer is {config.transformer!r} and {'no' if encoder is None else 'an'} encoder was passed; "
            "expected both or neither"
        )
    return None if encoder is None else Transformer(config, encoder, tags=tags)


def _capitals(tags: int) -> nn.Embedding:
    """Scores of tags by the class of a word's capitals; the scores of class 0 stay zero."""
    scores = nn.Embedding(CAPITAL_CLASSES, tags, padding_idx=0)
    nn.init.zeros_(scores.weight)
    return scores


def _scorer(config: ModelConfig, width: int, size: int, *, labels: int = 0) -> Scorer:
    """The scorer of labels, or without labels, the scorer of spans."""
    if config.scorer not in BUILT_IN["scorer"]:
        scorer: Scorer = load_extension("scorer", config.scorer)(width, size, labels or 1, config)
        return scorer
    if config.scorer == "minus":
        return Minus(width, size, labels or 1, dropout=config.dropout, kind=config.dropout_kind)
    return Biaffine(width, size, labels or 1, bias_right=labels > 0, dropout=config.dropout, kind=config.dropout_kind)
