"""Fine-tuning of a packed parser: some of its weights are trained in float32 and stored as bytes again.

Few epochs with a small learning rate keep the weights near those before, word vectors stay as they are, and the other
weights go a part of the way from those before to those after the training, which keeps most of what was learned and
forgets less (Wortsman et al., 2022).
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import nn

from treecrf.arrays import AnyArray
from treecrf.network.data.bucketing import Budget
from treecrf.network.nn import SpanModel
from treecrf.network.runtime.weights import quantize_weights
from treecrf.parser import Parser
from treecrf.parser.network import build_network
from treecrf.parser.storage import CONDITION_PREFIX, ParserState, split_conditions
from treecrf.training.config import TrainConfig
from treecrf.training.data_loader import Corpus, DataLoader, mix_seed
from treecrf.training.optimizer import build_model_optimizer, learning_rate_factor, set_learning_rate

# vectors of words, pieces, characters, capitals and conditions: most of their rows occur in no training sentence
INPUTS = ("inputs.", "capitals.", "transformer.entry.", CONDITION_PREFIX, "transformer.encoder.embeddings.")

_STEP = 0.7  # part of the way from the weights before to those after the training


def is_context(name: str) -> bool:
    """Whether a weight belongs to the layers and scorers, which see words in context."""
    return not name.startswith(INPUTS)


def train_only(model: SpanModel, is_trained: Callable[[str], bool]) -> list[str]:
    """Freezes all other weights and all tables of vectors; returns the names of the trained weights."""
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    names = []
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and is_trained(name) and id(parameter) not in tables)
        names += [name] if parameter.requires_grad else []
    return names


def with_weights(packed: ParserState, weights: Mapping[str, AnyArray], *, step: float = 0.0) -> ParserState:
    """The packed parser with some other weights, as bytes where they are large, except vectors of conditions."""
    others, conditions = split_conditions(weights)
    return replace(packed, weights={**packed.weights, **quantize_weights(others, step), **conditions})


def shuffled_batches(lengths: Sequence[int], config: TrainConfig, epoch: int) -> list[list[int]]:
    """Sentences of any length in random batches: batches of one length would be too different for so few steps."""
    numbers = list(range(len(lengths)))
    random.Random(mix_seed(config.seed, epoch)).shuffle(numbers)
    batches: list[list[int]] = [[]]
    for number in numbers:
        if batches[-1] and sum(lengths[other] for other in batches[-1]) + lengths[number] > config.batch_words:
            batches.append([])
        batches[-1].append(number)
    return batches


def fine_tune(state: ParserState, parser: Parser, corpus: Corpus, config: TrainConfig) -> Iterator[ParserState]:
    """Trains the layers and scorers of a parser on a corpus; yields the parser after each epoch."""
    model = build_network(state).to(parser.device)
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()  # the network shares floats with `state`
    names = train_only(model, is_context)
    before = {name: model.get_parameter(name).detach().clone() for name in names}
    optimizer = build_model_optimizer(config, model)
    budget = Budget(words=config.batch_words, cells=config.batch_cells)
    is_tagged = state.config.model.tag_size > 0
    loader = DataLoader(
        corpus=corpus, numericalizer=parser.numericalizer, budget=budget, seed=config.seed, read_tags=is_tagged
    )
    for epoch in range(config.epochs):
        model.train()
        batches = shuffled_batches(corpus.lengths, config, epoch)
        with torch.random.fork_rng([]):
            torch.manual_seed(mix_seed(config.seed, "fine-tuning", epoch))
            for number, indices in enumerate(batches):
                progress = (epoch + (number + 0.5) / len(batches)) / config.epochs
                set_learning_rate(optimizer, learning_rate_factor(config, step=0, progress=progress))
                optimizer.zero_grad()
                for _, batch in loader.collate(indices).parts:
                    model.loss(batch.to(parser.device)).total().backward()
                nn.utils.clip_grad_norm_(model.parameters(), config.clip)
                optimizer.step()
        weights = {name: before[name].lerp(model.get_parameter(name).detach(), _STEP) for name in names}
        yield with_weights(state, {name: weight.cpu().numpy() for name, weight in weights.items()})
