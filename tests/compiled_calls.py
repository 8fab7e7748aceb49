"""Random calls of compiled functions: valid calls, and calls with a hostile argument.

A valid call must give the same bits on one and on several threads. A hostile call has a size that is negative or huge,
an address that is null, an index out of range, or NaN and infinite numbers: it must be refused with an error or
computed. `make sanitize` runs the scripts `random_calls.py` with modules that report every access outside of an array.
"""

import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

REFUSED: tuple[type[Exception], ...] = (ValueError, MemoryError, OverflowError, TypeError)
WRONG_SIZES = (-1, -(2**62), 2**41, 2**62)
WRONG_INDICES = (-1, 2**40, 2**62, -(2**63))
Random = np.random.Generator


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


def counters(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


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


class PythonRandom(random.Random):
    """Python's random choices with NumPy's random numbers."""

    def __init__(self, generator: Random) -> None:
        super().__init__(0)
        self.generator = generator

    def random(self) -> float:
        return self.generator.random()

    def getrandbits(self, k: int, /) -> int:
        return int.from_bytes(self.generator.bytes(-(-k // 8)), "big") >> -k % 8


@dataclass
class Runner:
    """Runs random calls, and counts them; a call on several threads is one."""

    seed: int
    calls: int = 0
    refused: int = 0
    random: Random = field(init=False)
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2))

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def attempt(self, call: Callable[[], object], *also_refused: type[Exception]) -> None:
        """Runs a hostile call."""
        self.calls += 1
        try:
            call()
        except (*REFUSED, *also_refused):
            self.refused += 1

    def attempt_hostile(self, module: Any, call: Call) -> None:
        make_hostile(call, self.random)
        self.attempt(lambda: call.run(module))

    def check(self, module: Any, call: Call) -> list[bytes]:
        """Runs a call on one thread, and then on three threads, some of which never start; returns its results."""
        counts = [array for array in call.arguments if isinstance(array, np.ndarray) and array.dtype == np.int64]
        saved = [array.copy() for array in counts]
        call.run(module)
        expected = [out.tobytes() for out in call.outputs]
        for threads in (3, 3) if call.has_threads else ():
            for array, values in zip(counts, saved, strict=True):
                array[...] = values  # the counters start from zero again
            started = range(1, self.random.integers(1, threads + 1))
            futures = [self.pool.submit(call.run, module, thread, threads) for thread in started]
            call.run(module, 0, threads)
            for future in futures:
                future.result()
            assert [out.tobytes() for out in call.outputs] == expected, f"{call.function} depends on its threads"
        for array, values in zip(counts, saved, strict=True):
            array[...] = values
        self.calls += 3 if call.has_threads else 1
        return expected


def run_calls(run_case: Callable[[Runner], None], calls: int, seed: int) -> Runner:
    """Runs random cases, which are one or more calls each, until there are enough calls."""
    runner = Runner(seed)
    with runner.pool, np.errstate(all="ignore"):
        while runner.calls < calls:
            run_case(runner)
    return runner


def main(name: str, run_case: Callable[[Runner], None]) -> None:
    """Runs as many calls as the first argument says, with the seed of the second."""
    runner = run_calls(run_case, int(sys.argv[1]), int(sys.argv[2]))
    print(f"{runner.calls:,} random calls of {name}, {runner.refused:,} of them refused")
