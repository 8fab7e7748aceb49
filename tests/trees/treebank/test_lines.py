"""Lines of text from files and streams."""

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import awkward
from treecrf.files import source_name
from treecrf.trees.treebank.lines import check_encoding, detect_encoding, read_lines, read_text

TEXT = "(NN 树木)\n(NN 海港)\n"


def texts(source: object, encoding: str | None = None) -> list[str]:
    lines = list(read_lines(source, encoding))  # type: ignore[arg-type]
    assert not any(problem for _, problem in lines)
    return [text for text, _ in lines]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_every_source_gives_the_same_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: type[bytes], encoding: str
) -> None:
    raw = pack(TEXT.encode(encoding))
    path = tmp_path / "trees"  # without a suffix: the bytes decide
    path.write_bytes(raw)
    expected = TEXT.splitlines(keepends=True)
    assert texts(path) == texts(str(path)) == texts(io.BytesIO(raw)) == expected
    with path.open("rb") as stream:
        assert texts(stream) == expected
        assert not stream.closed
    with path.open("rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        assert texts("-") == expected


def test_a_text_stream_is_read_and_left_open() -> None:
    stream = io.StringIO("\ufeff" + TEXT)
    assert texts(stream) == TEXT.splitlines(keepends=True)
    assert not stream.closed


def test_a_stream_of_bytes_is_left_open_before_its_end() -> None:
    stream = io.BytesIO(TEXT.encode())
    next(read_lines(stream, None))
    assert not stream.closed


@given(st.lists(awkward.map(lambda text: text.replace("\n", "").encode(errors="ignore").decode()), min_size=1))
def test_only_line_feeds_end_lines(pieces: list[str]) -> None:
    lines = [f"({piece}\n" for piece in pieces]
    assert texts(io.BytesIO("".join(lines).encode())) == lines


def test_undecodable_bytes_are_reported_by_line() -> None:
    lines = list(read_lines(io.BytesIO("(NN é)\n(NN \xff)\n(NN ü)\n".encode().replace("\xff".encode(), b"\xff")), None))
    assert [bool(problem) for _, problem in lines] == [False, True, False]
    assert "0xff" in lines[1][1]


@pytest.mark.parametrize(
    ("sample", "encoding"),
    [
        (b"", "utf-8"),
        (b"(NN tree)", "utf-8"),
        ("(NN \ufffd)".encode(), "utf-8"),
        (TEXT.encode(), "utf-8"),
        (TEXT.encode() + b"\xff", "utf-8"),
        ("(NN é) (NN è) (NN ü) (NN ñ) (NN ç)".encode() + b"\xff", "utf-8"),
        (TEXT.encode("gb18030"), "gb18030"),
        (TEXT.encode("gb18030") + b"\xff", "gb18030"),
        ("(NN 㐀)".encode("gb18030"), "gb18030"),
        ("(TOP (NP (NR 㐀㑇) (NN 树)) (VP (VV 𠮷)))".encode("gb18030"), "gb18030"),
        (("(NN tree)\n" * 5000 + TEXT).encode("gb18030"), "gb18030"),
        ("(NN café) (NN naïve)".encode("latin-1"), "utf-8"),
        ("(NN 樹木) (VH 美麗) (NN 電腦)".encode("big5"), "utf-8"),
    ],
)
def test_the_encoding_is_detected_from_the_bytes(sample: bytes, encoding: str) -> None:
    assert detect_encoding(sample) == encoding


@pytest.mark.parametrize("encoding", ["no-such", "utf-16", "utf_32_le", "rot13"])
def test_an_encoding_without_ascii_line_feeds_is_an_error(encoding: str) -> None:
    with pytest.raises(ValueError, match=r"utf-8|UTF-8"):
        check_encoding(encoding)


def test_sources_have_names_for_messages(tmp_path: Path) -> None:
    assert source_name("-") == "<stdin>"
    assert source_name(tmp_path / "a.mrg") == str(tmp_path / "a.mrg")
    assert source_name(io.BytesIO()) == "<stream>"


@pytest.mark.parametrize(("name", "codec"), [("UTF8", "utf-8"), ("utf-8-sig", "utf-8"), ("GB18030", "gb18030")])
def test_an_encoding_has_the_name_of_its_codec(name: str, codec: str) -> None:
    assert check_encoding(name) == codec


def test_a_whole_text_is_read_or_its_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo\r\n\nthree")
    assert read_text(path) == "one\ntwo\r\n\nthree"
    path.write_bytes(b"one\nt\xffo\n")
    with pytest.raises(ValueError, match=r"a\.txt:2: .*0xff"):
        read_text(path)
    path.write_bytes(b"one\ntwo\nt\0o\n")
    with pytest.raises(ValueError, match=r"a\.txt:3: the line has zero bytes"):
        read_text(path)
