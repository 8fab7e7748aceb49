"""The parts of a tree that annotators have fixed, and the actions that change them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from treecrf.corpus.annotation.events import Event
from treecrf.parser.decoding.constraints import Bracket, Constraints, ImpossibleError
from treecrf.trees.tree import Span, Tree

STATUS = {"done": "done", "partial": "partial", "skip": "skipped", "open": "open"}
MAX_BRACKETS = 2000  # fixed brackets per sentence


@dataclass(frozen=True, kw_only=True)
class SentenceState:
    """The words of a sentence, the brackets and tags that are fixed, and the status."""

    words: tuple[str, ...]
    require: tuple[Bracket, ...] = ()
    forbid: tuple[Bracket, ...] = ()
    tags: tuple[str | None, ...] = ()  # one per word, or none at all
    status: str = "open"
    tree: str = ""  # brackets of a finished tree
    note: str = ""

    @property
    def constraints(self) -> Constraints:
        return Constraints(require=self.require, forbid=self.forbid)

    @property
    def fixed_tags(self) -> dict[int, str]:
        return {position: tag for position, tag in enumerate(self.tags) if tag is not None}

    def apply(self, event: Event) -> "SentenceState":
        """The state after an event; an action on the tree opens a finished sentence again."""
        if event.action in STATUS:
            tree = self._checked_tree(event.tree) if event.action == "done" else ""
            return replace(self, status=STATUS[event.action], tree=tree, note=event.text)
        opened = replace(self, status="open", tree="", note="")
        if event.action == "tag":
            return opened._with_tags({int(position): tag for position, tag in (event.tags or {}).items()})
        if event.action == "free":
            return opened._without(event.start, event.end)
        if event.action == "tokens":
            return opened._with_words(event.start, event.end, tuple(event.words))
        constraints = Constraints(require=event.require, forbid=event.forbid)
        return opened._with_brackets(map(Bracket._make, constraints.require), map(Bracket._make, constraints.forbid))

    def _checked_tree(self, brackets: str) -> str:
        tree = Tree.parse(brackets)
        if tree.words != list(self.words):
            raise ValueError(f"the tree is over {' '.join(tree.words)!r:.60}; expected the words of the sentence")
        return str(tree)

    def _with_brackets(self, require: Iterable[Bracket], forbid: Iterable[Bracket]) -> "SentenceState":
        """Adds brackets; a new one replaces its contrary."""
        require, forbid = list(require), list(forbid)
        if len(self.require) + len(self.forbid) + len(require) + len(forbid) > MAX_BRACKETS:
            raise ValueError(f"the sentence would have more than {MAX_BRACKETS:,} fixed brackets; undo some first")
        required, forbidden = list(self.require), list(self.forbid)
        for new in forbid:
            self._check_span(new.start, new.end)
            required = [old for old in required if old[:2] != new[:2] or new.label not in (None, old.label)]
            forbidden = [old for old in forbidden if old != new] + [new]
        for new in require:
            self._check_span(new.start, new.end)
            forbidden = [old for old in forbidden if old[:2] != new[:2] or old.label not in (None, new.label)]
            required = [old for old in required if old != new] + [new]
        return replace(self, require=tuple(required), forbid=tuple(forbidden))

    def _with_tags(self, tags: dict[int, str]) -> "SentenceState":
        for position, tag in tags.items():
            self._check_span(position, position + 1)
            if not isinstance(tag, str) or tag.split() != [tag] or "(" in tag or ")" in tag:
                raise ValueError(f"the tag is {tag!r:.40}; expected a name without spaces and parentheses")
        return replace(self, tags=tuple(tags.get(i, old) for i, old in enumerate(self._all_tags())))

    def _without(self, start: int | None, end: int | None) -> "SentenceState":
        """Takes back the brackets of a span, and the tag of a single word."""
        start, end = self._given_span(start, end)
        kinds = self.require, self.forbid
        require, forbid = (tuple(old for old in kind if old[:2] != (start, end)) for kind in kinds)
        tags = tuple(None if (i, i + 1) == (start, end) else tag for i, tag in enumerate(self.tags))
        if (require, forbid, tags) == (self.require, self.forbid, self.tags):
            raise ValueError(f"nothing is fixed about words[{start}:{end}]")
        return replace(self, require=require, forbid=forbid, tags=tags)

    def _with_words(self, start: int | None, end: int | None, words: tuple[str, ...]) -> "SentenceState":
        """Splits or joins words; the characters stay, brackets around the words move, and their tags are open again."""
        start, end = self._given_span(start, end)
        old = "".join(self.words[start:end])
        if not all(isinstance(word, str) and word and " " not in word for word in words) or "".join(words) != old:
            raise ValueError(f"the new words are {list(words)!r:.80}; expected the characters of {old!r:.80}")
        change = len(words) - (end - start)

        def moved(brackets: Sequence[Bracket]) -> tuple[Bracket, ...]:
            for bracket in brackets:
                if start < bracket.start < end or start < bracket.end < end:
                    raise ImpossibleError(f"{bracket} is fixed, and begins or ends inside the word; undo it first")
            return tuple(
                Bracket(item.start + change * (item.start >= end), item.end + change * (item.end >= end), item.label)
                for item in brackets
            )

        tags = self._all_tags()
        return replace(
            self,
            words=(*self.words[:start], *words, *self.words[end:]),
            require=moved(self.require),
            forbid=moved(self.forbid),
            tags=(*tags[:start], *[None] * len(words), *tags[end:]) if self.tags else (),
        )

    def _all_tags(self) -> tuple[str | None, ...]:
        return self.tags or (None,) * len(self.words)

    def _given_span(self, start: int | None, end: int | None) -> tuple[int, int]:
        if start is None or end is None:
            raise ValueError("start or end of the words is missing")
        self._check_span(start, end)
        return start, end

    def _check_span(self, start: int, end: int) -> None:
        if not (type(start) is type(end) is int) or not 0 <= start < end <= len(self.words):
            raise ValueError(f"words[{start}:{end}] are not in this sentence of {len(self.words)} words")


class SentenceHistory:
    """The states of a sentence, in their order; undo and redo move among them."""

    def __init__(self, words: Sequence[str]) -> None:
        self.states = [SentenceState(words=tuple(words))]
        self.position = 0
        self.version = 0  # number of events
        self.comment = ""

    @property
    def state(self) -> SentenceState:
        return self.states[self.position]

    @property
    def can_undo(self) -> bool:
        return self.position > 0

    @property
    def can_redo(self) -> bool:
        return self.position + 1 < len(self.states)

    def next_state(self, event: Event) -> SentenceState:
        """The state after an event, without recording it."""
        if event.action in ("undo", "redo"):
            if not (self.can_undo if event.action == "undo" else self.can_redo):
                raise ValueError(f"there is nothing to {event.action}")
            return self.states[self.position + (1 if event.action == "redo" else -1)]
        return self.state if event.action == "comment" else self.state.apply(event)

    def record(self, event: Event) -> None:
        state = self.next_state(event)
        if event.action == "comment":
            self.comment = event.text
        elif event.action in ("undo", "redo"):
            self.position += 1 if event.action == "redo" else -1
        else:
            self.states = [*self.states[: self.position + 1], state]
            self.position += 1
        self.version += 1


def attachment(tree: Tree, moved: Span, target: Span) -> Constraints:
    """The brackets of a tree in which the constituent `moved` is attached to `target`.

    A target around the constituent is a higher attachment: the constituents in between are forbidden. Any other target
    grows until it contains the constituent.

    >>> tree = Tree.parse("(VP (V saw) (NP (NP (N girls)) (PP (P with) (NP (N hats)))))")
    >>> attachment(tree, Span(2, 4, "PP"), Span(0, 4, "VP")).forbid
    (Bracket(start=1, end=4, label=None),)
    """
    kept = (moved.start, moved.end, moved.label)
    if target.start <= moved.start and moved.end <= target.end:
        between = {
            (span.start, span.end)
            for span in tree.spans()
            if span.start <= moved.start and moved.end <= span.end and target.start <= span.start
            if span.end <= target.end and (span.start, span.end) not in {(target.start, target.end), kept[:2]}
        }
        return Constraints(require=[kept], forbid=sorted(between))
    if moved.start < target.end and target.start < moved.end:
        raise ValueError(f"{target} is inside {moved}; expected a constituent outside it")
    union = (min(moved.start, target.start), max(moved.end, target.end), target.label)
    return Constraints(require=[kept, union])
