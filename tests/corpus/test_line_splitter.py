import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.corpus.inputs import Line, LineBatch
from treecrf.corpus.line_splitter import LineSplitter
from treecrf.corpus.options import ParseOptions
from treecrf.trees.treebank import word_table
from treecrf.trees.treebank.word_table import LineLimits, WordTable


def line(text: str, problem: str = "") -> Line:
    return Line(text, problem, len(text) + 1)


@pytest.fixture
def warnings() -> list[str]:
    return []


def split(warnings: list[str], *lines: Line, **options: object) -> list[list[object]]:
    splitter = LineSplitter(ParseOptions(**options), random_parser(toy_trees(1)), warnings.append)
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


def test_a_line_needs_as_many_tags_as_words(warnings: list[str]):
    tagged = Line("a b", "", 4, words=["a", "b"], tags=["DT", None])
    assert split(warnings, tagged, tokens=True) == [[["a", "b"]]]
    with pytest.raises(ValueError, match="5: 2 words and 1 tags; expected a tag for each word"):
        split(warnings, tagged._replace(tags=["DT"]), tokens=True)


def test_a_sentence_may_have_as_many_words_as_the_limit(warnings: list[str]):
    assert split(warnings, line("a b"), tokens=True, max_words=2) == [[["a", "b"]]]


def test_another_language_is_warned_about_once(warnings: list[str]):
    split(warnings, line("我们喜欢北京。"), line("你们呢？"))
    assert len(warnings) == 1 and "looks Chinese" in warnings[0]


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
def test_the_language_of_split_lines_is_checked_until_the_first_warning(warnings: list[str]) -> None:
    splitter = LineSplitter(ParseOptions(tokens=True), random_parser(toy_trees(1)), warnings.append)
    for text in ("the cat", "我们 喜欢 北京 。\n你们 呢 ？", "我们 喜欢 北京 。"):
        sentences = WordTable().split(text.encode(), LineLimits(9, 99, 99, 99)).sentences
        assert sentences is not None
        splitter.check_language(sentences)
    assert len(warnings) == 1 and "looks Chinese" in warnings[0]


def test_skipped_lines_and_doubtful_sentences_are_reported(warnings: list[str]):
    splitter = LineSplitter(ParseOptions(tokens=True, skip_bad=True), random_parser(toy_trees(1)), warnings.append)
    reports: list[tuple[str, str, str]] = []
    splitter.report = lambda *report: reports.append(report)
    lines = [line("the cat sang"), line("", "it is not UTF-8"), line(" 1 2 "), Line("", "", 4, words=["3", "4"])]
    splitter.split(LineBatch(lines, 5, True), "in.txt")
    assert reports == [
        ("in.txt:6", "skipped: it is not UTF-8", ""),
        ("in.txt:7", "doubtful: no words", "1 2"),
        ("in.txt:8", "doubtful: no words", "3 4"),
    ]
    texts = LineSplitter(ParseOptions(), random_parser(toy_trees(1)), warnings.append)
    texts.report, reports[:] = splitter.report, []
    texts.split(LineBatch([line("The cat sang. 1 2 3.")], 1, True), "in.txt")
    assert [text for _, _, text in reports] == ["1 2 3."]
