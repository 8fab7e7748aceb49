import argparse
from dataclasses import dataclass, field
from typing import Literal

import pytest

from treecrf.cli.options import OptionError, add_options, check_device, read_options


@dataclass(frozen=True)
class Example:
    """Options of each kind."""

    name: str = field(default="a", metadata={"description": "a name", "metavar": "M"})
    is_fast: bool = field(default=False, metadata={"description": "hurry"})
    size: int | None = field(default=None, metadata={"description": "a size"})
    share: float = field(default=0.0, metadata={"description": "a share"})
    kind: Literal["x", "y"] = field(default="x", metadata={"description": "a kind"})
    form: Literal["b", "c"] | None = field(default=None, metadata={"description": "a form"})


def parse(*arguments: str) -> Example:
    parser = argparse.ArgumentParser()
    add_options(parser, Example, prefix="max_")
    return read_options(parser.parse_args(arguments), Example, prefix="max_")


def test_options_are_read_back_as_their_dataclass() -> None:
    assert parse() == Example()
    arguments = ["--max-name", "b", "--max-is-fast", "--max-size", "3", "--max-share", "0.5", "--max-kind", "y"]
    assert parse(*arguments, "--max-form", "c") == Example("b", True, 3, 0.5, "y", "c")


@pytest.mark.parametrize(
    "arguments", [["--max-size", "x"], ["--max-kind", "b"], ["--max-form", "x"], ["--max-is-fast=1"]]
)
def test_values_of_another_type_are_errors(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        parse(*arguments)


def test_help_has_descriptions_and_defaults() -> None:
    parser = argparse.ArgumentParser()
    group = parser.add_argument_group("sizes")
    add_options(parser, Example, groups={"size": group})
    text = " ".join(parser.format_help().split())
    assert "--name M a name (default: a)" in text and "--is-fast hurry --share" in text
    assert "--kind {x,y} a kind (default: x)" in text and "a share --kind" in text
    assert text.endswith("sizes: --size N a size")


@pytest.mark.parametrize(("gpus", "device"), [(0, "cpu"), (1, "cuda"), (2, "cuda:1")])
def test_devices_of_this_machine_are_accepted(monkeypatch: pytest.MonkeyPatch, gpus: int, device: str) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    check_device(device, is_local=True)


@pytest.mark.parametrize(
    ("gpus", "device", "message"),
    [(0, "gpu", "expected cpu, cuda or cuda:N"), (0, "cuda", "PyTorch finds no GPU"), (2, "cuda:2", "is cuda:1$")],
)
def test_other_devices_are_errors(monkeypatch: pytest.MonkeyPatch, gpus: int, device: str, message: str) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    with pytest.raises(OptionError, match=message):
        check_device(device, is_local=True)
    if device != "gpu":
        check_device(device, is_local=False)
