"""What a recipe names, found and built: trees, rules, vectors, and a parser that has learned nothing yet."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.vectors import Vectors, read_vectors
from treecrf.data.vocabulary import Vocabulary
from treecrf.evalb import Rules
from treecrf.nn import SpanModel
from treecrf.nn.transformer import load_encoder
from treecrf.parser import Parser
from treecrf.parser.storage import CONFIG
from treecrf.training.config import DataConfig, Recipe
from treecrf.tree import Tree
from treecrf.treebank import read_trees
from treecrf.treebank.binarize import from_spans, to_spans


@dataclass(frozen=True, kw_only=True)
class TreebankPart:
    """The trees of some files, one after the other."""

    trees: list[Tree]
    files: list[tuple[str, int]]  # with the number of trees in each

    @staticmethod
    def read(paths: Sequence[str], setting: str) -> "TreebankPart":
        """The trees of the files that a setting names; a file without any is an error."""
        if not paths:
            raise ValueError(f"{setting} names no file; expected one at least ({setting}=...)")
        by_file = [(path, list(read_trees(path))) for path in paths]
        for path, trees in by_file:
            if not trees:
                raise ValueError(f"{path} ({setting}) holds no trees; expected at least one")
        return TreebankPart(
            trees=[tree for _, trees in by_file for tree in trees],
            files=[(path, len(trees)) for path, trees in by_file],
        )

    def spread(self, weights: Sequence[float]) -> list[float] | None:
        """The weights of files as weights of their trees."""
        if not weights:
            return None
        return [weight for weight, (_, count) in zip(weights, self.files, strict=True) for _ in range(count)]

    def place(self, number: int) -> str:
        """Where the tree with this number is, for people."""
        for path, count in self.files:
            if number < count:
                return f"{path}, tree {number + 1}"
            number -= count
        raise IndexError(f"tree {number} lies behind the last file")

    def retagged(self, pairs: Sequence[str]) -> "TreebankPart":
        """The same trees, where some words have the tags that `word/TAG` gives them."""
        tags = {word.lower(): tag for word, _, tag in (pair.rpartition("/") for pair in pairs)}
        return replace(self, trees=[_retagged(tree, tags) for tree in self.trees]) if tags else self


def _retagged(tree: Tree, tags: Mapping[str, str]) -> Tree:
    leaves = [Tree(tags.get(word.lower(), tag), (word,)) for word, tag in zip(tree.words, tree.tags, strict=True)]
    return from_spans(to_spans(tree), leaves, tree.label)


def read_rules(name: str) -> Rules:
    """Rules by name, or from a parameter file."""
    return Rules.read(name) if Path(name).is_file() else Rules.named(name)


def build_parser(recipe: Recipe, trees: Sequence[Tree]) -> Parser:
    """A parser for trees like these, its weights drawn with the recipe's seed."""
    vectors = _read_vectors(recipe.data)
    vocabulary = Vocabulary.build(
        trees, vectors=vectors, unknown=recipe.data.unknown_vector, normalization=recipe.data.normalization
    )
    table = None if vectors is None else vocabulary.vector_table(vectors, unknown=recipe.data.unknown_vector)
    transformer = recipe.model.transformer
    encoder = _load_encoder(transformer) if transformer else None
    subwords = SubwordTokenizer.load(transformer) if transformer else None
    torch.manual_seed(recipe.train.seed)
    model = SpanModel(recipe.model, vocabulary.sizes, pretrained=table, encoder=encoder)
    data = recipe.data
    return Parser(
        model,
        vocabulary,
        root=_root(trees),
        language=data.language,
        normalization=data.normalization,
        subwords=subwords,
    )


def _load_encoder(name: str) -> nn.Module:
    """The encoder that a recipe names; of a parser's folder, the one that was fine-tuned for it."""
    if not Path(name, CONFIG).is_file():
        return load_encoder(name)
    transformer = Parser.load(name, "cpu", precision="float32").model.transformer
    if transformer is None:
        raise ValueError(f"the parser in {name} has no transformer to start from (model.transformer)")
    return transformer.encoder


def _read_vectors(config: DataConfig) -> Vectors | None:
    if not config.vectors:
        return None
    vectors = read_vectors(config.vectors)
    if config.unknown_vector and config.unknown_vector not in vectors.words:
        raise ValueError(
            f"{config.vectors} has no vector for '{config.unknown_vector}', which data.unknown_vector names; "
            "expected one of its words, or nothing"
        )
    return vectors


def _root(trees: Iterable[Tree]) -> str:
    return Counter(tree.label for tree in trees if not tree.is_leaf).most_common(1)[0][0]


def describe_unseen_labels(part: TreebankPart, vocabulary: Vocabulary) -> list[str]:
    """For each label of these trees that training lacks: how many spans cannot be found for that, and where."""
    return [
        f"{unseen.spans} span{'s' * (unseen.spans > 1)} labelled '{unseen.label}' cannot be found: training has none "
        f"(first: {part.place(unseen.first_tree)})"
        for unseen in vocabulary.unseen_labels(part.trees)
    ]
