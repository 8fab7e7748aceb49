"""Trains the layers and scorers of a packed model again, for example with new teachers.

    python recipes/models/train_layers.py MODEL OUT RECIPE [KEY=VALUE ...] [--run FOLDER]

MODEL and OUT are folders of models; they may be the same. RECIPE names the training and dev trees, the teachers and the
schedule; the vocabulary and the network are MODEL's. FOLDER is for the training run. OUT gets the weights of
the epoch with the best dev F as bytes. Subwords, word and character vectors and the scores of capital letters keep
their bytes. If OUT has a model card, the card gets the recipe.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from treecrf.config import read_config, to_toml
from treecrf.parser import Parser
from treecrf.parser.models.model_card import CARD_JSON, ModelCard
from treecrf.parser.storage import load_parser_state, save_parser_state
from treecrf.training import fit
from treecrf.training.adaptation.fine_tuning import is_context, train_only, with_weights
from treecrf.training.config import Recipe
from treecrf.training.export.card_files import save_card
from treecrf.training.export.pack import portable_recipe, source_commit

WEIGHT_STEP = 0.1  # as in `treecrf pack --weight-step`


def update_card(folder: Path, recipe: Recipe) -> None:
    """Names the recipe and the commit of this training in the model card of a folder."""
    card = ModelCard.load(folder)
    recipe = portable_recipe(replace(recipe, model=load_parser_state(folder).config.model), card.purpose)
    save_card(replace(card, recipe=to_toml(recipe), commit=source_commit()), folder)


def main() -> None:
    """Trains, and saves the model with the trained weights."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("out", type=Path)
    arguments.add_argument("recipe")
    arguments.add_argument("settings", nargs="*")
    arguments.add_argument("--run", type=Path, default=Path("runs/layers"))
    options = arguments.parse_args()
    recipe = read_config(Recipe, Path(options.recipe), options.settings)
    parser = Parser.load(options.model, precision="float32")
    names = train_only(parser.model, is_context)
    result = fit(recipe, options.run, parser=parser)
    print(f"dev F {result.dev_f:.2f} after {result.best_epoch} epochs")
    packed, trained = load_parser_state(options.model), load_parser_state(options.run)
    weights = {name: trained.weights[name] for name in names}
    save_parser_state(options.out, with_weights(packed, weights, step=WEIGHT_STEP))
    if (options.out / CARD_JSON).exists():
        update_card(options.out, recipe)


if __name__ == "__main__":
    main()
