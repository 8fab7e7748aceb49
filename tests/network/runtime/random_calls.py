"""Random calls of the compiled functions of networks, half of the cases with a hostile argument.

    PYTHONPATH=SOURCE:tests python tests/network/runtime/random_calls.py CALLS SEED

A valid call must give the same bits with each instruction set of this processor.
"""

from typing import Any

import numpy as np

from compiled_calls import Call, Random, Runner, counters, floats, integers, main
from treecrf.network.runtime import _kernels

LANES, TILE, STEP_WEIGHTS, JOB_COUNTERS, LEVELS = 16, 64, 128, 3, (255, 16383)  # as in kernels.h
WRONG_NAMES = ("", "sse9", "avx2\0", "é" * 5000, "\ud800", b"avx2", 5, None)


def pack_call(random: Random, outputs: int, inputs: int) -> Call:
    columns, width = outputs + -outputs % TILE, inputs + -inputs % LANES
    packed = [np.zeros(columns * width, np.int8), np.zeros(columns, np.float32), np.zeros(columns, np.float32)]
    weights = floats(random, outputs, inputs) ** random.choice([1, 9])  # most weights of networks are small
    arguments = [outputs, inputs, weights, *packed]
    return Call("pack", arguments, packed, sizes=2, has_threads=False)


def packed(kernels: Any, random: Random, outputs: int, inputs: int) -> list[np.ndarray]:
    call = pack_call(random, outputs, inputs)
    call.run(kernels)
    tiles, *others = call.outputs
    is_large = np.zeros(tiles.size // STEP_WEIGHTS, np.uint8)
    kernels.find_large_sums(is_large.size, tiles.ctypes.data, is_large.ctypes.data)
    return [tiles, is_large, *others, floats(random, outputs + -outputs % TILE), random.choice(LEVELS, 1)]


def table(parameters: list[np.ndarray]) -> np.ndarray:
    return np.array([parameter.ctypes.data for parameter in parameters], np.int64)


def random_pack(kernels: Any, random: Random) -> Call:
    return pack_call(random, int(random.integers(1, 90)), int(random.integers(1, 90)))


def random_linear(kernels: Any, random: Random) -> Call:
    rows, inputs, outputs = (int(random.integers(1, most)) for most in (120, 70, 150))
    stride, parameters = inputs + int(random.integers(0, 5)), packed(kernels, random, outputs, inputs)
    out = np.zeros((rows, outputs), np.float32)
    tensors = [table(parameters), floats(random, rows, stride), counters(JOB_COUNTERS), out]
    return Call("linear", [rows, inputs, outputs, stride, 0.1, *tensors], [out], tuple(parameters), sizes=4)


def random_lstm(kernels: Any, random: Random) -> Call:
    sequences, width, inputs, size = (int(random.integers(1, most)) for most in (20, 8, 40, 40))
    units, parameters = size + -size % LANES, []
    for _ in range(2):
        parameters += packed(kernels, random, 4 * units, inputs) + packed(kernels, random, 4 * units, size)
    lengths = integers(random, 0, width, sequences)
    out = np.zeros((sequences, width, 2, size), np.float32)
    tensors = [floats(random, sequences, width, inputs), lengths, np.argsort(-lengths), counters(JOB_COUNTERS), out]
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
    conditions = floats(random, layers + 1, segments, width, size) if random.integers(2) else 0
    farthest = int(random.integers(0, 40))
    distance_scores = floats(random, heads, 2 * farthest + 1) if random.integers(2) else 0
    settings = [segments, width, layers, size, heads, inner, words, width, farthest, 1e-12]
    tensors = [
        table(parameters),
        pieces,
        lengths,
        floats(random, layers + 1),
        distance_scores,
        added,
        conditions,
        counters(JOB_COUNTERS),
        out,
    ]
    return Call("encode", [*settings, *tensors], [out], tuple(parameters), sizes=9)


def random_score_labels(kernels: Any, random: Random) -> Call:
    spans, size, classes, boundaries = (int(random.integers(1, most)) for most in (250, 30, 40, 20))
    parameters = packed(kernels, random, (size + 1) * (classes + -classes % LANES), size)
    ends = [integers(random, 0, boundaries - 1, spans), np.sort(integers(random, 0, boundaries - 1, spans))]
    out = np.zeros((spans, classes), np.float32)
    vectors = [floats(random, boundaries, size), floats(random, boundaries, size)]
    arguments = [
        spans,
        size,
        classes,
        boundaries,
        size,
        table(parameters),
        *vectors,
        *ends,
        counters(JOB_COUNTERS),
        out,
    ]
    return Call("score_labels", arguments, [out], tuple(parameters), sizes=5)


def random_score_chart(kernels: Any, random: Random) -> Call:
    sentences, boundaries, size = (int(random.integers(1, most)) for most in (6, 20, 40))
    vectors = [floats(random, sentences, boundaries, size), floats(random, sentences, boundaries, size + 1)]
    out = np.zeros((sentences, boundaries, boundaries), np.float32)
    arguments = [sentences, boundaries, size, size, *vectors, counters(JOB_COUNTERS), out]
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


def random_large_sums(kernels: Any, random: Random) -> Call:
    steps = int(random.integers(1, 90))
    tiles, out = integers(random, -127, 127, steps * STEP_WEIGHTS).astype(np.int8), np.zeros(steps, np.uint8)
    return Call("find_large_sums", [steps, tiles, out], [out], sizes=1, has_threads=False)


KERNELS = [random_pack, random_linear, random_lstm, random_encode, random_score_labels, random_score_chart]
KERNELS += [random_mean_pool, random_large_sums]


def check_kernel(runner: Runner, call: Call) -> None:
    results = {}
    for name in _kernels.instruction_sets():
        _kernels.select(name)
        assert _kernels.selected() == name
        results[name] = runner.check(_kernels, call)
    for name, result in results.items():
        assert result == results["scalar"], f"{call.function} with {name} differs from plain C"


def run_case(runner: Runner) -> None:
    call = KERNELS[runner.random.integers(len(KERNELS))](_kernels, runner.random)
    if runner.random.integers(2):
        runner.attempt(lambda: _kernels.select(WRONG_NAMES[runner.random.integers(len(WRONG_NAMES))]))
        _kernels.select(str(runner.random.choice(_kernels.instruction_sets())))
        runner.attempt_hostile(_kernels, call)
    else:
        check_kernel(runner, call)


if __name__ == "__main__":
    main("network", run_case)
