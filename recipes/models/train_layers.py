"""Trains the layers, scorers and conditions of a packed model again, for example with new teachers.

    python recipes/models/train_layers.py MODEL OUT RECIPE [KEY=VALUE ...] [--run FOLDER]
        [--only-conditions | --only-rules]

MODEL and OUT are folders of models; they may be the same. RECIPE names the training and dev trees, the teachers and the
schedule; the vocabulary and the network are MODEL's. FOLDER is for the training run. OUT gets the weights of
the epoch with the best dev F as bytes. Subwords, word and character vectors and the scores of capital letters keep
their bytes. If OUT has a model card, the card gets the recipe.

If the recipe has `data.told`, the network reads the conditions of `model.tag_conditions` and `model.schemes`; vectors
that MODEL has are trained further. With --only-conditions, all other weights keep their bytes, too, and the trees of
the model without conditions do not change. With --only-rules, nothing is trained: OUT gets the productions, labels and
tags of the schemes of `data.schemes`.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from treecrf.config import read_config, to_toml
from treecrf.parser import Parser
from treecrf.parser.decoding.schemes import scheme_arrays
from treecrf.parser.models.model_card import CARD_JSON, ModelCard
from treecrf.parser.storage import CONDITION_PREFIX, ParserState, load_parser_state, save_parser_state
from treecrf.training import fit
from treecrf.training.adaptation.fine_tuning import is_context, train_only, with_weights
from treecrf.training.config import DataConfig, Recipe
from treecrf.training.export.card_files import save_card
from treecrf.training.export.pack import portable_recipe, source_commit
from treecrf.training.setup import TreebankPart

WEIGHT_STEP = 0.1  # as in `treecrf pack --weight-step`


def update_card(folder: Path, recipe: Recipe) -> None:
    """Names the recipe and the commit of this training in the model card of a folder."""
    card = ModelCard.load(folder)
    recipe = portable_recipe(replace(recipe, model=load_parser_state(folder).config.model), card.purpose)
    save_card(replace(card, recipe=to_toml(recipe), commit=source_commit()), folder)


def is_condition(name: str) -> bool:
    return name.startswith(CONDITION_PREFIX)


def add_conditions(state: ParserState, recipe: Recipe) -> ParserState:
    """A model that reads tags and the schemes of a recipe; the vectors of new conditions are zero."""
    if not recipe.data.told:
        return state
    assert state.bert is not None, "conditions need a plain BERT"
    before, new = state.config.model, recipe.model
    model = replace(
        before,
        tag_conditions=before.tag_conditions or new.tag_conditions,
        schemes=tuple(dict.fromkeys((*before.schemes, *new.schemes))),
    )
    rows = {"tags": len(state.vocabulary.tags) * model.tag_conditions, "schemes": len(model.schemes)}
    vectors = {}
    for name, count in rows.items():
        none = np.zeros((state.bert.num_hidden_layers + 1, 0, state.bert.hidden_size), np.float32)
        known = state.weights.get(CONDITION_PREFIX + name, none).astype(np.float32)
        if count:
            vectors[CONDITION_PREFIX + name] = np.pad(known, ((0, 0), (0, count - known.shape[1]), (0, 0)))
    return replace(state, config=replace(state.config, model=model), weights={**state.weights, **vectors})


def add_rules(state: ParserState, data: DataConfig) -> ParserState:
    """A model with the productions, labels and tags of each scheme."""
    trees = TreebankPart.read(data.train, "data.train").retag(data.retag).by_scheme(data.schemes)
    return replace(state, components={**state.components, "schemes": scheme_arrays(trees)})


def main() -> None:
    """Trains, and saves the model with the trained weights."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("out", type=Path)
    arguments.add_argument("recipe")
    arguments.add_argument("settings", nargs="*")
    arguments.add_argument("--run", type=Path, default=Path("runs/layers"))
    kinds = arguments.add_mutually_exclusive_group()
    kinds.add_argument("--only-conditions", action="store_true")
    kinds.add_argument("--only-rules", action="store_true")
    options = arguments.parse_intermixed_args()
    recipe = read_config(Recipe, Path(options.recipe), options.settings)
    packed = load_parser_state(options.model)
    if options.only_rules:
        save_parser_state(options.out, add_rules(packed, recipe.data))
        return
    packed = add_conditions(packed, recipe)
    parser = Parser.from_state(packed, precision="float32")
    only = is_condition if options.only_conditions else lambda name: is_condition(name) or is_context(name)
    names = train_only(parser.model, only)
    result = fit(recipe, options.run, parser=parser)
    print(f"dev F {result.dev_f:.2f} after {result.best_epoch} epochs")
    trained = load_parser_state(options.run)
    weights = {name: trained.weights[name] for name in names}
    packed = replace(packed, components={**packed.components, **trained.components})
    save_parser_state(options.out, with_weights(packed, weights, step=WEIGHT_STEP))
    if (options.out / CARD_JSON).exists():
        update_card(options.out, recipe)


if __name__ == "__main__":
    main()
