from dataclasses import replace
from itertools import islice, repeat

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.data.bucketing import Budget
from treecrf.parser.inputs import DEFAULT_BATCHING, BatchingConfig, SentenceReader, Sentences
from treecrf.text import tokenize

READER = SentenceReader(language="en", needs_tags=False)


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


def test_a_missing_tag_is_an_error_if_the_model_reads_tags() -> None:
    reader = SentenceReader(language="en", needs_tags=True)
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
