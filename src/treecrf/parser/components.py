"""The components of a parser: its scorer, vocabulary, settings and productions."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treecrf.network.data.model_config import ModelConfig
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.parser.decoding import ExpectedF1
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.decoding.decode import TreeBuilder
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import LabelGrammar
from treecrf.parser.inputs import DEFAULT_BATCHING, MAX_WORDS, BatchingConfig, SentenceReader
from treecrf.parser.loading import Scorer, missing_parts, require_torch
from treecrf.parser.models.model_folder import manifest_digest
from treecrf.parser.pipeline import BatchScorer
from treecrf.parser.storage import ParserConfig, ParserState, load_parser_state
from treecrf.text.normalization import Normalization
from treecrf.threads import num_threads
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.productions import Production

if TYPE_CHECKING:
    from treecrf.network.nn import SpanModel

_LABEL_SCORES = 1 << 28  # label scores per batch of a one-stage model, which scores every label of every span


def _setting(name: str) -> Any:
    """A property of a parser that is stored in its config."""

    def assign(parser: "Components", value: Any) -> None:
        parser.config = replace(parser.config, **{name: value})
        parser.__dict__.pop("expected_f1", None)

    return property(lambda parser: getattr(parser.config, name), assign)


class Components:
    """The scorer of a parser with its vocabulary and settings; see `Parser`."""

    root: str = _setting("root")
    language: str = _setting("language")
    normalization: Normalization = _setting("normalization")
    calibration: BetaCalibration = _setting("calibration")
    tree_calibration: TreeCalibration = _setting("tree_calibration")
    f1_threshold: float = _setting("f1_threshold")
    """The threshold of expected-F1 decoding, which `mbr` selects; 0 selects the paper's MBR instead.

    The paper's MBR maximizes the expected number of correct spans, whether they are constituents or not.
    """
    grammar_weight: float = _setting("grammar_weight")
    """The weight of the log-probability of a tree's productions in expected-F1 decoding.

    With 0, or if the parser has no productions or predicts no tags, decoding uses no grammar.
    """
    same_label_unaries: bool = _setting("same_label_unaries")

    def __init__(
        self,
        scorer: Scorer,
        vocabulary: Vocabulary,
        config: ParserConfig = ParserConfig(),  # noqa: B008  # immutable
        *,
        productions: Mapping[Production, int] | None = None,
        subwords: SubwordTokenizer | None = None,
        folder: Path | None = None,
    ) -> None:
        self.scorer = scorer
        self.vocabulary = vocabulary
        self.config = replace(config, model=scorer.config)
        self.productions = productions or {}
        self.subwords = subwords
        self.folder = folder
        self._folder_digest = None if folder is None else manifest_digest(folder)
        self._labels = LabelSet(vocabulary.labels)
        self.numericalizer = Numericalizer(
            vocabulary,
            characters=scorer.config.reads_words and scorer.config.char_size > 0,
            capitals=scorer.config.tag_capitals,
            subwords=subwords,
            normalization=config.normalization,
        )

    def __repr__(self) -> str:
        """Describes the network, device, precision, and on a CPU the instruction set and threads."""
        parts = [self.model_config.encoder, self.language, self.device, self.scorer.precision]
        if self.device == "cpu":
            parts.append(f"{num_threads()} threads")
        if missing_parts():
            parts.append(f"without compiled parts ({', '.join(missing_parts())})")
        return f"<Parser: {', '.join(parts)}>"

    @property
    def device(self) -> str:
        """The device that computes: cpu, or a GPU such as cuda:0."""
        return self.scorer.device

    @property
    def model_config(self) -> ModelConfig:
        """The shape of the network."""
        return self.scorer.config

    @property
    def model(self) -> "SpanModel":
        """The network of PyTorch. A parser that computes without PyTorch loads its network at the first access."""
        require_torch("the network of a parser")
        from treecrf.network.nn import SpanModel

        return self.scorer if isinstance(self.scorer, SpanModel) else self._network

    @cached_property
    def _network(self) -> "SpanModel":
        from treecrf.parser.network import build_network

        return build_network(self._saved_state())

    def _saved_state(self) -> ParserState:
        """Reads the files again from which a parser without a network of PyTorch was loaded."""
        assert self.folder is not None, "a parser without a network was loaded from a folder"
        if manifest_digest(self.folder) != self._folder_digest:
            raise ValueError(f"{self.folder} has changed since the parser was loaded from it; load the parser again")
        return load_parser_state(self.folder)

    @property
    def batching(self) -> BatchingConfig:
        """The numbers of sentences that are read, batched and scored at once."""
        batching = DEFAULT_BATCHING["cpu" if self.device == "cpu" else "cuda"]
        if not self.model_config.one_stage:
            return batching
        return replace(batching, batch_cells=min(batching.batch_cells, _LABEL_SCORES // len(self.vocabulary.labels)))

    @cached_property
    def expected_f1(self) -> ExpectedF1 | None:
        """The utility of expected-F1 decoding; None if `f1_threshold` is 0."""
        if not self.f1_threshold:
            return None
        utility = ExpectedF1.for_labels(self._labels, self.f1_threshold)
        if not (self.productions and self.grammar_weight and self.model_config.tag_head):
            return utility
        grammar = LabelGrammar(
            self._grammar,
            self.vocabulary.labels,
            self.vocabulary.tags,
            root=self.root,
            empty_label=utility.empty_label,
            weight=self.grammar_weight,
        )
        return replace(utility, grammar=grammar)

    @cached_property
    def _grammar(self) -> Grammar:
        try:
            return Grammar(self.productions)
        except ValueError as error:
            raise ValueError(f"{self.folder or 'the parser'}: {error}; copy the folder again") from None

    @property
    def batch_scorer(self) -> BatchScorer:
        return BatchScorer(numericalizer=self.numericalizer, scorer=self.scorer, labels=self._labels, root=self.root)

    @property
    def tree_builder(self) -> TreeBuilder:
        return TreeBuilder(vocabulary=self.vocabulary, root=self.root, predicts_tags=self.model_config.tag_head)

    @property
    def reader(self) -> SentenceReader:
        max_words = MAX_WORDS
        if self.model_config.one_stage:
            max_words = min(max_words, math.isqrt(_LABEL_SCORES // len(self.vocabulary.labels)))
        return SentenceReader(language=self.language, needs_tags=self.model_config.tag_size > 0, max_words=max_words)
