"""Random calls of the compiled functions of decoding, half of the cases with a hostile argument.

    PYTHONPATH=SOURCE:tests python tests/parser/decoding/random_calls.py CALLS SEED

The trees of a valid call must be the trees that Python finds, or as good.
"""

from collections.abc import Callable
from copy import copy
from typing import Any
from unittest import mock

import numpy as np

from compiled_calls import WRONG_INDICES, WRONG_SIZES, Call, Random, Runner, counters, floats, integers, main
from parser.decoding.label_grammars import COUNTS, make_label_grammar, random_candidates
from treecrf.parser.decoding import _decoding, label_grammar
from treecrf.parser.decoding.grammar import Grammar
from treecrf.parser.decoding.label_grammar import NO_LABEL, CandidateSpans, LabelGrammar
from treecrf.trees.treebank.bracket_writer import FlatTrees

GRAMMAR = Grammar(COUNTS)
SETTINGS = 16  # arguments of best_trees before the addresses
TABLES = ("first_arcs", "arc_symbols", "arc_log_probs", "arc_targets", "shorter", "log_left_over")
LABEL_TABLES = ("top_symbols", "inner_states", "chain_log_probs", "tag_symbols", "needs", "gives")
NUMBERS = (*WRONG_INDICES, 0, 1, 2, 3, 5, 8, 13, 100)


def random_label_utility(random: Random) -> Call:
    spans, classes, names = (int(random.integers(1, most)) for most in (250, 30, 10))
    counts = integers(random, 0, 2, classes)
    starts = np.concatenate([[0], counts.cumsum()]).astype(np.int64)
    chains = integers(random, 0, names - 1, int(counts.sum()) + 1)[:-1]
    scores, marginals = floats(random, spans, classes), np.abs(floats(random, spans))
    choices = int(random.integers(1, min(classes, 5) + 1))
    utility, probabilities = (np.zeros((spans, choices), np.float32) for _ in range(2))
    labels = np.zeros((spans, choices), np.int64)
    settings = [spans, classes, names, len(chains), choices, 0.4]
    tensors = [
        scores,
        marginals,
        starts,
        chains,
        counts.astype(np.float64),
        utility,
        probabilities,
        counters(1),
        labels,
    ]
    return Call("label_utility", [*settings, *tensors], [utility, probabilities, labels], sizes=5)


def changed(array: np.ndarray, random: Random) -> np.ndarray:
    """The array with another number at some places."""
    array = array.copy()
    for _ in range(random.integers(1, 4) if array.size else 0):
        numbers = NUMBERS if array.dtype.kind == "i" else (np.nan, np.inf, -np.inf, 3e38)
        array.flat[random.integers(array.size)] = random.choice(numbers)
    return array


def changed_grammar(grammar: LabelGrammar, random: Random) -> LabelGrammar:
    changed_labels = copy(grammar)
    changed_labels.grammar = copy(grammar.grammar)
    owner, names = random.choice([0, 1]), (TABLES, LABEL_TABLES)
    target, name = (changed_labels.grammar, changed_labels)[owner], str(random.choice(names[owner]))
    setattr(target, name, changed(getattr(target, name), random))
    return changed_labels


def changed_candidates(candidates: CandidateSpans, random: Random) -> CandidateSpans:
    name = str(random.choice(candidates._fields))
    if name == "size":
        return candidates._replace(size=int(random.choice([*NUMBERS, candidates.size + 1])))
    return candidates._replace(**{name: changed(getattr(candidates, name), random)})


def call_with_wrong_sizes(random: Random, grammar: LabelGrammar, candidates: CandidateSpans) -> None:
    def run(kernel: Callable[..., None], threads: int, *arguments: Any) -> None:
        changed_arguments, position = list(arguments), int(random.integers(len(arguments)))
        is_size = position < SETTINGS - 3
        changed_arguments[position] = int(random.choice(WRONG_SIZES)) if is_size else 0
        kernel(0, threads, *changed_arguments)

    with mock.patch.object(label_grammar, "run_on_threads", run):
        grammar.best_trees(candidates)


def only(candidates: CandidateSpans, tree: FlatTrees) -> CandidateSpans:
    """The candidates of one sentence that are part of a tree."""
    chosen = {*zip(tree.starts.tolist(), tree.ends.tolist(), tree.labels.tolist(), strict=True)}
    cells = zip(*divmod(candidates.cells, candidates.size), candidates.labels.tolist(), strict=True)
    labels = [[label if (start, end, label) in chosen else NO_LABEL for label in row] for start, end, row in cells]
    is_chosen = candidates.tags == tree.tags[:, None]
    return candidates._replace(
        labels=np.array(labels, np.int64).reshape(candidates.labels.shape),
        tags=tree.tags[:, None],
        tag_utility=candidates.tag_utility[is_chosen][:, None],
    )


def run_search(runner: Runner, kind: int) -> None:
    random = runner.random
    grammar = make_label_grammar(GRAMMAR, float(random.choice([0.1, 1.0])))
    candidates = random_candidates(random, int(random.integers(1, 9)))
    if kind == 0:
        for all_tags in (False, True):
            found, utility = grammar.ranked_trees(candidates, all_tags=all_tags)
            expected, utility_in_python = grammar.ranked_trees_in_python(candidates, all_tags=all_tags)
            if not all(np.array_equal(*pair) for pair in zip(found[:4], expected[:4], strict=True)):  # a tie
                own = only(candidates, found)
                utility_in_python = grammar.ranked_trees_in_python(own, all_tags=all_tags)[1]
            assert np.array_equal(utility, utility_in_python), candidates
        runner.calls += 1
    elif kind == 1:
        runner.attempt(lambda: call_with_wrong_sizes(random, grammar, candidates))
    elif kind == 2:
        runner.attempt(lambda: changed_grammar(grammar, random).best_trees(candidates), IndexError)
    else:
        runner.attempt(lambda: grammar.best_trees(changed_candidates(candidates, random)), IndexError)


def run_case(runner: Runner) -> None:
    kind = int(runner.random.integers(8))
    if kind < 5:
        run_search(runner, kind)
    elif kind < 7:
        runner.check(_decoding, random_label_utility(runner.random))
    else:
        runner.attempt_hostile(_decoding, random_label_utility(runner.random))


if __name__ == "__main__":
    main("decoding", run_case)
