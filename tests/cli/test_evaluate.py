import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from small import FIFTY, random_parser
from toygrammar import toy_trees, write_trees
from treecrf.cli import main
from treecrf.parser import Parser
from treecrf.trees.evalb import Rules, evaluate_lines
from treecrf.trees.treebank import read_trees
from treecrf.trees.treebank.well_formed import measure_well_formedness

DATA = Path(__file__).parents[1] / "samples" / "evalb"
GOLD, PREDICTED, RULES = (str(DATA / name) for name in ("gold.mrg", "predicted.mrg", "rules.prm"))
EXPECTED = (DATA / "expected.txt").read_text(encoding="utf-8")
TOYS = toy_trees(50)
TREE = "(TOP (S (NP (DT the) (NN cat)) (VP (VBD slept)) (. .)))"


@pytest.fixture
def run(capsys):
    """Runs the command and returns its exit status, output and messages."""

    def run_command(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(["evaluate", *map(str, arguments)])
        return exit_.value.code, *capsys.readouterr()

    return run_command


def write(path, text):
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


def test_the_report_starts_with_the_output_of_evalb(run):
    status, output, messages = run(GOLD, PREDICTED, "--rules", RULES)
    assert status == 0
    assert output.startswith(EXPECTED + "\n-- Unlabeled --\n")
    for title in ("95% intervals", "By length", "By label"):
        assert f"\n-- {title} --\n" in output
    assert messages.split("\n")[0] == "9 : Length unmatch (7|8)"


def test_plain_output_is_that_of_evalb(run):
    assert run(GOLD, PREDICTED, "-p", RULES, "--plain")[1] == EXPECTED


def test_json_has_every_number(run):
    _, output, _ = run(GOLD, PREDICTED, "--rules", RULES, "--json", "--compare", GOLD)
    scores = json.loads(output)
    assert round(scores["all"]["brackets"]["f1"], 2) == 83.64
    assert (scores["all"]["errors"], scores["all"]["skipped"], scores["all"]["valid"]) == (6, 3, 13)
    assert scores["short"]["cutoff"] == 12
    assert scores["labels"]["ADVP"] == {
        "gold": 0,
        "predicted": 1,
        "recalled": 0,
        "correct": 1,
        "recall": 0.0,
        "precision": 100.0,
        "f1": 0.0,
    }
    assert [sentence["status"] for sentence in scores["sentences"][8:13]] == ["error"] * 3 + ["skip"] * 2
    assert scores["messages"][0] == {"sentence": 9, "text": "Length unmatch (7|8)"}
    low, high = scores["intervals"]["f1"]
    assert low < 83.64 < high
    assert scores["comparison"]["difference"] < 0
    assert scores["stopped"] is None


def test_two_systems_are_compared(run, tmp_path):
    gold = write(tmp_path / "gold", f"{TREE}\n" * 50)
    worse = write(tmp_path / "worse", f"{TREE.replace('VP', 'PP')}\n" * 50)
    output = run(gold, gold, "--compare", worse)[1]
    assert "Difference                = +33.33\n" in output
    assert "p (paired bootstrap)      = 0.0005\n" in output


def test_errors_of_the_other_system_have_its_name(run, tmp_path):
    gold, other = write(tmp_path / "gold", TREE), write(tmp_path / "other", "(S (NN dog))")
    assert run(gold, gold, "--compare", other)[2] == f"{other}: 1 : Length unmatch (3|1)\n"


def test_stopping_prints_the_rows_so_far_and_fails(run, tmp_path):
    gold = write(tmp_path / "gold", f"{TREE}\n" * 3)
    predicted = write(tmp_path / "predicted", f"{TREE}\n(TOP (NN cat) dog)\n{TREE}\n")
    status, output, messages = run(gold, predicted)
    assert status == 1
    assert output.split("\n")[3:] == [
        "   1    4    0  100.00 100.00     3      3    3      0      3     3   100.00",
        "",
    ]
    assert "2 : Reading sentence" in messages
    assert "--keep-going" in messages


def test_with_keep_going_unreadable_trees_count_as_errors(run, tmp_path):
    gold = write(tmp_path / "gold", f"{TREE}\n" * 3)
    predicted = write(tmp_path / "predicted", f"{TREE}\n(TOP (NN cat) dog)\n{TREE}\n")
    status, output, _ = run(gold, predicted, "--keep-going")
    assert status == 0
    assert "Number of Error sentence  =      1\nNumber of Skip  sentence  =      0\n" in output


@pytest.mark.parametrize(("limit", "status"), [(0, 1), (1, 0)])
def test_the_maximum_number_of_errors_can_be_set(run, tmp_path, limit, status):
    gold = write(tmp_path / "gold", f"{TREE}\n" * 2)
    predicted = write(tmp_path / "predicted", "(S (NN dog))\n" * 2)
    assert run(gold, predicted, "--max-error", limit)[0] == status


def test_the_cutoff_can_be_set(run):
    assert "\n-- len<=5 --\nNumber of sentence        =     10\n" in run(GOLD, PREDICTED, "-p", RULES, "-c", 5)[1]


def test_rules_can_be_named(run, tmp_path):
    gold = write(tmp_path / "gold", TREE)
    assert run(gold, gold, "--rules", "spmrl", "--plain")[1] == str(
        evaluate_lines([TREE], [TREE], rules=Rules.named("spmrl"))
    )


def test_unknown_rules_are_named_in_the_message(run):
    assert "no rules are named 'colins'" in run(GOLD, PREDICTED, "--rules", "colins")[0]


def test_a_missing_file_is_named_in_the_message(run):
    assert "nowhere.mrg" in run(GOLD, "nowhere.mrg")[0]


def test_gzipped_files_are_read(run, tmp_path):
    compressed = tmp_path / "gold.gz"
    compressed.write_bytes(gzip.compress(Path(GOLD).read_bytes()))
    assert run(compressed, PREDICTED, "-p", RULES, "--plain")[1] == EXPECTED
    compressed.write_bytes(compressed.read_bytes()[:40])
    assert "damaged gzip file" in run(compressed, PREDICTED)[0]


def test_standard_input_is_read(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(PREDICTED).read_bytes())))
    assert run(GOLD, "-", "-p", RULES, "--plain")[1] == EXPECTED


def test_indented_trees_are_joined_to_lines(run, tmp_path):
    spread = write(tmp_path / "spread.mrg", "\n" + f"{TREE}\n\n".replace(" (", "\n    (") * 3)
    lines = write(tmp_path / "lines.mrg", f"{TREE}\n" * 3)
    assert run(spread, lines, "--plain")[1] == run(lines, lines, "--plain")[1]


@pytest.mark.parametrize("broken", [TREE[:-1], TREE + ")", ""])
def test_a_file_with_a_broken_line_is_not_read_as_indented(run, tmp_path, broken):
    gold = write(tmp_path / "gold", f"{TREE}\n" * 3)
    predicted = write(tmp_path / "predicted", f"{TREE}\n{broken}\n{TREE}\n")
    assert "Number of Valid sentence  =      2\n" in run(gold, predicted)[1]


def test_windows_line_ends_and_a_byte_order_mark_are_ignored(run, tmp_path):
    lines = write(tmp_path / "lines", f"{TREE}\n" * 2)
    odd = write(tmp_path / "odd", "\ufeff" + f"{TREE}\r\n" * 2)
    assert run(odd, odd, "--plain")[1] == run(lines, lines, "--plain")[1]


def test_bytes_that_are_not_utf8_are_compared_unchanged(run, tmp_path):
    gold = write(tmp_path / "gold", "(S (\udce9 (NN \udcff)))\n")
    other = write(tmp_path / "other", "(S (\udce9 (NN \udcfe)))\n")
    status, output, _ = run(gold, gold)
    assert status == 0
    assert "Bracketing FMeasure       = 100.00" in output
    assert "Words unmatch" in run(gold, other)[2]


def test_empty_files_are_scored(run, tmp_path):
    empty = write(tmp_path / "empty", "")
    assert "Number of sentence        =      0" in run(empty, empty)[1]


def test_help_loads_neither_pytorch_nor_numpy():
    code = "import sys; sys.argv[1:] = ['evaluate', '--help']\nimport atexit, treecrf.cli\n"
    code += "atexit.register(lambda: print({'torch', 'numpy'} & set(sys.modules)))\ntreecrf.cli.main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("set()\n")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    random_parser(TOYS, tag_head=True).save(folder)
    return folder


def test_a_model_is_scored_with_predicted_and_gold_tags(run, model):
    _, expected, _ = run(FIFTY, predicted_by(model), "--plain", "--keep-going")
    status, output, _ = run(FIFTY, "--model", model, "--device", "cpu")
    assert status == 0 and output.startswith(expected + "\n-- Unlabeled --\n")
    assert "\n-- 95% intervals --\n" in output and "\nTagging accuracy " in output
    below = output.partition("\n-- All sentences, punctuation deleted by the gold tags --\n")[2]
    first, _, evalb = below.partition("\n-- EVALB, punctuation deleted by the tags of each tree --\n")
    for part in (first, evalb):
        assert "Bracketing FMeasure       = " in part and "95% interval of it        = " in part
    sentences, valid = (int(re.search(rf"Number of {kind} += +(\d+)", expected)[1]) for kind in ("sentence", "Valid.*"))
    assert valid < sentences and f"Sentences left out        = {sentences - valid:6}\n" in evalb
    assert f"Sentences left out        = {0:6}\n" in first
    assert run(FIFTY, "--model", model, "--plain")[1] == expected


def test_json_has_the_scores_with_predicted_and_gold_tags(run, model):
    scores = json.loads(run(FIFTY, "--model", model, "--json")[1])
    assert scores["gold_tags"]["all"]["tagging_accuracy"] == 100 > scores["all"]["tagging_accuracy"]
    assert scores["gold_tags"]["intervals"]["f1"][0] < scores["gold_tags"]["all"]["brackets"]["f1"]


def test_the_well_formedness_of_a_models_trees_stands_beside_that_of_the_gold_trees(run, model):
    section = run(FIFTY, "--model", model)[1].partition("-- Well-formedness --\n")[2].partition("\n\n")[0]
    trees = list(read_trees(FIFTY))
    assert f"Trees                     = {len(trees):6}  {len(trees):6}\n" in section
    counts = json.loads(run(FIFTY, "--model", model, "--json")[1])["well_formedness"]
    gold, predicted = (counts[name]["ill_formed"] for name in ("gold", "predicted"))
    assert f"Ill-formed trees          = {gold:6}  {predicted:6}\n" in section
    assert gold == measure_well_formedness(trees).ill_formed < predicted


def test_files_with_wrong_punctuation_tags_are_scored_over_all_sentences_too(run, tmp_path):
    gold = write(tmp_path / "gold", "(TOP (S (NP (NNS trees)) (VP (VBP grow)) (. .)))\n" * 2)
    assert "All sentences" not in run(gold, gold)[1]
    wrong = write(tmp_path / "wrong", "(TOP (S (NP (NNS trees)) (VP (VBP grow)) (NN .)))\n" * 2)
    _, output, _ = run(gold, wrong)
    first, _, evalb = output.partition("-- All sentences")[2].partition("-- EVALB")
    assert "FMeasure       = 100.00" in first and "Sentences left out        =      2" in evalb


def test_the_scoring_of_a_model_stops_only_with_max_error(run, model):
    assert run(FIFTY, "--model", model)[0] == 0
    status, _, messages = run(FIFTY, "--model", model, "--max-error", "0")
    assert status == 1 and "stopped at sentence" in messages


def test_predicted_trees_or_a_model_are_required(run, model):
    assert run(FIFTY)[0] == run(FIFTY, FIFTY, "--model", model)[0]
    assert run(FIFTY)[0].startswith("treecrf evaluate: expected either a file of predicted trees or --model M")
    assert "need a model" in run(FIFTY, FIFTY, "--no-mbr")[0]


def predicted_by(folder):
    parser = Parser.load(folder, device="cpu")
    write_trees(folder / "predicted.mrg", list(parser.parse_many([tree.words for tree in TOYS])))
    return folder / "predicted.mrg"


FULL = "(TOP (S (NP-SBJ (DT the) (NN cat)) (VP (VBD was) (VP (VBN seen) (NP (-NONE- *-1)))) (. .)))"


def test_full_adds_functions_and_empty_elements(run, tmp_path):
    gold = write(tmp_path / "gold", FULL.replace("SBJ", "SBJ-1"))
    predicted = write(tmp_path / "predicted", FULL.replace("*-1", "*PRO*"))
    _, output, _ = run(gold, predicted, "--full")
    assert output.startswith(run(gold, predicted)[1])
    rows = output.partition("-- Functions and empty elements --")[2].split("\n")
    assert rows[5].split() == ["Subjects", "1", "1", "100.00", "100.00", "100.00"]
    assert rows[6].split() == ["Empty", "elements", "1", "1", "0.00", "0.00", "0.00"]
    scores = json.loads(run(gold, predicted, "--full", "--merge-pro", "--json")[1])["full"]
    assert (scores["empties"]["f1"], scores["empties_with_antecedents"]["f1"]) == (100.0, 0.0)
    assert scores["functions"]["by_name"]["SBJ"]["correct"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("--merge-pro",), "add --full"), (("--full", "--plain"), "leave out one"), (("-", "--full"), "name files")],
)
def test_options_of_full_scores_are_checked(run, tmp_path, arguments, message):
    gold = write(tmp_path / "gold", FULL)
    files = (gold,) if "-" in arguments else (gold, gold)
    assert message in run(*files, *arguments)[0]
