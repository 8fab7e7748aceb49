"""Methods of `Parser` that draw trees from the distribution of a sentence.

What they need is imported when they are called: parsing starts sooner without it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from treecrf.parser.decoding.bracket_distribution import BracketDistribution
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.decoding.decode import decode
from treecrf.parser.decoding.expected_f1 import ExpectedF1
from treecrf.parser.decoding.tree_builder import TreeBuilder, write_brackets
from treecrf.parser.inputs import BatchingConfig, SentenceReader, Sentences, Tags, Words
from treecrf.parser.pipeline import BatchScorer
from treecrf.trees.tree import Tree

if TYPE_CHECKING:
    from treecrf.parser.tree_samples import TreeSamples
    from treecrf.trees.search import ExpectedCount, Pattern


class _Parser(Protocol):
    """What the methods use of a parser."""

    language: str

    @property
    def batching(self) -> BatchingConfig: ...
    @property
    def reader(self) -> SentenceReader: ...
    @property
    def batch_scorer(self) -> BatchScorer: ...
    @property
    def expected_f1(self) -> ExpectedF1 | None: ...
    @property
    def tree_builder(self) -> TreeBuilder: ...
    def sample_many(
        self,
        sentences: Iterable[str | Words],
        count: int,
        *,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        seed: int = 0,
    ) -> "Iterator[TreeSamples]": ...


class TreeSampling:
    """Draws trees, each with its exact probability; `Parser` inherits this."""

    def sample(
        self: "_Parser",
        words: str | Words,
        count: int = 1,
        *,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        seed: int = 0,
    ) -> list[Tree]:
        """Draws trees of a sentence, each with its exact probability; see `log_prob`.

        Tags that are not given are drawn as well, each by its probability.
        """
        samples = self.sample_many([words], count, tags=_one(tags), constraints=_one(constraints), seed=seed)
        return next(samples).trees

    def sample_many(
        self: "_Parser",
        sentences: Iterable[str | Words],
        count: int,
        *,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        seed: int = 0,
    ) -> "Iterator[TreeSamples]":
        """Draws `count` trees of each sentence like `sample`, in input order; sentences are read as in `parse_many`."""
        if count < 1:
            raise ValueError(f"the number of samples is {count}; expected 1 or more")
        batching = self.batching
        for window in self.reader.windows(sentences, tags, constraints, sizes=batching.window_sizes):
            samples: dict[int, TreeSamples] = {}
            for indices in window.batches(batching.budget):
                samples.update(zip(indices, _sample(self, window.select(indices), count, seed), strict=True))
            yield from (samples[index] for index in range(len(window)))

    def expected_count(
        self: "_Parser",
        pattern: "str | Pattern",
        words: str | Words,
        *,
        tags: Tags | None = None,
        constraints: Constraints | None = None,
        samples: int = 1000,
        seed: int = 0,
    ) -> "ExpectedCount":
        """The expected number of matches of a Tregex pattern in the tree of a sentence, with intervals.

        The trees of the sentence are weighted by their probabilities: the mean is taken over exact samples, see
        `sample`.
        """
        from treecrf.trees.search.pattern import Pattern

        compiled = Pattern(pattern) if isinstance(pattern, str) else pattern
        trees = self.sample_many([words], samples, tags=_one(tags), constraints=_one(constraints), seed=seed)
        return next(trees).count(compiled)


def _sample(parser: "_Parser", sentences: Sentences, count: int, seed: int) -> "Iterator[TreeSamples]":
    from treecrf.parser.tree_samples import sample_sentences

    scores = parser.batch_scorer(sentences)
    distribution = BracketDistribution.of(scores)
    decoded = decode(scores, expected_f1=parser.expected_f1, distribution=distribution)
    writer = parser.tree_builder.bracket_writer(exact=True)
    best = write_brackets(writer, sentences.words, sentences.tags, decoded)
    return sample_sentences(
        sentences, scores, distribution, writer, best=best, count=count, seed=seed, language=parser.language
    )


def _one(value: Any) -> list[Any] | None:
    return None if value is None else [value]
