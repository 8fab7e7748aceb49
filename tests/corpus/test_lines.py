from collections.abc import Iterator

import pytest

from treecrf.corpus.inputs import Line
from treecrf.corpus.lines import LineBatch, LineSplitter, join_paragraphs, line_batches, split_words, word_offsets
from treecrf.corpus.options import ParseOptions
from treecrf.text import sentences


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


@pytest.fixture
def warnings() -> list[str]:
    return []


def split(warnings: list[str], *lines: Line, **options: object) -> list[list[object]]:
    splitter = LineSplitter(ParseOptions(**options), "en", warnings.append)
    return splitter.split(LineBatch(list(lines), 5, True), "in.txt")


def test_lines_are_split_into_sentences_or_words(warnings: list[str]):
    assert split(warnings, line(" the  cat\tsang "), line(""), tokens=True) == [[["the", "cat", "sang"]], []]
    (text,) = split(warnings, line("We sang. It rained."))
    assert [[token.text for token in sentence] for sentence in text] == [["We", "sang", "."], ["It", "rained", "."]]
    assert split(warnings, Line("a b", "", 4, words=["a b"]), tokens=True) == [[["a b"]]]


def test_a_bad_line_is_an_error_or_empty(warnings: list[str]):
    bad, long = line("", "it is not UTF-8"), line("a b c")
    with pytest.raises(ValueError, match=r"^in\.txt:6: it is not UTF-8; --skip-bad leaves such lines empty$"):
        split(warnings, line("a"), bad, tokens=True)
    assert split(warnings, bad, long, line("a b"), tokens=True, skip_bad=True, max_words=2) == [[], [], [["a", "b"]]]
    assert warnings == [
        "in.txt:5: it is not UTF-8",
        "in.txt:6: a sentence of 3 words; the limit is 2, and --max-words raises it",
    ]
    with pytest.raises(ValueError, match="a sentence of 1,001 words; the limit is 1,000 for this output"):
        split(warnings, line("a " * 1001), tokens=True, format="json", probs=True)


def test_another_language_is_warned_about_once(warnings: list[str]):
    split(warnings, line("我们喜欢北京。"), line("你们呢？"))
    assert len(warnings) == 1 and "looks Chinese" in warnings[0]


@pytest.mark.parametrize("text", ["a b", " a b", "a  b ", "a\tb", "a\rb\f", "a\vb"])
def test_words_are_separated_by_ascii_white_space(text: str):
    assert split_words(text) == [["a", "b"]] and split_words("a\u00a0b") == [["a\u00a0b"]]
    assert split_words(" ") == split_words("\t") == []
    (words,) = split_words(text)
    assert [text[start:end] for start, end in word_offsets(words, line(text))] == words


def test_offsets_of_tokens_and_of_listed_words():
    (tokens,) = sentences("We  sang.", language="en")
    assert word_offsets(tokens, line("We  sang.")) == [(0, 2), (4, 8), (8, 9)]
    assert word_offsets(["New York", "("], Line("New York (", "", 11, words=["New York", "("])) == [(0, 8), (9, 10)]
