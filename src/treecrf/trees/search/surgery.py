"""Changes of trees with Tsurgeon's operations: a pattern finds nodes, and operations change the tree there."""

from collections.abc import Iterable, Sequence

from treecrf.trees.search.edit import to_edit_nodes, to_tree
from treecrf.trees.search.errors import SurgeryError
from treecrf.trees.search.operations import EditState, apply_all
from treecrf.trees.search.pattern import Match, Pattern
from treecrf.trees.search.surgery_syntax import parse_operations, parse_script
from treecrf.trees.tree import Tree

MAX_CHANGES = 1000  # changes of one tree by one surgery


class Surgery:
    """A pattern and the operations at its matches.

    The first match is changed, then the new tree is searched again, until nothing matches. The pattern must therefore
    not match its own result.

    >>> tree = Tree.parse("(S (NP (NN cat) (PP (IN of) (NP (NNP Kim)))) (VP (VBD sat)))")
    >>> print(Surgery("NP < PP=p", "delete p").apply(tree))
    (S (NP (NN cat)) (VP (VBD sat)))
    """

    def __init__(self, pattern: "str | Pattern", operations: "str | Sequence[str]") -> None:
        self.pattern = Pattern(pattern) if isinstance(pattern, str) else pattern
        texts = operations.splitlines() if isinstance(operations, str) else operations
        self.operations = parse_operations([text for text in texts if text.strip()], self.pattern.names)
        if not self.operations:
            raise SurgeryError(f"no operation for the pattern {self.pattern.text!r}")

    def apply(self, tree: Tree) -> Tree | None:
        """Returns the changed tree, or None if the operations deleted it; the argument is unchanged."""
        for _ in range(MAX_CHANGES):
            match = next(self.pattern.find(tree), None)
            if match is None:
                return tree
            changed = self._change(tree, match)
            if changed is None:
                return None
            if changed == tree:
                raise SurgeryError(self._message("the operations change nothing, and the pattern would match forever"))
            tree = changed
        raise SurgeryError(self._message(f"the pattern still matches after {MAX_CHANGES} changes of one tree"))

    def _change(self, tree: Tree, match: Match) -> Tree | None:
        nodes = to_edit_nodes(tree)
        names = {name: nodes[position] for name, position in match.positions.items()}
        state = EditState(nodes[0], names, match.variables)
        try:
            apply_all(self.operations, state)
            return None if state.root is None else to_tree(state.root)
        except SurgeryError as error:
            raise SurgeryError(self._message(str(error))) from None

    def _message(self, reason: str) -> str:
        return f"surgery at {self.pattern.text!r}: {reason}"


def read_surgeries(script: str) -> list[Surgery]:
    r"""Reads the surgeries of a script: a pattern, an empty line, operations, an empty line, and so on.

    `%` starts a comment; a percent sign in a pattern is `\%`.
    """
    return [Surgery(pattern, operations) for pattern, operations in parse_script(script)]


def apply_surgeries(tree: Tree, surgeries: Iterable[Surgery]) -> Tree | None:
    """Applies surgeries one after the other; None if one deletes the tree."""
    for surgery in surgeries:
        changed = surgery.apply(tree)
        if changed is None:
            return None
        tree = changed
    return tree
