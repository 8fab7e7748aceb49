"""The parser: a network with its vocabulary, from words to trees."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from treecrf.analysis import Analysis, analyses, bracket_crf
from treecrf.certainty import Curve
from treecrf.chart.crf import SpanCRF
from treecrf.constraints import Constraints, Labels, condition
from treecrf.encode.encoder import Encoder
from treecrf.encode.pieces import WordPieces
from treecrf.encode.vocabulary import Vocabulary
from treecrf.flow import flow
from treecrf.folder import ParserConfig, Parts, load_parts, save_parts
from treecrf.forms import Forms
from treecrf.harvest import Harvest
from treecrf.nn import Decoded, Scores, SpanModel, decode
from treecrf.nn.precision import Precision, quantize
from treecrf.nn.scores import Fetched
from treecrf.nn.worth import Worth
from treecrf.tree import Tree
from treecrf.window import PACES, Pace, Reader, Sentences, Tags, Words

T = TypeVar("T")

_LABELLED_CELLS = 1 << 28  # scores of a batch's labelled spans, where a model scores all of them


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
        certainty: Curve = Curve(),  # noqa: B008  # which is immutable
        price: float = 0.0,
        pieces: WordPieces | None = None,
    ) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.root = root
        self.language = language
        self.forms = forms
        self.certainty = certainty
        characters = model.inputs is not None and model.config.char_size > 0
        self.encoder = Encoder(vocabulary, characters=characters, pieces=pieces, forms=forms)
        self.pieces = pieces
        self._labels = Labels(vocabulary.labels)
        self.price = price

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def pace(self) -> Pace:
        """How much is parsed at once there."""
        pace = PACES.get(self.device.type, PACES["cpu"])
        if not self.model.config.one_stage:
            return pace
        return replace(pace, batch_cells=min(pace.batch_cells, _LABELLED_CELLS // len(self.vocabulary.labels)))

    @staticmethod
    def load(
        source: str | Path, device: str | torch.device | None = None, *, precision: Precision | None = None
    ) -> "Parser":
        """The parser that `save` wrote into a folder, or one that came with the package, by its name.

        It runs on a GPU if there is one, unless `device` says otherwise; on a CPU its products are of 8-bit integers
        where the processor has them, unless `precision` says otherwise. Nothing in the folder is ever executed.
        """
        parts = load_parts(source)
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        quantize(parts.model, precision, place)
        return Parser(
            parts.model.to(place).eval(),
            parts.vocabulary,
            root=parts.config.root,
            language=parts.config.language,
            forms=parts.config.forms,
            certainty=Curve(*parts.config.certainty),
            price=parts.config.price,
            pieces=parts.pieces,
        )

    def save(self, folder: str | Path) -> None:
        """Write everything that `load` needs into a folder; one that is there is replaced at once or not at all."""
        config = ParserConfig(
            root=self.root,
            language=self.language,
            forms=self.forms,
            certainty=(*self.certainty,),
            price=self.price,
            model=self.model.config,
        )
        save_parts(folder, Parts(config, self.vocabulary, self.model, self.pieces))

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
        window: int | None = None,
        batch_words: int | None = None,
        mbr: bool = True,
    ) -> Iterator[Tree]:
        """The trees of sentences, in their order: a string is the raw text of one, a list its words or `text.Token`s.

        Sentences are read as trees are asked for, a `window` of some thousands ahead, and parsed in batches of those
        alike in length; how many at once is chosen by the device. Given `tags` stand in the trees, and are what a model
        that reads tags reads; without them, those that the model predicts, if it does, as for a sentence or a word
        whose tag is `None`. Trees meet the `constraints` of their sentence.
        """
        pace = self._pace(window, batch_words)
        windows = self._reader.windows(sentences, tags, constraints, size=pace.window)
        for trees in self._flow(windows, self._harvest.trees, pace, mbr=mbr):
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
        """The brackets of the trees that `parse_many` gives, many times as fast: no tree is built for them.

        They are what `str(tree)` is, or if not `exact`, with the parentheses in words as -LRB- and -RRB-.
        """
        pace = self._pace(window, batch_words)
        windows = self._reader.windows(sentences, tags, constraints, size=pace.window)
        for lines in self._flow(windows, partial(Harvest.lines, self._harvest.writer(exact=exact)), pace, mbr=mbr):
            yield from lines

    def brackets_by_window(
        self, windows: Iterable[Iterable[str | Words]], *, exact: bool = True, mbr: bool = True
    ) -> Iterator[list[str]]:
        """What `brackets_many` gives, for windows that the caller has cut: only sentences of one share a batch."""
        read = (self._reader.window(window, 0) for window in windows)
        return self._flow(read, partial(Harvest.lines, self._harvest.writer(exact=exact)), self.pace, mbr=mbr)

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
        self.model.eval()
        pace = replace(PACES["cpu"], batch_words=batch_words)  # whose search for alternatives is the host's
        for window in self._reader.windows(sentences, tags, constraints, size=pace.window):
            found: dict[int, Analysis] = {}
            for members in window.batches(pace.budget):
                found.update(zip(members, self._analyze(window.pick(members), k, mbr), strict=True))
            yield from (found[number] for number in range(len(window)))

    @torch.no_grad()
    def crf(self, words: str | Words, *, tags: Tags | None = None, constraints: Constraints | None = None) -> SpanCRF:
        """The distribution over a sentence's binary trees, labels summed out: a batch of one."""
        self.model.eval()
        (window,) = self._reader.windows([words], _one(tags), _one(constraints), size=1)
        return bracket_crf(*self._scores(window))

    @property
    def price(self) -> float:
        """What a constituent costs, as a probability, where MBR looks for the tree that is worth the most.

        0 is the MBR of the paper, which looks for the tree with the most spans expected to be right, be they
        constituents or not.
        """
        return 0.0 if self._worth is None else self._worth.price

    @price.setter
    def price(self, price: float) -> None:
        self._worth = self._labels.worth(price) if price else None

    @property
    def worth(self) -> Worth | None:
        """What spans are worth at the price, on the model's device; None where there is no price."""
        if self._worth is not None and self._worth.holds.device != self.device:
            self._worth = self._worth.to(self.device)
        return self._worth

    @property
    def _harvest(self) -> Harvest:
        return Harvest(vocabulary=self.vocabulary, root=self.root, has_tags=self.model.tagger is not None)

    @property
    def _reader(self) -> Reader:
        return Reader(language=self.language, needs_tags=self.model.config.tag_size > 0)

    def _pace(self, window: int | None, batch_words: int | None) -> Pace:
        """The parser's own pace, but for what the caller has chosen."""
        chosen = {"window": window, "batch_words": batch_words}
        return replace(self.pace, **{name: value for name, value in chosen.items() if value is not None})

    def _flow(
        self,
        windows: Iterable[Sentences],
        make: Callable[[Sentences, Decoded], Iterable[T]],
        pace: Pace,
        *,
        mbr: bool,
    ) -> Iterator[list[T]]:
        self.model.eval()
        threads = torch.get_num_threads() if self.device.type == "cpu" else 1
        return flow(windows, partial(self._start, mbr=mbr), make, pace, threads=threads)

    @torch.no_grad()
    def _start(self, sentences: Sentences, *, mbr: bool) -> Fetched:
        """The trees of a batch; what does not fit into the device's memory at once is parsed in halves."""
        try:
            scores, allowed = self._scores(sentences)
            return decode(scores, mbr=mbr, worth=self.worth, allowed=allowed).fetch()
        except torch.OutOfMemoryError as error:
            if len(sentences) == 1:
                raise ValueError(
                    f"a sentence of {len(sentences.words[0])} words does not fit into the GPU's memory; parse it on a "
                    "CPU (device='cpu'), or let nothing else use the GPU meanwhile"
                ) from error
        torch.cuda.empty_cache()
        middle, numbers = len(sentences) // 2, range(len(sentences))
        halves = (sentences.pick(numbers[:middle]), sentences.pick(numbers[middle:]))
        return Decoded.join([self._start(half, mbr=mbr).wait() for half in halves]).fetch()

    def _scores(self, sentences: Sentences) -> tuple[Scores, Tensor | None]:
        """The network's scores given the constraints, and the chart of spans that are allowed if any is not."""
        # which the reader has seen, where the model reads them
        tags = cast("Sequence[Sequence[str]]", sentences.tags) if self.model.config.tag_size else None
        batch = self.encoder.collate(sentences.forms, tags=tags)
        if self.device.type == "cuda":
            batch = batch.pin_memory()
        scores = self.model(batch.to(self.device))
        if sentences.constraints is None or not any(sentences.constraints):
            return scores, None
        return condition(scores, sentences.constraints, self._labels, self.root, numbers=sentences.numbers)

    @torch.no_grad()
    def _analyze(self, sentences: Sentences, k: int, mbr: bool) -> list[Analysis]:
        scores, allowed = self._scores(sentences)
        crf = bracket_crf(scores, allowed)
        decoded = decode(scores, mbr=mbr, worth=self.worth, allowed=allowed, crf=crf)
        leaves = list(self._harvest.leaves(sentences, decoded.cpu()))
        found = analyses(scores, crf, decoded, leaves, self._labels, root=self.root, k=k)
        return list(map(self.certainty.adjust, found))


def _one(given: Any) -> list[Any] | None:
    return None if given is None else [given]
