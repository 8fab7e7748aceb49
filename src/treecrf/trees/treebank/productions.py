"""Productions: the label of a constituent with the labels of its children. They are stored as text, one a line."""

from collections.abc import Iterator, Mapping

from treecrf.trees.notation import escape
from treecrf.trees.tree import Tree

Production = tuple[str, ...]  # the label of a constituent, and the labels of its children


def productions(tree: Tree) -> Iterator[Production]:
    """The productions of the constituents above the preterminals; tags are symbols like labels.

    >>> list(productions(Tree.parse("(TOP (NP (DT the) (NN cat)))")))
    [('TOP', 'NP'), ('NP', 'DT', 'NN')]
    """
    for node in tree.walk():
        if not node.is_leaf:
            yield (node.label, *(child.label for child in node.child_trees))


def productions_to_text(counts: Mapping[Production, int]) -> str:
    """Lines of a count and the symbols of a production, the most frequent first.

    >>> productions_to_text({("NP", "NN"): 1, ("NP", "DT", "NN"): 2})
    '2 NP DT NN\\n1 NP NN\\n'
    """
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count} {' '.join(map(escape, production))}\n" for production, count in ordered)
