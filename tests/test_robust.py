"""Tests of `treecrf parse` with unusual input, an LSTM and BERT: every line has a tree or an error message."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from small import random_bert_parser, random_parser
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.parser import Parser
from treecrf.parser.storage import ParserConfig
from treecrf.threads import num_threads
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import read_trees

TREES = toy_trees(40, seed=2)
UNUSUAL = {
    "empty": "",
    "spaces": "  \t ",
    "carriage return": "the cat sat .\r",
    "parentheses": "( -LRB- ) [ ] { } -RRB- (a) )(",
    "quotation marks": "`` '' \" “ ” ‘ ’ ' « »",
    "zero-width": "a\u200bb \u200b \u200d \ufeff \u2060 .",
    "no-break space": "a\u00a0b \u00a0 \u3000 .",
    "emoji": "I 👍🏽 👩‍👩‍👧‍👦 🇫🇷 you ❤️ !",
    "right-to-left": "שלום \u202eabc\u202c مرحبا \u200f .",
    "control characters": "a\x00b \x01 \x1b[31m \x7f \x85 \x0b .",
    "line separators": "a\u2028b \u2029 c .",
    "combining": "e\u0301\u0301\u0301 ﷽ Z̷͎͝ .",
    "beyond the first plane": "𝔘𝔫𝔦 𒀱 \U0010ffff .",
    "not a character": "\ufffe \uffff \ufffd .",
    "one long word": "x" * 5000 + " .",
    "backslashes": "\\ \\u{28} \\\\ \\n .",
    "many marks": "!!!!!!!! ???? ...... ---- ____ #### .",
    "Chinese": "我们 喜欢 图书馆 。",
    "one word": "word",
}


@pytest.fixture(scope="module", params=["lstm", "bert"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "lstm":
        random_parser(TREES, tag_head=True).save(folder)
    else:
        random_bert_parser(TREES, request.getfixturevalue("minilm")).save(folder)
    return folder


def parse(model: Path, *arguments: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["parse", "--model", str(model), "--device", "cpu", *map(str, arguments)])
    return ended.value.code


@pytest.mark.parametrize("mode", ["--tokens", "--text"])
def test_every_line_has_a_tree_and_all_its_characters(model: Path, tmp_path: Path, mode: str) -> None:
    (tmp_path / "in.txt").write_bytes("\n".join(UNUSUAL.values()).encode())
    assert parse(model, mode, tmp_path / "in.txt", "-o", tmp_path / "out.jsonl", "--format", "json") is None
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").split("\n")
    assert len(lines) == len(UNUSUAL) + 1 and not lines[-1]
    for (name, text), line in zip(UNUSUAL.items(), lines, strict=False):
        record = json.loads(line)
        sentences = record["sentences"] if mode == "--text" else [record] * (record is not None)
        for sentence in sentences:
            for word, (start, end) in zip(sentence["words"], sentence["offsets"], strict=True):
                assert text[start:end] == word, name
        covered = [index for sentence in sentences for offsets in sentence["offsets"] for index in range(*offsets)]
        rest = "".join(character for index, character in enumerate(text) if index not in set(covered))
        assert len(set(covered)) == len(covered) and not rest.strip(), name


def test_every_line_of_brackets_can_be_read_back(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("\n".join(UNUSUAL.values()).encode())
    assert parse(model, "--tokens", "--exact", tmp_path / "in.txt", "-o", tmp_path / "out.mrg") is None
    lines = (tmp_path / "out.mrg").read_bytes().decode().split("\n")[:-1]
    assert len(lines) == len(UNUSUAL)
    for text, line in zip(UNUSUAL.values(), lines, strict=True):
        words = [word for word in text.replace("\t", " ").replace("\r", " ").replace("\x0b", " ").split(" ") if word]
        assert (Tree.parse(line).words if line else []) == words
    assert [tree.words for tree in read_trees(tmp_path / "out.mrg")] == [
        Tree.parse(line).words for line in lines if line
    ]


def test_carriage_returns_and_byte_order_marks_are_not_words(model: Path, tmp_path: Path) -> None:
    (tmp_path / "unix.txt").write_bytes(b"the cat sat .\n\nwe waited .\n")
    (tmp_path / "dos.txt").write_bytes(b"\xef\xbb\xbfthe cat sat .\r\n\r\nwe waited .\r\n")
    for name in ("unix", "dos"):
        assert parse(model, "--tokens", tmp_path / f"{name}.txt", "-o", tmp_path / f"{name}.mrg") is None
    assert (tmp_path / "unix.mrg").read_bytes() == (tmp_path / "dos.mrg").read_bytes()


def test_an_error_about_utf8_names_the_file_and_the_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_bytes(b"we waited .\ncaf\xe9 .\nwe waited .\n")
    message = str(parse(model, "--tokens", tmp_path / "in.txt", "-o", tmp_path / "out.mrg"))
    assert f"{tmp_path / 'in.txt'}:2: byte 4 of the line, 0xe9, is not UTF-8" in message
    assert not (tmp_path / "out.mrg").exists()
    assert parse(model, "--tokens", "--skip-bad", tmp_path / "in.txt", "-o", tmp_path / "out.mrg") is None
    first, second, third = (tmp_path / "out.mrg").read_text().splitlines()
    assert first == third and second == "" and "in.txt:2" in capsys.readouterr().err


def test_a_sentence_of_a_thousand_words_is_parsed(model: Path, tmp_path: Path) -> None:
    words = [word for tree in toy_trees(300) for word in tree.words][:1000]
    (tmp_path / "in.txt").write_text(" ".join(words))
    assert parse(model, "--tokens", tmp_path / "in.txt", "-o", tmp_path / "out.mrg") is None
    assert Tree.parse((tmp_path / "out.mrg").read_text()).words == words


def test_a_huge_line_is_an_error_with_the_limit_and_its_option(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"we waited .\n" + b"word " * 2_000_000 + b"\nwe waited .\n")
    message = str(parse(model, "--tokens", tmp_path / "in.txt", "-o", tmp_path / "out.mrg"))
    assert f"{tmp_path / 'in.txt'}:2: a line of 10,000,001 bytes" in message
    assert "the limit is 1,000,000, and --max-line-bytes raises it" in message
    assert parse(model, "--tokens", "--skip-bad", tmp_path / "in.txt", "-o", tmp_path / "out.mrg") is None
    assert len((tmp_path / "out.mrg").read_text().splitlines()) == 3


def test_a_sentence_of_too_many_words_is_an_error_with_the_limit_and_its_option(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("word " * 2001)
    message = str(parse(model, "--tokens", tmp_path / "in.txt", "-o", tmp_path / "out.mrg"))
    assert "in.txt:1: a sentence of 2,001 words; the limit is 2,000, and --max-words raises it" in message


def test_thirty_two_threads_share_a_parser(model: Path) -> None:
    parser = Parser.load(model, device="cpu")
    sentences = [text.split() for text in UNUSUAL.values() if text.split()] + [tree.words for tree in TREES]
    expected = [parser.parse(words) for words in sentences]
    shared = Parser.load(model, device="cpu")  # its caches are empty
    with ThreadPoolExecutor(32) as threads:
        rotated = threads.map(lambda shift: list(shared.parse_many(sentences[shift:] + sentences[:shift])), range(32))
        for shift, trees in enumerate(rotated):
            assert trees[len(sentences) - shift :] + trees[: len(sentences) - shift] == expected


def test_batches_do_not_change_trees(model: Path) -> None:
    parser = Parser.load(model, device="cpu")
    sentences = [text.split() for text in UNUSUAL.values() if text.split()] + [tree.words for tree in TREES]
    one_by_one = [parser.parse(words) for words in sentences]
    assert list(parser.parse_many(sentences)) == one_by_one
    assert list(parser.parse_many(sentences, batch_words=30)) == one_by_one


def test_damage_to_any_file_of_a_model_is_an_error(model: Path, tmp_path: Path) -> None:
    names = [path.name for path in model.iterdir() if path.is_file()]
    assert "model.safetensors" in names
    for name in names:
        for damage in ("cut", "changed", "deleted", "pickle"):
            folder = tmp_path / f"{name}.{damage}"
            folder.mkdir()
            for path in model.iterdir():
                (folder / path.name).write_bytes(path.read_bytes())
            _damage(folder / name, damage)
            message = str(parse(folder, "--tokens", os.devnull))
            assert message.startswith("treecrf parse: ") and str(folder) in message, (name, damage, message)


def _damage(path: Path, damage: str) -> None:
    data = path.read_bytes()
    if damage == "deleted":
        path.unlink()
        return
    middle = len(data) // 2
    damaged = {"cut": data[:middle], "pickle": b"\x80\x04cos\nsystem\n.", "changed": data[:-1] + bytes([data[-1] ^ 1])}
    path.write_bytes(damaged[damage])


def test_a_killed_run_resumes_to_the_same_bytes(model: Path, tmp_path: Path) -> None:
    lines = [" ".join(tree.words) for tree in toy_trees(60) if len(tree.words) < 8] * 400
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n")
    assert parse(model, "--tokens", tmp_path / "in.txt", "-o", tmp_path / "whole.mrg") is None
    command = [sys.executable, "-m", "treecrf", "parse", "--tokens", "--device", "cpu", "--model", str(model)]
    command += [str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.mrg"), "--resume"]
    environment = {**os.environ, "OMP_NUM_THREADS": str(num_threads())}
    running = subprocess.Popen(command, env=environment)
    while running.poll() is None and not any(path.stat().st_size for path in tmp_path.glob(".out.mrg*")):
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert subprocess.run(command, env=environment, check=False).returncode == 0
    assert (tmp_path / "out.mrg").read_bytes() == (tmp_path / "whole.mrg").read_bytes()


def test_the_error_names_a_missing_package(tmp_path: Path) -> None:
    parser = random_parser(TREES)
    Parser(parser.model, parser.vocabulary, ParserConfig(language="zh", normalization="simplified")).save(tmp_path)
    code = "import sys; sys.modules['opencc'] = None; from treecrf.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "parse", "--model", str(tmp_path), "--device", "cpu", os.devnull]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("treecrf parse: this model reads Chinese characters through OpenCC: pip install ")
