"""The compiled matcher: programs of goals over the flat arrays of a forest."""

from collections.abc import Iterator

import numpy as np

from treecrf.trees.search import compiled
from treecrf.trees.search.forest import Forest
from treecrf.trees.search.heads import Int32Array
from treecrf.trees.search.labels import Label, group_texts, label_test, matching_labels
from treecrf.trees.search.naive import NodeMatch
from treecrf.trees.search.program import Program


def find_matches(program: Program, forest: Forest) -> Iterator[NodeMatch]:
    """The matches that `naive.find_matches` defines."""
    rows, texts = match_rows(program, forest)
    name_count = len(program.names)
    for node, *bindings in rows.tolist():
        names = zip(program.names, bindings[:name_count], strict=True)
        variables = zip(program.variables, bindings[name_count:], strict=True)
        yield NodeMatch(
            node,
            {name: position for name, position in names if position >= 0},
            {name: texts[text] for name, text in variables if text >= 0},
        )


def match_rows(program: Program, forest: Forest) -> tuple[Int32Array, list[str]]:
    """One row per match: the node, the nodes with names and the numbers of the variables' texts; and these texts."""
    tables = b"".join([_label_table(label, forest) for label in program.labels])
    group_tables, texts = _group_tables(program, forest)
    basic_ids = forest.basic_ids.tobytes() if program.uses_basic_links else b""
    heads = forest.heads.ctypes.data if program.uses_heads else 0
    assert compiled.matcher is not None
    rows = compiled.matcher.search((*forest.addresses, heads), program.addresses, tables, group_tables, basic_ids)
    width = 1 + len(program.names) + len(program.variables)
    return np.frombuffer(rows, dtype=np.int32).reshape(-1, width), texts


def _label_table(label: Label, forest: Forest) -> bytes:
    """Whether each label of a forest matches, with negation; remembered in the forest."""
    table = forest.label_tables.get(label)
    if table is not None:
        return table
    literals = label_test(label).plain_literals
    if literals is None or label.is_basic:
        table = bytes(matching_labels(label, forest.labels))
    else:
        bits = bytearray([label.is_negated]) * len(forest.labels)
        for literal in literals:
            if literal in forest.label_index:
                bits[forest.label_index[literal]] ^= 1
        table = bytes(bits)
    forest.label_tables[label] = table
    return table


def _group_tables(program: Program, forest: Forest) -> tuple[bytes, list[str]]:
    """The number of the text that each group captures in each label, or -1, as int32; and the texts."""
    if not program.groups:
        return b"", []
    ids: dict[str, int] = {}
    group_tables = np.full((len(program.groups), len(forest.labels)), -1, dtype=np.int32)
    for row, (label, number, _) in zip(group_tables, program.groups, strict=True):
        capture = group_texts(label, number)
        is_match = None if label.kind == "root" else _label_table(label, forest)
        for index, value in enumerate(forest.labels):
            if (is_match is None or is_match[index]) and (text := capture(value)) is not None:
                row[index] = ids.setdefault(text, len(ids))
    return group_tables.tobytes(), list(ids)
