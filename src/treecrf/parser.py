"""The parser: a network with its vocabulary, from words to trees."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch import Tensor

from treecrf.analysis import Analysis, analyses, bracket_crf
from treecrf.chart.crf import SpanCRF
from treecrf.cnf import from_spans
from treecrf.constraints import Constraints, Labels, condition
from treecrf.encode.batching import Budget, sorted_batches
from treecrf.encode.encoder import Encoder
from treecrf.encode.pieces import WordPieces
from treecrf.encode.vocabulary import Vocabulary
from treecrf.folder import ParserConfig, Parts, load_parts, save_parts
from treecrf.forms import Forms
from treecrf.nn import Decoded, Scores, SpanModel, decode
from treecrf.tree import Span, Tree

if TYPE_CHECKING:
    from treecrf.text import Token

Words = Sequence[str] | Sequence["Token"]  # or a string, which is raw text
Tags = Sequence[str | None]  # None stands for whatever the model predicts

_WINDOW = 4096  # sentences that are sorted by length before they are cut into batches
_NO_TAG = "_"  # the tag of words that nobody tagged


class Sentence(NamedTuple):
    """Words to parse, perhaps with their tags and what is known of the tree; `number` is for messages."""

    number: int
    words: Sequence[str]  # as they stand in the tree
    forms: Sequence[str]  # as the model reads them
    tags: Tags | None = None
    constraints: Constraints | None = None


class Parser:
    """Parses sentences, one or many, on the device that its model is on; threads may share it."""

    def __init__(
        self,
        model: SpanModel,
        vocabulary: Vocabulary,
        *,
        root: str = "TOP",
        language: str = "en",
        forms: Forms = "as-is",
        pieces: WordPieces | None = None,
    ) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.root = root
        self.language = language
        self.forms = forms
        self.encoder = Encoder(vocabulary, characters=model.config.char_size > 0, pieces=pieces, forms=forms)
        self._pieces = pieces
        self._labels = Labels(vocabulary.labels)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @staticmethod
    def load(source: str | Path, device: str | torch.device | None = None) -> "Parser":
        """The parser that `save` wrote into a folder, or one that came with the package, by its name.

        It runs on a GPU if there is one, unless `device` says otherwise. Nothing in the folder is ever executed.
        """
        parts = load_parts(source)
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        return Parser(
            parts.model.to(place).eval(),
            parts.vocabulary,
            root=parts.config.root,
            language=parts.config.language,
            forms=parts.config.forms,
            pieces=parts.pieces,
        )

    def save(self, folder: str | Path) -> None:
        """Write everything that `load` needs into a folder; one that is there is replaced at once or not at all."""
        config = ParserConfig(root=self.root, language=self.language, forms=self.forms, model=self.model.config)
        save_parts(folder, Parts(config, self.vocabulary, self.model, self._pieces))

    def parse(
        self,
        words: str | Words,
        *,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        mbr: bool = True,
    ) -> Tree:
        """The tree of one sentence: a string is raw text, a list its words."""
        (tree,) = self.parse_many([words], tags=_one(tags), constraints=_one(constraints), mbr=mbr)
        return tree

    def parse_many(
        self,
        sentences: Iterable[str | Words],
        *,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        batch_words: int = 5000,
        mbr: bool = True,
    ) -> Iterator[Tree]:
        """The trees of sentences, in their order: a string is the raw text of one, a list its words or `text.Token`s.

        Sentences are read as trees are asked for, some thousands ahead. Given `tags` stand in the trees, and are what
        a model that reads tags reads; without them, those that the model predicts, if it does, as for a sentence or
        a word whose tag is `None`. Trees meet the `constraints` of their sentence.
        """
        for window in self._windows(sentences, tags, constraints):
            yield from self._parse_window(window, batch_words=batch_words, mbr=mbr)

    def analyze(
        self,
        words: str | Words,
        *,
        k: int = 1,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        mbr: bool = True,
    ) -> Analysis:
        """The tree that `parse` gives, how probable it and its constituents are, and the k most probable trees."""
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
        """What `analyze` says of each sentence, in their order, read as `parse_many` does."""
        if k < 0:
            raise ValueError(f"k is {k}; expected 0 or more alternatives")
        for window in self._windows(sentences, tags, constraints):
            found: dict[int, Analysis] = {}
            for members in _batches(window, batch_words):
                found.update(zip(members, self._analyze([window[member] for member in members], k, mbr), strict=True))
            yield from (found[number] for number in range(len(window)))

    @torch.no_grad()
    def crf(
        self,
        words: str | Words,
        *,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
    ) -> SpanCRF:
        """The distribution over a sentence's binary trees, labels summed out: a batch of one."""
        (window,) = self._windows([words], _one(tags), _one(constraints))
        return bracket_crf(*self._scores(window))

    def _windows(
        self,
        sentences: Iterable[str | Words],
        tags: Iterable[Tags | None] | None,
        constraints: Iterable[Constraints | None] | None,
    ) -> Iterator[list[Sentence]]:
        """Some thousands of sentences at a time."""
        self.model.eval()
        given = {"words": sentences, "tags": tags, "constraints": constraints}
        columns = {name: column for name, column in given.items() if column is not None}
        rows = enumerate(zip(*columns.values(), strict=True))
        while window := [
            self._sentence(number, **dict(zip(columns, row, strict=True))) for number, row in islice(rows, _WINDOW)
        ]:
            yield window

    def _sentence(
        self,
        number: int,
        words: str | Words,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
    ) -> Sentence:
        if isinstance(words, str):
            from treecrf.text import tokenize

            words = tokenize(words, language=self.language)
        shown, read = words, words
        if words and isinstance(words[0], tuple):
            tokens = cast("Sequence[Token]", words)
            shown, read = [token.text for token in tokens], [token.word for token in tokens]
        self._check(number, cast("Sequence[str]", shown), tags)
        return Sentence(number, cast("Sequence[str]", shown), cast("Sequence[str]", read), tags, constraints)

    def _check(self, number: int, words: Sequence[str], tags: Tags | None) -> None:
        try:
            "".join(words)  # which looks at every type in no time
        except TypeError as error:
            raise TypeError(f"sentence {number} has a word that is no string: {error}") from None
        if not words:
            raise ValueError(f"sentence {number} has no words; expected at least one")
        if self.model.config.tag_size and (tags is None or None in tags):
            which = "no tags" if tags is None else f"no tag for word {tags.index(None)}"
            raise ValueError(f"sentence {number} has {which} and the model reads them; give them as `tags`")
        if tags is not None and len(tags) != len(words):
            raise ValueError(
                f"sentence {number} has {len(words)} words and {len(tags)} tags; expected a tag for each word"
            )

    def _parse_window(self, window: list[Sentence], *, batch_words: int, mbr: bool) -> list[Tree]:
        trees: dict[int, Tree] = {}
        running: tuple[list[int], Decoded] | None = None  # the device works on a batch while the last one's trees grow
        for members in _batches(window, batch_words):
            started = members, self._start([window[member] for member in members], mbr=mbr)
            if running is not None:
                trees.update(self._trees(window, *running))
            running = started
        if running is not None:
            trees.update(self._trees(window, *running))
        return [trees[number] for number in range(len(window))]

    @torch.no_grad()
    def _start(self, sentences: list[Sentence], *, mbr: bool) -> Decoded:
        scores, allowed = self._scores(sentences)
        return decode(scores, mbr=mbr, allowed=allowed)

    def _scores(self, sentences: list[Sentence]) -> tuple[Scores, Tensor | None]:
        """The network's scores given the constraints, and the chart of spans that are allowed if any is not."""
        tags = [cast("Sequence[str]", sentence.tags) for sentence in sentences]  # which `_check` saw, if they are read
        batch = self.encoder.collate(
            [sentence.forms for sentence in sentences], tags=tags if self.model.config.tag_size else None
        )
        scores = self.model(batch.to(self.device))
        constraints = [sentence.constraints for sentence in sentences]
        if not any(constraints):
            return scores, None
        return condition(scores, constraints, self._labels, self.root, numbers=[s.number for s in sentences])

    def _trees(self, window: list[Sentence], members: list[int], decoded: Decoded) -> Iterator[tuple[int, Tree]]:
        decoded = decoded.cpu()
        starts, ends = decoded.starts.tolist(), decoded.ends.tolist()
        spans = map(Span, starts, ends, [self.vocabulary.labels[label] for label in decoded.labels.tolist()])
        for member, leaves in zip(members, self._leaves([window[member] for member in members], decoded), strict=True):
            yield member, from_spans(islice(spans, 2 * len(leaves) - 1), leaves, self.root)

    @torch.no_grad()
    def _analyze(self, sentences: list[Sentence], k: int, mbr: bool) -> list[Analysis]:
        scores, allowed = self._scores(sentences)
        decoded = decode(scores, mbr=mbr, allowed=allowed)
        leaves = list(self._leaves(sentences, decoded.cpu()))
        return list(analyses(scores, decoded, leaves, self._labels, root=self.root, allowed=allowed, k=k))

    def _leaves(self, sentences: list[Sentence], decoded: Decoded) -> Iterator[list[Tree]]:
        """Each sentence's preterminals: its words under given tags, or else predicted ones."""
        tags = None if decoded.tags is None else map(self.vocabulary.tags.__getitem__, decoded.tags.tolist())
        for sentence in sentences:
            count = len(sentence.words)
            predicted = [_NO_TAG] * count if tags is None else list(islice(tags, count))
            known = predicted if sentence.tags is None else map(_first, sentence.tags, predicted)
            yield [Tree(tag, (word,)) for tag, word in zip(known, sentence.words, strict=True)]


def _first(given: str | None, predicted: str) -> str:
    return predicted if given is None else given


def _one(given: Any) -> list[Any] | None:
    return None if given is None else [given]


def _batches(window: list[Sentence], batch_words: int) -> list[list[int]]:
    return sorted_batches([len(sentence.words) for sentence in window], budget=Budget(words=batch_words))
