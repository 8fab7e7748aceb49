import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from data.letters import BEGIN, END, PAD, UNKNOWN, letters
from treecrf.data.subwords import windows


def cut(sentences, window):
    """The piece fields of a batch of sentences, and the pieces of each word."""
    pieces = letters(window).split([word for sentence in sentences for word in sentence])
    counts = np.array([len(ids) for ids in pieces])
    table = np.zeros((len(pieces), 20), np.int64)
    for row, ids in enumerate(pieces):
        table[row, : len(ids)] = ids
    lengths = np.array([len(sentence) for sentence in sentences])
    return windows(table, counts, lengths, letters(window)), pieces


words = st.text("abc.", min_size=1, max_size=6)
batches = st.lists(st.lists(words, min_size=1, max_size=12), min_size=1, max_size=4)


@given(batches, st.integers(4, 40))
def test_every_position_is_seen_through_its_own_pieces_once(sentences, window):
    fields, pieces = cut(sentences, window)
    positions = max(map(len, sentences)) + 2
    seen = fields["pieces"].flatten()[fields["piece_rows"]]
    flat = iter(pieces)
    expected = {}
    for number, sentence in enumerate(sentences):
        first = number * positions
        expected |= {first: [BEGIN], first + len(sentence) + 1: [END]}
        expected |= {first + place: next(flat) for place in range(1, len(sentence) + 1)}
    found = {}
    for position, piece in zip(fields["piece_words"].tolist(), seen.tolist(), strict=True):
        found.setdefault(position, []).append(piece)
    assert found == expected
    assert fields["piece_shares"].tolist() == [len(expected[place]) for place in fields["piece_words"].tolist()]


@given(batches, st.integers(4, 40))
def test_windows_hold_no_more_than_the_encoder_reads(sentences, window):
    fields, _ = cut(sentences, window)
    grid, lengths = fields["pieces"], fields["piece_lengths"]
    assert grid.shape[1] <= window and (grid[:, 0] == BEGIN).all()
    for row, length in zip(grid, lengths, strict=True):
        assert row[length - 1] == END and (row[length:] == PAD).all() and PAD not in row[:length]


@given(batches)
def test_a_sentence_that_fits_has_one_window(sentences):
    fields, _ = cut(sentences, 512)
    assert len(fields["pieces"]) == len(sentences)


def test_a_piece_of_a_long_sentence_sees_a_quarter_of_the_window_on_both_sides():
    fields, pieces = cut([["abc"] * 200], 102)
    total = sum(map(len, pieces))
    width = fields["pieces"].shape[1]
    for piece, row in enumerate(fields["piece_rows"][:total]):
        window, place = divmod(int(row), width)
        assert place - 1 >= min(25, piece)
        assert fields["piece_lengths"][window] - 2 - place >= min(24, total - piece - 1)


def test_a_word_without_pieces_is_unknown_and_a_long_one_known_by_its_beginning():
    assert letters().split(["..", "ab", "a" * 50]) == [[UNKNOWN], [97, 98], [97] * 20]
    assert letters().split([]) == []
