from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treecrf.data.bucketing import Budget
from treecrf.parser.inputs import DEFAULT_BATCHING, BatchingConfig, Reader, Sentences, delayed
from treecrf.text import tokenize

READER = Reader(language="en", needs_tags=False)


@given(st.integers(0, 9), st.integers(0, 5))
def test_things_come_in_order_when_more_have_been_begun(number: int, ahead: int) -> None:
    begun: list[int] = []

    def begin() -> Iterator[int]:
        for thing in range(number):
            begun.append(thing)
            yield thing

    seen = []
    for thing in delayed(begin(), ahead):
        assert len(begun) == min(number, thing + 1 + ahead)
        seen.append(thing)
    assert seen == list(range(number))


def test_windows_are_read_as_they_are_asked_for() -> None:
    source = iter([["a"], ["b", "c"], ["d"], ["e"], ["f"]])
    windows = READER.windows(source, None, None, size=2)
    first = next(windows)
    assert list(first.words) == [["a"], ["b", "c"]] and next(source) == ["d"]
    assert list(next(windows).numbers) == [2, 3]
    assert list(windows) == []


def test_columns_stay_together() -> None:
    tags = [["A"], None, ["C"]]
    (window,) = READER.windows([["a"], ["b", "c"], ["d"]], tags, [None, None, None], size=5)
    picked = window.select([2, 1])
    assert picked == Sentences([2, 1], [["d"], ["b", "c"]], [["d"], ["b", "c"]], [["C"], None], [None, None])
    assert window.batches(Budget(words=2)) == [[1], [0, 2]]


def test_tokens_are_shown_as_they_stand_and_read_as_treebanks_write_them() -> None:
    window = READER.window(["(Ada)", tokenize("(Ada)"), ["(", "Ada", ")"]], 0)
    assert list(window.words) == [["(", "Ada", ")"]] * 3
    assert list(window.normalization) == [["-LRB-", "Ada", "-RRB-"]] * 2 + [["(", "Ada", ")"]]


def test_a_missing_tag_is_told_where_the_model_reads_it() -> None:
    reader = Reader(language="en", needs_tags=True)
    with pytest.raises(ValueError, match="sentence 7 has no tags"):
        reader.window([["a"]], 7)
    with pytest.raises(ValueError, match="sentence 8 has no tag for word 1"):
        reader.window([["a"], ["b", "c"]], 7, tags=[["A"], ["B", None]])


@pytest.mark.parametrize("device", DEFAULT_BATCHING)
def test_a_window_has_several_batches(device: str) -> None:
    pace = DEFAULT_BATCHING[device]
    assert pace.window * 24 > 4 * pace.batch_words
    assert pace.batch_cells > (pace.batch_words // 24) * 25**2


def test_an_empty_window_is_refused() -> None:
    with pytest.raises(ValueError, match="a window of 0 sentences"):
        BatchingConfig(window=0, batch_words=1, batch_cells=1, ahead=0)
