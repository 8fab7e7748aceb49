import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from network.data.letters import BEGIN, END, PAD, UNKNOWN, letters
from treecrf.network.data.subwords import build_segments


def segments_of(sentences, segment_size):
    """The piece fields of a batch of sentences, and the pieces of each word."""
    pieces = letters(segment_size).split([word for sentence in sentences for word in sentence])
    counts = np.array([len(ids) for ids in pieces])
    table = np.zeros((len(pieces), 20), np.int64)
    for row, ids in enumerate(pieces):
        table[row, : len(ids)] = ids
    lengths = np.array([len(sentence) for sentence in sentences])
    return build_segments(table, counts, lengths, letters(segment_size)), pieces


words = st.text("abc.", min_size=1, max_size=6)
batches = st.lists(st.lists(words, min_size=1, max_size=12), min_size=1, max_size=4)


@given(batches, st.integers(4, 40))
def test_every_position_is_mapped_to_each_of_its_pieces_once(sentences, segment_size):
    fields, pieces = segments_of(sentences, segment_size)
    positions = max(map(len, sentences)) + 2
    pieces_in_order = fields["pieces"].flatten()[fields["piece_index"]]
    flat = iter(pieces)
    expected = {}
    for number, sentence in enumerate(sentences):
        first = number * positions
        expected |= {first: [BEGIN], first + len(sentence) + 1: [END]}
        expected |= {first + place: next(flat) for place in range(1, len(sentence) + 1)}
    actual = {}
    for position, piece in zip(fields["piece_words"].tolist(), pieces_in_order.tolist(), strict=True):
        actual.setdefault(position, []).append(piece)
    assert actual == expected
    assert fields["piece_counts"].tolist() == [len(expected[place]) for place in fields["piece_words"].tolist()]


@given(batches, st.integers(4, 40))
def test_segments_have_at_most_the_segment_size(sentences, segment_size):
    fields, _ = segments_of(sentences, segment_size)
    grid, lengths = fields["pieces"], fields["segment_lengths"]
    assert grid.shape[1] <= segment_size and (grid[:, 0] == BEGIN).all()
    for row, length in zip(grid, lengths, strict=True):
        assert row[length - 1] == END and (row[length:] == PAD).all() and PAD not in row[:length]


@given(batches)
def test_a_sentence_that_fits_has_one_segment(sentences):
    fields, _ = segments_of(sentences, 512)
    assert len(fields["pieces"]) == len(sentences)


def test_a_piece_of_a_long_sentence_has_a_quarter_segment_of_context_on_both_sides():
    fields, pieces = segments_of([["abc"] * 200], 102)
    total = sum(map(len, pieces))
    width = fields["pieces"].shape[1]
    for piece, row in enumerate(fields["piece_index"][:total]):
        segment, place = divmod(int(row), width)
        assert place - 1 >= min(25, piece)
        assert fields["segment_lengths"][segment] - 2 - place >= min(24, total - piece - 1)


def test_a_word_without_pieces_is_unknown_and_a_long_word_is_truncated():
    assert letters().split(["..", "ab", "a" * 50]) == [[UNKNOWN], [97, 98], [97] * 20]
    assert letters().split([]) == []
