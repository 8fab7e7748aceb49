"""From a training run to a model that is small and says what it is."""

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import torch

from treecrf.config import read_config, to_toml
from treecrf.evalb import Rules, Score, bootstrap
from treecrf.export.model_card import FACTS, PAGE, Card, PartScore, Purpose, Treebank
from treecrf.parser import Parser
from treecrf.parser.evaluate import evaluate_parser
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.training.checkpoint import RECIPE
from treecrf.training.config import Recipe
from treecrf.tree import unescape
from treecrf.treebank import read_trees
from treecrf.treebank.binarize import is_intermediate


def pack_model(
    run: Path,
    folder: Path,
    purpose: Purpose,
    treebanks: dict[str, Treebank],
    *,
    data: Path,
    vectors: int | None = None,
    commit: str | None = None,
    device: str | None = None,
) -> Card:
    """Write a run's parser as a small model with its card, scored on the test parts that lie in `data`.

    `vectors` is how many words besides those of training keep their pretrained vector, the first in their file.
    """
    recipe = _portable(read_config(Recipe, run / RECIPE), purpose)
    names = list(dict.fromkeys(Path(path).parent.name for path in recipe.data.train))
    unknown = [name for name in names if name not in treebanks]
    if unknown:
        raise ValueError(f"{run} was trained on {unknown[0]}, which no description of treebanks has; add it there")
    save_parser_state(folder, _slim(load_parser_state(run), recipe, vectors), small=True)
    parser = Parser.load(folder, device)
    rules = replace(Rules.named(recipe.data.rules), max_error=None)
    card = Card(
        name=folder.name,
        purpose=purpose,
        version=version("treecrf"),
        commit=head_commit() if commit is None else commit,
        size=sum(path.stat().st_size for path in folder.iterdir() if path.name not in (FACTS, PAGE)),
        data=tuple(treebanks[name] for name in names),
        scores=tuple(_score(parser, name, data, rules) for name in purpose.tests),
        labels=_constituents(parser.vocabulary.labels),
        tags=tuple(sorted(parser.vocabulary.tags)),
        recipe=to_toml(recipe),
    )
    card.save(folder)
    return card


def _constituents(labels: Iterable[str]) -> tuple[str, ...]:
    """The names in chains of labels."""
    chains = [label.split(" ") for label in labels if label and not is_intermediate(label)]
    return tuple(sorted({unescape(name) for chain in chains for name in chain}))


def _portable(recipe: Recipe, purpose: Purpose) -> Recipe:
    """The recipe without the places that files had where it ran."""

    def short(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple("/".join(Path(path).parts[-2:]) for path in paths)

    data = recipe.data
    data = replace(data, train=short(data.train), dev=short(data.dev), test=short(data.test))
    data = replace(data, vectors=Path(data.vectors).name if data.vectors else "")
    model = recipe.model
    if model.transformer:
        model = replace(model, transformer=purpose.encoder or Path(model.transformer).name)
    train = replace(recipe.train, teachers=tuple(Path(folder).name for folder in recipe.train.teachers))
    return replace(recipe, data=data, model=model, train=train)


@torch.no_grad()
def _slim(parts: ParserState, recipe: Recipe, vectors: int | None) -> ParserState:
    """The parts without what the network never reads, or reads too seldom to be worth its room."""
    config, vocabulary, model, _ = parts
    if model.inputs is None:
        vocabulary = replace(vocabulary, words=(), chars=())
    elif vectors is not None and vocabulary.vectors is not None:
        vocabulary = replace(vocabulary, vectors=vocabulary.vectors[:vectors])
        table = model.inputs.words.pretrained
        assert table is not None
        table.weight = torch.nn.Parameter(table.weight[: vocabulary.sizes.vectors].clone(), requires_grad=False)
    return parts._replace(config=replace(config, model=recipe.model), vocabulary=vocabulary)


def _score(parser: Parser, name: str, data: Path, rules: Rules) -> PartScore:
    gold = list(read_trees(data / name / "test.mrg.gz"))
    exam = evaluate_parser(parser, gold, rules=rules)
    lower = evaluate_parser(parser, gold, rules=rules, lowercase=True)
    own = exam.first
    return PartScore(
        name=name,
        sentences=own.all.sentences,
        errors=own.all.errors,
        f1=own.f1,
        interval=_interval(own),
        given_f1=exam.given.f1,
        given_interval=_interval(exam.given),
        tagging=own.all.tagging_accuracy,
        lower_f1=lower.first.f1,
    )


def _interval(score: Score) -> tuple[float, float]:
    low, high = bootstrap.intervals(score).get("f1", (score.f1, score.f1))  # none where no sentence can be scored
    return low, high


def head_commit() -> str:
    """The commit of the checkout that this package is in, if it is in one."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        # a package that was installed below some other checkout is no part of it
        known = subprocess.run([*git, "ls-files", "--error-unmatch", __file__], capture_output=True, check=False)
        done = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if known.returncode == 0 else ""
