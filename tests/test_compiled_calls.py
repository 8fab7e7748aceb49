"""The random calls of `make sanitize` reach every compiled function."""

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from compiled_calls import REFUSED, run_calls

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "treecrf"
STUBS = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("_*.pyi"))
WITHOUT_ARGUMENTS = {"instruction_sets", "selected"}  # nothing to refuse


def recorded(function: Callable[..., Any], called: set[str], refused: set[str]) -> Callable[..., Any]:
    """A function that notes its calls and its errors."""

    def call(*arguments: Any) -> Any:
        called.add(function.__name__)
        try:
            return function(*arguments)
        except (*REFUSED, AttributeError, LookupError):
            refused.add(function.__name__)
            raise

    return call


def compiled_module(stub: Path) -> ModuleType:
    return pytest.importorskip(f"treecrf.{'.'.join(stub.with_suffix('').parts)}", reason="it is not compiled")


@pytest.mark.parametrize("stub", STUBS, ids=str)
def test_every_compiled_function_gets_valid_and_hostile_random_calls(stub: Path) -> None:
    module = compiled_module(stub)
    functions = {name: function for name, function in vars(module).items() if inspect.isbuiltin(function)}
    random_calls = import_module(f"{'.'.join(stub.parent.parts)}.random_calls")
    called: set[str] = set()
    refused: set[str] = set()
    with ExitStack() as patches:
        for name, function in functions.items():
            patches.enter_context(mock.patch.object(module, name, recorded(function, called, refused)))
        run_calls(random_calls.run_case, 1500, seed=3)
    assert called == set(functions)
    assert refused == set(functions) - WITHOUT_ARGUMENTS


def test_make_sanitize_has_the_folder_of_every_compiled_module() -> None:
    makefile = (TESTS.parent / "Makefile").read_text()
    line = next(line for line in makefile.splitlines() if line.startswith("C_MODULES := "))
    assert sorted(line.split()[2:]) == sorted({stub.parent.as_posix() for stub in STUBS})
