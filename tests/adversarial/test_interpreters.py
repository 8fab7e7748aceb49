"""Parsers in other processes by every start method, and in subinterpreters."""

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from treecrf.parser import Parser

WORDS = [["the", "cat", "sleeps", "."], ["she", "sees", "a", "garden", "."]]
INTERPRETERS = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def run(code):
    number = interpreters.create()
    try:
        error = interpreters.run_string(number, f"import sys; sys.path[:] = {sys.path}\\n{code}")
    except Exception as raised:
        error = raised
    print(repr(error))
    interpreters.destroy(number)

"""


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_every_start_method_gives_the_same_trees(model: Path, method: str) -> None:
    parser = Parser.load(model, "cpu")
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(parser.parse, WORDS) == [parser.parse(words) for words in WORDS]


def run_in_interpreters(*codes: str) -> list[str]:
    program = INTERPRETERS + "".join(f"run({code!r})\n" for code in codes)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    return result.stdout.splitlines()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the private module of subinterpreters is another one")
def test_subinterpreters_parse_or_say_why_not(model: Path) -> None:
    tree = "import treecrf; print(treecrf.Tree.parse('(S (NN cat))'))"
    parse = f"import treecrf; print(treecrf.Parser.load({str(model)!r}, 'cpu').parse({WORDS[0]}))"
    assert run_in_interpreters(tree, tree) == ["(S (NN cat))", "None"] * 2
    parsed = [str(Parser.load(model, "cpu").parse(WORDS[0])), "None"]
    first, *other = run_in_interpreters(parse, parse)
    assert [first, *other][:2] == parsed or "ImportError" in first
    assert "ImportError" in other[-1]  # of NumPy, which a process loads once
