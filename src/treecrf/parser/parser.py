"""The parser: a network with its vocabulary, from words to trees."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import treecrf
from treecrf.network.data.batch import Scores
from treecrf.network.runtime.scorer import Precision
from treecrf.network.runtime.scorer import Scorer as RuntimeScorer
from treecrf.parser.decoding import decode
from treecrf.parser.decoding.analysis import Analyzer
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.distributions import Distributions
from treecrf.parser.pipeline import (
    DEFAULT_BATCHING,
    MAX_ANALYZED_WORDS,
    BatchingConfig,
    Sentences,
    Tags,
    Words,
    decode_windows,
    has_words,
    many,
    warn_about_document,
    warn_about_text,
)
from treecrf.parser.scorers import load_scorer, require_torch
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.threads import num_threads
from treecrf.trees.analysis import Analysis, ParsedSentence
from treecrf.trees.other_libraries import explain_names, explain_options
from treecrf.trees.tree import Tree
from treecrf.trees.treebank.bracket_writer import FlatTrees

if TYPE_CHECKING:
    import torch

    from treecrf.network.nn import SpanModel
    from treecrf.text import Token

_RANKED_LABELS = 10  # labels of a span that the search for alternatives considers
_KEPT_SPANS = 1 << 14  # spans of a batch whose label scores are kept
T = TypeVar("T")
K = TypeVar("K")


@explain_names
class Parser(Distributions):
    """Parses sentences with a scorer: a network of PyTorch, or the CPU runtime. Threads may share a parser.

    `config` has the settings that `save` writes, and the parser has them as attributes. `folder` is where the parser
    was loaded from.
    """

    def __new__(cls, *components: Any, **_: Any) -> "Parser":
        if len(components) < 2:
            raise TypeError("a parser is made of a scorer and a vocabulary; Parser.load('en') loads an installed one")
        return super().__new__(cls)

    @staticmethod
    @explain_options
    def load(
        source: str | Path = "en",
        device: "str | torch.device | None" = None,
        *,
        precision: Precision | None = None,
        scheme: str | None = None,
    ) -> "Parser":
        """Loads a parser from a folder that `save` wrote, or an installed model by its name, such as en.

        The device is a GPU if there is one and PyTorch is installed, unless `device` is given. Unless `precision` is
        "float32", products are computed on 8-bit integers and without PyTorch on a CPU, and on a GPU in half precision
        if the model's card shows that its trees are as good. `scheme` is one of the parser's
        `schemes`. Loading never executes anything from the folder.
        """
        state = load_parser_state(source)
        if scheme is not None:
            state = replace(state, config=replace(state.config, scheme=scheme))
        return Parser.from_state(state, device, precision=precision)

    @staticmethod
    def from_state(
        state: ParserState, device: "str | torch.device | None" = None, *, precision: Precision | None = None
    ) -> "Parser":
        """Builds a parser from its components in memory, like `load`."""
        scorer = load_scorer(state, device, precision)
        return Parser(
            scorer,
            state.vocabulary,
            state.config,
            productions=state.productions,
            subwords=state.subwords,
            folder=state.folder,
            saved=state if scorer.precision != "float32" or isinstance(scorer, RuntimeScorer) else None,
            arrays=state.components,
        )

    def save(self, folder: str | Path) -> None:
        """Writes everything that `load` needs into a folder; replaces an existing parser there atomically."""
        save_parser_state(folder, self.state())

    def state(self) -> ParserState:
        """The components that `save` writes."""
        if self._saved is not None:
            return replace(self._saved, config=self.config, productions=self.productions)
        from treecrf.parser.network import network_state

        return network_state(self)

    @explain_options
    def parse(
        self,
        words: str | Words,
        *,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        mbr: bool = True,
        functions: bool = False,
        empties: bool = False,
    ) -> Tree:
        """Parses one sentence: a string is raw text, a list is its words.

        With `functions`, labels have functions, such as NP-SBJ; with `empties`, the tree has empty elements, and
        indices connect them with their antecedents. Warns if a string has several sentences, or if its language is not
        the model's.
        """
        if isinstance(words, str):
            warn_about_text(words, self.language)
        (tree,) = self.parse_many(
            [words], tags=many(tags), constraints=many(constraints), mbr=mbr, functions=functions, empties=empties
        )
        return tree

    __call__ = parse

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the place of the model instead of its weights, so that other processes of this machine load it."""
        if self.folder is None or not isinstance(self.scorer, RuntimeScorer):
            raise TypeError(
                "a parser with a network of PyTorch cannot be pickled; save it, and load it in each process"
            )
        precision: Any = self.scorer.precision.split()[0]
        load = partial(Parser.load, precision=None if precision == "float32" else precision)
        return load, (self.folder, "cpu"), {"config": self.config}

    def parse_column(self, sentences: Iterable[str | Words | None], *, mbr: bool = True) -> Iterator[Tree | None]:
        """Parses the column of a table like `parse_many`; the tree of an empty or missing cell is None."""
        for_trees, for_cells = tee(sentences)
        trees = self.parse_many(filter(has_words, for_trees), mbr=mbr)
        return (next(trees) if has_words(cell) else None for cell in for_cells)

    @explain_options
    def parse_text(
        self, text: str, *, mbr: bool = True, functions: bool = False, empties: bool = False
    ) -> Iterator[ParsedSentence]:
        """Splits a document into sentences and parses each; yields their trees with their places in the document.

        Lines may break anywhere, and an empty line ends a sentence.
        """
        warn_about_document(text)
        for_trees, for_offsets = tee(self.split_text(text))
        trees = self.parse_many(for_trees, mbr=mbr, functions=functions, empties=empties)
        for tokens, tree in zip(for_offsets, trees, strict=True):
            yield _sentence_of_text(text, tokens, tree)

    @explain_options
    def analyze_text(
        self, text: str, *, k: int = 1, mbr: bool = True, functions: bool = False, empties: bool = False
    ) -> Iterator[ParsedSentence]:
        """Splits a document like `parse_text`, and yields its sentences with their analyses."""
        warn_about_document(text)
        for_trees, for_offsets = tee(self.split_text(text))
        analyses = self.analyze_many(for_trees, k=k, mbr=mbr, functions=functions, empties=empties)
        for tokens, analysis in zip(for_offsets, analyses, strict=True):
            yield _sentence_of_text(text, tokens, analysis.tree, analysis)

    @explain_options
    def parse_many(
        self,
        sentences: Iterable[str | Words],
        *,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        window: int | None = None,
        batch_words: int | None = None,
        mbr: bool = True,
        functions: bool = False,
        empties: bool = False,
    ) -> Iterator[Tree]:
        """Parses sentences in batches and yields their trees in input order.

        A string is the raw text of one sentence; a list is its words or its `text.Token`s. Sentences are read on
        demand, a `window` of some thousands ahead, and batched by length; the default sizes depend on the device.
        Given `tags` appear in the trees, and the network and the grammar read them. For a sentence or a word whose tag
        is `None`, the tags are those that the model predicts. Trees satisfy the `constraints` of their sentence.
        `functions` and `empties` are as in `parse`.
        """
        batching, build = self._batching(window, batch_words), self._build_trees
        if components := _names(functions=functions, empties=empties):
            build = partial(self.full_tree_builder.check(*components).trees, components=components)
        windows = self.reader.windows(sentences, tags, constraints, sizes=batching.window_sizes)
        parsed = self._parse_windows(enumerate(windows), build, batching, mbr=mbr, keeps_vectors=bool(components))
        for _, trees in parsed:
            yield from trees

    @explain_options
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
        functions: bool = False,
        empties: bool = False,
    ) -> Iterator[str]:
        """Parses sentences like `parse_many` and yields the brackets of their trees, without building the trees.

        This is much faster. A line equals `str(tree)`; without `exact`, parentheses in words are -LRB- and -RRB-.
        """
        batching, components = self._batching(window, batch_words), _names(functions=functions, empties=empties)
        build = self._bracket_builder(exact, components=components)
        windows = self.reader.windows(sentences, tags, constraints, sizes=batching.window_sizes)
        parsed = self._parse_windows(enumerate(windows), build, batching, mbr=mbr, keeps_vectors=bool(components))
        for _, lines in parsed:
            yield from lines

    def brackets_by_key(
        self,
        windows: Iterable[tuple[K, Iterable[str | Words], Mapping[str, Any]]],
        *,
        exact: bool = True,
        mbr: bool = True,
        functions: bool = False,
        empties: bool = False,
    ) -> Iterator[tuple[K, list[str]]]:
        """Parses windows of sentences that the caller has cut; yields each window's key and its brackets, in order.

        A window has a key, sentences, and the `tags` and `constraints` of sentences by these names. Only sentences of
        the same window share a batch. Up to `batching.prefetch` batches are read ahead.
        """
        read = ((key, self.reader.window(window, **conditions)) for key, window, conditions in windows)
        components = _names(functions=functions, empties=empties)
        build = self._bracket_builder(exact, components=components)
        return self._parse_windows(read, build, self.batching, mbr=mbr, keeps_vectors=bool(components))

    @explain_options
    def analyze(
        self,
        words: str | Words,
        *,
        k: int = 1,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        mbr: bool = True,
        functions: bool = False,
        empties: bool = False,
    ) -> Analysis:
        """The tree that `parse` returns, probabilities of the tree and its constituents, and the k best readings."""
        (analysis,) = self.analyze_many(
            [words], k=k, tags=many(tags), constraints=many(constraints), mbr=mbr, functions=functions, empties=empties
        )
        return analysis

    @explain_options
    def analyze_many(
        self,
        sentences: Iterable[str | Words],
        *,
        k: int = 1,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        batch_words: int = 5000,
        mbr: bool = True,
        marginals: bool = False,
        functions: bool = False,
        empties: bool = False,
        should_stop: Callable[[], bool] | None = None,
    ) -> Iterator[Analysis]:
        """The analysis of each sentence, in input order; sentences are read as in `parse_many`.

        With `marginals`, an analysis has the probability of every span too. `functions` and `empties` are as in
        `parse`, also for alternatives; constituents have functions with probabilities. The search for alternatives
        calls `should_stop` often. It ends when that returns true, with the best trees that it has found.
        """
        if k < 0:
            raise ValueError(f"k is {k}; expected 0 or more alternatives")
        batching = replace(DEFAULT_BATCHING["cpu"], batch_words=batch_words)  # the k-best search runs on the host
        reader = replace(self.reader, max_words=min(self.reader.max_words, MAX_ANALYZED_WORDS))
        windows = reader.windows(sentences, tags, constraints, sizes=batching.window_sizes)
        if components := _names(functions=functions, empties=empties):
            self.full_tree_builder.check(*components)
        analyze = partial(
            self._analyze, k=k, mbr=mbr, marginals=marginals, components=components, should_stop=should_stop
        )
        for _, analyses in decode_windows(enumerate(windows), self.batch_scorer, analyze, batching):
            yield from analyses

    def adapt(
        self, trees: "Iterable[Tree] | str | Path", *, keep_good_on: Sequence[Tree] = (), seed: int = 1
    ) -> "Parser":
        """A parser that has learned from corrected trees, or this one if it would not get better; prints why.

        `trees` are trees, partial trees (`treecrf.training.partial`), the name of a file with them, or the folder of an
        annotation. `treecrf.adapt` also returns the scores.
        """
        require_torch("the training of a parser")
        return treecrf.adapt(self, trees, keep_good_on=keep_good_on, seed=seed).parser  # a wing below this one

    def _batching(self, window: int | None, batch_words: int | None) -> BatchingConfig:
        """The parser's batching with the sizes that the caller has chosen."""
        chosen = {"window": window, "batch_words": batch_words}
        return replace(self.batching, **{name: value for name, value in chosen.items() if value is not None})

    def _parse_windows(
        self,
        windows: Iterable[tuple[K, Sentences]],
        build: Callable[[Sentences, FlatTrees], Iterable[T]],
        batching: BatchingConfig,
        *,
        mbr: bool,
        keeps_vectors: bool,
    ) -> Iterator[tuple[K, list[T]]]:
        decoder = self.batch_decoder(mbr=mbr, keeps_vectors=keeps_vectors)
        if self.device == "cpu":
            initialize = self.scorer.initialize_thread
            return decode_windows(windows, decoder, build, batching, threads=num_threads(), initialize=initialize)
        from treecrf.parser.device_pipeline import DeviceDecoder

        model = cast("SpanModel", self.scorer)  # the runtime computes on a CPU alone
        return DeviceDecoder(model=model, host_decoder=decoder).decode_windows(windows, build, batching)

    def _analyze(
        self,
        sentences: Sentences,
        scores: Scores,
        *,
        k: int,
        mbr: bool,
        marginals: bool,
        components: Sequence[str],
        should_stop: Callable[[], bool] | None,
    ) -> list[Analysis]:
        scores = scores.keep_labels(_KEPT_SPANS)
        brackets = BracketDistribution.of(scores)
        decoded = decode(scores, mbr=mbr, expected_f1=self.expected_f1, distribution=brackets)
        analyzer = Analyzer(
            trees=self.tree_distribution(scores, choices=_RANKED_LABELS if k else 0),
            brackets=brackets,
            beta=self.calibration,
            tree_calibration=self.tree_calibration,
            tag_names=self.vocabulary.tags,
            attachments=self.attachments,
            grammar=None if self.expected_f1 is None or scores.tags is None else self.expected_f1.grammar,
        )
        trees = list(self._build_trees(sentences, decoded))
        analyses = analyzer.analyze(trees, k=k, marginals=marginals, should_stop=should_stop)
        if not components:
            return list(analyses)
        decoded = decoded._replace(vectors=scores.word_vectors())
        return list(self.full_tree_builder.analyses(decoded, analyses, components=components))


def _sentence_of_text(
    text: str, tokens: "Sequence[Token]", tree: Tree, analysis: Analysis | None = None
) -> ParsedSentence:
    offsets = [(token.start, token.end) for token in tokens]
    return ParsedSentence(tree, offsets, analysis, text[offsets[0][0] : offsets[-1][1]])


def _names(**components: bool) -> tuple[str, ...]:
    return tuple(name for name, is_wanted in components.items() if is_wanted)
