"""Packs a training run: a small model with its model card."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from treecrf.arrays import Floats
from treecrf.config import read_config, to_toml, tomllib
from treecrf.files import file_digest
from treecrf.parser import Parser
from treecrf.parser.models.model_card import CARD_JSON, ModelCard, Purpose, TrainingRun, TreebankInfo, model_bytes
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.training.checkpoint import RECIPE, read_rules
from treecrf.training.config import Recipe
from treecrf.training.export.card_files import new_card, save_card, unstated_purpose, unstated_treebank
from treecrf.training.export.measurements import data_files, measure_model, recipe_files, treebank_name
from treecrf.training.export.precisions import allow_half_precision
from treecrf.training.metrics_log import NAME as METRICS_LOG
from treecrf.training.metrics_log import read_metrics
from treecrf.trees.evalb import COLLINS, Rules, find_rules

_TRAINED, _PRETRAINED = "inputs.words.trained.weight", "inputs.words.pretrained.weight"  # tables of word vectors


def pack_model(
    run: Path,
    folder: Path,
    purpose: Purpose | None = None,
    treebanks: Mapping[str, TreebankInfo] | None = None,
    *,
    data: Path | None = None,
    vectors: int | None = None,
    weight_step: float = 0.0,
    commit: str | None = None,
    device: str | None = None,
    only_precisions: bool = False,
) -> ModelCard:
    """Writes a run's parser as a small model with its card, scored on the files `data`/NAME/test.mrg.gz.

    With `only_precisions`, the card has no scores until it is renewed, which needs no GPU.

    Without `data`, the run's recipe names the training and test files. Without `purpose` and `treebanks`, the
    card says that nothing is stated. Words without training examples keep their pretrained vectors, but only the first
    `vectors` words if it is given.
    """
    run_recipe = read_config(Recipe, run / RECIPE)
    if purpose is None:
        purpose = unstated_purpose(map(treebank_name, run_recipe.data.train))
    recipe = portable_recipe(run_recipe, purpose)
    described = _describe_data(run, recipe.data.train + recipe.data.partial, recipe.data.parsed, treebanks)
    files = recipe_files(run_recipe) if data is None else data_files(data, recipe.data.train, purpose.tests)
    save_parser_state(folder, _smaller_state(load_parser_state(run), recipe, vectors), weight_step=weight_step)
    parser = Parser.load(folder, device)
    rules = read_rules(run, run_recipe)
    measurements = measure_model(parser, folder, files, rules=rules, only_precisions=only_precisions)
    allow_half_precision(folder, measurements["precisions"])
    fields = {"commit": source_commit() if commit is None else commit, "data": described, "recipe": to_toml(recipe)}
    fields["runs"] = describe_runs(run, run_recipe, name=folder.name)
    card = new_card(folder, purpose, parser.vocabulary.labels, parser.vocabulary.tags, **fields, **measurements)
    save_card(card, folder)
    return card


def describe_runs(folder: Path, recipe: Recipe, *, name: str) -> tuple[TrainingRun, ...]:
    """Returns the training run of a model, and the runs of its teachers that are still there."""
    runs = {name: folder} | {Path(teacher).name: Path(teacher) for teacher in recipe.train.teachers}
    return tuple(_describe_run(run, each) for run, each in runs.items() if _is_run(each))


def _is_run(folder: Path) -> bool:
    return (folder / RECIPE).is_file() and (folder / METRICS_LOG).is_file()


def _describe_run(name: str, folder: Path) -> TrainingRun:
    records = read_metrics(folder / METRICS_LOG)
    seconds = sum(record.get(part, 0.0) for record in records for part in ("seconds", "dev_seconds"))
    return TrainingRun(
        name=name,
        recipe_digest=file_digest(folder / RECIPE),
        seed=read_config(Recipe, folder / RECIPE).train.seed,
        minutes=round(seconds / 60, 1),
        device=next((record["device"] for record in records if "device" in record), "unknown"),
    )


def renew_card(
    folder: Path, purpose: Purpose, treebanks: Mapping[str, TreebankInfo], *, data: Path, device: str | None = None
) -> ModelCard:
    """Writes the card of a packed model again, with new texts and new scores.

    The comparison of a precision that this device does not have stays as it is.
    """
    card = ModelCard.load(folder)
    trained_on = tomllib.loads(card.recipe)["data"]
    described = _describe_data(
        folder, trained_on["train"] + trained_on.get("partial", []), trained_on["parsed"], treebanks
    )
    files = data_files(data, trained_on["train"], purpose.tests)
    parser = Parser.load(folder, device)
    measurements = measure_model(parser, folder, files, rules=scoring_rules(folder))
    allow_half_precision(folder, measurements["precisions"])
    measured = {each.precision for each in measurements["precisions"]}
    elsewhere = [each for each in card.precisions if each.precision not in measured]
    measurements["precisions"] = (*elsewhere, *measurements["precisions"])
    commit = card.commit or source_commit()  # a model may have been packed where its source is no checkout
    fields = {"commit": commit, "data": described, **measurements}
    card = replace(card, purpose=purpose, size=model_bytes(folder), **fields)
    save_card(card, folder)
    return card


def scoring_rules(folder: Path) -> Rules:
    """Returns the EVALB rules of a training run or of a packed model; Collins' rules if the folder names none."""
    if (folder / RECIPE).exists():
        return read_rules(folder, read_config(Recipe, folder / RECIPE))
    if (folder / CARD_JSON).exists():
        recipe = tomllib.loads(ModelCard.load(folder).recipe)
        return find_rules(recipe["data"]["rules"]) if "data" in recipe else COLLINS
    return COLLINS


def portable_recipe(recipe: Recipe, purpose: Purpose) -> Recipe:
    """Returns the recipe without the folders of the machine that it ran on."""

    def shorten(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple("/".join(Path(path).parts[-2:]) for path in paths)

    paths: dict[str, Any] = {
        part: shorten(getattr(recipe.data, part)) for part in ("train", "parsed", "partial", "dev", "test")
    }
    data = replace(recipe.data, **paths, vectors=Path(recipe.data.vectors).name, rules=Path(recipe.data.rules).name)
    model = recipe.model
    if model.transformer:
        model = replace(model, transformer=purpose.encoder or Path(model.transformer).name)
    teachers = tuple(Path(folder).name for folder in recipe.train.teachers)
    train = replace(recipe.train, teachers=teachers, soft_targets=Path(recipe.train.soft_targets).name)
    return replace(recipe, data=data, model=model, train=train)


def _describe_data(
    folder: Path, train: Sequence[str], parsed: Sequence[str], treebanks: Mapping[str, TreebankInfo] | None
) -> tuple[TreebankInfo, ...]:
    names = list(dict.fromkeys(map(treebank_name, [*train, *parsed])))
    if treebanks is None:
        return tuple(map(unstated_treebank, names))
    unknown = [name for name in names if name not in treebanks]
    if unknown:
        raise ValueError(
            f"{folder} was trained on {unknown[0]}, which has no description; add it to the treebanks file"
        )
    return tuple(treebanks[name] for name in names)


def _smaller_state(state: ParserState, recipe: Recipe, vectors: int | None) -> ParserState:
    """Returns the state without vocabulary that the network never reads, and without rare pretrained vectors."""
    vocabulary, weights = state.vocabulary, state.weights
    if not state.config.model.reads_words:
        vocabulary = replace(vocabulary, words=(), chars=())
    elif vectors is not None and vocabulary.vectors is not None:
        vocabulary = replace(vocabulary, vectors=vocabulary.vectors[:vectors])
        tables = weights[_TRAINED], weights[_PRETRAINED][: vocabulary.sizes.vectors]
        trained, pretrained = merge_word_vectors(*tables, known_words=len(vocabulary.words))
        weights = {**weights, _TRAINED: trained, _PRETRAINED: pretrained}
    model = replace(state.config.model, transformer=recipe.model.transformer)
    return replace(state, config=replace(state.config, model=model), vocabulary=vocabulary, weights=weights)


def merge_word_vectors(trained: Floats, pretrained: Floats, *, known_words: int) -> tuple[Floats, Floats]:
    """Returns the tables with the sum of both vectors of each known word in the first one, and zeros in the second one.

    The network adds the two vectors of a word, and archives compress zeros well. The rows before the known words
    belong to special words; words that are only in the second table share the trained vector of unknown words.
    """
    trained, pretrained = trained.copy(), pretrained.copy()
    known = slice(len(trained) - known_words, len(trained))
    trained[known] += pretrained[known]
    pretrained[known] = 0
    return trained, pretrained


def source_commit() -> str:
    """Returns the git commit of this package's source; empty if the package is not in a checkout of its own."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        # an installed package may be in a folder of another project's checkout, which does not track it
        tracked = subprocess.run([*git, "ls-files", "--error-unmatch", __file__], capture_output=True, check=False)
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return head.stdout.strip() if tracked.returncode == 0 else ""
