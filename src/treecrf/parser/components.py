"""The components of a parser: its scorer, vocabulary, settings and productions."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treecrf.files import DamagedFileError
from treecrf.network.data.batch import Scores
from treecrf.network.data.model_config import ModelConfig
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.parser.decoding import ExpectedF1
from treecrf.parser.decoding.attachments import Attachments
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.decoding.decode import TreeBuilder
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import LabelGrammar
from treecrf.parser.decoding.schemes import Scheme, scheme_names
from treecrf.parser.decoding.tree_distribution import TreeDistribution
from treecrf.parser.pipeline import (
    DEFAULT_BATCHING,
    MAX_WORDS,
    BatchDecoder,
    BatchingConfig,
    BatchScorer,
    Scorer,
    SentenceReader,
    Sentences,
    TextSplitter,
)
from treecrf.parser.scorers import missing_parts, require_torch
from treecrf.parser.storage import COMPONENTS, Arrays, ParserConfig, ParserState
from treecrf.text.normalization import Normalization
from treecrf.threads import num_threads
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.bracket_writer import FlatTrees
from treecrf.trees.treebank.well_formed import Production

if TYPE_CHECKING:
    from treecrf.network.nn import SpanModel
    from treecrf.parser.full_trees import FullTreeBuilder

_LABEL_SCORES = 1 << 28  # label scores per batch of a one-stage model, which scores every label of every span


def _setting(name: str, *derived: str) -> Any:
    """A property of a parser that is stored in its config; a new value discards the properties derived from it."""

    def assign(parser: "Components", value: Any) -> None:
        parser.config = parser.check_scheme(replace(parser.config, **{name: value}))
        for property_name in ("expected_f1", *derived):
            parser.__dict__.pop(property_name, None)

    return property(lambda parser: getattr(parser.config, name), assign)


class Components(TextSplitter):
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
    scheme: str = _setting("scheme", "_scheme", "_grammar")
    """The annotation scheme of the trees, one of `schemes`; empty: the model chooses for each sentence."""

    def __init__(
        self,
        scorer: Scorer,
        vocabulary: Vocabulary,
        config: ParserConfig = ParserConfig(),  # noqa: B008  # immutable
        *,
        productions: Mapping[Production, int] | None = None,
        subwords: SubwordTokenizer | None = None,
        folder: Path | None = None,
        saved: ParserState | None = None,
        arrays: Mapping[str, Arrays] | None = None,
    ) -> None:
        """`saved` is the state from which the CPU runtime was built: `save` and `model` need its weights.

        `arrays` are the arrays of optional components, such as the functions of constituents, by name.
        """
        self.scorer = scorer
        self.vocabulary = vocabulary
        self.arrays = arrays or {}
        self.config = self.check_scheme(replace(config, model=scorer.config))
        self.productions = productions or {}
        self.subwords = subwords
        self.folder = folder
        self._saved = saved
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
    def schemes(self) -> tuple[str, ...]:
        """The annotation schemes that the network can be told or that have rules, by the names of their treebanks."""
        return tuple(dict.fromkeys((*self.model_config.schemes, *scheme_names(self.arrays.get("schemes", {})))))

    def check_scheme(self, config: ParserConfig) -> ParserConfig:
        """The same settings, if the parser knows their scheme."""
        if config.scheme and config.scheme not in self.schemes:
            schemes = ", ".join(map(repr, self.schemes)) or "none, because the model knows no schemes"
            raise ValueError(f"scheme is {config.scheme!r:.50}; expected one of {schemes}")
        return config

    @property
    def model(self) -> "SpanModel":
        """The network of PyTorch. A parser that computes without PyTorch loads its network at the first access."""
        require_torch("the network of a parser")
        from treecrf.network.nn import SpanModel

        return self.scorer if isinstance(self.scorer, SpanModel) and not self.scorer.is_half else self._network

    @cached_property
    def _network(self) -> "SpanModel":
        from treecrf.parser.network import build_network

        assert self._saved is not None, "a parser without a network was loaded from a folder"
        return build_network(self._saved).to(self.device)

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
            return Grammar(self.productions if self._scheme is None else self._scheme.productions)
        except ValueError as error:
            raise ValueError(f"{self.folder or 'the parser'}: {error}; copy the folder again") from None

    @cached_property
    def _scheme(self) -> Scheme | None:
        """The grammar, labels and tags of the chosen scheme, if the model has counts of its trees."""
        arrays = self.arrays.get("schemes", {})
        if not self.scheme or self.scheme not in scheme_names(arrays):
            return None
        try:
            return Scheme.load(self.scheme, arrays, self.productions, self.vocabulary.labels, self.vocabulary.tags)
        except (KeyError, ValueError) as error:
            source = f"{self.folder or 'the parser'}: {COMPONENTS['schemes']}"
            raise DamagedFileError(f"{source} has no scheme {self.scheme!r:.50}: {error!s:.200}") from None

    @property
    def batch_scorer(self) -> BatchScorer:
        numbers = {name: number for number, name in enumerate(self.model_config.schemes, start=1)}
        return BatchScorer(
            numericalizer=self.numericalizer,
            scorer=self.scorer,
            labels=self._labels,
            root=self.root,
            scheme=numbers.get(self.scheme, 0),
            rules=self._scheme,
        )

    def batch_decoder(self, *, mbr: bool, keeps_vectors: bool = False) -> BatchDecoder:
        """The decoder on the host; with `keeps_vectors`, the trees have the vectors of their words."""
        return BatchDecoder(
            scorer=self.batch_scorer, mbr=mbr, expected_f1=self.expected_f1, keeps_vectors=keeps_vectors
        )

    @property
    def tree_builder(self) -> TreeBuilder:
        return TreeBuilder(vocabulary=self.vocabulary, root=self.root, predicts_tags=self.model_config.tag_head)

    def _build_trees(self, sentences: Sentences, trees: FlatTrees) -> Iterator[Tree]:
        return self.tree_builder.trees(sentences.words, sentences.tags, trees)

    def _bracket_builder(
        self, exact: bool, *, components: Sequence[str] = ()
    ) -> Callable[[Sentences, FlatTrees], list[str]]:
        if components:
            return partial(self.full_tree_builder.check(*components).lines, components=components, exact=exact)
        writer = self.tree_builder.bracket_writer(exact=exact)
        return lambda sentences, trees: writer.lines(sentences.words, trees, tags=sentences.tags)

    @cached_property
    def full_tree_builder(self) -> "FullTreeBuilder":
        """The builder of trees with functions and empty elements."""
        from treecrf.parser.full_trees import FullTreeBuilder  # not at the top: most parsing does not need it

        return FullTreeBuilder(self)

    @cached_property
    def attachments(self) -> Attachments:
        """The attachments that make two trees the same reading."""
        return Attachments(self._labels.strings, self.vocabulary.tags, self.language)

    def tree_distribution(self, scores: Scores, *, choices: int = 0) -> TreeDistribution:
        """The distribution over trees that the scores of a batch define, on the host."""
        excluded = () if self.same_label_unaries else self._labels.repeating
        return TreeDistribution(
            scores=scores,
            labels=self._labels,
            root=self.root,
            all_derivations=self.model_config.loss == "tree",
            choices=choices,
            excluded=excluded,
        )

    @property
    def reader(self) -> SentenceReader:
        max_words = MAX_WORDS
        if self.model_config.one_stage:
            max_words = min(max_words, math.isqrt(_LABEL_SCORES // len(self.vocabulary.labels)))
        return SentenceReader(tokenize=self.tokenize, needs_tags=self.model_config.tag_size > 0, max_words=max_words)
