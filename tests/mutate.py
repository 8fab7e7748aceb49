"""Mutation testing: changes random places of the source, and prints the changes that no test of the module notices.

    python tests/mutate.py src/treecrf/trees src/treecrf/chart [--count 200] [--seed 1] [--jobs 2] [--seconds 300]

A mutant changes one comparison, sign, operator, constant, condition or return value, in a copy of the repository. The
tests of `src/treecrf/a/b.py` are `tests/a/test_b.py`, or the tests of its package if there is no such file, and the
examples in its docstrings. Errors, log messages, assertions, annotations and f-strings are not changed.
"""

import argparse
import ast
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAIRS: list[tuple[type, type]] = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)]
PAIRS += [(ast.In, ast.NotIn), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr)]
OPPOSITES: dict[type, Any] = {ast.Div: ast.Mult, **dict(PAIRS), **{second: first for first, second in PAIRS}}
SKIPPED_NODES = (ast.Raise, ast.Assert, ast.JoinedStr)
SKIPPED_CALLS = ("warn", "warning", "debug", "info")
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list")
PYTEST = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
VARIABLES = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
NO_TESTS = 5  # exit status of pytest


class Mutant(NamedTuple):
    """A source file with the bytes from `start` to `end` replaced."""

    path: Path  # relative to the repository
    line: int
    start: int
    end: int
    old: str
    new: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a source file."""
    source = (ROOT / path).read_bytes()
    line_starts = [0]
    for line in source.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))
    for node, changed in changes_below(ast.parse(source)):
        start, end = line_starts[node.lineno - 1] + node.col_offset, line_starts[node.end_lineno - 1]
        end += node.end_col_offset
        old, new = source[start:end].decode(), ast.unparse(changed)
        yield Mutant(path, node.lineno, start, end, old, new if isinstance(node, ast.Constant) else f"({new})")


def changes_below(node: Any) -> Iterator[tuple[Any, ast.expr]]:
    """The expressions in a node that can be changed, each with a changed copy."""
    is_skipped_call = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SKIPPED_CALLS
    if is_skipped_call or isinstance(node, SKIPPED_NODES):
        return
    if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
        operators = node.ops if isinstance(node, ast.Compare) else [node.op]
        for number in (number for number, operator in enumerate(operators) if type(operator) in OPPOSITES):
            changed: Any = deepcopy(node)
            opposite = OPPOSITES[type(operators[number])]()
            if isinstance(node, ast.Compare):
                changed.ops[number] = opposite
            else:
                changed.op = opposite
            yield node, changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node, node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield node, ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield node.value, ast.Constant(None)
    conditions = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else getattr(node, "ifs", [])
    yield from ((condition, ast.UnaryOp(ast.Not(), condition)) for condition in conditions)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in SKIPPED_FIELDS:
                yield from changes_below(child)


def mirrored_tests(path: Path) -> tuple[str, ...]:
    """The paths of the tests of a source file, relative to the repository."""
    inner = path.relative_to("src/treecrf")
    test = Path("tests") / inner.parent / f"test_{inner.stem.strip('_')}.py"
    while not (ROOT / test).exists():
        test = test.parent
    return str(test), str(path)


def copy_repository(target: Path) -> Path:
    """Copies sources and tests with hard links, and links everything else."""
    target.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in ("src", "tests"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(entry, target / entry.name, ignore=ignored, copy_function=os.link)
        elif entry.name not in (".git", "build"):
            (target / entry.name).symlink_to(entry)
    return target


def run_tests(repository: Path, tests: tuple[str, ...], seconds: float) -> str:
    """Runs tests: "survived" if all pass, "killed" if one fails, or "timeout"."""
    variables = os.environ | VARIABLES | {"PYTHONPATH": f"{repository / 'src'}:{repository / 'tests'}"}
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*PYTEST, *tests], cwd=repository, env=variables, start_new_session=True, **streams)
    try:
        return "survived" if process.wait(seconds) in (0, NO_TESTS) else "killed"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return "timeout"


def run_mutant(repository: Path, mutant: Mutant, seconds: float) -> str:
    """Tests a mutant in a copy of the repository, and restores the copy."""
    original = (ROOT / mutant.path).read_bytes()
    replace_source(repository / mutant.path, original[: mutant.start] + mutant.new.encode() + original[mutant.end :])
    try:
        return run_tests(repository, mirrored_tests(mutant.path), seconds)
    finally:
        replace_source(repository / mutant.path, original)


def replace_source(path: Path, source: bytes) -> None:
    """Replaces a source file, which is a hard link, and removes its compiled file, which may have the same time."""
    for file in (path, *path.parent.glob(f"__pycache__/{path.stem}.*.pyc")):
        file.unlink()
    path.write_bytes(source)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("paths", nargs="+", type=Path, help="modules and packages below src/treecrf")
    arguments.add_argument("--count", type=int, default=200, help="number of mutants (default: 200)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=1, help="number of mutants at the same time (default: 1)")
    arguments.add_argument("--seconds", type=float, default=300, help="time limit of the tests (default: 300)")
    args = arguments.parse_args()
    files = [file for path in args.paths for file in (sorted(path.rglob("*.py")) or [path])]
    mutants = [mutant for file in files for mutant in mutants_of(file.resolve().relative_to(ROOT))]
    chosen = random.Random(args.seed).sample(mutants, min(args.count, len(mutants)))
    print(f"{len(chosen)} of {len(mutants)} mutants of {len(files)} files")
    (ROOT / "build").mkdir(exist_ok=True)
    repositories: queue.Queue[Path] = queue.Queue()
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder, ThreadPoolExecutor(args.jobs) as pool:
        for number in range(args.jobs):
            repositories.put(copy_repository(Path(folder, str(number))))

        def run_in_copy(run: Callable[..., str], argument: object) -> str:
            repository = repositories.get()
            try:
                return run(repository, argument, args.seconds)
            finally:
                repositories.put(repository)

        test_sets = sorted({mirrored_tests(mutant.path) for mutant in chosen})
        for tests, status in zip(test_sets, pool.map(partial(run_in_copy, run_tests), test_sets), strict=True):
            if status != "survived":
                sys.exit(f"without a mutant: {status}, {' '.join(tests)}")
        killed = 0
        for mutant, status in zip(chosen, pool.map(partial(run_in_copy, run_mutant), chosen), strict=True):
            killed += status != "survived"
            print(f"{status:8} {mutant.path}:{mutant.line}: {' '.join(mutant.old.split())} -> {mutant.new}", flush=True)
    print(f"{killed} of {len(chosen)} killed")


if __name__ == "__main__":
    main()
