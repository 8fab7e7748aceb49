import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.data.batch import Batch
from treecrf.network.nn import SpanModel
from treecrf.parser import Parser
from treecrf.parser.device_pipeline import DeviceDecoder, prefetch
from treecrf.parser.pipeline import DEFAULT_BATCHING, BatchDecoder, Sentences
from treecrf.trees.treebank import word_table
from treecrf.trees.treebank.well_formed import count_productions
from treecrf.trees.treebank.word_table import LineLimits, WordTable

TREES = toy_trees(40, seed=3)
SENTENCES = [tree.words for tree in TREES]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return random_parser(TREES)


def device_decoder(parser: Parser) -> DeviceDecoder:
    """The decoder of a GPU, with the parser's network on its own device."""
    host_decoder = BatchDecoder(scorer=parser.batch_scorer, mbr=True, expected_f1=parser.expected_f1)
    return DeviceDecoder(model=parser.model, host_decoder=host_decoder)


@pytest.mark.parametrize("tag_head", [False, True])
def test_a_batch_that_does_not_fit_into_memory_is_parsed_in_halves(
    tag_head: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = random_parser(TREES, tag_head=tag_head)
    expected = list(parser.parse_many(SENTENCES))
    score, sizes = SpanModel.score_on_device, []

    def with_little_memory(self: SpanModel, batch: Batch) -> object:
        sizes.append(batch.size)
        if batch.size > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return score(self, batch)

    monkeypatch.setattr(SpanModel, "score_on_device", with_little_memory)
    decoder = device_decoder(parser)
    window = parser.reader.window(SENTENCES)
    assert list(parser._build_trees(window, decoder(window)())) == expected
    assert max(sizes) > 6


@pytest.mark.parametrize("model", [{}, {"tag_head": True}, {"loss": "one-stage-crf"}, {"loss": "one-stage-margin"}])
@pytest.mark.parametrize("threshold", [0.0, 0.4])
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("part", ["span_scorer", "label_scorer"])
def test_scores_of_a_gpu_that_are_not_finite_are_an_error(
    model: dict[str, object], threshold: float, value: float, part: str
) -> None:
    parser = random_parser(TREES, **model)
    parser.f1_threshold = threshold
    parser.productions = count_productions(TREES)
    window = parser.reader.window(SENTENCES[:5])
    decoder = device_decoder(parser)
    trees = list(parser._build_trees(window, decoder(window)()))
    assert trees == list(parser.parse_many(SENTENCES[:5]))
    if scorer := getattr(parser.model, part):
        with torch.no_grad():
            scorer.weight[..., -1, -1] = value
        pending = decoder(window)  # the device is not synchronized
        with pytest.raises(ValueError, match="the model computes scores that are not finite numbers"):
            pending()
        with pytest.raises(ValueError, match="the model computes scores that are not finite numbers"):
            list(parser.parse_many(SENTENCES[:5]))


def test_a_sentence_that_does_not_fit_into_memory_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = random_parser(TREES)

    def without_memory(self: SpanModel, batch: Batch) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(SpanModel, "score_on_device", without_memory)
    decoder = device_decoder(parser)
    with pytest.raises(
        ValueError, match=r"a sentence of 3 words does not fit into the GPU's memory; parse it on a CPU"
    ):
        decoder(parser.reader.window([["a", "b", "c"]]))


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_batches_of_a_gpu_may_be_prefetched(parser: Parser, count: int) -> None:
    expected = list(parser.parse_many(SENTENCES))
    batching = replace(DEFAULT_BATCHING["cuda"], prefetch=count, batch_words=30)
    windows = [parser.reader.window(words) for words in ([], SENTENCES[:5], [], SENTENCES[5:])]
    decoded = device_decoder(parser).decode_windows(enumerate(windows), parser._build_trees, batching)
    assert list(decoded) == list(enumerate([[], expected[:5], [], expected[5:]]))


@pytest.mark.skipif(not word_table.available, reason="the compiled part was not built")
@pytest.mark.parametrize("most", [3, 1000])
def test_split_lines_are_parsed_on_a_gpu_like_lists_of_words(
    most: int, parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(parser.brackets_many(SENTENCES))
    text = "\n".join(map(" ".join, SENTENCES)).encode()
    lines = WordTable().split(text, LineLimits(100, 100_000, 1000, 100)).sentences
    assert lines is not None
    score = SpanModel.score_on_device

    def with_little_memory(self: SpanModel, batch: Batch) -> object:
        if batch.size > most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return score(self, batch)

    monkeypatch.setattr(SpanModel, "score_on_device", with_little_memory)
    batching = replace(DEFAULT_BATCHING["cuda"], batch_words=50)
    build = parser._bracket_builder(exact=True)
    decoded = device_decoder(parser).decode_windows([(1, parser.reader.window(lines))], build, batching)
    assert list(decoded) == [(1, expected)]


def test_one_thread_starts_batches_and_others_build_results(parser: Parser) -> None:
    decoder, starts, builds = device_decoder(parser), list[str](), list[str]()
    both_builders = threading.Barrier(2)

    def start(self: DeviceDecoder, sentences: Sentences) -> Callable[[], Sentences]:
        starts.append(threading.current_thread().name)
        return lambda: sentences

    def build(sentences: Sentences, trees: Sentences) -> Sequence[Sequence[str]]:
        assert sentences is trees
        builds.append(threading.current_thread().name)
        if len(builds) <= 2:
            both_builders.wait(timeout=60)
        return sentences.words

    batching = replace(DEFAULT_BATCHING["cuda"], prefetch=2, batch_words=30)
    with mock.patch.object(DeviceDecoder, "__call__", start):
        ((_, words),) = decoder.decode_windows([(1, parser.reader.window(SENTENCES))], build, batching)
    assert list(words) == SENTENCES
    assert set(starts) == {threading.current_thread().name} and len(starts) == len(builds) > 4
    assert len(set(builds)) == 2 and not set(builds) & set(starts)


def test_an_error_of_a_builder_reaches_the_caller(parser: Parser) -> None:
    def build(sentences: Sentences, _: object) -> Sequence[str]:
        raise LookupError("no tree")

    windows = [(1, parser.reader.window(SENTENCES))]
    with pytest.raises(LookupError, match="no tree"):
        list(device_decoder(parser).decode_windows(windows, build, DEFAULT_BATCHING["cuda"]))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("model", [{}, {"tag_head": True}, {"loss": "one-stage-crf"}])
def test_batches_do_not_synchronize_the_device(model: dict[str, object]) -> None:
    parser = random_parser(TREES, **model)
    parser.model.cuda()
    expected = list(parser.brackets_many(SENTENCES, batch_words=50))  # compiles kernels, and may synchronize
    torch.cuda.set_sync_debug_mode("error")
    try:
        assert list(parser.brackets_many(SENTENCES, batch_words=50)) == expected
    finally:
        torch.cuda.set_sync_debug_mode("default")


@given(st.integers(0, 9), st.integers(0, 5))
def test_prefetch_keeps_the_order_and_runs_ahead(number: int, count: int) -> None:
    computed: list[int] = []

    def compute() -> Iterator[int]:
        for item in range(number):
            computed.append(item)
            yield item

    items = []
    for item in prefetch(compute(), count):
        assert len(computed) == min(number, item + 1 + count)
        items.append(item)
    assert items == list(range(number))


def test_trees_of_a_gpu_come_with_vectors_if_they_are_kept(parser: Parser) -> None:
    window = parser.reader.window(SENTENCES)
    host_decoder = parser.batch_decoder(mbr=True, keeps_vectors=True)
    trees = DeviceDecoder(model=parser.model, host_decoder=host_decoder)(window)()
    np.testing.assert_allclose(trees.vectors, host_decoder(window).vectors)
    assert trees.vectors is not None and len(trees.vectors) == sum(map(len, SENTENCES))
