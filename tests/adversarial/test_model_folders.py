"""Model folders from strangers: refused with one line, or harmless.

`make soak` tries more (TREECRF_SOAK=1), and TREECRF_SEED=N tries other ones.
"""

import json
import os
import random
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import hostile_folders
from folder_runner import MEMORY_BYTES, FolderRunner, Result
from small import MODEL, random_parser, randomize
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.files import DamagedFileError
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.nn import BertConfig, SpanModel
from treecrf.network.nn.bert import Bert
from treecrf.parser import Parser
from treecrf.parser.models import find_folder
from treecrf.parser.models.model_card import ModelCard
from treecrf.parser.storage import load_parser_state, save_parser_state
from treecrf.trees.treebank.well_formed import productions

EMBEDDED = find_folder("en-lstm")
IS_SOAK = bool(os.environ.get("TREECRF_SOAK"))
ROUNDS, SHARE = (2, 1) if IS_SOAK else (1, 4)  # how often each mutation is tried, and every how many-th of them
FIRST_SEED = int(os.environ.get("TREECRF_SEED", "0"))
WORDS = [["the", "cat", "sleeps", "."], ["a" * 3000, "dogs-" * 50, "see", "cats"]]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "in.txt"
    path.write_text("".join(f"{' '.join(words)}\n" for words in WORDS))
    return path


@pytest.fixture(scope="module", params=["floats", "bytes", "bert"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, trees = tmp_path_factory.mktemp("model") / request.param, toy_trees(40, seed=2)
    if request.param != "bert":
        parser = random_parser(trees, tag_head=True)
        parser.productions = Counter(production for tree in trees for production in productions(tree))
        parser.f1_threshold = 0.3  # decoding uses the productions
        parser.save(folder)
        save_parser_state(folder, load_parser_state(folder), weight_step=0.0 if request.param == "bytes" else None)
        return folder
    tokenizer = SubwordTokenizer.load(request.getfixturevalue("minilm"))
    config = replace(MODEL, encoder="transformer", transformer="tiny", transformer_layers=2, add_word_inputs=True)
    config = replace(config, tag_head=True, tag_conditions=True, schemes=("ptb", "gum"))
    bert = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    vocabulary = Vocabulary.build(trees)
    network = randomize(SpanModel(config, vocabulary.sizes, encoder=Bert(bert)))
    Parser(network, vocabulary, subwords=tokenizer).save(folder)
    state = load_parser_state(folder)
    save_parser_state(folder, replace(state, config=replace(state.config, scheme="gum")), weight_step=0.0)
    return folder


@pytest.fixture(scope="module", params=["without-torch", "with-torch"])
def runner(request: pytest.FixtureRequest) -> Iterator[FolderRunner]:
    if request.param == "with-torch" and find_spec("transformers") is None:
        pytest.skip("the package transformers is not installed")
    runner = FolderRunner(with_torch=request.param == "with-torch")
    yield runner
    runner.close()


def parse(runner: FolderRunner, folder: Path, text: Path) -> Result:
    options = ["--format", "json", "--probs", "--kbest", "2", *runner.precision]
    return runner("parse", "--tokens", "--device", "cpu", "--model", folder, *options, text)


def check(result: Result, expected: Result, *, is_refused: bool) -> str:
    """Checks that a folder was refused or harmless, and returns which."""
    assert result.memory_bytes < MEMORY_BYTES, f"{result.memory_bytes / 1e6:.0f} MB"
    if result.status == 1:
        assert result.output == "", result
        assert result.messages.startswith("treecrf parse: ") and result.messages.count("\n") == 1, result.messages
        assert len(result.messages) < 1500 and result.messages[:-1].isprintable(), result.messages
        return "refused"
    assert result.status == 0, result
    assert not is_refused, "the folder was accepted"
    records = [json.loads(line, parse_constant=pytest.fail) for line in result.output.splitlines()]
    assert [record["words"] for record in records] == WORDS
    return "as before" if result.output == expected.output else "other trees"


def test_a_hostile_folder_is_refused_or_harmless(
    runner: FolderRunner, model: Path, text: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    expected = parse(runner, model, text)
    assert expected.status == 0, expected.messages
    for seed in range(FIRST_SEED, FIRST_SEED + ROUNDS):
        first = zlib.crc32(f"{model.name} {runner.precision}".encode()) % SHARE
        for name, mutation, is_refused in [*hostile_folders.mutations(model)][first::SHARE]:
            with subtests.test(name, seed=seed):
                folder = tmp_path / f"{seed} {name}".replace("/", " ") / "model"
                shutil.copytree(model, folder)
                hostile_folders.apply_mutation(folder, mutation, random.Random(f"{seed} {name}"))
                check(parse(runner, folder, text), expected, is_refused=is_refused)
                shutil.rmtree(folder.parent)


@pytest.mark.parametrize("value", ["x", None, 10**400, [], {}, -1, "\x1b[2J\n", "A" * 300_000, [[1]]])
@pytest.mark.parametrize("path", ["size", "scores", "scores 0 f1", "scores 0 name", "purpose license", "labels 0"])
def test_a_hostile_card_is_refused_or_harmless(
    tmp_path: Path, path: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    card = part = json.loads((EMBEDDED / "card.json").read_text())
    *names, last = [int(name) if name.isdecimal() else name for name in path.split()]
    for name in names:
        part = part[name]
    part[last] = value
    (tmp_path / "card.json").write_text(json.dumps(card))
    (tmp_path / "model.json").write_bytes((EMBEDDED / "model.json").read_bytes())
    with pytest.raises(SystemExit) as ended:
        main(["models", str(tmp_path), "--labels"])
    messages = f"{ended.value.code}"
    assert ended.value.code is None or (messages.isprintable() and len(messages) < 1000), messages
    assert capsys.readouterr().out.replace("\n", "").isprintable()
    try:
        assert ModelCard.load(tmp_path).purpose.license.isprintable()
    except ValueError as error:
        assert "card.json is not a model card" in str(error)


@pytest.mark.parametrize(
    ("component", "array", "text"),
    [
        *(("functions", "names", text) for text in ("SBJ (X", "\x1b[31m", "A-B", "", "\n".join(map(str, range(70))))),
        *(("empties", "templates", text) for text in ("(NP (NN dog))", "(NP (-NONE- *@x))", "(NP (-NONE- \x1b))")),
        *(
            ("empties", "templates", text)
            for text in ("(A " * 5000 + "(-NONE- 0)" + ")" * 5000, r"(-NONE- \u{28})", "(")
        ),
        *(("schemes", "masc productions", text) for text in ("x y", "")),
        ("schemes", "other productions", ""),
    ],
)
def test_the_texts_of_components_cannot_break_trees(component: str, array: str, text: str) -> None:
    parser = Parser.load("en", "cpu")
    arrays = {**parser.arrays.get(component, {}), array: np.frombuffer(text.encode(), np.uint8)}
    parser.arrays = {**parser.arrays, component: arrays}
    if component == "schemes":
        parser.scheme = "masc"
    with pytest.raises(DamagedFileError, match=rf"{component}\.safetensors has no .*: ") as raised:
        parser.parse(["It", "works"], functions=component == "functions", empties=component == "empties")
    assert str(raised.value).isprintable() and len(str(raised.value)) < 500
