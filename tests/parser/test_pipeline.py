import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, repeat
from typing import Any, cast

import pandas
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.data.bucketing import Budget
from treecrf.network.nn.model import use_one_torch_thread
from treecrf.parser import Parser
from treecrf.parser.pipeline import DEFAULT_BATCHING, BatchingConfig, SentenceReader, Sentences
from treecrf.text import tokenize
from treecrf.threads import parallel_map, set_num_threads
from treecrf.trees.tree import Tree
from treecrf.trees.treebank import word_table
from treecrf.trees.treebank.word_table import LineLimits, WordTable

TREES = toy_trees(40, seed=3)
SENTENCES = [tree.words for tree in TREES]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TREES)


@pytest.fixture(scope="module")
def alone(parser: Parser) -> dict[tuple[str, ...], Tree]:
    return {tuple(words): parser.parse(words) for words in SENTENCES}


def test_torch_uses_one_thread_in_the_threads_of_a_parser_and_as_many_as_before_elsewhere() -> None:
    set_num_threads(2)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    both_threads = threading.Barrier(2)  # a thread that started later would still change torch's number for a moment

    def count_torch_threads(_: int) -> int:
        both_threads.wait(timeout=60)
        return torch.get_num_threads()

    numbers = set(parallel_map(count_torch_threads, range(2), initialize=use_one_torch_thread))
    new_thread = threading.Thread(target=lambda: numbers.add(torch.get_num_threads()))
    new_thread.start()
    new_thread.join()
    assert numbers == {1, 2} and torch.get_num_threads() == 2
    torch.set_num_threads(before)


@settings(max_examples=20)
@given(st.permutations(SENTENCES), st.integers(1, 200))
def test_trees_come_in_order_whatever_the_batches(
    parser: Parser, alone: dict[tuple[str, ...], Tree], sentences: list[list[str]], batch_words: int
) -> None:
    together = list(parser.parse_many(sentences, batch_words=batch_words))
    assert together == [alone[tuple(words)] for words in sentences]


def test_sentences_are_read_on_demand(parser: Parser) -> None:
    read = 0

    def stream() -> Iterator[list[str]]:
        nonlocal read
        for words in SENTENCES:
            read += 1
            yield words

    trees = parser.parse_many(stream(), window=4)
    assert read == 0
    assert [next(trees).words for _ in range(4)] == SENTENCES[:4]
    assert read == 4
    assert [tree.words for tree in trees] == SENTENCES[4:]


@pytest.mark.parametrize("model", [{}, {"loss": "one-stage-crf", "tag_head": True}, {"loss": "one-stage-margin"}])
def test_batches_change_no_tree(model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    sentences = [tree.words for tree in toy_trees(150, seed=11)]
    alone = [parser.parse(words) for words in sentences]
    for batch_words in (50, 400, 100_000):
        assert list(parser.parse_many(sentences, batch_words=batch_words)) == alone


def test_windows_and_batches_have_at_least_one_sentence(parser: Parser) -> None:
    with pytest.raises(ValueError, match="window is 0 sentences"):
        next(parser.parse_many(SENTENCES, window=0))
    with pytest.raises(ValueError, match="a batch of 0 words"):
        next(parser.parse_many(SENTENCES, batch_words=0))


READER = SentenceReader(tokenize=tokenize, needs_tags=False)


def test_windows_are_read_on_demand() -> None:
    source = iter([["a"], ["b", "c"], ["d"], ["e"], ["f"]])
    windows = READER.windows(source, None, None, sizes=repeat(2))
    first = next(windows)
    assert list(first.words) == [["a"], ["b", "c"]] and next(source) == ["d"]
    assert list(next(windows).numbers) == [2, 3]
    assert list(windows) == []


def test_columns_stay_together() -> None:
    tags = [["A"], None, ["C"]]
    (window,) = READER.windows([["a"], ["b", "c"], ["d"]], tags, [None, None, None], sizes=[5])
    selected = window.select([2, 1])
    assert selected == Sentences([2, 1], [["d"], ["b", "c"]], [["d"], ["b", "c"]], [["C"], None], [None, None])
    assert window.batches(Budget(words=2)) == [[1], [0, 2]]


def test_trees_have_the_text_of_tokens_and_the_model_reads_their_words() -> None:
    window = READER.window(["(Ada)", tokenize("(Ada)"), ["(", "Ada", ")"]], 0)
    assert list(window.words) == [["(", "Ada", ")"]] * 3
    assert list(window.model_words) == [["-LRB-", "Ada", "-RRB-"]] * 2 + [["(", "Ada", ")"]]


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
def test_split_lines_are_parsed_like_lists_of_words(parser: Parser) -> None:
    text = "\n".join(map(" ".join, SENTENCES)).encode()
    lines = WordTable().split(text, LineLimits(100, 100_000, 1000, 100)).sentences
    assert lines is not None
    expected = [(7, list(parser.brackets_many(SENTENCES)))]
    assert list(parser.brackets_by_key([(7, lines, {})])) == expected
    tags = {"tags": [None] * len(SENTENCES)}
    assert list(parser.brackets_by_key([(7, lines, tags)])) == expected
    assert list(parser.parse_many(lines, window=9)) == list(parser.parse_many(SENTENCES))
    with pytest.raises(ValueError, match="expected at most 2"):
        SentenceReader(tokenize=parser.tokenize, needs_tags=False, max_words=2).window(lines)
    with pytest.raises(ValueError, match="no tags and the model reads them"):
        SentenceReader(tokenize=parser.tokenize, needs_tags=True).window(lines)


def test_given_tags_are_the_best_tags_of_their_words() -> None:
    parser = random_parser(TREES, tag_head=True)
    first, second = parser.vocabulary.tags[:2]
    tags = [[first, None, second, "unknown", *[None] * (len(words) - 4)] for words in SENTENCES if len(words) > 4]
    sentences = [words for words in SENTENCES if len(words) > 4]
    window = parser.reader.window([*sentences, SENTENCES[0]], tags=[*tags, None])
    free, bound = (parser.batch_scorer(replace(window, tags=given)).tags for given in (None, window.tags))
    assert free is not None and bound is not None
    assert (bound[:-1, 0].argmax(-1) == 0).all() and (bound[:-1, 2].argmax(-1) == 1).all()
    assert (bound[:, 1] == free[:, 1]).all() and (bound[:, 3:] == free[:, 3:]).all() and (bound[-1] == free[-1]).all()


def test_a_missing_tag_is_an_error_if_the_model_reads_tags() -> None:
    reader = SentenceReader(tokenize=tokenize, needs_tags=True)
    with pytest.raises(ValueError, match="sentence 7 has no tags"):
        reader.window([["a"]], 7)
    with pytest.raises(ValueError, match="sentence 8 has no tag for word 1"):
        reader.window([["a"], ["b", "c"]], 7, tags=[["A"], ["B", None]])


@pytest.mark.parametrize("device", DEFAULT_BATCHING)
def test_a_window_has_several_batches(device: str) -> None:
    batching = DEFAULT_BATCHING[device]
    assert batching.window * 24 > 4 * batching.batch_words
    assert batching.batch_cells > (batching.batch_words // 24) * 25**2


def test_the_first_windows_are_small() -> None:
    batching = BatchingConfig(window=100, first_window=3, batch_words=1, batch_cells=1, prefetch=0)
    assert list(islice(batching.window_sizes, 6)) == [3, 12, 48, 100, 100, 100]
    assert next(replace(batching, window=2).window_sizes) == 2


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(ValueError, match="window is 0 sentences"):
        BatchingConfig(window=0, first_window=1, batch_words=1, batch_cells=1, prefetch=0)


def test_a_sentence_that_needs_too_much_memory_is_an_error():
    with pytest.raises(
        ValueError, match="sentence 1 has 15,000 words; expected at most 5,000, because the memory grows"
    ):
        READER.window([["a"], ["a"] * 15_000])
    parser = random_parser(toy_trees(20, seed=1))
    with pytest.raises(ValueError, match="sentence 0 has 1,001 words; expected at most 1,000"):
        parser.analyze(["a"] * 1001)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (None, r"sentence 0 is None; expected a string, or a list of words"),
        (3, r"sentence 0 is 3; expected"),
        (b"the cat", r"sentence 0 is b'the cat'; expected"),
        ({"the": 1}, r"sentence 0 is \{'the': 1\}; expected"),
        ([("the", "DT")], r"sentence 0 has \('the', 'DT'\) for a word; expected words, and tags as `tags`"),
    ],
)
def test_something_else_than_a_sentence_is_an_error(parser: Parser, sentence: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        parser.parse(sentence)


def test_spans_in_place_of_constraints_are_an_error(parser: Parser) -> None:
    with pytest.raises(TypeError, match=r"has the constraints \[\(0, 2, 'NP'\)\]; expected Constraints\(require"):
        parser.parse(["the", "cat"], constraints=cast(Any, [(0, 2, "NP")]))


def test_sentences_in_place_of_words_give_a_warning(parser: Parser) -> None:
    with pytest.warns(UserWarning, match=r"words like sentences, such as 'She sang\.'; parse_many takes sentences"):
        parser.parse(["She sang.", "He left."])


def test_the_trees_before_a_wrong_sentence_come_first(parser: Parser) -> None:
    trees = parser.parse_many([["the", "cat"], ["a", "dog", "sees"], [], ["cats"]], tags=[None] * 4)
    assert [next(trees).words, next(trees).words] == [["the", "cat"], ["a", "dog", "sees"]]
    with pytest.raises(ValueError, match="sentence 2 has no words"):
        next(trees)


def test_missing_and_empty_cells_of_a_column_have_no_tree(parser: Parser) -> None:
    trees = list(parser.parse_column([["the", "cat"], "", None, math.nan, pandas.NA, [], ["cats"]]))
    assert [tree and tree.words for tree in trees] == [["the", "cat"], None, None, None, None, None, ["cats"]]
