"""Trees with probabilities: the results of a parser, for formats, tables and drawings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treecrf.trees.drawing import svg
from treecrf.trees.other_libraries import explain_names
from treecrf.trees.tree import Tree
from treecrf.trees.tree_differences import describe_difference


class FunctionTag(NamedTuple):
    """A function of a constituent, such as SBJ, with the calibrated probability that the constituent has it."""

    name: str
    probability: float


@dataclass(frozen=True, slots=True)
class Constituent:
    """A constituent over `words[start:end]`, with its functions if they were requested.

    `probability` is its marginal: the sum of the probabilities of all trees that contain it. `calibrated` is the
    calibrated probability, which is about the share of such constituents that are correct.
    """

    start: int
    end: int
    label: str
    probability: float
    calibrated: float
    functions: tuple[FunctionTag, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the best readings of a sentence, given by its best tree.

    Trees are the same reading if every word depends on the same word in both, and if the same words are verbs or heads
    of clauses. `probability` sums the trees of the reading among the most probable trees of the sentence. The tree has
    the tags, and over single words the constituents, that the grammar supports best for this tree; without a grammar it
    has the most probable ones. `log_prob` and `calibrated` are the log-probability and the calibrated probability of
    the tree alone; with the tree of the analysis, calibrated probabilities of all alternatives sum to at most 1.
    `constituents` follow `tree.spans()`, in their order. `differences` describe the changes from the first alternative.
    """

    tree: Tree
    log_prob: float
    calibrated: float
    probability: float
    constituents: tuple[Constituent, ...]
    differences: tuple[str, ...]


@explain_names
@dataclass(frozen=True, slots=True)
class Analysis:
    """A tree with its probabilities, given the constraints if there are any.

    `log_prob` is the log-probability of the tree. `calibrated` is the calibrated probability that the tree is entirely
    correct, which is about the share of such trees that are. `entropy` is the entropy of the distribution over
    bracketings, in nats. `constituents` follow `tree.spans()`, in their order. `alternatives` are the best
    readings: the most probable one, then others in the order of their probability and of the grammar's support. If
    `alternatives_exact` is false, the search has reached the limit on its work before it had enough readings.
    """

    tree: Tree
    log_prob: float
    calibrated: float
    entropy: float
    constituents: tuple[Constituent, ...]
    alternatives: tuple[Alternative, ...]
    alternatives_exact: bool
    marginals: tuple[list[float], ...] | None = None

    @property
    def differences(self) -> tuple[str, ...]:
        """The changes from the most probable tree to this tree; empty without alternatives."""
        return tuple(describe_difference(self.alternatives[0].tree, self.tree)) if self.alternatives else ()

    def _repr_svg_(self) -> str:
        """The picture that notebooks show: the tree, its constituents colored by calibrated probability."""
        return svg(self.tree, [constituent.calibrated for constituent in self.constituents])


Offsets = Sequence[tuple[int, int]]  # the start and end of each word in a text, in characters


@explain_names
class ParsedSentence(NamedTuple):
    """A tree with the offsets of its words in a text, and probabilities if they were requested.

    `text` is the part of the text from `start` to `end`, if it is known.
    """

    tree: Tree
    offsets: Offsets
    analysis: Analysis | None = None
    text: str = ""

    @property
    def start(self) -> int:
        return self.offsets[0][0]

    @property
    def end(self) -> int:
        return self.offsets[-1][1]
