"""Patterns and surgeries of strangers: they end in time, need little memory, and fail with one line and a place."""

import json
import signal
import subprocess
import sys
from random import Random

import pytest

from treecrf.cli import main
from treecrf.trees.search import Forest, Pattern, PatternError, Surgery, SurgeryError, apply_surgeries, time_limit
from treecrf.trees.search.relations import NUMBERED, RELATIONS
from treecrf.trees.tree import Tree

needs_alarm = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarm signal")
DEPTH, CHILDREN = 20_000, 300_000
DEEP = "(A (X x) " * DEPTH + "(X x)" + " (Y y))" * DEPTH
WIDE = "(S " + "(X x)" * CHILDREN + ")"
SYMBOLS = [
    *(symbol for symbol in RELATIONS if symbol not in NUMBERED.values() and not symbol.endswith("+")),
    *("$+", "$++", "<+(__)", ">+(__)", ".+(__)", ",+(__)", f">{CHILDREN}", f"<-{CHILDREN}", f">-{CHILDREN // 2}"),
]
MANY_DIGITS = "9" * 5000


@pytest.fixture(scope="module", params=[DEEP, WIDE], ids=["deep", "wide"])
def large_forest(request):
    return Forest.parse(request.param)


@needs_alarm
@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_relation_ends_or_is_interrupted(large_forest, symbol):
    pattern = Pattern(f"__ {symbol} (__ !== __)")  # tries every candidate, and none matches
    try:
        with time_limit(0.2):
            assert pattern.count(large_forest).matches == 0
    except TimeoutError:
        assert symbol not in ("<", ">", "$+", "$-", f">{CHILDREN}", f"<-{CHILDREN}")


@needs_alarm
@pytest.mark.parametrize("pattern", ["__ .. __", "__ .+(__) __ ,+(__) (__ .. NONE)", "__ !.. NONE", "__ : (__ : NONE)"])
def test_a_search_that_takes_long_is_interrupted(large_forest, pattern):
    with pytest.raises(TimeoutError, match=r"more than 0\.2 seconds"), time_limit(0.2):
        Pattern(pattern).count(large_forest)


@needs_alarm
def test_ctrl_c_interrupts_the_compiled_search(large_forest):
    def stop(*_):
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            Pattern("__ .. (__ .. NONE)").count(large_forest)
    finally:
        signal.signal(signal.SIGALRM, handler)


def bomb(relations: int) -> str:
    """A pattern with 6 ** relations matches in a tree of seven constituents."""
    return "S" + "".join(f" < __=a{number}" for number in range(relations))


SEVEN = "(S (A a) (B b) (C c) (D d) (E e) (F f))"
IN_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from treecrf.cli import main
from treecrf.trees.search import Forest, Pattern, PatternError, Surgery, SurgeryError
from treecrf.trees.tree import Tree

tree, wide = Tree.parse(sys.argv[1]), Forest.parse("(S " + "(X x)" * 300_000 + ")")
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20), size + (256 << 20)))
for text in sys.argv[2:]:
    try:
        list(Pattern(text).find(tree))
    except PatternError as error:
        print(error.reason)
print(Pattern("S << __=a").count(wide).matches, sum(1 for _ in Pattern("S << __=a").find(wide)))
try:
    Surgery("S=x", "insert x >1 x").apply(tree)
except SurgeryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read from /proc")
def test_match_bombs_and_growing_trees_need_less_than_256_megabytes():
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, SEVEN, bomb(40), bomb(149), "__" + " : __" * 30]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    *bombs, matches, surgery = result.stdout.splitlines()
    assert len(bombs) == 3 and all("ways; expected fewer relations" in line for line in bombs)
    assert matches == f"{2 * CHILDREN} {2 * CHILDREN}"
    assert "the operations add more than 100,000 nodes" in surgery


@pytest.mark.parametrize("is_compiled", [True, False])
def test_the_matches_of_a_node_are_limited(monkeypatch, is_compiled):
    tree, pattern = Tree.parse(SEVEN), Pattern(bomb(3))
    if not is_compiled:
        monkeypatch.setattr("treecrf.trees.search.compiled.matcher", None)
    assert len(list(pattern.find(tree, max_matches=216))) == pattern.count(tree).matches == 216
    with pytest.raises(PatternError, match=r"matches 'S' in tree 1 in more than 200 ways"):
        list(pattern.find(tree, max_matches=200))
    match = Pattern(bomb(100)).first(tree)
    assert match is not None and set(match.positions.values()) == {1}


@pytest.mark.parametrize(
    ("tree", "pattern", "operations"),
    [
        (SEVEN, "/^A/=x", "relabel x /^(.*)$/={x}={x}/"),
        (SEVEN, "/^A/=x", f"relabel x /./{'$0' * 1000}/"),
        (SEVEN, "S=x", "insert x >1 x"),
        (SEVEN, "S=x !< S", "\n".join(["insert x >1 x"] * 60)),
    ],
    ids=["labels", "replacement", "trees", "one change"],
)
def test_surgery_adds_a_limited_number_of_nodes_and_characters(tree, pattern, operations):
    with pytest.raises(SurgeryError, match=r"add more than 100,000 nodes or 1,000,000 characters to one tree"):
        Surgery(pattern, operations).apply(Tree.parse(tree))


def test_surgeries_of_a_script_share_their_limit():
    surgeries = [Surgery(f"A=x !$ N{number}", f"insert (N{number} {'n' * 60_000}) $+ x") for number in range(20)]
    with pytest.raises(SurgeryError, match="add more than"):
        apply_surgeries(Tree.parse(SEVEN), surgeries)
    assert apply_surgeries(Tree.parse(SEVEN), surgeries[:16]) is not None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("/a{99999999999}/", "the number of repetitions is too large"),
        (f"/a{{1,{MANY_DIGITS}}}/", "the number of repetitions is too large"),
        (f"/{'(' * 2000}a{')' * 2000}/", "nested too deeply"),
        (f"/{'[' * 2000}a{']' * 2000}/", "nested too deeply"),
        ("(" * 2000 + "NP" + ")" * 2000, "nested more than 50 levels"),
        ("NP " + "!" * 2000 + "< NN", "nested more than 50 levels"),
        (f"NP <{MANY_DIGITS} NN", "is not the number of a child"),
        (f"NP <-{MANY_DIGITS} NN", "is not the number of a child"),
        (f"/(a)/#{MANY_DIGITS}%x", "group 99999999999 does not exist"),
        ("/(a)/" + "#1%x" * 51, "sets variables more than 50 times"),
        ("NP < " + "a" * 1_000_000 + " =", "expected a name"),
        ("NP" + " < a" * 10_000, "more than 150 nodes"),
        ("=" + "a" * 1_000_000, "no node before this one has the name"),
    ],
)
def test_patterns_beyond_a_limit_are_errors_of_a_few_lines(pattern, reason):
    with pytest.raises(PatternError, match=reason) as raised:
        Pattern(pattern)
    message, line, caret = str(raised.value).split("\n")
    assert len(message) < 500 and len(line) < 500 and caret.strip() == "^"
    assert raised.value.pattern == pattern


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("relabel x /^(.)$/B$9/", "group 9 does not exist; the expression has 1"),
        (f"relabel x /^(.)$/B${MANY_DIGITS}/", "does not exist; the expression has 1"),
        ("relabel x /^A(.*)$/B$1", "expected a label between slashes"),
        ("relabel x /a{99999999999}/b/", "the number of repetitions is too large"),
        ("x" * 1_000_000, "is no operation"),
        ("delete " + "y" * 1_000_000, "the pattern names no node"),
        ("[" * 2000 + "delete x" + "]" * 2000, "nested more than 50 levels"),
    ],
)
def test_operations_beyond_a_limit_are_errors_of_a_few_lines(operation, reason):
    with pytest.raises(PatternError, match=reason) as raised:
        Surgery("A=x", operation)
    assert len(str(raised.value)) < 1500


def test_large_numbers_of_operations_and_labels_are_read():
    tree = Tree.parse(f"(S (A a-{MANY_DIGITS}))")
    with pytest.raises(SurgeryError, match="cannot have number 99999999999"):
        Surgery("A=x", f"insert (N n) >{MANY_DIGITS} x").apply(tree)
    assert str(Surgery("A=x", "coindex x").apply(tree)).startswith("(S (A-1 a-999")
    with pytest.raises(SurgeryError, match="change nothing") as raised:
        Surgery("A=" + "x" * 1_000_000, f"relabel {'x' * 1_000_000} A").apply(tree)
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("flags", ["(?i)" * 1000, "(?i)(?-i)" * 1000 + "(?i)", "(?i)|" * 1000])
def test_flags_may_be_set_any_number_of_times(flags):
    assert Pattern(f"/{flags}^nN$/").count(Tree.parse("(S (NN a))")).matches >= 1


def test_random_operations_change_a_tree_or_say_why_not(monkeypatch):
    monkeypatch.setattr("treecrf.trees.search.surgery.MAX_CHANGES", 3)
    random = Random(7)
    places = ["$+ x", "$- y", ">1 x", ">-1 s", ">2 y", "$+ s"]
    names = ["s", "x", "y"]
    for _ in range(1000):
        operations = [
            random.choice(
                [
                    f"delete {random.choice(names)}",
                    f"prune {random.choice(names)}",
                    f"excise {random.choice(names)} {random.choice(names)}",
                    f"relabel {random.choice(names)} /(.)/$1={{s}}/",
                    f"insert {random.choice([*names, '(N n)', '(N (M@ m))'])} {random.choice(places)}",
                    f"move {random.choice(names)} {random.choice(places)}",
                    f"moveprune {random.choice(names)} {random.choice(places)}",
                    f"replace {random.choice(names)} {random.choice([*names, '(N n) (M m)'])}",
                    f"createSubtree X {random.choice(names)} {random.choice(names)}",
                    f"{random.choice(['adjoin', 'adjoinH', 'adjoinF'])} (X (Y@) (Z z)) {random.choice(names)}",
                    f"coindex {random.choice(names)}",
                ]
            )
            for _ in range(random.randint(1, 4))
        ]
        try:
            surgery = Surgery("S=s << (A=x < B=y)", operations)
            changed = surgery.apply(Tree.parse("(S (A (B b) (C c)) (D (A (B b))))"))
        except (PatternError, SurgeryError):
            continue
        assert changed is None or Tree.parse(str(changed)) == changed


def test_a_match_with_many_names_is_printed_in_pieces(tmp_path, monkeypatch):
    written: list[str] = []
    (tmp_path / "wide.mrg").write_text("(S " + "(X x)" * 1000 + ")")
    monkeypatch.setattr(sys.stdout, "write", written.append)
    pattern = "S" + "".join(f" : S=a{number}" for number in range(40))
    with pytest.raises(SystemExit):
        main(["search", pattern, str(tmp_path / "wide.mrg"), "--show", "json"])
    assert len(json.loads("".join(written))["names"]) == 40
    assert max(map(len, written)) < 20_000
