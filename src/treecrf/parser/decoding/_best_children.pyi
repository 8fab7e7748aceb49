"""The compiled search of label_grammar.py; arrays are given by their addresses."""

def best_trees(
    thread: int,
    threads: int,
    sentences: int,
    size: int,
    spans: int,
    choices: int,
    words: int,
    labels: int,
    states: int,
    arcs: int,
    symbols: int,
    root_state: int,
    empty_label: int,
    weight: float,
    log_uniform: float,
    /,
    *addresses: int,
) -> None: ...
