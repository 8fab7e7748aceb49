import gzip
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from treecrf.corpus.inputs import (
    STDIN,
    InputFile,
    Line,
    RecordFields,
    find_inputs,
    has_line_records,
    has_records,
    is_json_lines,
    is_parquet,
    join_paragraphs,
    line_batches,
    read_lines,
    split_words,
    total_size,
    with_prompt,
    word_offsets,
)
from treecrf.text import sentences


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    (folder / "deep" / ".git").mkdir(parents=True)
    for name in ("b.txt", "a.txt", "deep/c.txt", ".hidden", "deep/.git/x"):
        (folder / name).write_text(name)
    return folder


def find(*arguments: object, output: Path | None = None) -> tuple[list[str], list[str]]:
    """The paths below the named folders, and the warnings."""
    warnings: list[str] = []
    files = find_inputs([str(argument) for argument in arguments], warnings.append, output=output)
    return [str(file.relative) for file in files], warnings


def test_a_folder_has_its_visible_files_in_order(texts: Path) -> None:
    files, (warning,) = find(texts)
    assert files == ["a.txt", "b.txt", "deep/c.txt"]
    assert warning == f"skipped hidden files and folders: {texts / '.hidden'}, {texts / 'deep' / '.git'}"
    assert find(texts / ".hidden") == ([".hidden"], [])  # a file that is named itself is never skipped
    for number in range(9):
        (texts / f".h{number}").touch()
        assert find(texts)[1][0].endswith(f" and {number - 2} more") == (number > 2)
    assert " more" in find(texts)[1][0]


def test_a_pattern_names_files_and_folders_once(texts: Path) -> None:
    assert find(texts / "*.txt") == (["a.txt", "b.txt"], [])
    assert find(texts / "**" / "[cb].txt")[0] == ["b.txt", "deep/c.txt"]
    assert find(texts / "d*")[0] == ["deep/c.txt"]
    assert find(STDIN, texts / "a.txt") == (["stdin", "a.txt"], [])


def test_outputs_and_links_inside_a_folder_are_skipped(texts: Path) -> None:
    out = texts / "out"
    out.mkdir()
    (out / "a.mrg").touch()
    (texts / "link").symlink_to(texts / "deep")
    (texts / "broken").symlink_to(texts / "absent")
    os.mkfifo(texts / "pipe")
    files, warnings = find(texts, output=out)
    assert files == ["a.txt", "b.txt", "deep/c.txt"]
    assert [warning.split(": ")[1].split(";")[0] for warning in warnings[:4]] == [
        "it is a broken link",
        "it is a link to a folder",
        "it is the output folder",
        "it is not a file",
    ]
    assert "out/a.mrg" in find(texts)[0]
    with pytest.raises(ValueError, match="is both the input and the output folder"):
        find(texts, output=texts)
    assert find(texts / "link", output=out)[0] == ["c.txt"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("absent.txt", r"nothing to read at absent\.txt: no file, folder or pattern has that name$"),
        ("The cat sleeps.", "to parse a text, write: echo 'The cat sleeps.' | treecrf parse"),
        ("猫", "to parse a text, write: echo '猫'"),
        ("empty", "nothing to read in the folder empty: it has no visible files"),
        ("broken", "broken is a broken link: it points to absent"),
    ],
)
def test_an_argument_without_files_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").symlink_to("absent")
    with pytest.raises(FileNotFoundError, match=message.replace("|", r"\|")):
        find(argument)


def test_sizes_are_the_sizes_of_texts(tmp_path: Path) -> None:
    data = b"the cat\n" * 1000
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "a.gz").write_bytes(gzip.compress(data))
    plain, compressed = (InputFile(str(tmp_path / name), Path(name)) for name in ("a.txt", "a.gz"))
    assert plain.size == compressed.size == len(data) == 8000
    assert total_size([plain, compressed]) == 16_000 and total_size([]) == 0
    absent = InputFile(str(tmp_path / "absent"), Path("absent"))
    assert absent.size is None and total_size([plain, absent]) is None
    (tmp_path / "damaged.gz").write_bytes(gzip.compress(data)[:20])
    assert InputFile(str(tmp_path / "damaged.gz"), Path("damaged.gz")).size == 20
    assert InputFile(str(tmp_path), Path("folder")).size is None
    assert plain.is_regular and not absent.is_regular and not InputFile(STDIN, Path("stdin")).is_regular


def read(path: Path, data: bytes, limit: int = 20) -> list[Line]:
    path.write_bytes(data)
    return list(read_lines(InputFile(str(path), Path(path.name)), limit=limit))


@pytest.mark.parametrize("name", ["a.mrg", "a.mrg.gz", "a.jsonl", "a.parquet", "a.csv", "a.tsv.gz"])
def test_records_are_told_apart_from_lines_of_text_by_the_name(name: str) -> None:
    assert has_records(name) and not has_records(name.replace("a.", "a")) and not has_records("a.txt.gz")
    assert has_line_records(name) == (name in ("a.jsonl", "a.parquet")) and has_line_records("a.txt")


def test_lines_end_at_line_feeds_and_have_their_size(tmp_path: Path) -> None:
    lines = read(tmp_path / "in.txt", "\ufeffa\u2028b\r\n\n\ufeffc".encode())
    assert [(line.text, line.size) for line in lines] == [("a\u2028b", 10), ("", 1), ("\ufeffc", 4)]


def test_lines_that_cannot_be_read_have_a_problem(tmp_path: Path) -> None:
    data = (
        b"x" * 20 + b"\n" + b"x" * 21 + b"\r\n" + b"x" * 20 + b"\r\n" + b"a\xff\n" + "Go on".encode("utf-16-le") + b"\n"
    )
    whole, long, with_return, bad, wide = read(tmp_path / "in.txt", data)
    assert not whole.problem and not with_return.problem and with_return.text == whole.text == "x" * 20
    assert long.problem.startswith("a line of 23 bytes; the limit is 20") and long.size == 23
    assert bad.problem.startswith("byte 2 of the line, 0xff, is not UTF-8") and bad.text == ""
    assert "as in UTF-16" in wide.problem and wide.text == ""
    for text in ("a\0b", "hello wo\0rld", "\0hello world"):
        assert read(tmp_path / "in.txt", f"{text}\n".encode())[0].text == text
    assert read(tmp_path / "in.txt", "Go!".encode("utf-16-le"))[0].problem == wide.problem
    assert not read(tmp_path / "in.txt", "Go".encode("utf-16-le"))[0].problem
    assert not read(tmp_path / "in.txt", b"\0" * 8)[0].problem


@pytest.mark.parametrize(
    ("name", "is_json", "is_table"),
    [
        ("a.jsonl", True, False),
        ("a.ndjson.gz", True, False),
        ("a.json", False, False),
        ("a.pq", False, True),
        ("a.parquet", False, True),
        ("jsonl", False, False),
    ],
)
def test_the_suffix_of_a_file_tells_its_format(name: str, is_json: bool, is_table: bool) -> None:
    assert (is_json_lines(name), is_parquet(name)) == (is_json, is_table)


def test_lines_at_a_terminal_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.text for line in with_prompt(iter([Line("a", "", 2), Line("b", "", 2)]))] == ["a", "b"]
    assert capsys.readouterr().err == "one sentence a line, Ctrl-D ends\n> > > \n"


def test_typed_lines_are_those_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdin", stream)
    stdin = InputFile(STDIN, Path("stdin"))
    assert stdin.name == "<stdin>" and not stdin.is_terminal
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert stdin.is_terminal and not InputFile("a.txt", Path("a.txt")).is_terminal


@pytest.mark.parametrize(
    ("id_json", "text"), [("", None), ('"id": 7', "7"), ('"key": "b"', "b"), ('"id": ["é"]', '["é"]')]
)
def test_the_id_of_a_record_is_text(id_json: str, text: str | None) -> None:
    assert Line("", "", 1, id_json=id_json).id_text == text


def line(text: str, problem: str = "") -> Line:
    return Line(text, problem, len(text) + 1)


def test_lines_of_a_paragraph_are_joined_and_their_sizes_added():
    joined = list(join_paragraphs(iter([line("A line"), line("wraps."), line(""), line("End")]), limit=100))
    assert [(item.text, item.size) for item in joined] == [("A line wraps.", 14), ("End", 5)]


def test_a_line_that_cannot_be_read_stays_a_line_of_its_own():
    lines = [line("A"), line("", "bad"), line("B"), line("", "worse")]
    assert [(item.text, item.problem) for item in join_paragraphs(iter(lines), limit=100)] == [
        ("A", ""),
        ("", "bad"),
        ("B", ""),
        ("", "worse"),
    ]


def test_a_paragraph_over_the_limit_has_a_problem():
    (joined,) = join_paragraphs(iter([line("many words"), line("and more")]), limit=15)
    assert joined.text == ""
    assert "a paragraph of 19 bytes; the limit is 15" in joined.problem


def test_a_paragraph_at_the_limit_is_kept():
    (joined,) = join_paragraphs(iter([line("many words"), line("and more")]), limit=19)
    assert (joined.text, joined.problem) == ("many words and more", "")


def test_only_one_batch_of_lines_is_read_ahead() -> None:
    read = 0

    def endless() -> Iterator[Line]:
        nonlocal read
        while True:
            read += 1
            yield Line("a cat", "", 1 << 20)

    batches = line_batches(endless(), first=1, block_lines=100, max_lines=100)
    sizes = [len(next(batches).lines) for _ in range(5)]
    assert sizes == [4] * 5 and read == 20  # four megabytes per batch
    assert len(next(line_batches(endless(), first=1, block_lines=100, max_lines=1)).lines) == 1


def test_batches_end_with_each_block_and_have_the_number_of_their_first_line():
    lines = [line(str(number)) for number in range(7)]
    batches = list(line_batches(iter(lines), first=11, block_lines=4, max_lines=3))
    assert [(len(batch.lines), batch.first, batch.ends_block) for batch in batches] == [
        (3, 11, False),
        (1, 14, True),
        (3, 15, False),
    ]
    assert [item for batch in batches for item in batch.lines] == lines
    assert next(line_batches(iter(lines[:1]), first=1, block_lines=4, max_lines=4)).ends_block


def test_records_and_lines_are_told_apart_by_the_name(tmp_path: Path) -> None:
    data = b'{"text": "a cat", "id": 7}\n'
    (record,) = read(tmp_path / "in.jsonl", data, limit=50)
    (line,) = read(tmp_path / "in.txt", data, limit=50)
    assert (record.text, record.id_text, line.text) == ("a cat", "7", data.decode().strip())


@pytest.mark.parametrize("text", ["a b", " a b", "a  b ", "a\tb", "a\rb", "a\fb", "a\vb"])
def test_words_are_separated_by_ascii_white_space(text: str):
    assert split_words(text) == [["a", "b"]] and split_words("a\u00a0b") == [["a\u00a0b"]]
    assert split_words(" ") == split_words("\t") == []
    (words,) = split_words(text)
    assert [text[start:end] for start, end in word_offsets(words, Line(text, "", 9))] == words


def test_offsets_of_tokens_and_of_listed_words():
    (tokens,) = sentences("We  sang.", language="en")
    assert word_offsets(tokens, Line("We  sang.", "", 9)) == [(0, 2), (4, 8), (8, 9)]
    assert word_offsets(["New York", "("], Line("New York (", "", 11, words=["New York", "("])) == [(0, 8), (9, 10)]


@pytest.mark.parametrize(("has_tags", "tags"), [(True, ["X", "Y", None]), (False, None)])
def test_lines_are_split_into_words_and_tags_if_they_have_tags(tmp_path, has_tags, tags):
    (tmp_path / "words.txt").write_text("a/X b/c/Y d\n")
    file, fields = InputFile(str(tmp_path / "words.txt"), Path("words")), RecordFields(has_tags=has_tags)
    (line,) = read_lines(file, limit=100, fields=fields)
    assert (line.text, line.tags or None) == ("a b/c d" if has_tags else "a/X b/c/Y d", tags)


@pytest.mark.parametrize(("has_tags", "tags"), [(True, ["X", "Y"]), (False, None)])
def test_trees_give_their_tags_if_asked(tmp_path, has_tags, tags):
    path = tmp_path / "trees.mrg"
    path.write_text("(S (X a) (Y b))\n")
    (line,) = read_lines(InputFile(str(path), Path("trees")), limit=100, fields=RecordFields(has_tags=has_tags))
    assert (line.words, line.tags) == (["a", "b"], tags)
