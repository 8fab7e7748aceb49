"""The parser: a network with its vocabulary, from words to trees."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from treecrf.aliases import OldParserNames
from treecrf.chart.crf import SpanCRF
from treecrf.data.numericalize import Numericalizer
from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.decoding import Decoded, ExpectedF1, decode
from treecrf.decoding.analysis import Analysis, analyze_batch, bracket_crf
from treecrf.decoding.beta_calibration import BetaCalibration
from treecrf.decoding.constraints import Constraints
from treecrf.decoding.tree_builder import TreeBuilder, write_brackets
from treecrf.nn import SpanModel
from treecrf.parser.inputs import DEFAULT_BATCHING, BatchingConfig, SentenceReader, Sentences, Tags, Words
from treecrf.parser.pipeline import BatchDecoder, BatchScorer, decode_windows, in_input_order, prefetch
from treecrf.parser.storage import ParserConfig, ParserState, load_parser_state, save_parser_state
from treecrf.runtime.int8 import instruction_set
from treecrf.runtime.quantized_model import Precision, quantize
from treecrf.text.normalization import Normalization
from treecrf.tree import Tree
from treecrf.treebank.binarize import LabelSet

T = TypeVar("T")
K = TypeVar("K")

_LABEL_SCORES = 1 << 28  # label scores per batch of a one-stage model, which scores every label of every span


class Parser(OldParserNames):
    """Parses sentences on the device of its model. Threads may share a parser.

    `int8_model` scores on a CPU in place of `model`, if it is given; it is an int8 copy of `model`.
    """

    def __init__(
        self,
        model: SpanModel,
        vocabulary: Vocabulary,
        *,
        root: str = "TOP",
        language: str = "en",
        normalization: Normalization = "as-is",
        calibration: BetaCalibration = BetaCalibration(),  # noqa: B008  # immutable
        f1_threshold: float = 0.0,
        subwords: SubwordTokenizer | None = None,
        int8_model: SpanModel | None = None,
    ) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self._labels = LabelSet(vocabulary.labels)
        self.root = root
        self.language = language
        self.normalization = normalization
        self.calibration = calibration
        self.f1_threshold = f1_threshold
        self.subwords = subwords
        reads_characters = model.inputs is not None and model.config.char_size > 0
        self.numericalizer = Numericalizer(
            vocabulary, characters=reads_characters, subwords=subwords, normalization=normalization
        )
        self._int8_model = int8_model

    def __repr__(self) -> str:
        """How the parser computes: network, device, precision, and on a CPU the instruction set and threads."""
        parts = [f"{self.model.config.encoder}, {self.language}, {self.device}"]
        parts.append("float32" if self.scorer is self.model else f"int8 ({instruction_set()})")
        if self.device.type == "cpu":
            parts.append(f"{torch.get_num_threads()} threads")
        return f"<Parser: {', '.join(parts)}>"

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    @property
    def scorer(self) -> SpanModel:
        """The model that scores sentences: the int8 model on a CPU, if there is one, or else `model`."""
        return self.model if self._int8_model is None or self.device.type != "cpu" else self._int8_model

    @property
    def batching(self) -> BatchingConfig:
        """How many sentences are read, batched and scored at once."""
        batching = DEFAULT_BATCHING.get(self.device.type, DEFAULT_BATCHING["cpu"])
        if not self.model.config.one_stage:
            return batching
        return replace(batching, batch_cells=min(batching.batch_cells, _LABEL_SCORES // len(self.vocabulary.labels)))

    @staticmethod
    def load(
        source: str | Path, device: str | torch.device | None = None, *, precision: Precision | None = None
    ) -> "Parser":
        """Loads a parser from a folder that `save` wrote, or an embedded model by its name.

        The device is a GPU if there is one, unless `device` is given. On a CPU that supports it, products are
        computed on 8-bit integers, unless `precision` is given. Loading never executes anything from the folder.
        """
        state = load_parser_state(source)
        where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        int8_model = quantize(state.model, precision, where)
        if int8_model is not None:
            int8_model.eval()
        return Parser(
            state.model.to(where).eval(),
            state.vocabulary,
            root=state.config.root,
            language=state.config.language,
            normalization=state.config.normalization,
            calibration=BetaCalibration(*state.config.calibration),
            f1_threshold=state.config.f1_threshold,
            subwords=state.subwords,
            int8_model=int8_model,
        )

    def save(self, folder: str | Path) -> None:
        """Writes everything that `load` needs into a folder; replaces an existing parser there atomically."""
        config = ParserConfig(
            root=self.root,
            language=self.language,
            normalization=self.normalization,
            calibration=(*self.calibration,),
            f1_threshold=self.f1_threshold,
            model=self.model.config,
        )
        save_parser_state(folder, ParserState(config, self.vocabulary, self.model, self.subwords))

    def parse(
        self,
        words: str | Words,
        *,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        mbr: bool = True,
    ) -> Tree:
        """Parses one sentence: a string is raw text, a list is its words."""
        (tree,) = self.parse_many([words], tags=_one(tags), constraints=_one(constraints), mbr=mbr)
        return tree

    def parse_many(
        self,
        sentences: Iterable[str | Words],
        *,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        window: int | None = None,
        batch_words: int | None = None,
        mbr: bool = True,
    ) -> Iterator[Tree]:
        """Parses sentences in batches and yields their trees in input order.

        A string is the raw text of one sentence; a list is its words or its `text.Token`s. Sentences are read on
        demand, a `window` of some thousands ahead, and batched by length; the default sizes depend on the device.
        Given `tags` appear in the trees, and are the input of a model that reads tags. For a sentence or a word whose
        tag is `None`, the tags are those that the model predicts. Trees satisfy the `constraints` of their sentence.
        """
        batching = self._batching(window, batch_words)
        windows = self.reader.windows(sentences, tags, constraints, size=batching.window)
        for _, trees in self._parse_windows(enumerate(windows), self._build_trees, batching, mbr=mbr):
            yield from trees

    def brackets_many(
        self,
        sentences: Iterable[str | Words],
        *,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        exact: bool = True,
        window: int | None = None,
        batch_words: int | None = None,
        mbr: bool = True,
    ) -> Iterator[str]:
        """Parses sentences like `parse_many` and yields the brackets of their trees, without building the trees.

        This is much faster. A line equals `str(tree)`; without `exact`, parentheses in words are -LRB- and -RRB-.
        """
        batching = self._batching(window, batch_words)
        windows = self.reader.windows(sentences, tags, constraints, size=batching.window)
        build = self._bracket_builder(exact=exact)
        for _, lines in self._parse_windows(enumerate(windows), build, batching, mbr=mbr):
            yield from lines

    def brackets_by_window(
        self, windows: Iterable[Iterable[str | Words]], *, exact: bool = True, mbr: bool = True
    ) -> Iterator[list[str]]:
        """Parses windows of sentences that the caller has cut, and yields one list of brackets per window, in order.

        Only sentences of the same window share a batch. Up to `batching.prefetch` batches are read ahead.
        """
        return (lines for _, lines in self.brackets_by_key(enumerate(windows), exact=exact, mbr=mbr))

    def brackets_by_key(
        self, windows: Iterable[tuple[K, Iterable[str | Words]]], *, exact: bool = True, mbr: bool = True
    ) -> Iterator[tuple[K, list[str]]]:
        """Parses pairs of a key and a window like `brackets_by_window`; each list of brackets comes with its key."""
        read = ((key, self.reader.window(window)) for key, window in windows)
        return self._parse_windows(read, self._bracket_builder(exact=exact), self.batching, mbr=mbr)

    def analyze(
        self,
        words: str | Words,
        *,
        k: int = 1,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        mbr: bool = True,
    ) -> Analysis:
        """The tree that `parse` returns, the probabilities of the tree and its constituents, and the k best trees."""
        (analysis,) = self.analyze_many([words], k=k, tags=_one(tags), constraints=_one(constraints), mbr=mbr)
        return analysis

    def analyze_many(
        self,
        sentences: Iterable[str | Words],
        *,
        k: int = 1,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        batch_words: int = 5000,
        mbr: bool = True,
    ) -> Iterator[Analysis]:
        """The analysis of each sentence, in input order; sentences are read as in `parse_many`."""
        if k < 0:
            raise ValueError(f"k is {k}; expected 0 or more alternatives")
        self.model.eval()
        batching = replace(DEFAULT_BATCHING["cpu"], batch_words=batch_words)  # the k-best search runs on the host
        for window in self.reader.windows(sentences, tags, constraints, size=batching.window):
            analyses: dict[int, Analysis] = {}
            for indices in window.batches(batching.budget):
                analyses.update(zip(indices, self._analyze(window.select(indices), k, mbr), strict=True))
            yield from (analyses[index] for index in range(len(window)))

    @torch.no_grad()
    def crf(self, words: str | Words, *, tags: Tags | None = None, constraints: Constraints | None = None) -> SpanCRF:
        """The distribution over a sentence's binary trees, labels summed out: a batch of one."""
        self.model.eval()
        (window,) = self.reader.windows([words], _one(tags), _one(constraints), size=1)
        return bracket_crf(*self.batch_scorer(window))

    @property
    def f1_threshold(self) -> float:
        """The threshold of expected-F1 decoding, which `mbr` selects; 0 selects the paper's MBR instead.

        The paper's MBR maximizes the expected number of correct spans, whether they are constituents or not.
        """
        return 0.0 if self._expected_f1 is None else self._expected_f1.threshold

    @f1_threshold.setter
    def f1_threshold(self, threshold: float) -> None:
        self._expected_f1 = ExpectedF1.for_labels(self._labels, threshold) if threshold else None

    @property
    def expected_f1(self) -> ExpectedF1 | None:
        """The utility of expected-F1 decoding, on the model's device; None if `f1_threshold` is 0."""
        if self._expected_f1 is not None and self._expected_f1.constituents.device != self.device:
            self._expected_f1 = self._expected_f1.to(self.device)
        return self._expected_f1

    @property
    def batch_scorer(self) -> BatchScorer:
        """Scores a batch of sentences, constraints included."""
        return BatchScorer(
            numericalizer=self.numericalizer,
            scorer=self.scorer,
            labels=self._labels,
            root=self.root,
            device=self.device,
            reads_tags=self.model.config.tag_size > 0,
        )

    @property
    def tree_builder(self) -> TreeBuilder:
        """Builds trees from decoded batches."""
        predicts_tags = self.model.tagger is not None
        return TreeBuilder(vocabulary=self.vocabulary, root=self.root, predicts_tags=predicts_tags)

    @property
    def reader(self) -> SentenceReader:
        """Reads and checks what callers pass as sentences."""
        return SentenceReader(language=self.language, needs_tags=self.model.config.tag_size > 0)

    def _batching(self, window: int | None, batch_words: int | None) -> BatchingConfig:
        """The parser's batching with the sizes that the caller has chosen."""
        chosen = {"window": window, "batch_words": batch_words}
        return replace(self.batching, **{name: value for name, value in chosen.items() if value is not None})

    def _parse_windows(
        self,
        windows: Iterable[tuple[K, Sentences]],
        build: Callable[[Sentences, Decoded], Iterable[T]],
        batching: BatchingConfig,
        *,
        mbr: bool,
    ) -> Iterator[tuple[K, list[T]]]:
        self.model.eval()
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        decoder = BatchDecoder(scorer=self.batch_scorer, mbr=mbr, expected_f1=self.expected_f1)
        batches = decode_windows(windows, decoder, batching, threads=threads)
        return in_input_order(prefetch(batches, batching.prefetch), build)

    def _build_trees(self, sentences: Sentences, decoded: Decoded) -> Iterator[Tree]:
        return self.tree_builder.trees(sentences.words, sentences.tags, decoded)

    def _bracket_builder(self, *, exact: bool) -> Callable[[Sentences, Decoded], list[str]]:
        writer = self.tree_builder.bracket_writer(exact=exact)
        return lambda sentences, decoded: write_brackets(writer, sentences.words, sentences.tags, decoded)

    @torch.no_grad()
    def _analyze(self, sentences: Sentences, k: int, mbr: bool) -> list[Analysis]:
        scores, allowed = self.batch_scorer(sentences)
        crf = bracket_crf(scores, allowed)
        decoded = decode(scores, mbr=mbr, expected_f1=self.expected_f1, allowed=allowed, crf=crf)
        leaves = list(self.tree_builder.leaves(sentences.words, sentences.tags, decoded.cpu()))
        analyses = analyze_batch(scores, crf, decoded, leaves, self._labels, root=self.root, k=k)
        return list(map(self.calibration.apply, analyses))


def _one(value: Any) -> list[Any] | None:
    return None if value is None else [value]
