"""Typed settings in TOML files; an unknown setting is an error.

The settings of a component are a frozen dataclass beside it. A file has one table per component, and may name a `base`
file whose settings it overrides, or a list of them, of which the later ones override the earlier ones.
`section.setting=value` on the command line overrides the file.
"""

import dataclasses
import difflib
import json
import sys
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from treecrf import TreecrfError

tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

T = TypeVar("T")

_COMMAND_LINE = "the command line"
_BASE = "base"  # the setting with the names of other files
_NOUNS = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


class SettingError(TreecrfError, ValueError):
    """A setting that does not exist, is missing, or has a value of the wrong kind."""


class _Setting(NamedTuple):
    value: Any  # a TOML value, or a list of texts from the command line
    source: str


def read_config(kind: type[T], path: str | Path, overrides: Sequence[str] = ()) -> T:
    """Reads the settings of a TOML file as the dataclass `kind`, with `section.setting=value` overrides."""
    return _from_settings(kind, _read(Path(path), ()), overrides, str(path))


def parse_config(kind: type[T], data: bytes, path: str | Path) -> T:
    """The settings in the content of a TOML file without a base file, as the dataclass `kind`."""
    settings = _parse_toml(data, str(path))
    if _BASE in settings:
        raise SettingError(f"{path} has a 'base'; expected all settings of a saved model in its own file")
    return _from_settings(kind, settings, (), str(path))


def _from_settings(kind: type[T], file_settings: Mapping[str, _Setting], overrides: Sequence[str], path: str) -> T:
    known = setting_names(kind)
    settings = dict(file_settings)
    for name, texts in _group(overrides).items():
        settings[name] = _Setting(texts, _COMMAND_LINE)
    for name, setting in settings.items():
        if name not in known:
            raise SettingError(
                f"unknown setting '{name[:100]}' in {setting.source}; did you mean '{_nearest(name[:100], known)}'?"
            )
    return _build(kind, "", settings, path)


def read_data(module: str, name: str = "") -> dict[str, Any]:
    """Reads the TOML file beside a module, given by its `__file__`; without a name, it has the name of the module."""
    path = Path(module).parent / name if name else Path(module).with_suffix(".toml")
    tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return tables


def to_toml(config: Any) -> str:
    """The TOML text that `read_config` reads back as an equal config."""
    return "\n".join(_tables(config, ""))


def setting_names(kind: type) -> list[str]:
    """The dotted names of all settings in a dataclass of dataclasses."""
    names = []
    for name, hint in typing.get_type_hints(kind).items():
        is_table = dataclasses.is_dataclass(hint)
        names += [f"{name}.{rest}" for rest in setting_names(cast(type, hint))] if is_table else [name]
    return names


def differences(old: Any, new: Any) -> list[str]:
    """The dotted names of the settings whose values differ."""
    return [name for name in setting_names(type(new)) if attrgetter(name)(old) != attrgetter(name)(new)]


def _read(path: Path, parents: tuple[Path, ...]) -> dict[str, _Setting]:
    if path.resolve() in parents:
        raise SettingError(f"{path} is its own base, by way of {parents[-1]}")
    settings = _parse_toml(path.read_bytes(), str(path))
    base = settings.pop(_BASE, None)
    if base is None:
        return settings
    names = _as_list(base.value)
    if not all(isinstance(name, str) for name in names):
        raise SettingError(f"'base' in {path} is {base.value!r}; expected the name of another file, or a list of names")
    base_settings: dict[str, _Setting] = {}
    for name in names:
        base_settings |= _read(path.parent / name, (*parents, path.resolve()))
    return base_settings | settings


def _parse_toml(data: bytes, path: str) -> dict[str, _Setting]:
    """The settings of a TOML file by their dotted names."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingError(f"{path} is not UTF-8 text: {error}") from None
    try:
        return _flatten(tomllib.loads(text), "", path)
    except RecursionError:
        raise SettingError(f"{path} is nested too deeply; expected [section] and setting = value") from None
    except ValueError as error:  # also from integers with thousands of digits
        raise SettingError(f"{path} is not TOML: {error!s:.200}") from None


def _flatten(table: Mapping[str, Any], prefix: str, source: str) -> dict[str, _Setting]:
    settings: dict[str, _Setting] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            settings |= _flatten(value, f"{prefix}{key}.", source)
        else:
            settings[prefix + key] = _Setting(value, source)
    return settings


def _group(overrides: Iterable[str]) -> dict[str, list[str]]:
    """Texts by setting; repeated overrides of a setting are the items of a list."""
    texts: dict[str, list[str]] = {}
    for override in overrides:
        name, equals, text = override.partition("=")
        if not equals:
            raise SettingError(f"{override!r} on the command line is no setting; expected section.name=value")
        texts.setdefault(name.strip(), []).append(text)
    return texts


def _build(kind: type[T], prefix: str, settings: Mapping[str, _Setting], path: str) -> T:
    values: dict[str, Any] = {}
    for field in dataclasses.fields(cast(Any, kind)):
        hint = _not_none(typing.get_type_hints(kind)[field.name])
        name = prefix + field.name
        if dataclasses.is_dataclass(hint):
            values[field.name] = _build(cast(type, hint), f"{name}.", settings, path)
        elif name in settings:
            values[field.name] = _convert(name, settings[name], hint)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise SettingError(f"setting '{name}' is missing in {path}; expected {_noun(hint)} ({name}=...)")
    try:
        return kind(**values)
    except SettingError:
        raise
    except ValueError as error:
        raise SettingError(f"[{prefix.rstrip('.')}] in {path}: {error}") from error


def _convert(name: str, setting: _Setting, hint: Any) -> Any:
    value = setting.value
    if setting.source == _COMMAND_LINE:
        value = _from_texts(value, hint)
    try:
        return _check(value, hint)
    except TypeError:
        text = value if isinstance(value, str) and value.isprintable() else json.dumps(value, default=str)
        message = f"setting '{name}' in {setting.source} is {text:.200}; expected {_noun(hint)}"
        raise SettingError(message + _suggestion(value, hint)) from None


def _check(value: Any, hint: Any) -> Any:
    """Converts a TOML value to its type; a TypeError if it has another type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal and value in inner:
        return value
    if origin is tuple and isinstance(value, list | str):
        kinds = inner[:1] * len(_as_list(value)) if inner[-1] is ... else inner
        if len(kinds) == len(_as_list(value)):
            return tuple(_check(item, kind) for item, kind in zip(_as_list(value), kinds, strict=True))
    if hint is float and type(value) is int:
        return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    raise TypeError


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _not_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    (inner,) = (arg for arg in get_args(hint) if arg is not types.NoneType)
    return inner


def _from_texts(texts: list[str], hint: Any) -> Any:
    """Converts the texts of one setting on the command line to a TOML value."""
    if get_origin(hint) is not tuple:
        return _from_text(texts[-1], hint)
    items: list[Any] = []
    for text in texts:
        value = _as_toml(text)
        if isinstance(value, list):
            items += value
        else:
            items += [_from_text(item, get_args(hint)[0]) for item in text.split(",") if item]
    return items


def _from_text(text: str, hint: Any) -> Any:
    if hint is float:
        try:
            return float(text)  # TOML does not accept .5 and 5.
        except ValueError:
            return text
    value = _as_toml(text)
    is_text = hint is str or (get_origin(hint) is Literal and isinstance(get_args(hint)[0], str))
    return text if value is None or (is_text and not isinstance(value, str)) else value


def _as_toml(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return None
    return table["value"] if len(table) == 1 else None


def _noun(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return "one of " + ", ".join(repr(value) for value in inner)
    if origin is tuple and inner[-1] is ...:
        return f"a list, each {_noun(inner[0])}"
    if origin is tuple:
        return f"a list of {len(inner)}, each {_noun(inner[0])}"
    return _NOUNS.get(hint, getattr(hint, "__name__", str(hint)))


def _suggestion(value: Any, hint: Any) -> str:
    if get_origin(hint) is not Literal:
        return ""
    near = difflib.get_close_matches(str(value)[:100], [str(choice) for choice in get_args(hint)], n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _nearest(name: str, known: Sequence[str]) -> str:
    """The known name most similar to this one, with or without its section."""
    tail = name.rpartition(".")[2]

    def similarity(candidate: str) -> float:
        whole = difflib.SequenceMatcher(None, name, candidate).ratio()
        return max(whole, difflib.SequenceMatcher(None, tail, candidate.rpartition(".")[2]).ratio())

    return max(known, key=similarity)


def _tables(config: Any, prefix: str) -> Iterable[str]:
    lines: list[str] = []
    inner: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            inner[field.name] = value
        elif value is not None:
            lines.append(f"{field.name} = {toml_literal(value)}")
        elif field.default is not None:
            raise ValueError(f"{prefix}{field.name} is None, which TOML cannot write if the default is another value")
    if lines:
        yield "\n".join([f"[{prefix.rstrip('.')}]"] * bool(prefix) + lines) + "\n"
    for name, value in inner.items():
        yield from _tables(value, f"{prefix}{name}.")


def toml_literal(value: Any) -> str:
    """A value of a setting as TOML writes it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(toml_literal, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
