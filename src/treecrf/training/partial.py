"""Partial trees: sentences with some of their brackets, and sets of trees as training targets.

A file has one sentence per line. Its name says the notation; it may also end in `.gz`.

    .mrg    (S (NP the cat) sat on the mat .)
    .txt    [ the cat ] sat { on the } mat .
    .jsonl  {"words": ["the", "cat", "sat"], "require": [[0, 2, "NP"]], "forbid": [[1, 3]]}

A bracket is a constituent that the tree has; braces and `forbid` are constituents that it does not have. The rest is
open. A round bracket without a label, `( the cat)`, and a square bracket have any label. A round bracket around one
word is a tag if no longer span has its label; JSON has constituents alone, as `Constraints` have.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treecrf.arrays import Ints, Mask
from treecrf.chart import compatible_spans
from treecrf.network.data.batch import IGNORED
from treecrf.network.data.vocabulary import Forest, GoldTree, Vocabulary
from treecrf.parser.decoding.constraints import Allowed, Bracket, Constraints, ImpossibleError, compatible_labels
from treecrf.trees.notation import escape, unescape
from treecrf.trees.tree import Span, Tree
from treecrf.trees.treebank.binarize import LabelSet, from_spans, is_intermediate, to_spans
from treecrf.trees.treebank.lines import read_lines

UNKNOWN_TAG = "XX"  # the tag of all words, if a vocabulary has only trees without tags
_TOKEN = re.compile(r"\((?P<label>[^\s()]*)|(?P<close>\))|(?P<word>[^\s()]+)")
_CLOSING = {"[": "]", "{": "}"}
_GLUED = re.compile(r"(?<!\S)([]}])(?=[.,;:!?]+(?:\s|$))")  # a closing bracket with punctuation behind it


class PartialTree(NamedTuple):
    """The words of a sentence, and the constituents that its tree has or does not have.

    Of several constituents over the same words, the outermost is first.
    """

    words: list[str]
    constraints: Constraints
    location: str = ""  # for messages
    may_have_tags: bool = True  # whether a bracket around one word may be its tag

    @staticmethod
    def of_tree(tree: Tree) -> "PartialTree":
        """The brackets of a tree, one-word brackets included."""
        tags = [(position, position + 1, tag) for position, tag in enumerate(tree.tags)]
        return PartialTree(tree.words, Constraints(require=[*tree.spans(), *tags] if not tree.is_leaf else tags))

    @property
    def constituent_labels(self) -> set[str]:
        """The labels that are no tags: over two words or more, or over words that have no tags."""
        least = 2 if self.may_have_tags else 1
        return {label for start, end, label in self._required if label and end - start >= least}

    @property
    def _required(self) -> list[Bracket]:
        return [Bracket(*item) for item in self.constraints.require]

    def tags(self, names: Container[str]) -> dict[int, str]:
        """Returns the tags of words, by position: the labels of single words that are not `names` of constituents."""
        single = [(start, label) for start, end, label in self._required if label and end - start == 1]
        return {start: label for start, label in single if label not in names}

    def without_tags(self, names: Container[str]) -> Constraints:
        required = [item for item in self._required if item.label is None or item.start + 1 < item.end]
        words = [item for item in self._required if item.start + 1 == item.end and item.label in names]
        return Constraints(require=[*required, *words], forbid=self.constraints.forbid)

    def tree(self, names: Container[str], *, root: str, unknown_tag: str) -> Tree:
        """Returns the tree of the labeled brackets alone, for a vocabulary."""
        chains: dict[tuple[int, int], list[str]] = {}
        for start, end, label in map(Bracket._make, self.without_tags(names).require):
            if label and not (label == root and end - start == len(self.words)):
                chains.setdefault((start, end), []).append(label)
        tags = self.tags(names)
        leaves = [Tree(tags.get(position, unknown_tag), (word,)) for position, word in enumerate(self.words)]
        return from_spans([Span(*span, " ".join(map(escape, chain))) for span, chain in chains.items()], leaves, root)

    def encode(
        self, vocabulary: Vocabulary, labels: LabelSet, root: str, *, share: float = 0.0, is_share_known: bool = False
    ) -> GoldTree:
        """Returns the forest of the trees that agree with the brackets.

        If a random `share` of the tree's constituents has brackets, each constituent without one makes a tree less
        probable by the factor 1 - share: the forest has the probability of the brackets. If the share is known, the
        number of constituents without a bracket is known on the mean, and so is the cost of trees.
        """
        names, tags = {root, *labels.names}, np.full(len(self.words), IGNORED)
        for position, tag in self.tags(names).items():
            if tag not in vocabulary.tag_ids:
                raise ValueError(f"{self.location}: the model has no label and no tag {tag!r:.80}")
            tags[position] = vocabulary.tag_ids[tag]
        constraints = self.without_tags(names)
        try:
            allowed = compatible_labels(constraints, len(tags), labels, root)
        except ImpossibleError as error:
            raise ImpossibleError(f"{self.location}: {error}") from None
        given = Counter(item[:2] for item in constraints.require if item[2:] != (root,))
        forest = _forest(allowed, labels.counts, given, share)
        if is_share_known and 0 < share < 1:
            missing = given.total() * (1 - share) / share
            forest = forest._replace(mean_cost=round(missing * _cost(share)))
        return GoldTree.of_forest(forest, tags)


def read_partial(path: str | Path) -> list[PartialTree]:
    """Reads the partial trees of a file."""
    ending = Path(str(path).removesuffix(".gz")).suffix
    if ending not in _READERS:
        raise ValueError(f"the name of {path} ends in {ending or 'nothing'}; expected {', '.join(_READERS)}")
    lines = ((f"{path}:{number}", *line) for number, line in enumerate(read_lines(path, None), 1))
    return [parse_partial(text, ending, location, problem) for location, text, problem in lines if text.strip()]


def parse_partial(line: str, ending: str, location: str, problem: str = "") -> PartialTree:
    """Reads a partial tree in the notation of files with this ending; `problem` says why it cannot be decoded."""
    try:
        if problem:
            raise ValueError(problem)
        return _READERS[ending](line)._replace(location=location)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{location}: {error}") from None


def _read_brackets(line: str) -> PartialTree:
    words: list[str] = []
    required: list[tuple[int, int, str | None]] = []
    opened: list[tuple[int, int]] = []  # the place in `required` and the start of each open bracket
    for token in _TOKEN.finditer(line):
        if token["close"]:
            if not opened:
                raise ValueError(f"')' at character {token.start() + 1} closes no bracket")
            place, start = opened.pop()
            if start == len(words):
                raise ValueError(f"the bracket that ends at character {token.start() + 1} has no words")
            required[place] = start, len(words), required[place][2]
        elif token["word"]:
            words.append(unescape(token["word"]))
        else:
            opened.append((len(required), len(words)))
            required.append((0, 0, unescape(token["label"]) or None))
    if opened:
        raise ValueError(f"{len(opened)} of the brackets are not closed")
    return _partial_tree(words, required, [])


def _read_square_brackets(line: str) -> PartialTree:
    words: list[str] = []
    spans: dict[str, list[tuple[int, int]]] = {"[": [], "{": []}
    opened: list[tuple[str, int]] = []
    for token in _GLUED.sub(r"\1 ", line).split():
        if token in _CLOSING:
            opened.append((token, len(words)))
        elif token in _CLOSING.values():
            bracket, start = opened.pop() if opened else ("", 0)
            if _CLOSING.get(bracket) != token or start == len(words):
                raise ValueError(f"'{token}' after {len(words)} words closes no bracket with words")
            spans[bracket].append((start, len(words)))
        else:
            words.append(token)
    if opened:
        raise ValueError(f"{len(opened)} of the brackets are not closed")
    return _partial_tree(words, spans["["], spans["{"])


def _read_json(line: str) -> PartialTree:
    values = json.loads(line)
    if not isinstance(values, dict) or not {"words"} <= values.keys() <= {"words", "require", "forbid"}:
        raise ValueError(f"{line.strip()!r:.80} is not an object with words, require and forbid")
    if not isinstance(values["words"], list) or not all(isinstance(word, str) and word for word in values["words"]):
        raise ValueError(f"words are {values['words']!r:.80}; expected a list of strings")
    tree = _partial_tree(values["words"], values.get("require", []), values.get("forbid", []))
    return tree._replace(may_have_tags=False)


_READERS = {".mrg": _read_brackets, ".txt": _read_square_brackets, ".jsonl": _read_json}


def _partial_tree(words: list[str], require: Sequence[Any], forbid: Sequence[Any]) -> PartialTree:
    if not words:
        raise ValueError("the sentence has no words")
    return PartialTree(words, Constraints(require=require, forbid=forbid))


def derivations(tree: Tree, labels: LabelSet) -> Forest:
    """Returns all derivations of a tree; a constituent whose label has no id may have any label of constituents."""
    length = len(tree.words)
    ids = {labels.strings[number]: [number] for number in labels.tree_labels(length)}
    constituents = {(span.start, span.end): span.label for span in to_spans(tree) if not is_intermediate(span.label)}
    spans = compatible_spans(constituents, length + 1)
    masks: dict[tuple[int, int], Mask] = {}
    for start, end in np.argwhere(spans).tolist():
        choices = labels.free_labels(length)
        if (start, end) in constituents:
            choices = ids.get(constituents[start, end], labels.tree_labels(length))
        masks[start, end] = np.isin(np.arange(len(labels.strings)), choices)
    return _forest(Allowed(spans, masks), labels.counts, Counter(), 0.0)


def _cost(share: float) -> float:
    """The cost of a constituent without a bracket, in millionths."""
    return -1e6 * math.log1p(-share) if share < 1 else math.inf


def _forest(allowed: Allowed, counts: Ints, given: Mapping[tuple[int, int], int], share: float) -> Forest:
    """Returns the forest of trees; `counts` are the constituents of each label, `given` the brackets of each span."""
    spans: list[tuple[int, int]] = [(start, end) for start, end in np.argwhere(np.triu(allowed.spans, 1)).tolist()]
    cost = _cost(share)
    restricted = spans if share else [span for span in spans if span in allowed.labels]
    rows: dict[bytes, int] = {}  # by the bytes of their costs
    numbers = []
    for span in restricted:
        missing = np.maximum(counts - given.get(span, 0), 0)
        is_allowed = allowed.labels.get(span, np.ones_like(missing, np.bool_)) & ((missing == 0) | (cost < math.inf))
        costs = np.where(is_allowed, (missing * min(cost, 1e12)).round(), -1).astype(np.int64)
        numbers.append(rows.setdefault(costs.tobytes(), len(rows)))
    table = np.frombuffer(b"".join(rows), np.int64).reshape(len(rows), len(counts))
    all_spans, restricted_spans = (np.array(each, np.int64).reshape(-1, 2) for each in (spans, restricted))
    return Forest(all_spans, restricted_spans, np.array(numbers, np.int64), table)
