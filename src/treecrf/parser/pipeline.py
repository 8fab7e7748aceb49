"""The parsing pipeline: windows of sentences to batches, batches to trees, and trees back into input order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from treecrf.network.data.batch import Batch, Scores
from treecrf.network.data.numericalize import Numericalizer
from treecrf.parser.decoding import ExpectedF1, decode
from treecrf.parser.decoding.constraints import apply_constraints
from treecrf.parser.inputs import BatchingConfig, Sentences
from treecrf.parser.loading import Scorer
from treecrf.threads import parallel_map
from treecrf.trees.treebank.binarize import LabelSet
from treecrf.trees.treebank.bracket_writer import FlatTrees

T = TypeVar("T")
D = TypeVar("D")
K = TypeVar("K")


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Scores batches of sentences: strings to arrays, arrays to scores, and the constraints of each sentence."""

    numericalizer: Numericalizer
    scorer: Scorer
    labels: LabelSet
    root: str

    def __call__(self, sentences: Sentences) -> Scores:
        """The scores of a batch, given the constraints."""
        scores = self.scorer.score(self.collate(sentences)).check_finite()
        if not sentences.has_constraints:
            return scores
        assert sentences.constraints is not None
        return apply_constraints(scores, sentences.constraints, self.labels, self.root, numbers=sentences.numbers)

    def collate(self, sentences: Sentences) -> Batch:
        """The ids of sentences, and of their tags if the network reads tags."""
        # SentenceReader has checked that tags are there if the network reads them
        tags = cast("Sequence[Sequence[str]]", sentences.tags) if self.scorer.config.tag_size else None
        return self.numericalizer.collate(sentences.model_words, tags=tags)


@dataclass(frozen=True, kw_only=True)
class BatchDecoder:
    """Decodes batches of sentences on the host: scores them and finds their best trees."""

    scorer: BatchScorer
    mbr: bool
    expected_f1: ExpectedF1 | None

    def __call__(self, sentences: Sentences) -> FlatTrees:
        return decode(self.scorer(sentences), mbr=self.mbr, expected_f1=self.expected_f1)


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
