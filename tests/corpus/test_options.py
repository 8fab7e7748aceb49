import argparse
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Literal

import pytest

from treecrf import __version__
from treecrf.corpus.options import (
    SUFFIXES,
    ClusterOptions,
    OptionError,
    ParseOptions,
    add_options,
    check_device,
    check_minimum,
    read_options,
)


def test_the_record_of_an_output_has_every_option_and_the_model() -> None:
    settings = ParseOptions(format="csv", rows="sentences", no_mbr=True).output_settings()
    assert (settings["format"], settings["rows"], settings["no_mbr"]) == ("csv", "sentences", True)
    assert settings["treecrf"] == __version__ and len(settings["model_sha256"]) == 64
    assert ParseOptions(format="json").output_settings()["rows"] is None  # other formats have no rows


def test_numbers_have_minimums() -> None:
    check_minimum(Namespace(jobs=1, epochs=None), jobs=1, epochs=1)
    with pytest.raises(ValueError, match="--jobs is 0; expected 1 or more"):
        check_minimum(Namespace(jobs=0), jobs=1)


def test_every_format_has_a_suffix() -> None:
    assert [ParseOptions(format=name).format for name in SUFFIXES] == list(SUFFIXES)  # type: ignore[arg-type]


def test_a_folder_of_a_model_becomes_absolute(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)
    assert ParseOptions(model="own").with_absolute_model().model == str((tmp_path / "own").resolve())
    assert ParseOptions(model="en").with_absolute_model() == ParseOptions(model="en")


def test_the_longest_sentence_depends_on_the_output() -> None:
    assert ParseOptions(max_words=10_000).word_limit == 5000
    assert ParseOptions(max_words=30).word_limit == 30
    for options in (ParseOptions(format="json", probs=True), ParseOptions(format="json", kbest=2)):
        assert options.word_limit == 1000


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cpu_workers", 0),
        ("max_line_bytes", 1),
        ("max_words", 1),
        ("workers", 1),
        ("cpus_per_worker", 1),
        ("retries", 0),
    ],
)
def test_numbers_have_a_minimum(name: str, least: int) -> None:
    options = ParseOptions if name in ("max_line_bytes", "max_words") else ClusterOptions
    options(**{name: least})
    with pytest.raises(ValueError, match=f"--{name.replace('_', '-')} is {least - 1}; expected {least} or more"):
        options(**{name: least - 1})


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5])
def test_a_worker_has_a_part_of_a_gpu(share: float) -> None:
    assert ClusterOptions(gpus_per_worker=1.0).gpus_per_worker == 1.0
    with pytest.raises(ValueError, match="expected more than 0 and at most 1"):
        ClusterOptions(gpus_per_worker=share)


@pytest.mark.parametrize("output_format", ["brackets", "conllu", "csv"])
def test_alternatives_need_a_format_that_has_them(output_format) -> None:
    with pytest.raises(ValueError, match="--kbest needs --format json or pretty"):
        ParseOptions(format=output_format, kbest=1)
    with pytest.raises(ValueError, match="--kbest is -1; expected 0 or more"):
        ParseOptions(format="json", kbest=-1)


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


def test_options_have_defaults() -> None:
    parse, cluster = ParseOptions(), ClusterOptions()
    assert (parse.model, parse.format, parse.rows, parse.id) == ("en", "brackets", "constituents", "id")
    assert (parse.max_line_bytes, parse.max_words, parse.kbest) == (1_000_000, 2000, 0)
    flags = (parse.tokens, parse.paragraphs, parse.probs, parse.exact, parse.no_mbr, parse.skip_bad)
    assert not any(flags)
    assert (cluster.cpus_per_worker, cluster.gpus_per_worker, cluster.cpu_workers, cluster.retries) == (1, 1.0, 0, 3)
