"""Attachments: what trees of the same reading have in common.

In a tree every word but one depends on another word: the head of a constituent is the head of its head child, on which
the heads of its other children depend. `READINGS` chooses head children. Two trees are the same reading if every word
depends on the same word in both, and if the same words with dependents are verbs or heads of clauses. So a reading
leaves open what the labels of other phrases are, whether a phrase has a bracket around its head, and where punctuation
stands. Constituents over a single word, punctuation aside, do not count, and a unary chain counts as its last label.
In English, more is left open:

- The head of a coordination is its last conjunction: in `old men and women`, `old` depends on `and`, or on `men`. A
  bracket that begins or ends with a conjunction does not matter.
- A verb or verb phrase, unless it is a participle or infinitive, is the head of its parent, whatever its label is. A
  participle or base form that is the head of a noun phrase is no verb.
- A verb group is flat or nested: in a VP, what follows a further verb depends on that verb. A modal or `to` and the
  verb after it are one unit, and other words depend on the unit.
- The head of a noun phrase stands before a preposition without a PP. Such a preposition, a determiner or adjective
  directly in a clause, and in a VP a determiner, an adverb before a verb and a noun phrase before a verb phrase depend
  on what follows them; a determiner in a modifier depends on what is modified.

Languages without rules have the first word of each constituent as its head.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate

import numpy as np

from treecrf.arrays import Ints, Mask
from treecrf.parser.decoding.constituents import Constituents
from treecrf.parser.decoding.constraints import Position
from treecrf.trees.search.heads import CHINESE, READINGS, HeadRules
from treecrf.trees.treebank.binarize import unary_chain

LabeledPhrases = Sequence[tuple[Position, int]]  # positions and label ids

_RULES = {"en": READINGS, "zh": CHINESE}
_FIRST_WORDS = HeadRules({}, (("left", ()),))
_CONJUNCTIONS = ("CC", "CONJP")
_CLAUSES = ("S", "SINV", "SQ", "SBARQ", "VP", "IP")
_VERB_PHRASES = ("VP",)
_AUXILIARIES = ("MD", "TO")
_VERBS = (*_AUXILIARIES, "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
_FINITE_VERBS = ("MD", "VBD", "VBP", "VBZ")
_HEAD_VERBS = (*_FINITE_VERBS, "VB")  # verbs that do not modify nouns
_CLAUSES_WITH_VERBS = ("S", "SINV", "SQ", "VP")
# what depends on its next sibling: symbols, the constituents in which they stand, and the siblings' symbols, if not all
_LEANING = (
    (("IN",), (*_CLAUSES_WITH_VERBS, "NP", "ADJP", "ADVP"), ()),
    (("DT", "PRP$"), _CLAUSES_WITH_VERBS, ()),
    (("JJ",), ("S", "SINV", "SQ"), ("NP", "NN", "NNS")),
    (("ADVP", "RB"), ("VP",), ("VP", *_VERBS)),
    (("NP", "NN", "NNS", "NNP", "NNPS", "PRP"), ("VP",), ("VP",)),
)
_DETERMINERS = ("DT", "PRP$")
_MODIFIERS = ("ADJP", "NML", "NX", "QP")  # phrases that determiners do not modify
_LAST = 1 << 20  # the rank of children that are heads only of constituents without other children


class Attachments:
    """The attachments in many trees of a sentence at once, for the labels and tags of a model."""

    def __init__(self, labels: Sequence[str], tags: Sequence[str], language: str) -> None:
        rules = _RULES.get(language, _FIRST_WORDS)
        chains = [unary_chain(label) or ("",) for label in (*labels, "")]  # the last one is the root's
        names = sorted({name for chain in chains for name in chain}.union(tags))
        self._ids = {name: number for number, name in enumerate(names)}
        self._unknown = self._ids[""]
        self._root = len(labels)
        self._symbols = np.array([self._ids[chain[-1]] for chain in chains])
        self._ranks, self._directions = self._rank_children(names, rules)
        self.tags = self.symbols(tags)
        self._is_clause = self._flags(_CLAUSES)
        english = partial(self._flags, is_known=rules is READINGS)
        self._is_conjunction = english(_CONJUNCTIONS)
        self._is_verb_phrase, self._is_auxiliary = english(_VERB_PHRASES), english(_AUXILIARIES)
        self._is_verb, self._is_head_verb = english(_VERBS), english(_HEAD_VERBS)
        self._is_finite = english(_FINITE_VERBS)
        self._is_infinitive, self._is_base_form = english(("TO",)), english(("VB",))
        self._is_preposition, self._is_noun_phrase = english(("IN",)), english(("NP",))
        self._is_determiner, self._is_modifier = english(_DETERMINERS), english(_MODIFIERS)
        self._leaning = [tuple(map(english, names)) for names in _LEANING]
        self._is_verbal = self._is_verb | self._is_verb_phrase
        self._has_verbs = self._is_clause | self._flags(("PP", ""))

    def _flags(self, names: Iterable[str], *, is_known: bool = True) -> Mask:
        flags = np.zeros(len(self._ids), np.bool_)
        flags[[self._ids[name] for name in names if name in self._ids and is_known]] = True
        return flags

    def _rank_children(self, names: Sequence[str], rules: HeadRules) -> tuple[Ints, Ints]:
        """The rank of a child in a constituent, and the direction of the search among children of this rank."""
        ranks, directions = np.zeros((2, len(names), len(names)), np.int64)
        for row, name in enumerate(names):
            rank = 0
            category_rules = rules.rules.get(name, rules.default)
            directions[row] = _direction(category_rules[-1][0])
            unranked = np.ones(len(names), np.bool_)
            for direction, categories in category_rules:
                for category in categories:
                    rank += not direction.endswith("dis")
                    column = self._ids.get(category)
                    if column is not None and unranked[column]:
                        unranked[column], ranks[row, column] = False, rank
                        directions[row, column] = _direction(direction)
                rank += 1
            ranks[row, unranked] = rank + 1
        return ranks, directions

    def symbols(self, tags: Iterable[str]) -> Ints:
        """The symbols of tags; those that the model does not have share a symbol."""
        return np.array([self._ids.get(tag, self._unknown) for tag in tags], np.int64)

    def keys(self, trees: Sequence[LabeledPhrases], tag_symbols: Ints, is_word: Sequence[bool]) -> list[bytes]:
        """A key of each tree; trees of the same reading have the same key.

        `tag_symbols` has the words' tags in each tree, (trees, words), and `is_word` is false for punctuation.
        """
        nodes = self._nodes(trees, tag_symbols, is_word)
        heads = self._heads(nodes)
        governors = self._governors(nodes, heads)
        units = self._units(nodes, heads, governors)
        words, above = np.arange(len(governors)), units[governors]
        attached = words.copy()  # the unit on which each unit depends
        leaves = np.flatnonzero(above != units)
        attached[units[leaves]] = above[leaves]
        keys = np.where(units == words, attached, units) - np.repeat(nodes.first_words, tag_symbols.shape[1])
        is_head = np.zeros(len(words), np.bool_)
        is_head[above[(governors != words) & nodes.is_word]] = True
        is_verbal = self._is_verb[nodes.tags]
        labels, phrase_heads = nodes.symbols[: nodes.phrases], heads[: nodes.phrases]
        is_noun = self._is_noun_phrase[labels] & (phrase_heads > nodes.starts[: nodes.phrases])
        is_verbal[phrase_heads[is_noun & ~self._is_finite[nodes.tags[phrase_heads]]]] = False
        is_verbal[phrase_heads[self._is_clause[labels]]] = True
        rows = np.where(nodes.is_word, 2 * keys + (is_head & is_verbal), -1).reshape(tag_symbols.shape)
        return [row.tobytes() for row in rows]

    def _nodes(self, trees: Sequence[LabeledPhrases], tag_symbols: Ints, is_word: Sequence[bool]) -> "_Nodes":
        count, length = tag_symbols.shape
        numbers = (number for tree in trees for (start, end), label in tree for number in (start, end, label))
        starts, ends, labels = np.fromiter(numbers, np.int64).reshape(-1, 3).T
        places = np.array([0, *accumulate(map(int, is_word))])
        first_words = np.arange(count) * length
        is_phrase = places[ends] - places[starts] > 1
        shifts = np.repeat(first_words, [len(tree) for tree in trees])[is_phrase]
        starts = np.concatenate([first_words, starts[is_phrase] + shifts])
        ends = np.concatenate([first_words + length, ends[is_phrase] + shifts])
        labels = np.concatenate([np.full(count, self._root), labels[is_phrase]])
        order = np.lexsort((labels != self._root, -ends, starts))
        starts, ends, labels = starts[order], ends[order], labels[order]
        return _Nodes(
            Constituents(categories=(), root="", lengths=np.full(count, length), ids=labels, starts=starts, ends=ends),
            symbols=np.concatenate([self._symbols[labels], tag_symbols.ravel()]),
            is_word=np.tile(np.array(is_word, np.bool_), count),
            first_words=first_words,
        )

    def _heads(self, nodes: "_Nodes") -> Ints:
        """The head word of each node."""
        labels = nodes.symbols[nodes.parents]
        ranks, directions = self._ranks[labels, nodes.symbols], self._directions[labels, nodes.symbols]
        words_before = np.concatenate([[0], np.cumsum(nodes.is_word)])
        is_later = words_before[nodes.starts] > words_before[nodes.starts[nodes.parents]]
        is_conjunction = self._is_conjunction[nodes.symbols] & is_later
        tags = self._is_conjunction[nodes.tags]
        is_conjunction[: nodes.phrases] |= (tags[nodes.starts] & is_later | tags[nodes.ends - 1])[: nodes.phrases]
        firsts = tags[nodes.starts] & ~is_later  # in a phrase that begins with a conjunction
        while np.any(found := firsts & is_conjunction[nodes.parents] & ~is_conjunction):
            is_conjunction |= found
        ranks[(self._last_before(self._is_preposition, nodes) >= 0) & self._is_noun_phrase[labels]] += _LAST
        is_head = self._begins_with_head_verb(nodes) & ~self._is_clause[labels]
        ranks[is_head], directions[is_head] = -1, 1
        ranks[is_conjunction], directions[is_conjunction] = -2, -1
        ranks[nodes.phrases :][~nodes.is_word] = 2 * _LAST
        order = np.lexsort((nodes.starts * directions, ranks, nodes.parents))
        order = order[nodes.has_parent[order]]
        heads = np.arange(len(nodes.starts))
        heads[: nodes.phrases] = order[np.searchsorted(nodes.parents[order], np.arange(nodes.phrases))]
        while not np.array_equal(heads, below := heads[heads]):
            heads = below
        return heads - nodes.phrases

    def _begins_with_head_verb(self, nodes: "_Nodes") -> Mask:
        """Whether a node is a verb phrase or a verb, and its first verb the head of any constituent."""
        words = len(nodes.tags)
        verbs = np.where(self._is_verb[nodes.tags], np.arange(words), words)
        next_verbs = np.minimum.accumulate(verbs[::-1])[::-1][nodes.starts]
        is_head = np.append(self._is_head_verb[nodes.tags], False)[next_verbs]
        begins: Mask = is_head & (next_verbs < nodes.ends) & self._is_verbal[nodes.symbols]
        is_later_base = self._is_base_form[nodes.symbols] & (nodes.starts > nodes.starts[nodes.parents])
        return begins & ~is_later_base

    def _governors(self, nodes: "_Nodes", heads: Ints) -> Ints:
        """The word on which each word depends; the head of the sentence depends on itself."""
        governors = np.arange(len(nodes.tags))
        above = heads[nodes.parents]
        attached = np.flatnonzero(heads != above)
        governors[heads[attached]] = above[attached]
        verbs = self._last_before(self._is_verb, nodes)
        follows = (verbs >= 0) & self._is_verb_phrase[nodes.symbols[nodes.parents]]
        follows &= self._is_verb[nodes.tags[above]] & (heads != above)
        governors[heads[follows]] = heads[verbs[follows]]
        self._lean(nodes, heads, governors)
        return governors

    def _last_before(self, symbols: Mask, nodes: "_Nodes") -> Ints:
        """The last sibling before each node that is a word with one of the symbols; -1 if there is none."""
        children = nodes.constituents.children.nodes
        is_wanted = symbols[nodes.symbols[children]] & (children >= nodes.phrases)
        places = np.maximum.accumulate(np.where(is_wanted, np.arange(len(children)), -1))
        before = children[np.concatenate([[-1], places[:-1]])]
        is_found = (np.concatenate([[-1], places[:-1]]) >= 0) & (nodes.parents[before] == nodes.parents[children])
        found = np.full(len(nodes.starts), -1)
        found[children[is_found]] = before[is_found]
        return found

    def _lean(self, nodes: "_Nodes", heads: Ints, governors: Ints) -> None:
        """Attaches function words to what follows them, and determiners of modifiers to what is modified."""
        _, after = nodes.constituents.siblings
        labels, next_symbols = nodes.symbols[nodes.parents], nodes.symbols[after]
        is_attached = heads != heads[nodes.parents]
        has_next = is_attached & (after >= 0) & (after < nodes.phrases)
        before_word = after >= nodes.phrases
        has_next[before_word] = is_attached[before_word] & nodes.is_word[after[before_word] - nodes.phrases]
        has_next &= ~self._is_infinitive[nodes.tags[nodes.starts[after]]]
        for symbols, parents, following in self._leaning:
            leans = has_next & symbols[nodes.symbols] & parents[labels]
            leans &= following[next_symbols] | ~following.any()
            governors[heads[leans]] = heads[after[leans]]
        is_inside = is_attached & self._is_determiner[nodes.symbols] & self._is_modifier[labels]
        governors[heads[is_inside]] = heads[nodes.parents[nodes.parents[is_inside]]]

    def _units(self, nodes: "_Nodes", heads: Ints, governors: Ints) -> Ints:
        """The first word of each word's unit: a modal or `to` and the verb that follows it are a unit."""
        labels = nodes.symbols[nodes.parents]
        is_verbal = self._is_verb_phrase[labels] | (self._is_verbal[nodes.symbols] & self._has_verbs[labels])
        attached = np.flatnonzero(is_verbal & (heads != heads[nodes.parents]))
        words = heads[attached]
        pairs = np.stack([words, governors[words]])
        tags = nodes.tags[np.sort(pairs, 0)]
        pairs = pairs[:, self._is_auxiliary[tags[0]] & self._is_verb[tags[1]]]
        units = np.arange(len(nodes.tags))
        while True:
            firsts = units.copy()
            np.minimum.at(firsts, pairs.ravel(), np.tile(units[pairs].min(0), 2))
            if np.array_equal(firsts, units):
                return units
            units = firsts


def _direction(name: str) -> int:
    return 1 if name.startswith("left") else -1


@dataclass(frozen=True)
class _Nodes:
    """The phrases of all trees, and then their words. The root of a tree is its own parent."""

    constituents: Constituents
    symbols: Ints  # labels of phrases and tags of words
    is_word: Mask  # (words,) whether a word is not punctuation
    first_words: Ints  # (trees,)

    @property
    def phrases(self) -> int:
        return len(self.constituents)

    @property
    def tags(self) -> Ints:
        return self.symbols[self.phrases :]

    @property
    def starts(self) -> Ints:
        return self.constituents.node_starts

    @cached_property
    def ends(self) -> Ints:
        return np.concatenate([self.constituents.ends, np.arange(self.constituents.words) + 1])

    @property
    def has_parent(self) -> Mask:
        return self.constituents.parents >= 0

    @cached_property
    def parents(self) -> Ints:
        parents = self.constituents.parents
        return np.where(parents < 0, np.arange(len(parents)), parents)
