"""Mutation testing: changes random places of the source, and prints the changes that no test of the module notices.

    python tests/mutate.py src/treecrf/trees src/treecrf/chart [--count 200] [--seed 1] [--jobs 2] [--seconds 900]

A mutant changes one comparison, sign, operator, constant, condition or return value, in a copy of the repository. The
tests of `src/treecrf/a/b.py` are `tests/a/test_b.py`, or the tests of its package if there is no such file, and the
examples in its docstrings. They run once without a mutant: if they fail or time out, the mutants of the module are left
out, otherwise a mutant has three times their processor time and 10 s more, so that a busy machine makes no timeout. The
fastest tests come first, until one fails, and Hypothesis does not shrink what it finds.

Errors, log messages, assertions, annotations, f-strings and powers of two (sizes of caches) are not changed, nor are
`__init__.py`, C, and modules with Triton kernels, which tests run in Triton's interpreter if there is no GPU.
"""

import argparse
import ast
import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parent.parent
PAIRS: list[tuple[type, type]] = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)]
PAIRS += [(ast.In, ast.NotIn), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr)]
OPPOSITES: dict[type, Any] = {ast.Div: ast.Mult, **dict(PAIRS), **{second: first for first, second in PAIRS}}
EXACT = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
SKIPPED_NODES = (ast.Raise, ast.Assert, ast.JoinedStr)
SKIPPED_CALLS = ("warn", "warning", "debug", "info", "lru_cache")
SKIPPED_FIELDS = ("annotation", "returns", "decorator_list")
OPTIONS = ["-qx", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
_MEMORY_BYTES = 16 << 30  # of addresses; an endless loop may append to a list
VARIABLES = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
# each run of tests is a fork of a process that has imported what is slow to import
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["hypothesis", "numpy", "pytest", "torch"])


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
    if is_skipped(node):
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
    elif isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant | None):
        yield node.value, ast.Constant(None)
    conditions = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else getattr(node, "ifs", [])
    for condition in conditions:
        comparisons = getattr(condition, "ops", [])
        has_opposite = len(comparisons) == 1 and isinstance(comparisons[0], EXACT)  # its other operator negates it
        if not has_opposite and not isinstance(condition, ast.UnaryOp):
            yield condition, ast.UnaryOp(ast.Not(), condition)
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            is_negative = isinstance(node, ast.UnaryOp) and isinstance(child, ast.Constant)  # only the sign is changed
            if isinstance(child, ast.AST) and field not in SKIPPED_FIELDS and not is_negative:
                yield from changes_below(child)


def is_skipped(node: ast.AST) -> bool:
    """Whether nothing in a node is changed."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in SKIPPED_CALLS
    if isinstance(node, ast.Module):
        return any(isinstance(child, ast.Import) and child.names[0].name == "triton" for child in node.body)
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.LShift)  # the size of a cache or buffer
    return isinstance(node, SKIPPED_NODES) or getattr(node, "arg", None) == "strict"  # an assertion


def mirrored_tests(path: Path) -> tuple[str, str]:
    """The paths of the tests of a source file, relative to the repository."""
    inner = path.relative_to("src/treecrf")
    test = Path("tests") / inner.parent / f"test_{inner.stem.strip('_')}.py"
    while not (ROOT / test).exists():
        test = test.parent
    return str(test), str(path)


def copy_repository(target: Path) -> None:
    """Copies sources and tests with hard links, and links everything else."""
    target.mkdir()
    for entry in ROOT.iterdir():
        if entry.name in ("src", "tests"):
            shutil.copytree(entry, target / entry.name, copy_function=os.link)
        elif entry.name not in (".git", ".hypothesis", "build"):
            (target / entry.name).symlink_to(entry)


def replace_source(path: Path, mutant: Mutant) -> None:
    """Replaces a source file, which is a hard link, and removes its compiled file, which may have the same time."""
    source = path.read_bytes()
    for file in (path, *path.parent.glob(f"__pycache__/{path.stem}.*.pyc")):
        file.unlink()
    path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])


class FastestFirst:
    """A plugin of pytest that measures the seconds of each test, and runs the fastest tests of an earlier run first."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = dict(seconds)

    def pytest_sessionstart(self) -> None:
        phases = [Phase.explicit, Phase.reuse, Phase.generate]
        settings.register_profile("without shrinking", settings.get_profile("untimed"), phases=phases)
        settings.load_profile("without shrinking")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.seconds.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def run_pytest(repository: Path, module: Path, cpu_limit: int, seconds: dict[str, float], end: Connection) -> None:
    """Runs the tests of a module in a copy, and sends the status, the processor time, and the seconds of each test."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    if cpu_limit:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit + 1))
    os.chdir(repository)
    folders = [str(repository / "src"), str(repository / "tests")]
    os.environ.update(VARIABLES, PYTHONPATH=":".join(folders))
    sys.path[:0] = folders
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    order = FastestFirst(seconds)
    status = pytest.main([*OPTIONS, *mirrored_tests(module)], plugins=[order])
    end.send((status, time.process_time(), order.seconds))


def run_tests(
    module: Path, limit: float, cpu_limit: int, seconds: dict[str, float], mutant: Mutant | None = None
) -> tuple[str, float, dict[str, float]]:
    """Runs the tests of a module in a copy: "survived" if all pass, "killed" if one fails, or "timeout"."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build", ignore_cleanup_errors=True) as folder:
        repository = Path(folder, "copy")
        copy_repository(repository)
        if mutant is not None:
            replace_source(repository / module, mutant)
        receiver, sender = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=run_pytest, args=(repository, module, cpu_limit, seconds, sender))
        process.start()
        sender.close()
        try:
            if not receiver.poll(limit):
                return "timeout", 0.0, {}
            status, cpu_seconds, seconds = receiver.recv()
            passed = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
            return "survived" if passed else "killed", cpu_seconds, seconds
        except EOFError:  # the process has crashed, or used its processor time
            process.join()
            return "timeout" if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL) else "killed", 0.0, {}
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()


def run_mutants(module: Path, mutants: list[Mutant], seconds: float) -> Counter[str]:
    """Runs the tests of a module without a mutant and with each, prints each result, and counts the results."""
    status, cpu_seconds, test_seconds = run_tests(module, seconds, 0, {})
    if status != "survived":
        print(f"left out {module}: {len(mutants)} mutants, because its tests without a mutant: {status}", flush=True)
        return Counter({"left out": len(mutants)})
    counts: Counter[str] = Counter()
    for mutant in mutants:
        status, _, _ = run_tests(module, seconds, int(3 * cpu_seconds) + 10, test_seconds, mutant)
        counts[status] += 1
        print(f"{status:8} {module}:{mutant.line}: {' '.join(mutant.old.split())} -> {mutant.new}", flush=True)
    return counts


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("paths", nargs="+", type=Path, help="modules and packages below src/treecrf")
    arguments.add_argument("--count", type=int, default=200, help="number of mutants (default: 200)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=1, help="number of modules at the same time (default: 1)")
    arguments.add_argument("--seconds", type=float, default=900, help="time limit of the tests (default: 900)")
    args = arguments.parse_args()
    files = [file.resolve().relative_to(ROOT) for path in args.paths for file in (sorted(path.rglob("*.py")) or [path])]
    mutants = [mutant for file in files if file.name != "__init__.py" for mutant in mutants_of(file)]
    chosen: dict[Path, list[Mutant]] = {}
    for mutant in random.Random(args.seed).sample(mutants, min(args.count, len(mutants))):
        chosen.setdefault(mutant.path, []).append(mutant)
    print(f"{min(args.count, len(mutants))} of {len(mutants)} mutants, in {len(chosen)} modules", flush=True)
    (ROOT / "build").mkdir(exist_ok=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        runs = [pool.submit(run_mutants, module, of_module, args.seconds) for module, of_module in chosen.items()]
        counts = sum((run.result() for run in runs), Counter())
    killed, tested = counts["killed"] + counts["timeout"], counts.total() - counts["left out"]
    print(", ".join(f"{counts[status]} {status}" for status in ("killed", "timeout", "survived", "left out")))
    print(f"{killed} of {tested} killed or timed out ({killed / max(tested, 1):.1%})")


if __name__ == "__main__":
    main()
