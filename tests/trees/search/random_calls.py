"""Random calls of the compiled functions of search, most of them with hostile arguments.

    PYTHONPATH=SOURCE:tests python tests/trees/search/random_calls.py CALLS SEED

A valid call must give what the definition in Python gives. A hostile call has arrays that are too short, too long or
have other numbers, a program that is no program, text that is no tree, or objects that are no trees: it must be refused
with an error or computed. `make sanitize` runs the script with modules that report every access outside of an array.
"""

from collections.abc import Callable
from random import Random
from typing import Any
from unittest import mock

import numpy as np

from compiled_calls import PythonRandom, Runner, main
from treecrf.trees.search import COLLINS, Forest, Pattern, compiled, forest, heads, naive, program, time_limit
from treecrf.trees.tree import Tree
from trees.search.random_patterns import compile_random_pattern
from trees.search.random_trees import random_trees

NUMBERS = (-(2**31), -2, -1, 0, 1, 2, 3, 5, 8, 13, 100, 1024, 1025, 2**31 - 1, 2**40)
TEXTS = ("(", ")", "(A ", " ", "a", "\\u{20}", "\n", "\0", "é", "\ud800")
SIZES = (0, 1, 3, 4, 8, 56, 4096)


class Recorder:
    """A matcher that remembers the arguments of its calls."""

    def __init__(self, matcher: Any) -> None:
        self.matcher = matcher
        self.calls: list[tuple[Callable[..., Any], list[Any]]] = []

    def __getattr__(self, name: str) -> Any:
        function = getattr(self.matcher, name)

        def call(*arguments: Any) -> Any:
            self.calls.append((function, list(arguments)))
            return function(*arguments)

        return call


def changed_bytes(data: bytes, random: Random) -> bytes:
    """An array of int32 with another size, or with some other numbers."""
    if random.random() < 0.2:
        size = random.choice([*SIZES, max(len(data) - 4, 0), len(data) + 4])
        return (data + random.randbytes(size))[:size]
    numbers = np.frombuffer(data[: len(data) // 4 * 4], dtype=np.int32).copy()
    for _ in range(random.choice([1, 1, 1, 2, 8]) if len(numbers) else 0):
        low_numbers = [number for number in NUMBERS if -(2**31) <= number < 2**31]
        numbers[random.randrange(len(numbers))] = random.choice([*low_numbers, random.randrange(len(numbers))])
    return numbers.tobytes()


def change(argument: Any, random: Random) -> Any:
    """Another value of the same kind; of a tuple, one of the members changes."""
    if isinstance(argument, tuple):
        index = random.randrange(len(argument))
        return *argument[:index], change(argument[index], random), *argument[index + 1 :]
    if isinstance(argument, bytes):
        return changed_bytes(argument, random)
    return random.choice(NUMBERS)


def random_goals(random: Random, arguments: list[Any]) -> None:
    """Replaces the goals by random ones, which often continue with goals after them."""
    _, names, variables, _, subgoals, *others = arguments[2]
    count, width = random.randint(1, 12), len(program.Goal._fields)
    rows = np.array([[random.randint(-1, count) for _ in range(width)] for _ in range(count)], dtype=np.int32)
    rows[:, 0] %= len(program.GoalKind)
    rows[:, 6] = [random.randint(0, 33) for _ in range(count)]
    if random.random() < 0.7:  # in order
        rows[:, 1] = np.maximum(np.arange(count) - 1, 0)
        rows[0, 0] = 0
    arguments[2] = (random.randrange(count), names, variables, rows.tobytes(), subgoals, *others)


def check_search(pattern: Pattern, trees: Forest) -> None:
    expected = list(naive.find_matches(pattern.expression, trees))
    assert list(program.find_matches(pattern.program, trees)) == expected, pattern
    counts = program.count_matches(pattern.program, trees)
    assert [node for node, count in counts.tolist() for _ in range(count)] == [node for node, _ in expected], pattern


def check_trees(trees: list[Tree]) -> None:
    columns = forest.flatten_in_python(trees)
    assert forest.flatten(trees) == columns == forest.parse_columns(" ".join(map(str, trees)))
    flat = Forest(trees)
    labels = [flat.labels[index] for index in flat.label_ids.tolist()]
    assert flat.head_column == heads.find_heads_in_python(labels, flat.ends.tolist(), COLLINS)


def damaged_tree(random: Random) -> Any:
    """A tree that was never checked, or no tree."""
    tree = object.__new__(Tree)
    object.__setattr__(tree, "label", random.choice(["S", "", 5, [], None]))
    children = random.choice([(), ("a",), ("a", "b"), [], None, (tree.label,), (Tree("A", ("a",)), 5)])
    if random.random() < 0.8:
        object.__setattr__(tree, "children", children)
    return random.choice([tree, tree, 5, "word", None])


def hostile_call(random: Random, recorder: Recorder) -> None:
    matcher, kind = recorder.matcher, random.randrange(4)
    if kind == 0:
        text = "".join(random.choices(TEXTS, k=random.randint(0, 40)))
        data = text.encode("utf-8", "surrogatepass")
        matcher.parse(random.choice([data, data[1:], data[:-1], random.randbytes(len(data))]))
    elif kind == 1:
        trees = [*random_trees(random), damaged_tree(random)]
        matcher.flatten(random.choice([trees, trees[::-1], tuple(trees), None]), random.choice([Tree, Tree, str]))
    else:
        function, arguments = random.choice(recorder.calls)
        arguments = list(arguments)
        if len(arguments) == 9 and random.random() < 0.3:
            random_goals(random, arguments)
        else:
            index = random.randrange(len(arguments))
            arguments[index] = change(arguments[index], random)
        function(*arguments)


def run_hostile_call(random: Random, recorder: Recorder) -> None:
    try:
        with time_limit(2):
            hostile_call(random, recorder)
    except TimeoutError:
        pass  # a program may ask for more than two seconds


def run_case(runner: Runner) -> None:
    """A valid call of each function, and then hostile calls."""
    random, recorder = PythonRandom(runner.random), Recorder(compiled.matcher)
    with mock.patch.object(compiled, "matcher", recorder):
        trees = random_trees(random)
        check_trees(trees)
        check_search(compile_random_pattern(random), Forest(trees))
        runner.calls += len(recorder.calls)
        for _ in range(9):
            runner.attempt(lambda: run_hostile_call(random, recorder), AttributeError, IndexError)


if __name__ == "__main__":
    main("search", run_case)
