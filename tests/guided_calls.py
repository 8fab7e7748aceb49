"""Calls of a compiled module that are guided by coverage: libFuzzer chooses the random numbers of `random_calls.py`.

    python tests/guided_calls.py MODULE CALLS SEED

MODULE is the folder of a `random_calls.py`, such as `trees/search`. libFuzzer keeps the inputs that reach new branches
of the C code, and changes them further. `make sanitize` compiles the modules for it and runs this script.
"""

import ctypes
import hashlib
import importlib.util
import os
import sys
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Lock
from types import ModuleType
from typing import Any

import atheris
import numpy as np

from compiled_calls import Runner

WORD = 8  # bytes
FIRST_INPUTS, INPUT_BYTES = 100, 1024
SLOW_SECONDS = 60  # a case of searches may take nine times two seconds
NUMBER_TYPES = (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_double, ctypes.c_uint64)
CALLBACKS = [ctypes.CFUNCTYPE(number, ctypes.c_void_p) for number in NUMBER_TYPES]


class BitGenerator(ctypes.Structure):
    """NumPy's interface of a source of random numbers, `bitgen_t`: the next numbers are read from bytes."""

    _fields_ = [("state", ctypes.c_void_p), *((f"next{number}", kind) for number, kind in enumerate(CALLBACKS))]

    def __init__(self) -> None:
        functions = (self.word, lambda _: self.word() >> 32, lambda _: (self.word() >> 11) * 2.0**-53, self.word)
        super().__init__(None, *(kind(function) for kind, function in zip(CALLBACKS, functions, strict=True)))
        create = ctypes.pythonapi.PyCapsule_New
        create.restype, create.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.capsule, self.lock = create(ctypes.addressof(self), b"BitGenerator", None), Lock()
        self.restart(b"")

    def restart(self, data: bytes) -> None:
        self.data, self.position = data, 0
        self.later = Random(hashlib.sha256(data).digest())  # numbers after the end of the bytes

    def word(self, _: object = None) -> int:
        piece = self.data[self.position : self.position + WORD]
        self.position += WORD
        return int.from_bytes(piece, "big") if len(piece) == WORD else self.later.getrandbits(64)


def load_calls(module: str) -> ModuleType:
    """The script of random calls of a module."""
    spec = importlib.util.spec_from_file_location("random_calls", Path(__file__).parent / module / "random_calls.py")
    assert spec is not None and spec.loader is not None
    calls = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(calls)
    return calls


def main() -> None:
    module, calls, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random_calls, runner, numbers, cases = load_calls(module), Runner(seed), BitGenerator(), count()
    source: Any = numbers
    runner.random = np.random.Generator(source)

    first_inputs = TemporaryDirectory()
    for number in range(FIRST_INPUTS):
        Path(first_inputs.name, str(number)).write_bytes(Random(f"{seed} {number}").randbytes(INPUT_BYTES))

    def run_case(data: bytes) -> None:
        if runner.calls >= calls:
            refused = f"{runner.refused:,} of them refused"
            print(f"{runner.calls:,} guided calls of {module} in {next(cases):,} cases, {refused}", flush=True)
            first_inputs.cleanup()
            os._exit(0)  # libFuzzer has no other end
        next(cases)
        numbers.restart(data)
        with np.errstate(all="ignore"):
            random_calls.run_case(runner)

    options = [f"-seed={seed}", f"-max_len={4 * INPUT_BYTES}", "-len_control=0", "-rss_limit_mb=4096", "-verbosity=0"]
    options += ["-artifact_prefix=build/", f"-report_slow_units={SLOW_SECONDS}"]
    atheris.Setup([sys.argv[0], first_inputs.name, *options], run_case)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
