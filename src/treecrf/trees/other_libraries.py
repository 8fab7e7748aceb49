"""Advice for names and options of other libraries, from the lines of `other_libraries.tsv`."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_TABLE: bytes = __loader__.get_data(__file__.removesuffix("py") + "tsv")  # type: ignore[name-defined]  # no pathlib
_ROWS = [line.split("\t") for line in _TABLE.decode().splitlines()]


def hints(owner: str) -> dict[str, str]:
    """The lines of a class, of the package, or of all options, by the names that other libraries have."""
    return {name: hint for each, names, hint in _ROWS if each == owner for name in names.split()}


def explained(owner: str, message: str, name: str) -> str:
    hint = hints(owner).get(name)
    return message if hint is None else f"{message}; {hint}"


class _NameElsewhere:
    def __init__(self, message: str) -> None:
        self.message = message

    def __get__(self, instance: object, owner: type) -> None:
        raise AttributeError(self.message)


def explain_names(owner: type[T]) -> type[T]:
    """Gives a class these names, which raise errors that help; a `__getattr__` would make every attribute slower."""
    names = hints(owner.__name__)
    for name, hint in names.items():
        message = f"{owner.__name__!r} object has no attribute {name!r}: {hint}"
        setattr(owner, name, _NameElsewhere(message))
    owner.__dir__ = lambda self: sorted({*object.__dir__(self)} - names.keys())  # type: ignore[method-assign]
    return owner


_OPTIONS = hints("option")


def explain_options(method: Callable[P, T]) -> Callable[P, T]:
    """Adds what to write instead to the error of an option that other libraries have."""
    elsewhere = _OPTIONS.keys() - method.__annotations__.keys()

    @wraps(method)
    def checked(*arguments: P.args, **options: P.kwargs) -> T:
        for name in options.keys() & elsewhere:
            raise TypeError(f"{method.__qualname__}() has no argument '{name}': {_OPTIONS[name]}")
        return method(*arguments, **options)

    return checked
