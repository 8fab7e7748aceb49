# Arrays are passed as addresses. The structs `Batch`, `Labels` and `Ranking` in C give their types.

def inside(
    thread: int,
    threads: int,
    batch: int,
    size: int,
    score_charts: int,
    is_double: int,
    scores: int,
    lengths: int,
    order: int,
    counters: int,
    charts: int,
    scratch: int,
    out: int,
    /,
) -> None: ...

outside = inside
cky = inside

def plane_length(words: int, /) -> int: ...
def label_chart(
    thread: int,
    threads: int,
    batch: int,
    size: int,
    labels: int,
    is_double: int,
    adds_labels: int,
    weighs_free: int,
    scores: int,
    lengths: int,
    counter: int,
    is_constituent: int,
    buffers: int,
    sums: int,
    chart: int,
    terms: int,
    weights: int,
    /,
) -> None: ...

label_weights = label_chart

def kbest(
    thread: int,
    threads: int,
    batch: int,
    size: int,
    choices: int,
    k: int,
    values: int,
    lengths: int,
    counter: int,
    is_right_choice: int,
    split_scores: int,
    scores: int,
    trees: int,
    /,
) -> None: ...
