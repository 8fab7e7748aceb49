from treecrf.trees.tree import Tree

# bytes are arrays of int32; see `Forest` and `Program`
_Columns = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes]
_Program = tuple[int, int, int, bytes, bytes, bytes]

def search(
    columns: _Columns,
    label_count: int,
    program: _Program,
    tables: bytes,
    group_texts: bytes,
    basic_ids: bytes,
    first_node: int,
    max_matches: int,
    counts_only: bool,
    /,
) -> tuple[bytes, int]: ...
def flatten(
    trees: list[Tree], tree_type: type[Tree], /
) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, list[str]]: ...
def parse(text: bytes, /) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes, list[str]] | None: ...
def find_heads(label_ids: bytes, ends: bytes, label_rules: bytes, rules: bytes, categories: bytes, /) -> bytes: ...
