"""The distribution of a parser over the trees of a sentence: samples, probabilities, and charts of tensors."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from treecrf.parser.components import Components
from treecrf.parser.decoding.constraints import Constraints
from treecrf.parser.decoding.decode import BracketDistribution
from treecrf.parser.pipeline import Tags, Words, decode_windows, many
from treecrf.parser.scorers import require_torch
from treecrf.trees.other_libraries import explain_options
from treecrf.trees.tree import Tree

if TYPE_CHECKING:
    import torch

    from treecrf.chart.crf import SpanCRF
    from treecrf.chart.tree_crf import TreeCRF
    from treecrf.parser.tree_samples import ExpectedCount, TreeSamples
    from treecrf.trees.search import Pattern


class Distributions(Components):
    """Methods of `Parser` about the distribution over trees."""

    @explain_options
    def sample(
        self,
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
        return next(self.sample_many([words], count, tags=many(tags), constraints=many(constraints), seed=seed)).trees

    def sample_many(
        self,
        sentences: Iterable[str | Words],
        count: int,
        *,
        tags: Iterable[Tags | None] | None = None,
        constraints: Iterable[Constraints | None] | None = None,
        seed: int = 0,
    ) -> "Iterator[TreeSamples]":
        """Draws `count` trees of each sentence like `sample`, in input order; sentences are read as in `parse_many`."""
        from treecrf.parser.tree_samples import sample_sentences

        if count < 1:
            raise ValueError(f"the number of samples is {count}; expected 1 or more")
        windows = self.reader.windows(sentences, tags, constraints, sizes=self.batching.window_sizes)
        sample = partial(sample_sentences, self, count=count, seed=seed)
        for _, samples in decode_windows(enumerate(windows), self.batch_scorer, sample, self.batching):
            yield from samples

    def expected_count(
        self,
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
        trees = self.sample_many([words], samples, tags=many(tags), constraints=many(constraints), seed=seed)
        return next(trees).count(pattern)

    def log_prob(self, tree: Tree, *, constraints: Constraints | None = None) -> float:
        """The log-probability of a tree, given its words; -inf for a tree that the parser never gives.

        `distribution` has the same probabilities as tensors. The tags of the tree are not part of it; they are the
        input of a model that reads tags.
        """
        if not isinstance(tree, Tree):
            raise TypeError(f"the tree is {tree!r:.80}; expected a Tree, such as Tree.parse('(S ...)')")
        tags = [tree.tags] if self.model_config.tag_size else None
        (window,) = self.reader.windows([tree.words], tags, many(constraints), sizes=[1])
        return self.tree_distribution(self.batch_scorer(window)).log_prob(0, tree)

    def crf(self, words: str | Words, *, tags: Tags | None = None, constraints: Constraints | None = None) -> "SpanCRF":
        """The distribution over a sentence's binary trees, labels summed out: a batch of one. It needs PyTorch."""
        require_torch("the distribution over trees as tensors")
        from treecrf.parser.network import to_span_crf

        (window,) = self.reader.windows([words], many(tags), many(constraints), sizes=[1])
        return to_span_crf(BracketDistribution.of(self.batch_scorer(window)), self.device)

    def distribution(
        self, words: str | Words, *, tags: Tags | None = None, constraints: Constraints | None = None
    ) -> "TreeCRF":
        """The distribution over a sentence's trees as tensors: a batch of one. It needs PyTorch.

        `log_prob` of `charts([tree])` equals `Parser.log_prob` of the tree.
        """
        return self.distribution_many([words], tags=many(tags), constraints=many(constraints))

    def distribution_many(
        self,
        sentences: Sequence[str | Words],
        *,
        tags: Sequence[Tags | None] | None = None,
        constraints: Sequence[Constraints | None] | None = None,
    ) -> "TreeCRF":
        """The distribution over the trees of each sentence: one batch, whose charts have the size of the longest."""
        require_torch("the distribution over trees as tensors")
        from treecrf.parser.network import to_tree_crf

        (window,) = self.reader.windows(sentences, tags, constraints, sizes=[len(sentences)])
        return to_tree_crf(self.tree_distribution(self.batch_scorer(window)), self.device)

    def charts(self, trees: Sequence[Tree]) -> "torch.Tensor":
        """One tree of each sentence as charts of label ids, (b, n + 1, n + 1), which a `distribution` takes."""
        from treecrf.parser.network import trees_to_charts

        return trees_to_charts(trees, self.vocabulary.labels, self.device)

    def trees(self, charts: "torch.Tensor", sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """The trees of charts that a `distribution` gives, (b, n + 1, n + 1), over words without tags."""
        from treecrf.parser.network import charts_to_trees

        leaves = self.tree_builder.untagged_leaves(sentences)
        return list(charts_to_trees(charts, leaves, self.vocabulary.labels, self.root))
