"""Random calls of all compiled functions, half of them with a hostile argument.

    python tests/network/runtime/random_calls.py CASES SEED [FOLDER]

A valid call must give the same bits on one and on several threads, and with each instruction set of this processor. A
hostile call has a size that is negative or huge, an address that is null, an index out of range, or NaN and infinite
numbers: it must be refused with an error or computed. `make sanitize` runs the script with the modules of FOLDER, which
report every access outside of an array. It needs NumPy only.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import numpy as np

SOURCE = Path(__file__).parents[3] / "src"
LANES, TILE, JOB_COUNTERS, LEVELS = 16, 64, 3, (255, 16383)  # as in kernels.h
REFUSED = (ValueError, MemoryError, OverflowError, TypeError)
WRONG_SIZES = (-1, -(2**62), 2**41, 2**62)
WRONG_INDICES = (-1, 2**40, 2**62, -(2**63))
Random = np.random.Generator


def load(folder: Path, name: str) -> Any:
    """A compiled module, without importing its package."""
    path = next((folder / "treecrf" / name).parent.glob(f"{Path(name).name}.*.so"))
    spec = spec_from_loader(path.stem.split(".")[0], ExtensionFileLoader(path.stem.split(".")[0], str(path)))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Call:
    """A valid call: arrays stand for their addresses."""

    function: str
    arguments: list[Any]  # without thread and threads
    outputs: list[np.ndarray]  # they are among the arguments
    parameters: tuple[np.ndarray, ...] = ()  # arrays whose addresses are in a table
    sizes: int = 0  # how many of the first arguments are sizes
    has_threads: bool = True

    def run(self, module: Any, thread: int = 0, threads: int = 1) -> None:
        addresses = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in self.arguments]
        getattr(module, self.function)(*((thread, threads) if self.has_threads else ()), *addresses)


def floats(random: Random, *shape: int) -> np.ndarray:
    scale = random.choice([1.0, 1.0, 1.0, 30.0, 0.0])
    return (scale * random.uniform(-1, 1, shape)).astype(np.float32)


def integers(random: Random, low: int, high: int, *shape: int) -> np.ndarray:
    return random.integers(low, high + 1, shape, dtype=np.int64)


def counters() -> np.ndarray:
    return np.zeros(JOB_COUNTERS, np.int64)


def pack_call(random: Random, outputs: int, inputs: int) -> Call:
    columns, width = outputs + -outputs % TILE, inputs + -inputs % LANES
    packed = [np.zeros(columns * width, np.int8), np.zeros(columns, np.float32), np.zeros(columns, np.float32)]
    arguments = [outputs, inputs, floats(random, outputs, inputs), *packed]
    return Call("pack", arguments, packed, sizes=2, has_threads=False)


def packed(kernels: Any, random: Random, outputs: int, inputs: int) -> list[np.ndarray]:
    call = pack_call(random, outputs, inputs)
    call.run(kernels)
    return [*call.outputs, floats(random, outputs + -outputs % TILE), random.choice(LEVELS, 1)]


def table(parameters: list[np.ndarray]) -> np.ndarray:
    return np.array([parameter.ctypes.data for parameter in parameters], np.int64)


def random_pack(kernels: Any, random: Random) -> Call:
    return pack_call(random, int(random.integers(1, 90)), int(random.integers(1, 90)))


def random_linear(kernels: Any, random: Random) -> Call:
    rows, inputs, outputs = (int(random.integers(1, most)) for most in (120, 70, 150))
    stride, parameters = inputs + int(random.integers(0, 5)), packed(kernels, random, outputs, inputs)
    out = np.zeros((rows, outputs), np.float32)
    tensors = [table(parameters), floats(random, rows, stride), counters(), out]
    return Call("linear", [rows, inputs, outputs, stride, 0.1, *tensors], [out], tuple(parameters), sizes=4)


def random_lstm(kernels: Any, random: Random) -> Call:
    sequences, width, inputs, size = (int(random.integers(1, most)) for most in (20, 8, 40, 40))
    units, parameters = size + -size % LANES, []
    for _ in range(2):
        parameters += packed(kernels, random, 4 * units, inputs) + packed(kernels, random, 4 * units, size)
    lengths = integers(random, 0, width, sequences)
    out = np.zeros((sequences, width, 2, size), np.float32)
    tensors = [floats(random, sequences, width, inputs), lengths, np.argsort(-lengths), counters(), out]
    settings = [sequences, width, inputs, size, inputs, int(random.integers(1, 13))]
    return Call("lstm", [*settings, table(parameters), *tensors], [out], tuple(parameters), sizes=6)


def random_encode(kernels: Any, random: Random) -> Call:
    segments, width, layers, heads = (int(random.integers(1, most)) for most in (8, 30, 3, 4))
    size, inner, words = LANES * heads, LANES * int(random.integers(1, 9)), 20
    parameters = [floats(random, words, size), floats(random, width, size), floats(random, size), floats(random, size)]
    for _ in range(layers):
        parameters += packed(kernels, random, 3 * size, size) + packed(kernels, random, size, size)
        parameters += [floats(random, size), floats(random, size), *packed(kernels, random, inner, size)]
        parameters += [*packed(kernels, random, size, inner), floats(random, size), floats(random, size)]
    pieces, lengths = integers(random, 0, words - 1, segments, width), integers(random, 1, width, segments)
    out = np.zeros((segments, width, size), np.float32)
    added = floats(random, segments, width, size) if random.integers(2) else 0
    settings = [segments, width, layers, size, heads, inner, words, width, 1e-12]
    tensors = [table(parameters), pieces, lengths, floats(random, layers + 1), added, counters(), out]
    return Call("encode", [*settings, *tensors], [out], tuple(parameters), sizes=8)


def random_score_labels(kernels: Any, random: Random) -> Call:
    spans, size, classes, boundaries = (int(random.integers(1, most)) for most in (250, 30, 40, 20))
    parameters = packed(kernels, random, (size + 1) * (classes + -classes % LANES), size)
    ends = [integers(random, 0, boundaries - 1, spans), np.sort(integers(random, 0, boundaries - 1, spans))]
    out = np.zeros((spans, classes), np.float32)
    vectors = [floats(random, boundaries, size), floats(random, boundaries, size)]
    arguments = [spans, size, classes, boundaries, size, table(parameters), *vectors, *ends, counters(), out]
    return Call("score_labels", arguments, [out], tuple(parameters), sizes=5)


def random_label_utility(random: Random) -> Call:
    spans, classes, names = (int(random.integers(1, most)) for most in (250, 30, 10))
    counts = integers(random, 0, 2, classes)
    starts = np.concatenate([[0], counts.cumsum()]).astype(np.int64)
    chains = integers(random, 0, names - 1, int(counts.sum()) + 1)[:-1]
    scores, marginals = floats(random, spans, classes), np.abs(floats(random, spans))
    choices = int(random.integers(1, min(classes, 5) + 1))
    utility, probabilities = (np.zeros((spans, choices), np.float32) for _ in range(2))
    labels = np.zeros((spans, choices), np.int64)
    settings = [spans, classes, names, len(chains), choices, 0.4]
    tensors = [scores, marginals, starts, chains, counts.astype(np.float64), utility, probabilities, counters(), labels]
    return Call("label_utility", [*settings, *tensors], [utility, probabilities, labels], sizes=5)


def random_score_chart(kernels: Any, random: Random) -> Call:
    sentences, boundaries, size = (int(random.integers(1, most)) for most in (6, 20, 40))
    vectors = [floats(random, sentences, boundaries, size), floats(random, sentences, boundaries, size + 1)]
    out = np.zeros((sentences, boundaries, boundaries), np.float32)
    arguments = [sentences, boundaries, size, size, *vectors, counters(), out]
    return Call("score_chart", arguments, [out], sizes=4)


def random_mean_pool(kernels: Any, random: Random) -> Call:
    pieces, size, positions, rows = (int(random.integers(1, most)) for most in (60, 40, 40, 60))
    indices = [integers(random, 0, most - 1, pieces) for most in (rows, positions)]
    out = np.zeros((positions, size), np.float32)
    arguments = [
        pieces,
        size,
        positions,
        rows,
        floats(random, rows, size),
        *indices,
        integers(random, 1, 4, pieces),
        out,
    ]
    return Call("mean_pool", arguments, [out], sizes=4, has_threads=False)


KERNELS = [random_pack, random_linear, random_lstm, random_encode, random_score_labels, random_score_chart]
KERNELS += [random_mean_pool]


def chart_calls(charts: Any, random: Random) -> Iterator[Call]:
    """Inside, outside and CKY on the same scores."""
    batch, size = int(random.integers(1, 6)), int(random.integers(2, 30))
    dtype = random.choice([np.float32, np.float64])
    score_charts = int(random.integers(1, 3))
    scores = random.normal(0, 3, (batch, score_charts, size, size)).astype(dtype)
    scores[random.random(scores.shape) < 0.05] = -np.inf
    lengths, plane = integers(random, 1, size - 1, batch), charts.plane_length(size - 1)
    chart = np.zeros((batch, 2 + 2 * score_charts, plane))
    trees = np.zeros((batch, size, size), bool)
    outs = {"inside": np.zeros(batch), "outside": np.zeros(scores.shape, dtype), "cky": trees}
    for name, out in outs.items():
        arrays = [scores, lengths, np.argsort(-lengths), np.zeros((batch, 2), np.int64), chart]
        arguments = [batch, size, score_charts, int(dtype == np.float64), *arrays, np.zeros((6, 2, plane)), out]
        yield Call(name, arguments, [out], sizes=2)
    labels = int(random.integers(1, 20))
    label_scores = random.normal(0, 3, (batch, size, size, labels)).astype(dtype)
    label_scores[random.random(label_scores.shape) < 0.05] = -np.inf
    is_constituent, sums = random.random(labels) < 0.6, np.zeros((batch, 3, size, size))
    factors, weights = random.normal(0, 1, (batch, 2, size, size)), np.zeros_like(label_scores)
    for name, outs in (("label_sums", [sums]), ("label_weights", [sums, factors, weights])):
        buffers = np.zeros((3, labels, 8))
        arrays = [label_scores, lengths, np.zeros(1, np.int64), is_constituent, buffers, *outs]
        yield Call(name, [batch, size, labels, int(dtype == np.float64), *arrays], outs[-1:], sizes=2)


def write_random_brackets(writer: Any, random: Random, is_hostile: bool) -> None:
    """Lines of random trees: each constituent of a sentence spans all words from its start to the sentence's end."""
    sentences = [["w"] * int(random.integers(1, 9)) for _ in range(int(random.integers(1, 5)))]
    words, spans = sum(map(len, sentences)), []
    for sentence in sentences:
        n = len(sentence)
        spans += [(i, end) for i in range(n) for end in ([i + 1] if i == n - 1 else [i + 1, n])]
    starts, ends = (np.array(column, np.int32) for column in zip(*spans, strict=True))
    labels, tags = (integers(random, 0, 2, count).astype(np.int32) for count in (len(spans), words))
    arrays = [starts, ends, labels, tags]
    if is_hostile and random.integers(2):
        array = arrays[random.integers(4)]
        array[random.integers(len(array))] = random.choice([-1, 9, 2**31 - 1, -(2**31)])
    addresses = [array.ctypes.data for array in arrays]
    if is_hostile:
        words = int(random.choice([words, words, *WRONG_SIZES]))
        addresses[random.integers(4)] *= int(random.integers(2))
    texts = (" (A", " (B (C", ""), ("DT", "NN", "VB"), " (TOP"
    lines = writer.write_lines(sentences, None, words, *addresses, *texts, -1, str)
    assert is_hostile or all(line.count("(") == line.count(")") for line in lines), lines


def make_hostile(call: Call, random: Random) -> None:
    """Changes one argument of a call."""
    position = int(random.integers(len(call.arguments)))
    argument = call.arguments[position]
    if not isinstance(argument, np.ndarray):
        if position < call.sizes:
            call.arguments[position] = int(random.choice(WRONG_SIZES))
        elif isinstance(argument, float):
            call.arguments[position] = float(random.choice([np.nan, np.inf, -np.inf, 0.0]))
    elif random.integers(3) == 0:
        call.arguments[position] = 0
    elif argument.dtype.kind == "f" and argument.size:
        argument.flat[integers(random, 0, argument.size - 1, 3)] = random.choice([np.nan, np.inf, -np.inf, 3e38])
    elif argument.dtype == np.int64 and argument.size and not call.parameters:
        argument.flat[random.integers(argument.size)] = random.choice(WRONG_INDICES)
    elif argument.dtype == np.int64 and argument.size:  # entries of tables are addresses: only null is an error
        is_table = argument.size >= 4 and argument.flat[0] == call.parameters[0].ctypes.data
        argument.flat[random.integers(argument.size)] = 0 if is_table else random.choice(WRONG_INDICES)


def check_valid(module: Any, call: Call, pool: ThreadPoolExecutor, random: Random) -> list[bytes]:
    """Runs a call on one thread, and then on three threads, some of which never start."""
    counts = [array for array in call.arguments if isinstance(array, np.ndarray) and array.dtype == np.int64]
    saved = [array.copy() for array in counts]
    call.run(module)
    expected = [out.tobytes() for out in call.outputs]
    for threads in (3, 3) if call.has_threads else ():
        for array, values in zip(counts, saved, strict=True):
            array[...] = values  # the counters start from zero again
        futures = [
            pool.submit(call.run, module, thread, threads) for thread in range(1, random.integers(1, threads + 1))
        ]
        call.run(module, 0, threads)
        for future in futures:
            future.result()
        assert [out.tobytes() for out in call.outputs] == expected, f"{call.function} depends on its threads"
    for array, values in zip(counts, saved, strict=True):
        array[...] = values
    return expected


def check_kernel(kernels: Any, call: Call, pool: ThreadPoolExecutor, random: Random) -> None:
    results = {}
    for name in kernels.instruction_sets():
        kernels.select(name)
        results[name] = check_valid(kernels, call, pool, random)
    for name, result in results.items():
        assert result == results["scalar"], f"{call.function} with {name} differs from plain C"


def attempt(call: Callable[[], None]) -> int:
    """Whether a hostile call was refused."""
    try:
        call()
    except REFUSED:
        return 1
    return 0


def run_cases(folder: Path, cases: int, seed: int) -> int:
    """Runs random calls; returns how many were refused."""
    kernels, charts = load(folder, "network/runtime/_kernels"), load(folder, "chart/_cpu_backend")
    writer, decoding = load(folder, "trees/treebank/_bracket_writer"), load(folder, "parser/decoding/_decoding")
    random, refused = np.random.default_rng(seed), 0
    with ThreadPoolExecutor(2) as pool, np.errstate(all="ignore"):
        for case in range(cases):
            is_hostile, kind = case % 2 == 1, case // 2 % (len(KERNELS) + 3)
            if kind == len(KERNELS):
                calls, module = list(chart_calls(charts, random)), charts
            elif kind == len(KERNELS) + 1:
                calls, module = [random_label_utility(random)], decoding
            elif kind == len(KERNELS) + 2:
                refused += attempt(lambda hostile=is_hostile: write_random_brackets(writer, random, hostile))
                continue
            else:
                calls, module = [KERNELS[kind](kernels, random)], kernels
            for call in calls:
                if is_hostile:
                    kernels.select(str(random.choice(kernels.instruction_sets())))
                    make_hostile(call, random)
                    refused += attempt(lambda call=call, module=module: call.run(module))
                elif module is kernels:
                    check_kernel(kernels, call, pool, random)
                else:
                    check_valid(module, call, pool, random)
    return refused


if __name__ == "__main__":
    count, first_seed = int(sys.argv[1]), int(sys.argv[2])
    source = Path(sys.argv[3]) if len(sys.argv) > 3 else SOURCE
    print(f"{count} random calls, {run_cases(source, count, first_seed)} of them refused")
