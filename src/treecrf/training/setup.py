"""The set-up of a training run: treebanks, an untrained parser, its optimizer and its data loader."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from treecrf.network.data.bucketing import Budget
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vectors import Vectors, read_vectors
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import SpanModel
from treecrf.network.nn.losses import SoftTargetStore
from treecrf.network.nn.transformer import keep_layers, load_encoder
from treecrf.parser import Parser
from treecrf.parser.decoding.schemes import scheme_arrays
from treecrf.parser.models import model_folder
from treecrf.parser.storage import CONFIG, ParserConfig
from treecrf.text.language_guess import guess_other_language, language_name
from treecrf.training.conditions import Conditions
from treecrf.training.config import DataConfig, Recipe
from treecrf.training.cuda_graphs import can_capture_steps
from treecrf.training.data_loader import Corpus, DataLoader
from treecrf.training.distillation import compute_soft_targets, load_soft_targets, load_teachers
from treecrf.training.distributed import Processes
from treecrf.training.optimizer import EMA, build_model_optimizer
from treecrf.training.partial import UNKNOWN_TAG, PartialTree, read_partial
from treecrf.trees.evalb import Rules, find_rules
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.well_formed import count_productions

T = TypeVar("T")

_MAX_EXCEPTIONS = 0.02  # share of all constituents
_LANGUAGE_TREES = 200  # whose words show the language


@dataclass(frozen=True, kw_only=True)
class TreebankPart:
    """The trees of one or more files, such as the training set."""

    trees: list[Tree]
    files: list[tuple[str, int]]  # each file with its number of trees
    partial: list[PartialTree] = field(default_factory=list)  # trees of the last files

    @staticmethod
    def read(paths: Sequence[str], setting: str) -> "TreebankPart":
        """Reads the files of a setting; a file without trees is an error."""
        if not paths:
            raise ValueError(f"{setting} names no file; expected at least one ({setting}=...)")
        for path in paths:
            if not Path(path).is_file():
                raise FileNotFoundError(f"there is no file {path} ({setting}); expected trees in brackets")
        trees_by_file = [(path, list(read_trees(path))) for path in paths]
        for path, trees in trees_by_file:
            if not trees:
                raise ValueError(f"{path} ({setting}) holds no trees; expected at least one")
        return TreebankPart(
            trees=[tree for _, trees in trees_by_file for tree in trees],
            files=[(path, len(trees)) for path, trees in trees_by_file],
        )

    def __add__(self, other: "TreebankPart") -> "TreebankPart":
        return TreebankPart(trees=self.trees + other.trees, files=self.files + other.files)

    def with_partial(self, paths: Sequence[str]) -> "TreebankPart":
        """Returns the trees, and the partial trees of files."""
        files = [(path, read_partial(path)) for path in paths]
        partial = [sentence for _, sentences in files for sentence in sentences]
        return replace(self, files=self.files + [(path, len(found)) for path, found in files], partial=partial)

    def vocabulary_trees(self) -> list[Tree]:
        """Returns all trees; partial trees have their labeled brackets."""
        names = {node.label for tree in self.trees for node in tree.walk() if not node.is_leaf}
        names = names.union(*(sentence.constituent_labels for sentence in self.partial))
        root, tag = (self.trees[0].label, self.trees[0].tags[0]) if self.trees else ("TOP", UNKNOWN_TAG)
        return self.trees + [sentence.tree(names, root=root, unknown_tag=tag) for sentence in self.partial]

    def of_each_tree(self, values: Sequence[T]) -> list[T] | None:
        """Returns the value of each tree, which is its file's value; None without values."""
        if not values:
            return None
        return [value for value, (_, count) in zip(values, self.files, strict=True) for _ in range(count)]

    def by_scheme(self, names: Sequence[str]) -> dict[str, list[Tree]]:
        """Returns the trees of each scheme, given the names of all files' schemes."""
        groups: dict[str, list[Tree]] = {}
        trees = iter(self.trees)
        for name, (_, count) in zip(names, self.files, strict=False):  # the names of other files may follow
            groups.setdefault(name, []).extend(islice(trees, count))
        groups.pop("", None)
        return groups

    def location(self, index: int) -> str:
        """Returns the file of a tree and its number in that file, for messages."""
        for path, count in self.files:
            if index < count:
                return f"{path}, tree {index + 1}"
            index -= count
        raise IndexError(f"tree {index} is after the end of the last file")

    def retag(self, pairs: Sequence[str]) -> "TreebankPart":
        """Returns the trees with the tags of some words replaced, given as `word/TAG`."""
        tags = {word.lower(): tag for word, _, tag in (pair.rpartition("/") for pair in pairs)}
        return replace(self, trees=[_retag(tree, tags) for tree in self.trees]) if tags else self


def _retag(tree: Tree, tags: Mapping[str, str]) -> Tree:
    if not any(word.lower() in tags for word in tree.words):
        return tree
    return tree.fold(lambda node, children: Tree(node.label, children) if children else _retag_leaf(node, tags))


def _retag_leaf(leaf: Tree, tags: Mapping[str, str]) -> Tree:
    (word,) = leaf.words
    return Tree(tags.get(word.lower(), leaf.label), (word,))


@dataclass(frozen=True, kw_only=True)
class TrainingSetup:
    """The objects of a training run, which stay the same from its first step to its last."""

    recipe: Recipe
    folder: Path
    processes: Processes
    rules: Rules
    dev: TreebankPart
    test: TreebankPart | None
    parser: Parser
    parameters: list[nn.Parameter]  # the trained ones
    optimizer: torch.optim.Optimizer
    ema: EMA | None
    soft_targets: SoftTargetStore | None
    loader: DataLoader


def prepare_training(recipe: Recipe, folder: Path, processes: Processes, parser: Parser | None = None) -> TrainingSetup:
    """Reads the treebanks of a recipe and builds an untrained parser unless one is given, its optimizer and loader."""
    data, config = recipe.data, recipe.train
    rules = find_rules(data.rules)
    gold = TreebankPart(trees=[], files=[])
    if data.train:
        gold = TreebankPart.read(data.train, "data.train").retag(data.retag)
    parsed = TreebankPart.read(data.parsed, "data.parsed") if data.parsed else TreebankPart(trees=[], files=[])
    train = (gold + parsed).with_partial(data.partial)
    dev = TreebankPart.read(data.dev, "data.dev")
    test = TreebankPart.read(data.test, "data.test") if data.test else None
    if parser is None:
        labeled = gold.with_partial(data.partial).vocabulary_trees()
        parser = build_parser(recipe, labeled, gold=gold.trees, parsed=parsed.trees)
    else:
        torch.manual_seed(config.seed)
    if data.schemes:
        parser.arrays = {**parser.arrays, "schemes": scheme_arrays(gold.by_scheme(data.schemes))}
    if data.scheme:
        parser.scheme = data.scheme
    parser.model.to(processes.device)
    processes.broadcast([parameter.detach() for parameter in parser.model.parameters()])
    parameters = [parameter for parameter in parser.model.parameters() if parameter.requires_grad]
    loader = _build_loader(recipe, train, parser, processes)
    soft_targets = None
    if config.soft_targets:
        soft_targets = load_soft_targets(config, parser, loader.corpus)
    elif config.teachers:
        teachers, taught = load_teachers(config.teachers, parser), train.of_each_tree(data.taught)
        soft_targets = compute_soft_targets(teachers, parser, loader.corpus, config, taught, loader.conditions)
    return TrainingSetup(
        recipe=recipe,
        folder=folder,
        processes=processes,
        rules=rules,
        dev=dev,
        test=test,
        parser=parser,
        parameters=parameters,
        optimizer=build_model_optimizer(config, parser.model),
        ema=EMA(parameters, config.ema_decay) if config.ema_decay else None,
        soft_targets=soft_targets,
        loader=loader,
    )


def _build_loader(recipe: Recipe, train: TreebankPart, parser: Parser, processes: Processes) -> DataLoader:
    corpus = Corpus.from_trees(
        train.trees,
        parser.vocabulary,
        side=recipe.data.binarization,
        marginalize=recipe.model.loss == "tree",
        partial=train.partial,
        partial_share=recipe.data.partial_share,
        root=parser.root,
    )
    return DataLoader(
        corpus=corpus,
        numericalizer=parser.numericalizer,
        budget=Budget(words=recipe.train.batch_words, cells=recipe.train.batch_cells),
        seed=recipe.train.seed,
        weights=train.of_each_tree(recipe.data.weights),
        conditions=_conditions(recipe, train, corpus),
        lowercase=recipe.data.lowercase,
        accumulate=recipe.train.accumulate,
        rank=processes.rank,
        world_size=processes.world_size,
        read_tags=recipe.model.tag_size > 0,
        pin_memory=processes.device.type == "cuda",
        fixed_shapes=not train.partial and can_capture_steps(recipe.train, parser.model, processes),
    )


def _conditions(recipe: Recipe, train: TreebankPart, corpus: Corpus) -> Conditions | None:
    """The conditions of training sentences; None if the network reads none."""
    if not recipe.data.told:
        return None
    if not recipe.model.has_conditions:
        raise ValueError("data.told is set and the network reads no conditions (model.tag_conditions, model.schemes)")
    unknown = sorted({*recipe.data.schemes} - {"", *recipe.model.schemes})
    if unknown:
        raise ValueError(f"data.schemes has {unknown[0]!r:.50}; expected names in model.schemes, or '' for no scheme")
    gold_trees = sum(count for _, count in train.files[: len(recipe.data.train)])
    numbers = {name: number for number, name in enumerate(("", *recipe.model.schemes))}
    schemes = train.of_each_tree([numbers[name] for name in recipe.data.schemes])
    return Conditions(
        words=corpus.words,
        tags=corpus.tags[:gold_trees],
        schemes=schemes or [0] * len(corpus.words),
        share=recipe.data.told,
        has_tags=recipe.model.tag_conditions,
    )


def build_parser(
    recipe: Recipe, trees: Sequence[Tree], *, gold: Sequence[Tree] | None = None, parsed: Sequence[Tree] = ()
) -> Parser:
    """Returns a parser with the vocabulary of these trees, the productions of the gold trees (default: all), and
    random weights, drawn with the recipe's seed. It also knows the words of the trees `parsed`.
    """
    data, gold = recipe.data, trees if gold is None else gold
    vectors = _read_vectors(data)
    vocabulary = Vocabulary.build(
        trees,
        parsed=parsed,
        vectors=vectors,
        unknown=data.unknown_vector,
        normalization=data.normalization,
        merge_intermediate=recipe.model.loss == "tree" or not data.train,
    )
    vector_table = None
    if vectors is not None:
        vector_table = torch.from_numpy(vocabulary.vector_table(vectors, unknown=data.unknown_vector))
    transformer, layers = _encoder_source(recipe.model.transformer), recipe.train.encoder_layers
    encoder = _load_encoder(transformer) if transformer else None
    if encoder is not None and layers:
        encoder = keep_layers(encoder, layers)
    torch.manual_seed(recipe.train.seed)
    return Parser(
        SpanModel(recipe.model, vocabulary.sizes, pretrained=vector_table, encoder=encoder),
        vocabulary,
        ParserConfig(
            root=Counter(tree.label for tree in trees if not tree.is_leaf).most_common(1)[0][0],
            language=data.language,
            normalization=data.normalization,
            same_label_unaries=_has_same_label_unaries(gold),
        ),
        productions=count_productions(gold),
        subwords=SubwordTokenizer.load(transformer) if transformer else None,
    )


def _encoder_source(name: str | None) -> str | None:
    """The folder of an installed model, if the encoder is named by one."""
    is_model = name is not None and not Path(name).exists() and name in model_folder.names()
    return str(model_folder.installed_folder(name)) if name and is_model else name


def _load_encoder(name: str) -> nn.Module:
    """Loads a pretrained encoder by name or folder; from a parser's folder, the encoder of that parser."""
    if not Path(name, CONFIG).is_file():
        return load_encoder(name)
    transformer = Parser.load(name, "cpu", precision="float32").model.transformer
    if transformer is None:
        raise ValueError(f"the parser in {name} has no transformer (model.transformer)")
    return transformer.encoder


def _read_vectors(config: DataConfig) -> Vectors | None:
    if not config.vectors:
        return None
    vectors = read_vectors(config.vectors)
    if config.unknown_vector and config.unknown_vector not in vectors.words:
        raise ValueError(
            f"{config.vectors} has no vector for '{config.unknown_vector}', the value of data.unknown_vector; "
            "expected a word of that file, or an empty string"
        )
    return vectors


def _has_same_label_unaries(trees: Iterable[Tree]) -> bool:
    """Whether constituents over a constituent of the same label and words are more than exceptions in a treebank.

    Exceptions remain where a trace was removed: they are less than one constituent in a hundred.
    """
    nodes = [node for tree in trees for node in tree.walk() if not node.is_leaf]
    unaries = [node for node in nodes if len(node.child_trees) == 1 and not node.child_trees[0].is_leaf]
    repeated = [node for node in unaries if node.label == node.child_trees[0].label]
    return len(repeated) > _MAX_EXCEPTIONS * len(nodes)


def describe_other_language(trees: Sequence[Tree], language: str) -> list[str]:
    """A message if the words of trees are of another language than `data.language`, which splits raw text."""
    words = [word for tree in trees[:_LANGUAGE_TREES] for word in tree.words]
    guess = guess_other_language(words, language)
    if guess is None:
        return []
    advice = f"set data.language={guess.code}" if guess.code else "give the parser words (`treecrf parse --tokens`)"
    name = language_name(language)
    return [f"the trees look {guess.name}; the parser would split raw text as {name} (data.language): {advice}"]


def describe_unseen_labels(part: TreebankPart, vocabulary: Vocabulary) -> list[str]:
    """Describes each label that these trees have and the training trees do not: how many spans, and where."""
    return [
        f"{unseen.spans} span{'s' * (unseen.spans > 1)} labeled '{unseen.label}' cannot be found: training has none "
        f"(first: {part.location(unseen.first_tree)})"
        for unseen in vocabulary.unseen_labels(part.trees)
    ]
