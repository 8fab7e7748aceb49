"""A plan: which parsers are trained on a treebank, by what recipes, and where each is kept."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from treecrf.config import read_config
from treecrf.reproduce import paper
from treecrf.reproduce.ablations import BY_NAME, TABLES, Row, rows_of
from treecrf.training import Recipe
from treecrf.training.data_loader import mix_seed
from treecrf.tree import Tree
from treecrf.treebank import read_trees, write_trees

TREEBANK = "treebank.toml"
PARTS = ("train", "dev", "test")
_ENDINGS = (".mrg", ".mrg.gz")


@dataclass(frozen=True, kw_only=True)
class Treebank:
    """The files of a treebank's parts; of dev and test there may be several, one for each genre."""

    files: dict[str, tuple[Path, ...]]

    @staticmethod
    def find(folder: Path) -> "Treebank":
        """`train.mrg`, `dev.mrg` and `test.mrg` of a folder, gzipped or not; `test.news.mrg` is the genre news."""
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is no folder; expected one with train.mrg, dev.mrg and test.mrg in it")
        files = {part: sorted(path for path in folder.iterdir() if _is_of(part, path)) for part in PARTS}
        missing = [part for part in PARTS if not files[part]]
        if missing:
            raise FileNotFoundError(f"{folder} has no {missing[0]}.mrg and no {missing[0]}.mrg.gz")
        if len(files["train"]) > 1:
            names = ", ".join(path.name for path in files["train"])
            raise ValueError(f"{folder} has several train files ({names}); keep one, or put them together")
        return Treebank(files={part: tuple(path.resolve() for path in found) for part, found in files.items()})

    @cached_property
    def trees(self) -> dict[str, list[Tree]]:
        """The trees of each part."""
        return {part: [tree for path in paths for tree in read_trees(path)] for part, paths in self.files.items()}

    def genres(self, part: str) -> list[tuple[str, int]]:
        """The names of a part's files, without what they share, and how many trees each has."""
        return [(_genre(path), sum(1 for _ in read_trees(path))) for path in self.files[part]]


def _is_of(part: str, path: Path) -> bool:
    return path.name.startswith(f"{part}.") and path.name.endswith(_ENDINGS)


def _genre(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".mrg").partition(".")[2] or "all"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One parser to be trained."""

    row: Row
    seed: int
    folder: Path
    settings: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be done for a report."""

    treebank: Treebank
    out: Path
    tables: tuple[str, ...] = ("dev", "test")
    seeds: tuple[int, ...] = (1, 2, 3)
    epochs: int | None = None  # at most
    vectors: str = ""
    unknown_vector: str = ""
    encoder: str = ""
    settings: tuple[str, ...] = ()  # for all rows, or as ROW:section.name=value for one
    corpus: str = ""  # the paper's treebank that this is, or what its sizes say

    def __post_init__(self) -> None:
        unknown = [table for table in self.tables if table not in TABLES]
        if unknown:
            raise ValueError(f"there is no table '{unknown[0]}'; expected some of {', '.join(TABLES)}")
        if self.corpus and self.corpus not in paper.TITLES:
            raise ValueError(f"the paper has no treebank '{self.corpus}'; expected one of {', '.join(paper.TITLES)}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds are {list(self.seeds)}; expected one or more, each once")
        for setting in self.settings:
            row = setting.partition("=")[0].rpartition(":")[0]
            if row and row not in {row.runs_of for row in BY_NAME.values()}:
                raise ValueError(f"'{setting}' is for a row that is never trained; expected a row's name before ':'")

    @cached_property
    def paper_corpus(self) -> str:
        """The paper's treebank that this is, if any."""
        return self.corpus or paper.recognize(*(len(self.treebank.trees[part]) for part in PARTS))

    def is_possible(self, row: Row) -> bool:
        """Whether what a row needs was named."""
        return not row.needs or bool(getattr(self, row.needs))

    def runs(self) -> list[Run]:
        """Every run that the tables need, once: the first seed of all rows first."""
        rows = [row for table in self.tables for row in rows_of(table) if self.is_possible(row)]
        trained = {row.runs_of: BY_NAME[row.runs_of] for row in rows}
        return [self.run(row, seed) for seed in self.seeds for row in trained.values()]

    def run(self, row: Row, seed: int) -> Run:
        """The run behind a row."""
        row = BY_NAME[row.runs_of]
        settings = (*self._common(row), *self._own(row), f"train.seed={seed}")
        return Run(row=row, seed=seed, folder=self.out / "runs" / f"{row.name}-{seed}", settings=_last(settings))

    def recipe(self, run: Run) -> Recipe:
        """All settings of a run."""
        recipe = read_config(Recipe, self.out / TREEBANK, run.settings)
        if self.epochs is None or recipe.train.epochs <= self.epochs:
            return recipe
        return read_config(Recipe, self.out / TREEBANK, (*run.settings, f"train.epochs={self.epochs}"))

    def _common(self, row: Row) -> tuple[str, ...]:
        shared = [setting for setting in self.settings if ":" not in setting.partition("=")[0]]
        part = () if row.share == 1 else (f"data.train={json.dumps([str(self.share_path(row))])}",)
        return (*paper.SETTINGS.get(self.paper_corpus, ()), *shared, *part)

    def _own(self, row: Row) -> tuple[str, ...]:
        fill = {"vectors": self.vectors, "unknown": self.unknown_vector, "encoder": self.encoder}
        mine = [setting.partition(":")[2] for setting in self.settings if setting.startswith(f"{row.name}:")]
        return (*(setting.format(**fill) for setting in row.settings), *mine)

    def share_path(self, row: Row) -> Path:
        """Where a part of the training trees is kept."""
        return (self.out / "data" / f"train-{round(100 * row.share)}.mrg.gz").resolve()

    def write(self) -> None:
        """Write what the runs read: the treebank's places, and parts of the training trees."""
        (self.out / "runs").mkdir(parents=True, exist_ok=True)
        lists = {part: json.dumps([str(path) for path in self.treebank.files[part]]) for part in PARTS}
        (self.out / TREEBANK).write_text("[data]\n" + "".join(f"{part} = {lists[part]}\n" for part in PARTS))
        for run in self.runs():
            path = self.share_path(run.row)
            if run.row.share < 1 and not path.exists():
                path.parent.mkdir(exist_ok=True)
                write_trees(path, first_share(self.treebank.trees["train"], run.row.share))


def first_share(trees: Sequence[Tree], share: float) -> list[Tree]:
    """A share of the trees, in their order; a smaller share is a part of a larger one, whatever the order."""
    ranks = sorted(range(len(trees)), key=lambda number: mix_seed("share", number))
    chosen = sorted(ranks[: max(1, round(share * len(trees)))])
    return [trees[number] for number in chosen]


def _last(settings: Sequence[str]) -> tuple[str, ...]:
    """Of settings with the same name the last one, as a list would be put together from all of them."""
    return tuple({setting.partition("=")[0]: setting for setting in settings}.values())
