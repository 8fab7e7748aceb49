"""The plan of a reproduction: the parsers to train on a treebank, with their recipes and folders."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from treecrf.config import read_config
from treecrf.training import Recipe
from treecrf.training.data_loader import mix_seed
from treecrf.training.reproduce import paper
from treecrf.training.reproduce.paper import BY_NAME, DEFAULT_TABLES, TABLES, Row
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees, write_trees

TREEBANK = "treebank.toml"
PARTS = ("train", "dev", "test")


@dataclass(frozen=True, kw_only=True)
class Treebank:
    """The files of a treebank's parts. Dev and test may have several files, one for each genre."""

    files: dict[str, tuple[Path, ...]]

    @staticmethod
    def find(folder: Path) -> "Treebank":
        """Finds `train.mrg`, `dev.mrg` and `test.mrg` in a folder, or as `.mrg.gz`.

        `test.news.mrg` is the genre `news` of the test set. `test.full.mrg` is left out: the same trees, with function
        tags and empty elements.
        """
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is not a folder; expected one with train.mrg, dev.mrg and test.mrg")
        paths = sorted(path for path in folder.iterdir() if path.name.endswith((".mrg", ".mrg.gz")))
        paths = [path for path in paths if path.name.split(".")[1] != "full"]
        files = {part: [path for path in paths if path.name.startswith(f"{part}.")] for part in PARTS}
        missing = [part for part in PARTS if not files[part]]
        if missing:
            raise FileNotFoundError(f"{folder} has no {missing[0]}.mrg and no {missing[0]}.mrg.gz")
        if len(files["train"]) > 1:
            names = ", ".join(path.name for path in files["train"])
            raise ValueError(f"{folder} has several train files ({names}); expected one file")
        return Treebank(files={part: tuple(path.resolve() for path in paths) for part, paths in files.items()})

    @cached_property
    def trees(self) -> dict[str, list[Tree]]:
        return {part: [tree for path in paths for tree in read_trees(path)] for part, paths in self.files.items()}

    def genres(self, part: str) -> list[tuple[str, int]]:
        """Returns the genres of a part, each with its number of trees."""
        names = [path.name.removesuffix(".gz").removesuffix(".mrg").partition(".")[2] for path in self.files[part]]
        return [
            (name or "all", len(list(read_trees(path)))) for name, path in zip(names, self.files[part], strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class Run:
    """One parser to train."""

    row: Row
    seed: int
    folder: Path
    settings: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The runs that a report needs."""

    treebank: Treebank
    out: Path
    tables: tuple[str, ...] = DEFAULT_TABLES
    rows: tuple[str, ...] = ()  # the rows of the tables to train; empty for all
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    epochs: int | None = None  # limits the epochs of every run
    vectors: str = ""
    unknown_vector: str = ""
    encoder: str = ""
    settings: tuple[str, ...] = ()  # section.name=value for all rows, ROW:section.name=value for one row
    corpus: str = ""  # the treebank's name in the paper, if it cannot be recognized by its size

    def __post_init__(self) -> None:
        unknown = [table for table in self.tables if table not in TABLES]
        if unknown:
            raise ValueError(f"there is no table '{unknown[0]}'; expected {', '.join(TABLES)}")
        if self.corpus and self.corpus not in paper.TITLES:
            raise ValueError(f"the paper has no treebank '{self.corpus}'; expected one of {', '.join(paper.TITLES)}")
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds are {list(self.seeds)}; expected one or more different seeds")
        trained = {row.trained_name for row in BY_NAME.values()}
        for setting in self.settings:
            row = setting.partition("=")[0].rpartition(":")[0]
            if row and row not in trained:
                raise ValueError(f"'{setting}' is for a row that is not trained; expected a trained row before ':'")
        planned = {row.trained_name for table in self.tables for row in TABLES[table]}
        if missing := [row for row in self.rows if row not in planned]:
            raise ValueError(f"the tables have no trained row '{missing[0]}'; expected {', '.join(sorted(planned))}")

    @cached_property
    def paper_corpus(self) -> str:
        """The treebank's name in the paper, if the paper has it."""
        return self.corpus or paper.corpus_of_size(*(len(self.treebank.trees[part]) for part in PARTS))

    def has_inputs_of(self, row: Row) -> bool:
        """Returns whether the plan has the word vectors or the encoder that a row needs."""
        return not row.needs or bool(getattr(self, row.needs))

    def left_out(self) -> list[str]:
        """Describes the rows for which the plan lacks word vectors or an encoder."""
        rows = {row.name: row for name in self.tables for row in TABLES[name]}
        return [f"{row.title}: needs --{row.needs}" for row in rows.values() if not self.has_inputs_of(row)]

    def runs(self) -> list[Run]:
        """Returns the runs that the tables need, each once, ordered by seed."""
        rows = [row for table in self.tables for row in TABLES[table] if self.has_inputs_of(row)]
        trained = {row.trained_name: BY_NAME[row.trained_name] for row in rows}
        if self.rows:
            trained = {name: row for name, row in trained.items() if name in self.rows}
        return [self.run(row, seed) for seed in self.seeds for row in trained.values()]

    def run(self, row: Row, seed: int) -> Run:
        """Returns the run of a row, or of the row with which it shares its runs."""
        row = BY_NAME[row.trained_name]
        values = {"vectors": self.vectors, "unknown": self.unknown_vector, "encoder": self.encoder}
        settings = (
            *paper.SETTINGS.get(self.paper_corpus, ()),
            *(setting for setting in self.settings if ":" not in setting.partition("=")[0]),
            *([f"data.train={json.dumps([str(self.train_share_path(row))])}"] if row.train_share != 1 else ()),
            *(setting.format(**values) for setting in row.settings),
            *(setting.partition(":")[2] for setting in self.settings if setting.startswith(f"{row.name}:")),
            f"train.seed={seed}",
        )
        # one setting of each name, the last: `read_config` would join the values of a repeated list setting
        last = {setting.partition("=")[0]: setting for setting in settings}
        folder = self.out / "runs" / f"{row.name}-{seed}"
        return Run(row=row, seed=seed, folder=folder, settings=tuple(last.values()))

    def recipe(self, run: Run) -> Recipe:
        recipe = read_config(Recipe, self.out / TREEBANK, run.settings)
        epochs = min(recipe.train.epochs, self.epochs or recipe.train.epochs)
        return replace(recipe, train=replace(recipe.train, epochs=epochs))

    def train_share_path(self, row: Row) -> Path:
        """Returns the file with a row's share of the training trees."""
        return (self.out / "data" / f"train-{round(100 * row.train_share)}.mrg.gz").resolve()

    def write(self) -> None:
        """Writes the files that the runs read: the treebank's paths, and shares of the training trees."""
        (self.out / "runs").mkdir(parents=True, exist_ok=True)
        paths = {part: json.dumps([str(path) for path in self.treebank.files[part]]) for part in PARTS}
        (self.out / TREEBANK).write_text("[data]\n" + "".join(f"{part} = {paths[part]}\n" for part in PARTS))
        for run in self.runs():
            path = self.train_share_path(run.row)
            if run.row.train_share < 1 and not path.exists():
                path.parent.mkdir(exist_ok=True)
                write_trees(path, sample_share(self.treebank.trees["train"], run.row.train_share))


def sample_share(trees: Sequence[Tree], share: float) -> list[Tree]:
    """Returns a random share of the trees, in their order; always the same one, and a subset of every larger share."""
    shuffled = sorted(range(len(trees)), key=lambda index: mix_seed("share", index))
    indices = sorted(shuffled[: max(1, round(share * len(trees)))])
    return [trees[index] for index in indices]
