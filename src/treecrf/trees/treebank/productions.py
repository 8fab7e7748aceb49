"""Productions: the label of a constituent with the labels of its children. They are stored as text, one a line."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from treecrf.trees.tree import Tree, escape, unescape

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


class ProductionCounts(Mapping[Production, int]):
    """The counts of productions in lines that `productions_to_text` wrote; read when they are needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _counts(self) -> dict[Production, int]:
        return dict(_read_lines(self.text.removesuffix("\n").split("\n") if self.text else []))

    def __bool__(self) -> bool:
        return bool(self.text)

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[Production]:
        return iter(self._counts)

    def __getitem__(self, production: Production) -> int:
        return self._counts[production]


def _read_lines(lines: Iterable[str]) -> Iterator[tuple[Production, int]]:
    for number, line in enumerate(lines, 1):
        count, *symbols = line.split(" ")
        if not count.isdecimal() or len(symbols) < 2 or len(count) > 12:
            raise ValueError(f"line {number} is {line!r:.80}; expected a count, a label, and its children")
        yield tuple(map(unescape, symbols) if "\\" in line else symbols), int(count)
