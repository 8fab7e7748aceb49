from treecrf.trees.tree import Tree

# numbers of nodes, trees and labels, and the addresses of the arrays of a forest; see `Forest`
_Forest = tuple[int, int, int, int, int, int, int, int, int, int]
# the first goal, numbers of goals, subgoals, tables, groups, names and variables, and addresses; see `Program`
_Program = tuple[int, int, int, int, int, int, int, int, int, int]

def search(forest: _Forest, program: _Program, tables: bytes, group_texts: bytes, basic_ids: bytes, /) -> bytes: ...
def flatten(
    trees: list[Tree], tree_type: type[Tree], /
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, list[str]]: ...
def parse(text: bytes, /) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, list[str]] | None: ...

# the arrays are addresses of int32; see `find_heads` in heads.py
def find_heads(
    nodes: int,
    labels: int,
    rules: int,
    categories: int,
    label_ids: int,
    ends: int,
    heads: int,
    label_rules: int,
    rule_rows: int,
    rule_categories: int,
    /,
) -> None: ...
