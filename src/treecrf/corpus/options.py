"""Options of commands, declared by the fields of dataclasses, and the options of `treecrf parse`."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

from treecrf import TreecrfError, __version__

if TYPE_CHECKING:
    from treecrf.parser import Parser

T = TypeVar("T")

SUFFIXES = {
    "brackets": ".mrg",
    "json": ".jsonl",
    "pretty": ".txt",
    "conllu": ".conllu",
    "csv": ".csv",
    "parquet": ".parquet",
}
TABLES = ("csv", "parquet")
_FORMATS = {suffix: name for name, suffix in SUFFIXES.items() if name != "pretty"}
_OFFICE = (".tsv", ".xlsx", ".xls", ".ods", ".docx")
_PICTURES = (".svg", ".png", ".pdf", ".tex", ".html")
_FORMATS |= {".json": "json", ".ndjson": "json", ".pq": "parquet"}


class OptionError(TreecrfError, ValueError):
    """An option with a value that it cannot have. The command ends with status 2, as for an unknown option."""


def option(default: Any, description: str, metavar: str = "N") -> Any:
    """A field that is an option of the command line."""
    return field(default=default, metadata={"description": description, "metavar": metavar})


def check_minimum(options: object, **minimums: int) -> None:
    """Raises an error if an option is less than its minimum."""
    for name, minimum in minimums.items():
        value = getattr(options, name)
        if value is not None and value < minimum:
            raise ValueError(f"--{name.replace('_', '-')} is {value}; expected {minimum} or more")


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
    for declared in fields(options):
        kind, description = _kind(declared.type), declared.metadata["description"]
        details: dict[str, Any] = {"type": kind, "metavar": declared.metadata.get("metavar", "N")}
        if kind is bool:
            details = {"action": "store_true"}
        elif get_origin(kind) is Literal:
            details = {"choices": get_args(kind)}
        if declared.default and "(default" not in description:
            description += " (default: %(default)s)"
        name = f"--{prefix}{declared.name}".replace("_", "-")
        container = (groups or {}).get(declared.name, parser)
        container.add_argument(name, default=declared.default, help=description, **details)


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


def format_by_name(output: str) -> str:
    """The format of an output file, judged by its name: brackets if the name has no suffix of another format."""
    suffix = Path(output.removesuffix(".gz")).suffix
    if suffix in _PICTURES:
        raise OptionError(f"parse writes no pictures; to draw the trees of a text: treecrf draw TEXT -o {output}")
    if suffix in _OFFICE:
        raise OptionError(
            f"parse writes no {suffix} files; for a table, write .csv or .parquet: -o {Path(output).stem}.csv"
        )
    return _FORMATS.get(suffix, "brackets")


def names_output_file(output: str) -> bool:
    """Whether an output has the name of a file of trees, and not of a folder."""
    return Path(output.removesuffix(".gz")).suffix in (*_FORMATS, ".txt")


@dataclass(frozen=True, kw_only=True)
class ParseOptions:
    """Options that determine the output of a line."""

    model: str = option("en", "an installed model or a folder", "M")
    tokens: bool = option(False, "a line is one sentence, with spaces between its words")
    tags: bool = option(False, "words have tags: word/TAG with --tokens, the field tags, or the tags of trees")
    paragraphs: bool = option(False, "lines are hard-wrapped text; a paragraph is joined")
    field: str | None = option(None, "field of JSON lines or Parquet to parse (default: text or tokens)", "F")
    id: str = option("id", "field of JSON lines or Parquet to copy into JSON", "F")
    format: Literal["brackets", "json", "pretty", "conllu", "csv", "parquet"] = option(
        "brackets", "output format (default: by the name of OUT, or brackets)"
    )
    rows: Literal["constituents", "sentences", "predicates"] = option("constituents", "rows of csv and parquet")
    probs: bool = option(False, "also output the probabilities (json, pretty, csv, parquet)")
    kbest: int = option(0, "also output the K most probable trees (json, pretty)", "K")
    functions: bool = option(False, "labels with functions, such as NP-SBJ, if the model predicts them")
    empties: bool = option(False, "trees with empty elements, such as (NP (-NONE- *T*-1)), if the model predicts them")
    exact: bool = option(False, r"in brackets, write parentheses in words as \u{28}, not as -LRB-")
    no_mbr: bool = option(False, "output the trees with the best scores instead of MBR decoding")
    skip_bad: bool = option(False, "write an empty line and a warning for a line that cannot be parsed")
    max_line_bytes: int = option(1_000_000, "longest line")
    max_words: int = option(2000, "longest sentence")
    precision: Literal["float32", "float16", "int8", "int14"] | None = option(
        None, "int8 and int14 are for CPUs, float16 for GPUs (default: int8 or float16 where the model supports it)"
    )

    def __post_init__(self) -> None:
        if self.kbest and self.format not in ("json", "pretty"):
            raise ValueError(f"--kbest needs --format json or pretty; {self.format} has one tree per sentence")
        if self.probs and self.format not in ("json", "pretty", *TABLES):
            raise ValueError(f"--probs needs --format json, pretty, csv or parquet; {self.format} has no probabilities")
        if self.tags and self.paragraphs:
            raise ValueError("--tags needs words, not the text of --paragraphs")
        check_minimum(self, kbest=0, max_line_bytes=1, max_words=1)

    @property
    def word_limit(self) -> int:
        """The longest sentence: `max_words`, or fewer words if the parser cannot compute the output for more."""
        from treecrf.parser.pipeline import MAX_ANALYZED_WORDS, MAX_WORDS

        return min(self.max_words, MAX_ANALYZED_WORDS if self.probs or self.kbest else MAX_WORDS)

    def with_absolute_model(self) -> "ParseOptions":
        """The same options; the path of a model folder is absolute."""
        is_folder = Path(self.model).is_dir()
        return replace(self, model=str(Path(self.model).resolve())) if is_folder else self

    def load_parser(self, device: str | None) -> "Parser":
        from treecrf.parser import Parser

        return Parser.load(self.model, device, precision=self.precision)

    def output_settings(self) -> dict[str, Any]:
        """Settings that determine the output; `--resume` requires them to be unchanged."""
        from treecrf.corpus.output_record import model_digest

        rows = self.rows if self.format in TABLES else None
        return asdict(self) | {"rows": rows, "model_sha256": model_digest(self.model), "treecrf": __version__}


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Options of `--engine ray`: the cluster, its workers and the shards."""

    address: str | None = option(
        None, "address of the cluster, or auto on one of its machines (default: this machine)", "A"
    )
    workers: int | None = option(None, "number of workers (default: as many as fit)")
    cpus_per_worker: int = option(1, "cores and threads of each worker")
    gpus_per_worker: float = option(1.0, "share of a GPU per worker", "X")
    cpu_workers: int = option(0, "additional workers that use the CPU")
    shard_lines: int | None = option(
        None, "lines per shard, a multiple of 8,192 (default: 65,536 on GPUs, 16,384 on CPUs)"
    )
    retries: int = option(3, "how often a failed shard is tried again")

    def __post_init__(self) -> None:
        check_minimum(self, workers=1, cpus_per_worker=1, cpu_workers=0, retries=0)
        if not 0 < self.gpus_per_worker <= 1:
            raise ValueError(f"--gpus-per-worker is {self.gpus_per_worker}; expected more than 0 and at most 1")
