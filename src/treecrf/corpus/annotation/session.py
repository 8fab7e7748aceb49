"""An annotation with a parser: trees under what is fixed, the queue, and agreement."""

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from threading import Lock
from typing import Any, Literal, NamedTuple

from treecrf import TreecrfError
from treecrf.corpus.annotation.doubt import by_length, estimate_doubt, order_by_gain
from treecrf.corpus.annotation.events import Event
from treecrf.corpus.annotation.learning import Learner, Offer
from treecrf.corpus.annotation.project import Project
from treecrf.corpus.annotation.state import SentenceHistory, SentenceState, attachment
from treecrf.parser import Parser
from treecrf.trees.analysis import Constituent
from treecrf.trees.evalb import COLLINS, Score, evaluate
from treecrf.trees.tree import Span, Tree

Order = Literal["gain", "file", "shortest", "random"]
ORDERS: tuple[Order, ...] = ("gain", "file", "shortest", "random")
_ALL_SENTENCES = replace(COLLINS, max_error=None)


class StaleError(TreecrfError, ValueError):
    """The sentence has changed since its version that an action is about."""


class ParsedState(NamedTuple):
    """A tree under everything that is fixed, with the probabilities of its constituents."""

    tree: Tree
    constituents: Sequence[Constituent]


def parse_state(parser: Parser, state: SentenceState) -> ParsedState:
    """Parses a sentence under all that is fixed; the constituents of a finished tree are certain."""
    if state.tree:
        tree = Tree.parse(state.tree)
        return ParsedState(tree, [Constituent(*span, 1.0, 1.0) for span in tree.spans()])
    tags = state.tags if state.fixed_tags else None
    analysis = parser.analyze(list(state.words), k=0, tags=tags, constraints=state.constraints or None)
    return ParsedState(analysis.tree, analysis.constituents)


class AnnotationSession:
    """Annotators, their sentences and a parser. Threads may share a session."""

    def __init__(
        self,
        parser: Parser,
        project: Project,
        *,
        default_annotator: str = "annotator",
        max_words: int = 300,
        model: str | None = None,
    ) -> None:
        """With the name of the parser's `model`, the session learns from finished sentences; see `Learner`."""
        self.parser = parser
        self.max_words = max_words  # per sentence, also after words were split
        self.project = project
        self.default_annotator = default_annotator
        self._used_model = ""
        self.gains: dict[int, float] = {}  # by sentence, as far as `estimate_gains` has come
        self._lock = Lock()
        self._learner = None if model is None else Learner(project.folder, model, self._finished_count())

    def parsed(self, annotator: str, sentence: int) -> tuple[SentenceHistory, ParsedState]:
        with self._lock:
            history = self.project.history(annotator, sentence)
            return history, parse_state(self.parser, history.state)

    def act(
        self, annotator: str, sentence: int, version: int, action: str, **values: Any
    ) -> tuple[SentenceHistory, ParsedState]:
        """Carries out an action on a version of a sentence: parses again under the new state, then saves the event.

        `values` are the fields of an `Event`; `attach` has `moved` and `target`, a constituent each. An action that no
        tree allows is an error and changes nothing.
        """
        with self._lock:
            history = self.project.history(annotator, sentence)
            if version != history.version:
                raise StaleError(f"sentence {sentence + 1} was changed in another window; this is its newest state")
            if action == "attach":
                tree = parse_state(self.parser, history.state).tree
                moves = attachment(tree, *(_span(name, values.pop(name, None)) for name in ("moved", "target")))
                values |= {"require": moves.require, "forbid": moves.forbid}
            if action == "done":
                values["tree"] = str(parse_state(self.parser, history.state).tree)
            time = datetime.now(timezone.utc).isoformat(timespec="seconds")
            event = Event(sentence=sentence, version=version, action=action, time=time, **values)
            state = history.next_state(event)
            if len(state.words) > self.max_words:
                raise ValueError(f"the sentence would have {len(state.words)} words; expected at most {self.max_words}")
            result = parse_state(self.parser, state)
            statuses = {history.state.status, state.status}
            history = self.project.record(annotator, event)
            if statuses != {"open"}:
                self.project.export(annotator)
                if self._learner is not None:
                    self._learner.update(self._finished_count())
            return history, result

    def _finished_count(self) -> int:
        histories = [each for name in self.project.annotators for each in self.project.histories(name).values()]
        return sum(history.state.status in ("done", "partial") for history in histories)

    @property
    def offer(self) -> Offer | None:
        """A model adapted to the finished sentences that is not in use yet."""
        offer = None if self._learner is None else self._learner.offer
        return None if offer is None or offer.model == self._used_model else offer

    def use_offer(self, model: Any) -> None:
        """Parses with the model that is offered from now on; what is fixed or finished stays."""
        offer = self.offer
        if offer is None or offer.model != model:
            raise ValueError(f"the model {model!r:.40} is not offered; load the page again")
        parser = Parser.load(offer.folder, self.parser.device)
        with self._lock:
            self.parser, self._used_model, self.gains = parser, offer.model, {}

    def close(self) -> None:
        if self._learner is not None:
            self._learner.close()
        self.project.close()

    def estimate_gains(self) -> Iterator[int]:
        """Computes the expected gain of each sentence, the shortest first; yields the numbers of sentences."""
        gains = self.gains
        for doubt in estimate_doubt(self.parser, self.project.sentences):
            if self.gains is not gains:
                return  # another model is used now
            gains[doubt.sentence] = doubt.gain
            yield doubt.sentence

    def queue(self, annotator: str, order: Order = "gain") -> list[int]:
        """The open sentences of an annotator, the next one first."""
        with self._lock:
            histories = self.project.histories(annotator)
            closed = {number for number, history in histories.items() if history.state.status != "open"}
        return [number for number in self._ordered(order) if number not in closed]

    def _ordered(self, order: Order) -> list[int]:
        sentences = self.project.sentences
        numbers = list(range(len(sentences)))
        if order == "gain":
            return order_by_gain(sentences, dict(self.gains))  # another thread adds to them
        if order == "shortest":
            return by_length(sentences)
        if order == "random":
            random.Random(0).shuffle(numbers)
        return numbers

    def progress(self, annotator: str) -> dict[str, int]:
        """The number of sentences of each status, and of all."""
        with self._lock:
            histories = list(self.project.histories(annotator).values())
        counts = Counter(history.state.status for history in histories)
        closed = {status: counts[status] for status in ("done", "partial", "skipped")}
        return {**closed, "all": len(self.project.sentences)}

    def finished(self, annotator: str) -> dict[int, Tree]:
        """The finished trees by sentence number."""
        with self._lock:
            return self.project.finished(annotator)

    def agreement(self, first: str, second: str) -> "Agreement":
        """Compares the trees of sentences that both annotators have finished."""
        trees, others = self.finished(first), self.finished(second)
        common = [number for number in trees if number in others]
        same_words = [number for number in common if trees[number].words == others[number].words]
        score = evaluate(
            [trees[number] for number in same_words],
            [others[number] for number in same_words],
            rules=_ALL_SENTENCES,
            use_gold_tags=True,
        )
        differences = {number: (trees[number], others[number]) for number in common if trees[number] != others[number]}
        return Agreement(len(common), score, differences)


@dataclass(frozen=True)
class Agreement:
    """EVALB's score between two annotators, and their trees of the sentences on which they differ."""

    sentences: int
    score: Score
    differences: Mapping[int, tuple[Tree, Tree]]

    @property
    def f1(self) -> float | None:
        return self.score.f1 if self.score.sentences and not math.isnan(self.score.f1) else None


def _span(name: str, value: Any) -> Span:
    """A constituent in JSON."""
    if not isinstance(value, list) or list(map(type, value)) != [int, int, str]:
        raise ValueError(f"{name} is {value!r:.60}; expected a constituent: start, end and label")
    return Span(*value)
