"""Hypothesis strategies for trees and texts."""

from hypothesis import strategies as st

from treecrf.trees.tree import Tree

# texts that are hard for readers, writers and binarization
_AWKWARD = [
    *(
        "(",
        ")",
        "()",
        "(NP)",
        "-LRB-",
        "-RRB-",
        "-NONE-",
        "",
        " ",
        "a b",
        "\n",
        "\r",
        "\t",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x85",
    ),
    *("\xa0", "\u2028", "\u3000", "\ufeff", "\ud800", "\udfff", "\\", "\\\\", "\\/", "\\u", "\\u{", "\\u{}", "\\u{28}"),
    *(
        "\\u{110000}",
        "\\\\u{28}",
        "{",
        "}",
        "+",
        "*",
        "|",
        "::",
        "|<>",
        "NP*",
        "S+VP",
        "S::VP",
        "S VP",
        "NP|<DT-NN>",
        "<S>",
    ),
    *("TOP", "S", "NP", "VP", "NN", "é", "树", "\U0001f333", "</S>", "#", "=", "NP-SBJ-1", "0"),
]
awkward = st.sampled_from(_AWKWARD)
any_text = st.one_of(awkward, st.text(st.characters(), max_size=5), st.lists(awkward, max_size=4).map("".join))
plain_text = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x24F, exclude_characters="()\\\x85\xa0"), min_size=1
)


def leaves(texts: st.SearchStrategy[str] = any_text) -> st.SearchStrategy[Tree]:
    """Preterminals, without empty elements."""
    return st.builds(lambda tag, word: Tree("NONE" if tag == "-NONE-" else tag, (word,)), texts, texts)


def trees(texts: st.SearchStrategy[str] = any_text, max_words: int = 12) -> st.SearchStrategy[Tree]:
    """Trees of all shapes: single preterminals, unary chains, roots with several children."""

    def above(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.builds(Tree, texts, st.lists(children, min_size=1, max_size=4).map(tuple))

    return st.recursive(leaves(texts), above, max_leaves=max_words)


def deep_tree(depth: int) -> Tree:
    """A right-branching tree with nested constituents."""
    node = Tree("NN", ("end",))
    for number in range(depth):
        children = (Tree("DT", (f"w{number}",)), node) if number % 2 else (node,)
        node = Tree(f"L{number % 7}", children)
    return Tree("TOP", (node,))


def wide_tree(words: int) -> Tree:
    """A tree with all words in one constituent."""
    return Tree("TOP", (Tree("S", tuple(Tree("NN", (f"w{number}",)) for number in range(words))),))
