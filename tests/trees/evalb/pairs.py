"""Hypothesis strategies for trees to score, and pairs of trees over the same words."""

from hypothesis import strategies as st

from treecrf import Span, Tree

LABELS = st.sampled_from(["TOP", "S", "NP", "NP-SBJ", "NP=2", "VP", "ADVP", "PRT", "-LRB-", ""])
TAGS = st.sampled_from(["NN", "VB", ",", ".", "-NONE-", "''", "POS", "RP"])
WORDS = st.sampled_from(["a", "b", "'", '"', ",", "-LRB-", "é", "貓"])
PLAIN_LABELS = st.sampled_from("ABCDEFGH")


def evalb_words(tree: Tree) -> list[str]:
    """The words with the texts of empty elements, which are words for EVALB."""
    return [leaf[0] for leaf in tree.preterminals(empties=True)]


def evalb_tags(tree: Tree) -> list[str]:
    return [leaf.label for leaf in tree.preterminals(empties=True)]


def evalb_spans(tree: Tree) -> list[Span]:
    return Tree.parse(str(tree).replace("(-NONE- ", "(X ")).spans()


@st.composite
def brackets(draw: st.DrawFn, leaves: list[Tree], labels: st.SearchStrategy[str] = LABELS) -> Tree:
    """A tree over these leaves."""
    level = leaves
    while len(level) > 1 or draw(st.booleans()):
        start = draw(st.integers(0, len(level) - 1))
        end = draw(st.integers(start + 1, min(start + 4, len(level))))
        level = [*level[:start], Tree(draw(labels), tuple(level[start:end])), *level[end:]]
    return Tree("TOP", (level[0],))


@st.composite
def trees(draw: st.DrawFn, labels: st.SearchStrategy[str] = LABELS) -> Tree:
    """A tree of up to eight words."""
    leaves = draw(st.lists(st.builds(lambda tag, word: Tree(tag, (word,)), TAGS, WORDS), min_size=1, max_size=8))
    return draw(brackets(leaves, labels))


@st.composite
def pairs(draw: st.DrawFn, labels: st.SearchStrategy[str] = LABELS) -> tuple[Tree, Tree]:
    """Two trees over the same words and tags."""
    gold = draw(trees(labels))
    return gold, draw(brackets(gold.preterminals(empties=True), labels))
