"""Parsing on a CPU needs no PyTorch. Most of these tests start a Python that cannot import it.

`make test` also runs this folder as a whole in such a Python.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from project_models import installed_models
from treecrf import Constraints, Parser, Tree
from treecrf.parser import models

HERE = Path(__file__).parent
ENGLISH = ["The", "cat", "sat", "on", "the", "mat", "."]
SENTENCES = {"zh": ["我們", "昨天", "在", "學校", "看見", "他"]}  # by model; the others read English
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])}
needs_models = pytest.mark.skipif(not models.names(), reason="this checkout has no embedded models")


def run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], input=text, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module", params=installed_models())
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def parser(model: str) -> Parser:
    return Parser.load(model, "cpu")


@pytest.fixture(scope="module")
def words(model: str) -> list[str]:
    return SENTENCES.get(model, ENGLISH)


def test_torch_is_hidden() -> None:
    done = run("-c", "import torch")
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr


def test_the_same_sentence_has_the_same_tree_in_all_ways(parser: Parser, words: list[str]) -> None:
    tree = parser.parse(words)
    assert tree.words == words and len(tree.spans()) >= 2
    assert next(parser.parse_many([words, words[:3]])) == tree == Tree.parse(next(parser.brackets_many([words])))
    analysis = parser.analyze(words, k=3)
    assert analysis.tree == tree and len(analysis.alternatives) == 3 and analysis.log_prob <= 0
    assert all(0 <= constituent.probability <= 1 for constituent in analysis.constituents)


def test_constraints(parser: Parser, words: list[str]) -> None:
    tree = parser.parse(words, constraints=Constraints(require=[(1, 3)], forbid=[(0, 2)]))
    spans = {span[:2] for span in tree.spans()}
    assert (1, 3) in spans and (0, 2) not in spans


def test_a_saved_parser_is_the_same(parser: Parser, words: list[str], tmp_path: Path) -> None:
    parser.save(tmp_path / "copy")
    assert Parser.load(tmp_path / "copy", "cpu").parse(words) == parser.parse(words)


@needs_models
@pytest.mark.parametrize("options", [[], ["--format", "json", "--probs", "--kbest", "3"], ["--no-mbr"]])
def test_the_command_line(options: list[str]) -> None:
    done = run("-m", "treecrf", "parse", *options, text="The cat sat on the mat.\nShe saw him.\n")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    if "--format" in options:
        assert len(json.loads(lines[0])["sentences"][0]["kbest"]) == 3


@needs_models
def test_spacy_and_nltk() -> None:
    pytest.importorskip("spacy")
    pytest.importorskip("nltk")
    program = (
        "import spacy\n"
        "from treecrf.integrations.nltk import NLTKParser\n"
        "nlp = spacy.blank('en')\n"
        "nlp.add_pipe('sentencizer')\n"
        "nlp.add_pipe('treecrf')\n"
        "print([sentence._.tree for sentence in nlp('The cat sat. She saw him.').sents])\n"
        "print(next(NLTKParser('en').parse('She saw him .'.split())))\n"
        "import sys; assert sys.modules['torch'] is None\n"
    )
    done = run("-c", program)
    assert done.returncode == 0, done.stderr


@needs_models
def test_the_server() -> None:
    pytest.importorskip("fastapi")
    program = (
        "from fastapi.testclient import TestClient\n"
        "from treecrf.server.app import create_app\n"
        "from treecrf.parser import Parser\n"
        "app = create_app({'en': Parser.load('en', 'cpu')})\n"
        "with TestClient(app) as client:\n"
        "    answer = client.post('/parse', json={'text': 'The cat sat.'})\n"
        "    print(answer.status_code, answer.text)\n"
        "    assert answer.status_code == 200\n"
    )
    done = run("-c", program)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "import treecrf; treecrf.SpanCRF",
        "from treecrf import Parser; Parser.load('en', 'cpu', precision='float32')",
        "from treecrf import Parser; Parser.load('en', 'cuda')",
        "from treecrf import Parser; Parser.load('en', 'cpu').model",
        "from treecrf import Parser; Parser.load('en', 'cpu').crf(['a', 'b'])",
    ],
)
@needs_models
def test_what_needs_pytorch_says_so(program: str) -> None:
    done = run("-c", program)
    assert done.returncode == 1 and "needs PyTorch: pip install 'treecrf[torch]'" in done.stderr


@pytest.mark.parametrize("verb", ["train", "calibrate", "reproduce"])
def test_commands_that_need_pytorch_say_so(verb: str, tmp_path: Path) -> None:
    (tmp_path / "trees.mrg").write_text("(TOP (NP (NN a) (NN b)))\n")
    arguments = {
        "train": ["recipe.toml", "-o", "run"],
        "calibrate": ["en", "trees.mrg", "-o", "out"],
        "reproduce": ["trees.mrg", "-o", "out"],
    }
    done = subprocess.run(
        [sys.executable, "-m", "treecrf", verb, *arguments[verb]],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "needs PyTorch: pip install 'treecrf[torch]'" in done.stderr
