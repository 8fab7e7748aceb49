"""Basic Universal Dependencies of a sentence with universal part-of-speech tags, and their CoNLL-U text."""

from collections.abc import Sequence
from dataclasses import dataclass

from treecrf.trees.dependencies.conversion import convert_words
from treecrf.trees.dependencies.lexicon import UNIVERSAL_TAGS
from treecrf.trees.dependencies.punctuation import PunctuationAttacher
from treecrf.trees.dependencies.units import PUNCTUATION_TAGS
from treecrf.trees.notation import unescape_brackets
from treecrf.trees.search.labels import basic_category
from treecrf.trees.tree import Tree

_NEGATIONS = frozenset(("not", "n't", "n’t", "nt"))
_UNSAFE = str.maketrans({character: " " for character in "\t\n\r\x0b\x0c\x85\u2028\u2029"})


@dataclass(frozen=True)
class Dependencies:
    """The words of a sentence with their tags, heads and relations.

    Heads are numbers of words from 1, as in CoNLL-U; the head of the sentence has the head 0 and the relation `root`.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]  # Penn Treebank tags
    universal_tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    def arcs(self) -> list[tuple[str, str, str]]:
        """The relation, the head and the word of each arc, in the order of the words.

        >>> from treecrf import Tree
        >>> Tree.parse("(S (NP (PRP We)) (VP (VBP parse) (NP (NNS trees))))").to_dependencies().arcs()
        [('nsubj', 'parse', 'We'), ('root', '', 'parse'), ('obj', 'parse', 'trees')]
        """
        names = ("", *self.words)
        rows = zip(self.words, self.heads, self.relations, strict=True)
        return [(relation, names[head], word) for word, head, relation in rows]

    def conllu(
        self, *, text: str | None = None, sentence_id: str | None = None, spaces: Sequence[bool] | None = None
    ) -> str:
        """The sentence in CoNLL-U, with an empty line at the end.

        `spaces` says for each word whether a space follows it. Without `text`, the text is made of words and spaces.
        """
        spaces = [True] * len(self.words) if spaces is None else spaces
        forms = [_form(word) for word in self.words]
        if text is None:
            text = "".join(form + " " * has_space for form, has_space in zip(forms, spaces, strict=True)).strip()
        lines = [f"# sent_id = {sentence_id}"] if sentence_id is not None else []
        lines.append(f"# text = {text.translate(_UNSAFE)}")
        columns = (forms, self.universal_tags, self.tags, self.heads, self.relations, spaces)
        for number, (form, upos, tag, head, relation, has_space) in enumerate(zip(*columns, strict=True), 1):
            misc = "_" if has_space else "SpaceAfter=No"
            lines.append(f"{number}\t{form}\t_\t{upos}\t{_form(tag)}\t_\t{head}\t{relation}\t_\t{misc}")
        return "\n".join([*lines, "", ""])


def _form(word: str) -> str:
    """A word as a CoNLL-U column, which is not empty and has no tabs or line ends."""
    return word.translate(_UNSAFE).strip() or "_"


def _constituents(tree: Tree) -> list[int]:
    """The number of the constituent that each word is a child of."""
    numbers: list[int] = []
    stack = [(tree, -1)]
    count = 0
    while stack:
        node, parent = stack.pop()
        if node.is_leaf:
            numbers.append(parent)
        stack += [(child, count) for child in reversed(node.child_trees)]
        count += 1
    return numbers


def universal_tag(word: str, tag: str, relation: str) -> str:
    """The universal tag of a word; X for a tag that is not one of the Penn Treebank.

    >>> universal_tag("that", "IN", "mark"), universal_tag("that", "DT", "nsubj"), universal_tag("is", "VBZ", "cop")
    ('SCONJ', 'PRON', 'AUX')
    """
    text = word.lower()
    if relation in ("aux", "aux:pass", "cop") and tag[:2] in ("VB", "MD"):
        return "AUX"
    if tag == "IN" and relation == "mark":
        return "SCONJ"
    if tag == "TO" and relation == "case":
        return "ADP"
    if tag in ("DT", "WDT") and not relation.startswith("det"):
        return "PRON"
    if tag == "RB" and text in _NEGATIONS:
        return "PART"
    if text == "%":
        return "SYM"
    return UNIVERSAL_TAGS.get(tag, "X")


def to_dependencies(tree: Tree) -> Dependencies:
    """Converts an English tree with labels of the Penn Treebank to basic Universal Dependencies of its words.

    Functions and empty elements decide where the tree has them: on subjects, adverbial noun phrases and passives.
    """
    words = tuple(unescape_brackets(word) for word in tree.words)
    tags = tuple(tree.tags)
    categories = [basic_category(tag) for tag in tags]
    arcs = convert_words(tree)
    if tree.empties():
        tree = tree.plain()
    is_punctuation = [category in PUNCTUATION_TAGS for category in categories]
    content = [index for index, is_mark in enumerate(is_punctuation) if not is_mark]
    heads_of_sentence = [index for index in content or range(len(words)) if arcs.heads[index] < 0]
    root = heads_of_sentence[0]
    if content:
        PunctuationAttacher(
            arcs, words, categories, parents=_constituents(tree), is_punctuation=is_punctuation
        ).attach_all()
    else:
        for index in range(1, len(words)):
            arcs.attach(index, root, "punct")
    arcs.relations[root] = "root"
    return Dependencies(
        words,
        tags,
        tuple(map(universal_tag, words, categories, arcs.relations)),
        tuple(head + 1 for head in arcs.heads),
        tuple(arcs.relations),
    )
