"""Packs a training run: a small model with its model card."""

import subprocess
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from treecrf.config import read_config, to_toml, tomllib
from treecrf.evalb import COLLINS, Rules, Score, bootstrap, find_rules
from treecrf.evalb.summary import summarize
from treecrf.export.model_card import (
    CARD_JSON,
    LONG,
    ModelCard,
    Purpose,
    TreebankInfo,
    TreebankScore,
    TreebankWellFormedness,
    model_bytes,
)
from treecrf.export.run_defaults import (
    ScoringFiles,
    data_files,
    recipe_files,
    treebank_name,
    unstated_purpose,
    unstated_treebank,
)
from treecrf.parser import Parser
from treecrf.parser.evaluate import evaluate_parser
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.training.checkpoint import RECIPE, read_rules
from treecrf.training.config import Recipe
from treecrf.treebank import clean, read_trees
from treecrf.treebank.binarize import constituent_labels
from treecrf.treebank.well_formed import VIOLATION_NAMES, WellFormednessComparison


def pack_model(
    run: Path,
    folder: Path,
    purpose: Purpose | None = None,
    treebanks: Mapping[str, TreebankInfo] | None = None,
    *,
    data: Path | None = None,
    vectors: int | None = None,
    commit: str | None = None,
    device: str | None = None,
) -> ModelCard:
    """Writes a run's parser as a small model with its card, scored on the files `data`/NAME/test.mrg.gz.

    Without `data`, the training and test files are those of the run's recipe. Without `purpose` and `treebanks`, the
    card says that nothing is stated. Words without training examples keep their pretrained vectors, but only the first
    `vectors` words if it is given.
    """
    run_recipe = read_config(Recipe, run / RECIPE)
    if purpose is None:
        purpose = unstated_purpose(map(treebank_name, run_recipe.data.train))
    recipe = _portable(run_recipe, purpose)
    names = list(dict.fromkeys(map(treebank_name, [*run_recipe.data.train, *run_recipe.data.parsed])))
    unknown = [name for name in names if treebanks is not None and name not in treebanks]
    if unknown:
        raise ValueError(f"{run} was trained on {unknown[0]}, which has no description; add it to the treebanks file")
    files = recipe_files(run_recipe) if data is None else data_files(data, recipe.data.train, purpose.tests)
    save_parser_state(folder, _drop_unused(load_parser_state(run), recipe, vectors), small=True)
    parser = Parser.load(folder, device)
    scores, well_formedness = _measure(parser, files, rules=read_rules(run, run_recipe))
    card = ModelCard(
        name=folder.name,
        purpose=purpose,
        version=version("treecrf"),
        commit=source_commit() if commit is None else commit,
        size=model_bytes(folder),
        data=tuple(unstated_treebank(name) if treebanks is None else treebanks[name] for name in names),
        scores=scores,
        well_formedness=well_formedness,
        labels=constituent_labels(parser.vocabulary.labels),
        tags=tuple(sorted(parser.vocabulary.tags)),
        recipe=to_toml(recipe),
    )
    card.save(folder)
    return card


def renew_card(
    folder: Path, purpose: Purpose, treebanks: Mapping[str, TreebankInfo], *, data: Path, device: str | None = None
) -> ModelCard:
    """Writes the card of a packed model again, with new texts and new scores."""
    card = ModelCard.load(folder)
    files = data_files(data, tomllib.loads(card.recipe)["data"]["train"], purpose.tests)
    parser = Parser.load(folder, device)
    scores, well_formedness = _measure(parser, files, rules=scoring_rules(folder))
    card = replace(
        card,
        purpose=purpose,
        size=model_bytes(folder),
        data=tuple(treebanks[treebank.name] for treebank in card.data),
        scores=scores,
        well_formedness=well_formedness,
    )
    card.save(folder)
    return card


def scoring_rules(folder: Path) -> Rules:
    """The EVALB rules of a training run or of a packed model; Collins' rules if the folder names none."""
    if (folder / RECIPE).exists():
        return read_rules(folder, read_config(Recipe, folder / RECIPE))
    if (folder / CARD_JSON).exists():
        return find_rules(tomllib.loads(ModelCard.load(folder).recipe)["data"]["rules"])
    return COLLINS


def _portable(recipe: Recipe, purpose: Purpose) -> Recipe:
    """The recipe without the folders of the machine that it ran on."""

    def shorten(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple("/".join(Path(path).parts[-2:]) for path in paths)

    data = recipe.data
    data = replace(data, train=shorten(data.train), parsed=shorten(data.parsed))
    data = replace(data, dev=shorten(data.dev), test=shorten(data.test))
    data = replace(data, vectors=Path(data.vectors).name if data.vectors else "", rules=Path(data.rules).name)
    model = recipe.model
    if model.transformer:
        model = replace(model, transformer=purpose.encoder or Path(model.transformer).name)
    train = replace(recipe.train, teachers=tuple(Path(folder).name for folder in recipe.train.teachers))
    return replace(recipe, data=data, model=model, train=train)


def _drop_unused(state: ParserState, recipe: Recipe, vectors: int | None) -> ParserState:
    """The state without vocabulary that the network never reads, and without rare pretrained vectors."""
    vocabulary, weights = state.vocabulary, state.weights
    if not state.config.model.reads_words:
        vocabulary = replace(vocabulary, words=(), chars=())
    elif vectors is not None and vocabulary.vectors is not None:
        vocabulary = replace(vocabulary, vectors=vocabulary.vectors[:vectors])
        table = "inputs.words.pretrained.weight"
        weights = {**weights, table: weights[table][: vocabulary.sizes.vectors]}
    return replace(state, config=replace(state.config, model=recipe.model), vocabulary=vocabulary, weights=weights)


def _measure(
    parser: Parser, files: ScoringFiles, *, rules: Rules
) -> tuple[tuple[TreebankScore, ...], tuple[TreebankWellFormedness, ...]]:
    """Scores and well-formedness on each test set; scores count sentences of the training data."""
    training_sentences = {_fold(tree.words) for path in files.train for tree in read_trees(path)}
    unlimited_rules = replace(rules, max_error=None)
    results = [_score(parser, name, paths, unlimited_rules, training_sentences) for name, paths in files.tests.items()]
    return tuple(score for score, _ in results), tuple(entry for _, entry in results if entry)


def _fold(words: Iterable[str]) -> tuple[str, ...]:
    """The words in lower case."""
    return tuple(word.lower() for word in words)


def _score(
    parser: Parser, name: str, paths: Iterable[Path], rules: Rules, training_sentences: Set[tuple[str, ...]]
) -> tuple[TreebankScore, TreebankWellFormedness | None]:
    trees = chain.from_iterable(map(read_trees, paths))
    gold = [cleaned for tree in trees if (cleaned := clean(tree, keep_labels=True))]
    scores = evaluate_parser(parser, gold, rules=rules)
    lowercase_scores = evaluate_parser(parser, gold, rules=rules, lowercase=True)
    main, evalb = scores.all_sentences, scores.evalb
    seen = [tree for tree in gold if _fold(tree.words) in training_sentences]
    pairs = zip(main.sentences, gold, strict=True)
    unseen = summarize([sentence for sentence, tree in pairs if _fold(tree.words) not in training_sentences])
    score = TreebankScore(
        name=name,
        sentences=main.all.sentences,
        f1=main.f1,
        interval=_interval(main),
        evalb_f1=evalb.f1,
        evalb_interval=_interval(evalb),
        skipped=evalb.all.sentences - evalb.all.valid,
        tagging=evalb.all.tagging_accuracy,
        lower_f1=lowercase_scores.all_sentences.f1,
        seen=len(seen),
        seen_long=sum(len(tree.words) >= LONG for tree in seen),
        unseen_f1=unseen.brackets.f1,
    )
    return score, scores.well_formedness and _well_formedness(name, scores.well_formedness)


def _well_formedness(name: str, comparison: WellFormednessComparison) -> TreebankWellFormedness:
    gold, predicted = comparison
    shares = (100 * gold.unseen_share, 100 * predicted.unseen_share)
    return TreebankWellFormedness(
        name=name,
        trees=gold.trees,
        ill_formed=(gold.ill_formed, predicted.ill_formed),
        violations={
            violation: (gold.by_name[violation], predicted.by_name[violation]) for violation in VIOLATION_NAMES
        },
        unseen_productions=shares if predicted.productions else None,
    )


def _interval(score: Score) -> tuple[float, float]:
    low, high = bootstrap.intervals(score).get("f1", (score.f1, score.f1))  # missing if EVALB scores no sentence
    return low, high


def source_commit() -> str:
    """The git commit of this package's source; empty if the package is not in a checkout of its own."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        # an installed package may be in a folder of another project's checkout, which does not track it
        tracked = subprocess.run([*git, "ls-files", "--error-unmatch", __file__], capture_output=True, check=False)
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return head.stdout.strip() if tracked.returncode == 0 else ""
