"""`treecrf annotate`: its corpus and its errors."""

import argparse

import pytest

from treecrf.cli import annotate
from treecrf.parser import Parser

RAW = "The cat sleeps. She sees a wall."


def test_corpora_are_raw_text_words_or_trees(tmp_path):
    parser = Parser.load("en", "cpu")
    text, words, trees = (tmp_path / name for name in ("a.txt", "b.txt", "c.mrg"))
    text.write_text(RAW)
    words.write_text("The cat sleeps .\n\nShe sees a wall .\n")
    trees.write_text("(S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .))\n")
    sentences = [["The", "cat", "sleeps", "."], ["She", "sees", "a", "wall", "."]]
    assert list(annotate.read_corpus(text, parser, has_words=False, field=None)) == sentences
    assert list(annotate.read_corpus(words, parser, has_words=True, field=None)) == sentences
    assert list(annotate.read_corpus(trees, parser, has_words=False, field=None)) == sentences[:1]


def test_the_folder_is_required():
    parser = argparse.ArgumentParser()
    annotate.add_arguments(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["corpus.txt"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"output": "corpus.txt"}, "corpus.txt is a file; expected a folder"),
        ({"annotator": "../x"}, "the annotator's name is '../x'"),
        ({"max_words": 2}, r"sentence 1 has 4 words .*raise --max-words"),
        ({"corpus": "empty.txt"}, "there are no sentences"),
    ],
)
def test_a_wrong_command_says_so_and_leaves_no_folder(tmp_path, values, message):
    (tmp_path / "corpus.txt").write_text(RAW)
    (tmp_path / "empty.txt").touch()
    values = {"corpus": "corpus.txt", "output": "gold", "annotator": "ann", "max_words": 300, **values}
    paths = {name: tmp_path / values[name] for name in ("corpus", "output")}
    args = argparse.Namespace(**paths, annotator=values["annotator"], tokens=False, field=None, model="en")
    with pytest.raises(ValueError, match=message):
        annotate._open_project(args, Parser.load("en", "cpu"), values["max_words"])
    assert not (tmp_path / "gold").exists()
