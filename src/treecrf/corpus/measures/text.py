"""Measures of texts: parsed with samples, or given as trees."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np

from treecrf.arrays import Doubles
from treecrf.corpus.measures.intervals import ErrorFactors, Measure, measure_counts, read_error_factors
from treecrf.corpus.measures.totals import COUNTS, MEASURES, count_trees, measures_of_language
from treecrf.parser import Parser
from treecrf.parser.tree_samples import TreeSamples
from treecrf.text import Token, sentences
from treecrf.trees.search import Forest
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import clean

T = TypeVar("T")

SAMPLES = 100  # trees per sentence
MAX_WORDS = 2000  # per sentence
_BATCH = 64  # sentences whose trees are searched together


def measure_text(parser: Parser, text: str, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, Measure]:
    """The measures of a document by their names, with intervals from `samples` trees of each sentence.

    The document is split into sentences as in `Parser.parse_text`. L2SCA's structures and indices are for English; for
    other languages only the measures of trees are returned.
    """
    factors, sampled = read_error_factors(parser.folder), sample_text(parser, text, samples=samples, seed=seed)
    return measure_samples(sampled, language=parser.language, factors=factors, seed=seed)


def measure_trees(trees: Iterable[Tree], *, seed: int = 0) -> dict[str, Measure]:
    """The measures of a text that is given as trees, such as gold trees; they have no `interval`.

    Function tags, empty elements and additional roots are removed first.

    >>> tree = Tree.parse("(S (NP (PRP We)) (VP (VBP know) (SBAR (IN that) (S (NP (PRP it)) (VP (VBZ works))))))")
    >>> measures = measure_trees([tree])
    >>> [measures[name].value for name in ("W", "C", "T", "C/T", "yngve")]
    [5.0, 2.0, 1.0, 2.0, 0.8]
    """
    counts = [np.zeros((0, len(COUNTS)))]
    clean_trees = (clean(tree) for tree in trees)
    for batch in _batches((tree for tree in clean_trees if tree is not None), _BATCH):
        counts.append(count_trees(Forest(batch)))
    return dict(zip(MEASURES, measure_counts(np.concatenate(counts), None, {}, seed=seed), strict=True))


def measure_samples(
    samples: Iterable[TreeSamples], *, language: str = "en", factors: ErrorFactors | None = None, seed: int = 0
) -> dict[str, Measure]:
    """The measures of a text, given samples of each sentence's trees, as `Parser.sample_many` draws them.

    `factors` are `read_error_factors(parser.folder)`; without them, intervals assume that errors are like samples.
    """
    counts = [np.zeros((0, len(COUNTS)))]
    sampled_totals: Doubles = np.zeros((1, len(COUNTS)))
    for batch in _batches(samples, _BATCH):
        sentence_counts, batch_totals = _count_samples(batch)
        counts.append(sentence_counts)
        sampled_totals = sampled_totals + batch_totals
    values = measure_counts(np.concatenate(counts), sampled_totals, factors or {}, seed=seed)
    measures = dict(zip(MEASURES, values, strict=True))
    return {name: measures[name] for name in measures_of_language(language)}


def sample_text(parser: Parser, text: str, *, samples: int = SAMPLES, seed: int = 0) -> Iterator[TreeSamples]:
    """Draws trees of each sentence of a document."""
    return parser.sample_many(_short_sentences(text, parser.language), samples, seed=seed)


def _short_sentences(text: str, language: str) -> Iterator[Sequence[Token]]:
    """The sentences of a document; a sentence that is too long for the memory is an error."""
    for number, tokens in enumerate(sentences(text, language=language), 1):
        if len(tokens) > MAX_WORDS:
            raise ValueError(
                f"sentence {number} has {len(tokens):,} words, from character {tokens[0].start:,} on; expected at most "
                f"{MAX_WORDS:,}: end sentences with punctuation or empty lines"
            )
        yield tokens


def _count_samples(batch: Sequence[TreeSamples]) -> tuple[Doubles, Doubles]:
    """The counts of each sentence's own tree, and the totals of each sample, (samples, counts)."""
    lines = [samples.best for samples in batch]
    first_lines = []  # number of the first sampled tree of each sentence
    for samples in batch:
        first_lines.append(len(lines))
        lines += samples.brackets
    counts = count_trees(Forest.parse("\n".join(lines), head_rules=batch[0].head_rules))
    # the sentences are independent: a sample of the text has the sample of each sentence with the same number
    totals = sum(counts[first + samples.draws] for first, samples in zip(first_lines, batch, strict=True))
    return counts[: len(batch)], np.asarray(totals)


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
