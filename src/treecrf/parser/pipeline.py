"""The parsing pipeline: windows of sentences to batches, batches to trees, and trees back into input order."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, repeat, tee
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar, cast

import numpy as np

from treecrf.arrays import Ints
from treecrf.network.data.batch import SPECIAL, Batch, Scores, sentence_lengths
from treecrf.network.data.bucketing import Budget, sorted_batches
from treecrf.network.data.model_config import ModelConfig
from treecrf.network.data.numericalize import Numericalizer
from treecrf.parser.decoding import ExpectedF1, decode
from treecrf.parser.decoding.constraints import Constraints, apply_constraints
from treecrf.parser.decoding.schemes import Scheme
from treecrf.parser.segmentation import CHARACTERS, join_characters
from treecrf.text import Token
from treecrf.text import sentences as split_sentences
from treecrf.threads import parallel_map
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.bracket_writer import FlatTrees
from treecrf.trees.treebank.word_table import TokenLines

if TYPE_CHECKING:
    from treecrf.parser.parser import Parser

T = TypeVar("T")
D = TypeVar("D")
K = TypeVar("K")
Words = Sequence[str] | Sequence[Token]  # a string is raw text instead
Tags = Sequence[str | None]  # None: the tag that the model predicts


@dataclass(frozen=True, kw_only=True)
class BatchingConfig:
    """The numbers of sentences that are read, batched and scored at once."""

    window: int  # sentences read ahead and sorted by length before they are cut into batches
    first_window: int  # the first windows are smaller, so that the first trees come soon
    batch_words: int
    batch_cells: int  # cells of padded charts
    prefetch: int  # batches started before the trees of the first one are waited for

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ValueError(f"window is {self.window} sentences; expected 1 or more")

    @property
    def window_sizes(self) -> Iterator[int]:
        """The number of sentences in each window: the first ones grow until they have `window` sentences."""
        size = self.first_window
        while size < self.window:
            yield size
            size *= 4
        yield from repeat(self.window)

    @property
    def budget(self) -> Budget:
        return Budget(words=self.batch_words, cells=self.batch_cells)


# A GPU scores a large batch in little more time than a small one, and works while the host reads and writes, but it
# waits for the first window. On a CPU each thread has its own batch, whose activations should stay in the cache.
# benchmarks/parse.py measures other values.
DEFAULT_BATCHING = {
    "cpu": BatchingConfig(window=4096, first_window=64, batch_words=600, batch_cells=1_000_000, prefetch=0),
    "cuda": BatchingConfig(window=8192, first_window=8192, batch_words=40_000, batch_cells=4_000_000, prefetch=2),
}


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences by column. Tags and constraints are None if the caller gave none."""

    numbers: Sequence[int]  # for error messages
    words: Sequence[Sequence[str]]  # as they appear in trees
    model_words: Sequence[Sequence[str]]  # as the model reads them
    tags: Sequence[Tags | None] | None = None
    constraints: Sequence[Constraints | None] | None = None

    def __len__(self) -> int:
        return len(self.words)

    @property
    def has_constraints(self) -> bool:
        return self.constraints is not None and any(self.constraints)

    @property
    def has_tags(self) -> bool:
        return self.tags is not None and any(self.tags)

    def batches(self, budget: Budget, *, threads: int = 1) -> list[list[int]]:
        """The indices of the sentences in each batch, for threads that take one batch after the other."""
        return sorted_batches(sentence_lengths(self.words), budget=budget, threads=threads)

    def select(self, indices: Sequence[int]) -> "Sentences":
        words = _select(self.words, indices)
        return Sentences(
            [self.numbers[index] for index in indices],
            words,
            words if self.model_words is self.words else _select(self.model_words, indices),
            None if self.tags is None else [self.tags[index] for index in indices],
            None if self.constraints is None else [self.constraints[index] for index in indices],
        )


def _select(words: Sequence[Sequence[str]], indices: Sequence[int]) -> Sequence[Sequence[str]]:
    return words.select(indices) if isinstance(words, TokenLines) else [words[index] for index in indices]


MAX_WORDS = 5000  # words per sentence: parsing takes about 50 bytes for each pair of words
MAX_ANALYZED_WORDS = 1000  # probabilities and alternatives take about 2,000 bytes for each pair


class TextSplitter:
    """The methods of a parser that split raw text: by the rules of its language, or by words that it finds itself."""

    language: str

    @property
    def model_config(self) -> ModelConfig:
        raise NotImplementedError

    def split_text(self, text: str) -> Iterator[list[Token]]:
        """Splits a text into sentences of tokens, on demand, as `parse_text` reads them."""
        if self._character_parser is None:
            return split_sentences(text, language=self.language)
        for_trees, for_words = tee(split_sentences(text, language=self.language, in_characters=True))
        trees = self._character_parser.parse_many(for_trees)
        return (join_characters(text, tokens, tree.tags) for tokens, tree in zip(for_words, trees, strict=True))

    def tokenize(self, sentence: str) -> list[Token]:
        """The tokens of a text that is one sentence."""
        return list(chain.from_iterable(self.split_text(sentence)))

    @cached_property
    def _character_parser(self) -> "Parser | None":
        """The same parser with the scheme in which it finds words; None if it has no such scheme."""
        if CHARACTERS not in self.model_config.schemes:
            return None
        parser = cast("Parser", object.__new__(type(self)))
        parser.__dict__.update(self.__dict__)
        parser.scheme = CHARACTERS
        return parser


@dataclass(frozen=True, kw_only=True)
class SentenceReader:
    """Reads what callers pass as sentences: a string is raw text, a list is words or tokens."""

    tokenize: Callable[[str], list[Token]]
    needs_tags: bool  # the model has tags as input
    max_words: int = MAX_WORDS

    def windows(
        self,
        sentences: Iterable[str | Words],
        tags: Iterable[Tags | None] | None,
        constraints: Iterable[Constraints | None] | None,
        *,
        sizes: Iterable[int],
    ) -> Iterator[Sentences]:
        """Windows of these numbers of sentences, read on demand."""
        if isinstance(sentences, str):
            raise TypeError("the sentences are a string; expected a list of sentences, or parse_text() for a document")
        optional = {"tags": tags, "constraints": constraints}
        columns = {name: column for name, column in optional.items() if column is not None}
        rows = zip(sentences, *columns.values(), strict=True)
        first = 0
        for size in sizes:
            window = list(islice(rows, size))
            if not window:
                return
            words, *others = zip(*window, strict=True)
            given = dict(zip(columns, others, strict=True))
            try:
                sentences_read = self.window(words, first, **given)
            except (TypeError, ValueError):  # the sentences before the wrong one are parsed first
                for end in range(len(window)):
                    row = {name: column[end : end + 1] for name, column in given.items()}
                    yield self.window(words[end : end + 1], first + end, **row)
                raise
            yield sentences_read
            first += len(window)

    def window(
        self,
        sentences: Iterable[str | Words],
        first: int = 0,
        *,
        tags: Sequence[Tags | None] | None = None,
        constraints: Sequence[Constraints | None] | None = None,
    ) -> Sentences:
        """One window, whose sentences are numbered from `first`."""
        if isinstance(sentences, TokenLines) and tags is None and constraints is None and self._can_read(sentences):
            return Sentences(range(first, first + len(sentences)), sentences, sentences)
        words: list[Sequence[str]] = []
        model_words: list[Sequence[str]] = []
        for number, sentence in enumerate(sentences, first):
            if isinstance(sentence, str):
                sentence = self.tokenize(sentence)
            _check_sentence(number, sentence)
            if len(sentence) and isinstance(sentence[0], tuple):
                tokens = cast("Sequence[Token]", sentence)
                words.append([token.tree_word for token in tokens])
                model_words.append([token.word for token in tokens])
            else:
                words.append(cast("Sequence[str]", sentence))
                model_words.append(cast("Sequence[str]", sentence))
            _check_words(number, words[-1], self.max_words)
        self._check_tags(first, words, tags)
        for number, given in enumerate(constraints or (), first):
            if not isinstance(given, Constraints | None):
                raise TypeError(
                    f"sentence {number} has the constraints {given!r:.80}; expected Constraints(require=...)"
                )
        return Sentences(range(first, first + len(words)), words, model_words, tags, constraints)

    def _can_read(self, lines: TokenLines) -> bool:
        return not self.needs_tags and int(lines.lengths.max(initial=0)) <= self.max_words

    def _check_tags(self, first: int, words: Sequence[Sequence[str]], tags: Sequence[Tags | None] | None) -> None:
        if tags is None and not self.needs_tags:
            return
        for number, (sentence, sentence_tags) in enumerate(zip(words, tags or [None] * len(words), strict=True), first):
            if self.needs_tags and (sentence_tags is None or None in sentence_tags):
                missing = "no tags" if sentence_tags is None else f"no tag for word {sentence_tags.index(None)}"
                raise ValueError(f"sentence {number} has {missing} and the model reads them; give them as `tags`")
            _check_tag_list(sentence_tags)
            if sentence_tags is not None and len(sentence_tags) != len(sentence):
                raise ValueError(
                    f"sentence {number} has {len(sentence)} words and {len(sentence_tags)} tags; "
                    "expected a list with a tag for each word"
                )


def many(condition: Any) -> list[Any] | None:
    """The conditions of a batch with one sentence; None if it has none."""
    return None if condition is None else [condition]


def has_words(cell: Any) -> TypeGuard[str | Words]:
    """Whether the cell of a table has words; a missing cell is None, NaN or the NA of pandas."""
    if cell is None or type(cell).__name__ == "NAType" or (isinstance(cell, float) and math.isnan(cell)):
        return False
    return bool(cell.strip()) if isinstance(cell, str) else len(cell) > 0


def warn_about_text(text: str, language: str) -> None:
    """Warns if the string that a caller passes as a sentence has several sentences or another language."""
    from treecrf.text import language_warning, sentence_count_warning

    for message in (sentence_count_warning(text, language=language), language_warning(text.split(), language)):
        if message is not None:
            warnings.warn(message, UserWarning, stacklevel=3)


def warn_about_document(text: str) -> None:
    """Warns if a document has tables, markup or other lines that are not running text."""
    from treecrf.text import layout_warning

    if not isinstance(text, str):
        raise TypeError(f"the document is {text!r:.80}; expected a string, or parse_many() for a list of sentences")
    if message := layout_warning(text):
        warnings.warn(message, UserWarning, stacklevel=3)


def _check_tag_list(tags: Any) -> None:
    is_list = not isinstance(tags, str | bytes | Mapping | Set)
    if tags is not None and not (is_list and all(tag is None or isinstance(tag, str) for tag in tags)):
        raise TypeError(f"the tags are {tags!r:.80}; expected a list with a tag for each word")


def _check_sentence(number: int, sentence: Any) -> None:
    if isinstance(sentence, bytes | Mapping) or not hasattr(sentence, "__getitem__"):
        raise TypeError(f"sentence {number} is {sentence!r:.80}; expected a string, or a list of words")
    if len(sentence) and isinstance(sentence[0], tuple) and not hasattr(sentence[0], "tree_word"):
        raise TypeError(f"sentence {number} has {sentence[0]!r:.80} for a word; expected words, and tags as `tags`")


def _check_words(number: int, words: Sequence[Any], limit: int) -> None:
    try:
        text = "".join(words)  # the fastest check that every word is a string
    except TypeError:
        word = next(word for word in words if not isinstance(word, str))
        hint = "" if isinstance(word, str | int | float) or word is None else "; parse_many() takes several sentences"
        raise TypeError(f"sentence {number} has a word that is not a string: {word!r:.80}{hint}") from None
    if " " in text and any(" " in word and word.endswith((".", "!", "?")) for word in words):
        message = f"sentence {number} has words like sentences, such as {words[0]!r:.80}; parse_many takes sentences"
        warnings.warn(message, UserWarning, stacklevel=2)
    if not len(words):
        raise ValueError(
            f"sentence {number} has no words; expected at least one, or parse_column(), which gives None for it"
        )
    if len(words) > limit:
        raise ValueError(
            f"sentence {number} has {len(words):,} words; expected at most {limit:,}, because the memory grows with "
            "the square of the length; split it into sentences"
        )


class Scorer(Protocol):
    """The part of a network that a parser uses: `nn.SpanModel` or `runtime.scorer.Scorer`."""

    @property
    def config(self) -> ModelConfig:
        """The shape of the network."""

    @property
    def device(self) -> str:
        """The device that computes: cpu, or a GPU such as cuda:0."""

    @property
    def precision(self) -> str:
        """The precision of its products, for messages."""

    @property
    def initialize_thread(self) -> Callable[[], None] | None:
        """Function that a thread calls once before it scores batches beside other threads."""

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch, as NumPy arrays."""


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Scores batches of sentences: strings to arrays, arrays to scores, and the tags and constraints of sentences."""

    numericalizer: Numericalizer
    scorer: Scorer
    labels: LabelSet
    root: str
    scheme: int = 0  # annotation scheme, counted from 1; 0 is none
    rules: Scheme | None = None  # the labels, tags and productions of this scheme

    def __call__(self, sentences: Sentences) -> Scores:
        """The scores of a batch, given the tags and constraints."""
        batch = self.collate(sentences)
        scores = self.scorer.score(batch).check_finite()
        scores = bind_tags(scores if self.rules is None else self.rules.restrict(scores), batch.tags)
        if not sentences.has_constraints:
            return scores
        assert sentences.constraints is not None
        return apply_constraints(scores, sentences.constraints, self.labels, self.root, numbers=sentences.numbers)

    def collate(self, sentences: Sentences) -> Batch:
        """The ids of sentences, of the tags that callers have given, and of the scheme."""
        schemes = [self.scheme] * len(sentences) if self.scheme else None
        tags: list[Tags] | None = None
        if sentences.tags is not None and sentences.has_tags:
            pairs = zip(sentences.tags, sentences.words, strict=True)
            tags = [[None] * len(words) if given is None else given for given, words in pairs]
        return self.numericalizer.collate(sentences.model_words, tags=tags, schemes=schemes)


def bind_tags(scores: Scores, tags: Ints | None) -> Scores:
    """The scores with given tags, (b, n + 2) ids of a batch, as the only ones of their words."""
    if tags is None or scores.tags is None:
        return scores
    given = tags[:, 1:-1, None] - len(SPECIAL)  # negative: not given, or not in the vocabulary
    is_possible = (given < 0) | (given == np.arange(scores.tags.shape[-1]))
    return replace(scores, tags=np.where(is_possible, scores.tags, np.float32(-np.inf)))


@dataclass(frozen=True, kw_only=True)
class BatchDecoder:
    """Decodes batches of sentences on the host: scores them and finds their best trees."""

    scorer: BatchScorer
    mbr: bool
    expected_f1: ExpectedF1 | None
    keeps_vectors: bool = False  # whether the trees come with the vectors of their words

    def __call__(self, sentences: Sentences) -> FlatTrees:
        scores = self.scorer(sentences)
        trees = decode(scores, mbr=self.mbr, expected_f1=self.expected_f1)
        return trees._replace(vectors=scores.word_vectors()) if self.keeps_vectors else trees


def decode_windows(
    windows: Iterable[tuple[K, Sentences]],
    decoder: Callable[[Sentences], D],
    build: Callable[[Sentences, D], Iterable[T]],
    batching: BatchingConfig,
    *,
    threads: int = 1,
    initialize: Callable[[], None] | None = None,
) -> Iterator[tuple[K, list[T]]]:
    """Decodes each window in batches; yields its key and the results that `build` makes, one for each sentence.

    With several `threads`, each decodes batches of its own, after it has called `initialize` once.
    """
    for key, window in windows:
        batches = window.batches(batching.budget, threads=threads)
        selected = list(map(window.select, batches))
        if min(threads, len(selected)) > 1:
            decoded: Iterable[D] = parallel_map(decoder, selected, initialize=initialize)
        else:
            decoded = map(decoder, selected)
        results: dict[int, T] = {}
        for indices, sentences, batch in zip(batches, selected, decoded, strict=True):
            results.update(zip(indices, build(sentences, batch), strict=True))
        yield key, [results[index] for index in range(len(window))]
