"""Trains the layers and scorers of a packed model again, for example with new teachers.

    python recipes/train_layers.py MODEL OUT RECIPE [KEY=VALUE ...] [--run FOLDER]

MODEL and OUT are folders of models; they may be the same. RECIPE names the training and dev trees, the teachers and the
schedule; the vocabulary and the network are those of MODEL. FOLDER gets the metrics log and the weights of the epoch
with the best dev F as floating-point numbers, OUT gets them as bytes. Subwords, word and character vectors and the
scores of capital letters keep their bytes. If OUT has a model card, the card gets the recipe.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from treecrf.config import read_config, to_toml
from treecrf.data.bucketing import Budget
from treecrf.evalb import find_rules
from treecrf.export.card_files import save_card
from treecrf.export.model_card import CARD_JSON, ModelCard
from treecrf.export.pack import portable_recipe, source_commit
from treecrf.nn import SpanModel
from treecrf.parser import Parser
from treecrf.parser.storage import ParserState, load_parser_state, save_parser_state
from treecrf.runtime.weights import quantize_weights
from treecrf.training.checkpoint import TrainState
from treecrf.training.config import Recipe
from treecrf.training.cuda_graphs import can_capture_steps
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.training.distillation import compute_soft_targets, load_teachers
from treecrf.training.distributed import Processes
from treecrf.training.ema import EMA
from treecrf.training.loop import Trainer
from treecrf.training.optimizer import build_optimizer, matmul_precision
from treecrf.training.setup import TrainingSetup, TreebankPart

LAYERS = "transformer.encoder.encoder.layer."
SCORERS = ("transformer.mix.", "span_scorer.", "label_scorer.", "tagger.")
WEIGHT_STEP = 0.1  # as in `treecrf pack --weight-step`


def freeze_inputs(model: SpanModel) -> list[str]:
    """Freezes all weights except the layers and the scorers, and returns the names of these."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith((LAYERS, *SCORERS)))
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]


def prepare(recipe: Recipe, parser: Parser, folder: Path, device: torch.device) -> TrainingSetup:
    """The set-up of a training run that starts from a parser; its parameters are those that are not frozen."""
    data, config, model = recipe.data, recipe.train, parser.model
    processes = Processes(device=device)
    train = TreebankPart.read(data.train, "data.train").retag(data.retag)
    if data.parsed:
        train += TreebankPart.read(data.parsed, "data.parsed")
    loader = DataLoader(
        corpus=Corpus.from_trees(train.trees, parser.vocabulary, side=data.binarization),
        numericalizer=parser.numericalizer,
        budget=Budget(words=config.batch_words, cells=config.batch_cells),
        seed=config.seed,
        weights=train.tree_weights(data.weights),
        lowercase=data.lowercase,
        pin_memory=device.type == "cuda",
        fixed_shapes=can_capture_steps(config, model, processes),
    )
    layers, scorers = [], []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (layers if name.startswith(LAYERS) else scorers).append(parameter)
    soft_targets = None
    if config.teachers:
        soft_targets = compute_soft_targets(load_teachers(config.teachers, parser), parser, loader.corpus, config)
    return TrainingSetup(
        recipe=recipe,
        folder=folder,
        processes=processes,
        rules=find_rules(data.rules),
        dev=TreebankPart.read(data.dev, "data.dev"),
        test=None,
        parser=parser,
        parameters=[*layers, *scorers],
        optimizer=build_optimizer(config, scorers, layers),
        ema=EMA([*layers, *scorers], config.ema_decay) if config.ema_decay else None,
        soft_targets=soft_targets,
        loader=loader,
    )


def train(setup: TrainingSetup) -> None:
    """Runs all epochs and prints the best dev F so far after each."""
    with matmul_precision(setup.recipe.train.precision):
        trainer = Trainer(setup, TrainState(), None)
        trainer.open_log(is_new=True)
        while trainer.state.epoch < trainer.last_epoch:
            trainer.train_epoch()
            trainer.end_epoch()
            print(f"epoch {trainer.state.epoch}: best dev F {trainer.state.best_f:.2f}", flush=True)


def with_weights_of(packed: ParserState, trained: ParserState, names: Sequence[str]) -> ParserState:
    """The packed model with some weights of another, as bytes where they are large."""
    weights = quantize_weights({name: trained.weights[name] for name in names}, WEIGHT_STEP)
    return replace(packed, weights={**packed.weights, **weights})


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
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(recipe.train.seed)
    parser = Parser.load(options.model, device, precision="float32")
    names = freeze_inputs(parser.model)
    options.run.mkdir(parents=True, exist_ok=True)
    train(prepare(recipe, parser, options.run, device))
    packed, trained = load_parser_state(options.model), load_parser_state(options.run)
    save_parser_state(options.out, with_weights_of(packed, trained, names))
    if (options.out / CARD_JSON).exists():
        update_card(options.out, recipe)


if __name__ == "__main__":
    main()
