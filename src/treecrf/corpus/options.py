"""Options of `treecrf parse`. The fields of a class are the command line, the record of an output and its parser."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from treecrf import __version__

if TYPE_CHECKING:
    from treecrf.parser import Parser

SUFFIXES = {
    "brackets": ".mrg",
    "json": ".jsonl",
    "pretty": ".txt",
    "conllu": ".conllu",
    "csv": ".csv",
    "parquet": ".parquet",
}
TABLES = ("csv", "parquet")


def option(default: Any, description: str, metavar: str = "N") -> Any:
    """A field that is an option of the command line."""
    return field(default=default, metadata={"description": description, "metavar": metavar})


def check_minimum(options: object, **minimums: int) -> None:
    """Raises an error if an option is less than its minimum."""
    for name, minimum in minimums.items():
        value = getattr(options, name)
        if value is not None and value < minimum:
            raise ValueError(f"--{name.replace('_', '-')} is {value}; expected {minimum} or more")


@dataclass(frozen=True, kw_only=True)
class ParseOptions:
    """Options that determine the output of a line."""

    model: str = option("en", "an installed model or a folder", "M")
    tokens: bool = option(False, "a line is one sentence, with spaces between its words")
    paragraphs: bool = option(False, "lines are hard-wrapped text; a paragraph is joined")
    field: str | None = option(None, "field of JSON lines or Parquet to parse (default: text or tokens)", "F")
    id: str = option("id", "field of JSON lines or Parquet to copy into JSON", "F")
    format: Literal["brackets", "json", "pretty", "conllu", "csv", "parquet"] = option("brackets", "output format")
    rows: Literal["constituents", "sentences"] = option("constituents", "rows of csv and parquet")
    probs: bool = option(False, "also output the probabilities (json, pretty, csv, parquet)")
    kbest: int = option(0, "also output the K most probable trees (json, pretty)", "K")
    exact: bool = option(False, r"in brackets, write parentheses in words as \u{28}, not as -LRB-")
    no_mbr: bool = option(False, "output the trees with the best scores instead of MBR decoding")
    skip_bad: bool = option(False, "write an empty line and a warning for a line that cannot be parsed")
    max_line_bytes: int = option(1_000_000, "longest line")
    max_words: int = option(2000, "longest sentence")
    precision: Literal["float32", "int8"] | None = option(None, "on a CPU (default: int8 if supported)")

    def __post_init__(self) -> None:
        if self.kbest and self.format not in ("json", "pretty"):
            raise ValueError(f"--kbest needs --format json or pretty; {self.format} has one tree per sentence")
        if self.probs and self.format not in ("json", "pretty", *TABLES):
            raise ValueError(f"--probs needs --format json, pretty, csv or parquet; {self.format} has no probabilities")
        check_minimum(self, kbest=0, max_line_bytes=1, max_words=1)

    @property
    def word_limit(self) -> int:
        """The longest sentence: `max_words`, or fewer words if the parser cannot compute the output for more."""
        from treecrf.parser.inputs import MAX_ANALYZED_WORDS, MAX_WORDS

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
