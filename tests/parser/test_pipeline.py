import threading
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.nn.model import use_one_torch_thread
from treecrf.parser import Parser
from treecrf.threads import parallel_map, set_num_threads
from treecrf.trees.tree import Tree

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
