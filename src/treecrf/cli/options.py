"""Options of commands: declared by the fields of a dataclass, and checked."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

T = TypeVar("T")


class OptionError(ValueError):
    """An option with a value that it cannot have. The command ends with status 2, as for an unknown option."""


def add_options(
    parser: "argparse._ActionsContainer",
    options: type,
    *,
    prefix: str = "",
    groups: "Mapping[str, argparse._ActionsContainer] | None" = None,
) -> None:
    """Declares an option for each field of a dataclass, with the description and metavar in the field's metadata.

    `groups` has the groups of some fields by name.
    """
    for field in fields(options):
        kind, description = _kind(field.type), field.metadata["description"]
        details: dict[str, Any] = {"type": kind, "metavar": field.metadata.get("metavar", "N")}
        if kind is bool:
            details = {"action": "store_true"}
        elif get_origin(kind) is Literal:
            details = {"choices": get_args(kind)}
        if field.default:
            description += " (default: %(default)s)"
        name = f"--{prefix}{field.name}".replace("_", "-")
        container = (groups or {}).get(field.name, parser)
        container.add_argument(name, default=field.default, help=description, **details)


def _kind(hint: Any) -> Any:
    """The type of an option's value: `int` for `int | None`."""
    is_optional = NoneType in get_args(hint)
    return next(kind for kind in get_args(hint) if kind is not NoneType) if is_optional else hint


def read_options(args: argparse.Namespace, options: type[T], *, prefix: str = "") -> T:
    """The dataclass of options that `add_options` has declared."""
    return options(**{field.name: getattr(args, prefix + field.name) for field in fields(options)})  # type: ignore[arg-type]


def check_device(device: str, *, is_local: bool) -> None:
    """Raises an error if a device has another name, or if this machine does not have it (with `is_local`)."""
    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", device)
    if match is None:
        raise OptionError(f"--device is {device}; expected cpu, cuda or cuda:N")
    if device == "cpu" or not is_local:
        return
    import torch

    gpus = torch.cuda.device_count()
    if not gpus:
        raise OptionError(f"--device is {device}, and PyTorch finds no GPU on this machine; use --device cpu")
    if match[1] and int(match[1]) >= gpus:
        raise OptionError(f"--device is {device}, and the last GPU of this machine is cuda:{gpus - 1}")
