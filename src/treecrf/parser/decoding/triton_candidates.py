"""Triton kernels that find the candidates of `expected_f1.py` on a GPU: spans, their labels, and the tags of words.

The number of candidates is known on the device alone. Arrays have room for the largest number, and rows that are not
used have cells of -1.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from treecrf.parser.decoding.expected_f1 import CHOICES, LABEL_TIE_BREAK, MIN_PROBABILITY, SPANS_PER_WORD, TAG_CHOICES

CELLS = 1024  # cells of a chart that a program reads at once
LANES = 2048  # scores of labels or tags that a program reads at once
_MIN_PROBABILITY = tl.constexpr(MIN_PROBABILITY)
_TIE_BREAK = tl.constexpr(float(LABEL_TIE_BREAK))
_NO_LABEL = tl.constexpr(-1)
_INFINITY = tl.constexpr(float("inf"))


@triton.jit
def _bits(marginals, first, place, cell_count):
    """Marginals as integers in the same order; -1 for those that are too small."""
    values = tl.load(marginals + first + place, mask=place < cell_count, other=0.0).to(tl.float32)
    return tl.where(values >= _MIN_PROBABILITY, values.to(tl.int32, bitcast=True), -1)


@triton.jit
def _count(marginals, first, cell_count, least, CELLS: tl.constexpr):
    """The number of cells whose marginals have at least the bits `least`."""
    total = tl.zeros((CELLS,), tl.int32)
    for start in range(0, cell_count, CELLS):
        total += (_bits(marginals, first, start + tl.arange(0, CELLS), cell_count) >= least).to(tl.int32)
    return tl.sum(total, 0)


# The number of candidates of a sentence, the bits of the smallest one, and the number of first cells with these bits
# that are too many. Grid: sentences.
@triton.jit(do_not_specialize=["size"])
def count_candidates_kernel(
    marginals, lengths, counts, least_bits, excess, size, LIMIT: tl.constexpr, CELLS: tl.constexpr
):
    sentence = tl.program_id(0)
    cell_count = size * size
    first = sentence.to(tl.int64) * cell_count
    limit = tl.load(lengths + sentence).to(tl.int32) * LIMIT
    count = _count(marginals, first, cell_count, 0, CELLS)
    least = tl.zeros((), tl.int32)
    if count > limit:
        bit = tl.full((), 1 << 30, tl.int32)
        for _ in range(31):  # the largest bound that at least `limit` marginals reach, bit by bit
            if _count(marginals, first, cell_count, least + bit, CELLS) >= limit:
                least += bit
            bit = bit // 2
        count = _count(marginals, first, cell_count, least, CELLS)
    tl.store(counts + sentence, tl.minimum(count, limit))
    tl.store(least_bits + sentence, least)
    tl.store(excess + sentence, tl.maximum(count - limit, 0))


# Writes the cells of a sentence's candidates, in ascending order, and their marginals; 1 for the whole sentence, which
# every tree has. Grid: sentences.
@triton.jit(do_not_specialize=["size"])
def write_candidates_kernel(
    marginals, lengths, first_rows, least_bits, excess, cells, values, size, CELLS: tl.constexpr
):
    sentence = tl.program_id(0)
    cell_count = size * size
    first = sentence.to(tl.int64) * cell_count
    length = tl.load(lengths + sentence)
    least, left_out = tl.load(least_bits + sentence), tl.load(excess + sentence)
    row = tl.load(first_rows + sentence)
    seen = tl.zeros((), tl.int32)
    for start in range(0, cell_count, CELLS):
        place = start + tl.arange(0, CELLS)
        bits = _bits(marginals, first, place, cell_count)
        is_least = (bits == least).to(tl.int32)
        is_left_out = (is_least > 0) & (seen + tl.cumsum(is_least, 0) <= left_out)
        is_candidate = ((bits >= least) & (is_left_out == 0)).to(tl.int32)
        at = row + tl.cumsum(is_candidate, 0) - 1
        value = tl.where(place == length, 1.0, bits.to(tl.float32, bitcast=True))
        tl.store(cells + at, first + place, mask=is_candidate > 0)
        tl.store(values + at, value, mask=is_candidate > 0)
        row += tl.sum(is_candidate, 0)
        seen += tl.sum(is_least, 0)


@triton.jit
def _take_best(x, lane):
    """The largest number of each row, its first lane, and the numbers without it."""
    best, choice = tl.max(x, 1, return_indices=True, return_indices_tie_break_left=True)
    return best, choice, tl.where(lane[None, :] == choice[:, None], -_INFINITY, x)


# Ranks the labels of ROWS candidates, and their utility, as `find_candidates` does. If the label of a whole sentence
# has no constituents, `sentence_labels` gets it. Grid: blocks of candidates.
@triton.jit(do_not_specialize=["row_count", "size"])
def rank_labels_kernel(
    scores, cells, values, lengths, common, counts, labels, utility, sentence_labels, is_finite, threshold,
    row_count, size, LABELS: tl.constexpr, LANES: tl.constexpr, CHOICES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row, lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, LANES)
    cell = tl.load(cells + row, mask=row < row_count, other=-1)
    if tl.max(cell, 0) < 0:
        return
    is_used, is_label = cell >= 0, (lane < LABELS)[None, :]
    mask = is_used[:, None] & is_label
    x = tl.load(scores + row.to(tl.int64)[:, None] * LABELS + lane[None, :], mask=mask, other=0.0)
    is_wrong = (x != x) | (tl.abs(x) == _INFINITY)
    if tl.max(tl.max(is_wrong.to(tl.int32), 1), 0) > 0:
        tl.store(is_finite, 0)
    x = tl.where(is_wrong, 0.0, x)
    x = tl.where(is_label, x, -_INFINITY)
    weights = tl.exp(x - tl.max(x, 1)[:, None])
    probabilities = weights / tl.sum(weights, 1)[:, None]
    value = tl.load(values + row, mask=is_used, other=0.0)
    sentence = cell // (size * size)
    is_whole = is_used & (cell % (size * size) == tl.load(lengths + sentence, mask=is_used, other=0))
    first_probability, limit, first_has_constituents = value, value, is_used  # the first choice sets them
    for number in tl.static_range(CHOICES):
        _, choice, x = _take_best(x, lane)
        probability = tl.sum(tl.where(lane[None, :] == choice[:, None], probabilities, 0.0), 1)
        shared = tl.load(common + choice[:, None] * LABELS + lane[None, :], mask=mask, other=0.0)
        count = tl.load(counts + choice)
        gain = value * tl.sum(probabilities * shared, 1) - threshold * count
        has_constituents = count > 0
        is_choice = has_constituents & (value * probability >= _MIN_PROBABILITY)
        if number == 0:
            first_probability, first_has_constituents = probability, has_constituents
            limit = tl.where(has_constituents, gain, _INFINITY)
            is_choice = tl.where(is_whole, has_constituents, is_choice)
            no_constituents = tl.where(has_constituents, _NO_LABEL, choice).to(tl.int16)
            tl.store(sentence_labels + sentence, no_constituents, mask=is_whole)
        is_choice = is_choice & ((is_whole == 0) | first_has_constituents)
        gain = tl.minimum(gain, limit) - _TIE_BREAK * (first_probability - probability)
        at = row * CHOICES + number
        tl.store(labels + at, tl.where(is_choice, choice, _NO_LABEL).to(tl.int16), mask=is_used)
        tl.store(utility + at, gain, mask=is_used)


# The best tags of the words at ROWS positions, and their log-odds against the best one. Grid: blocks of positions.
@triton.jit(do_not_specialize=["position_count", "width"])
def rank_tags_kernel(
    scores, lengths, first_words, tags, odds, position_count, width,
    TAGS: tl.constexpr, LANES: tl.constexpr, CHOICES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    position, lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, LANES)
    sentence, word = position // width, position % width
    is_position = position < position_count
    is_word = is_position & (word < tl.load(lengths + sentence, mask=is_position, other=0))
    is_tag = (lane < TAGS)[None, :]
    at_score = scores + position.to(tl.int64)[:, None] * TAGS + lane[None, :]
    x = tl.where(is_tag, tl.load(at_score, mask=is_word[:, None] & is_tag, other=0.0), -_INFINITY)
    at = (tl.load(first_words + sentence, mask=is_word, other=0) + word) * CHOICES
    largest = tl.max(x, 1)
    for number in tl.static_range(CHOICES):
        best, choice, x = _take_best(x, lane)
        tl.store(tags + at + number, choice.to(tl.int16), mask=is_word)
        tl.store(odds + at + number, best - largest, mask=is_word)


class Candidates(NamedTuple):
    """The candidates of a batch on a GPU; of the rows of spans, the first ones are used, as many as `counts` says."""

    counts: Tensor  # (b,) spans of each sentence
    tags: Tensor  # (words, tag choices), int16
    odds: Tensor  # (words, tag choices) log-odds against the best tag
    cells: Tensor  # (rows,) flat chart cells, ascending
    labels: Tensor  # (rows, choices), int16
    utility: Tensor  # (rows, choices)
    sentence_labels: Tensor  # (b,), int16
    is_finite: Tensor  # (1,) 0 if a score of a label was not finite


class CandidateUtility(NamedTuple):
    """The utility of labels, on a GPU."""

    threshold: float
    common: Tensor  # (labels, labels) the number of constituents that two labels have in common, float32
    counts: Tensor  # (labels,) constituents, float32


def find_candidates(
    marginals: Tensor,
    lengths: Tensor,
    total_words: int,
    labels_at: Callable[[Tensor], Tensor],
    tag_scores: Tensor,
    utility: CandidateUtility,
) -> Candidates:
    """The candidates for marginals (b, n + 1, n + 1), tag scores (b, n, tags), and the scores of labels at cells."""
    batch, size, _ = marginals.shape
    device = marginals.device
    counts, least_bits, excess = torch.empty(3, batch, dtype=torch.int32, device=device)
    count_candidates_kernel[(batch,)](
        marginals, lengths, counts, least_bits, excess, size, LIMIT=SPANS_PER_WORD, CELLS=CELLS
    )
    first_rows = counts.cumsum(0) - counts
    cells = torch.full((SPANS_PER_WORD * total_words,), -1, device=device)
    values = torch.empty(len(cells), device=device)
    write_candidates_kernel[(batch,)](
        marginals, lengths, first_rows, least_bits, excess, cells, values, size, CELLS=CELLS
    )
    labels, gains, sentence_labels, is_finite = _rank_labels(labels_at(cells), cells, values, lengths, size, utility)
    tags, odds = _rank_tags(tag_scores, lengths, total_words)
    return Candidates(counts, tags, odds, cells, labels, gains, sentence_labels, is_finite)


def _rank_labels(
    scores: Tensor, cells: Tensor, values: Tensor, lengths: Tensor, size: int, utility: CandidateUtility
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    rows, label_count = scores.shape
    choices, lanes = min(CHOICES, label_count), max(2, triton.next_power_of_2(label_count))
    labels = torch.empty(rows, choices, dtype=torch.int16, device=scores.device)
    gains = torch.empty(rows, choices, device=scores.device)
    sentence_labels = torch.full((len(lengths),), -1, dtype=torch.int16, device=scores.device)
    is_finite = torch.ones(1, dtype=torch.int32, device=scores.device)
    block = max(1, LANES // lanes)
    rank_labels_kernel[(triton.cdiv(rows, block),)](
        scores, cells, values, lengths, utility.common, utility.counts, labels, gains, sentence_labels, is_finite,
        utility.threshold, rows, size, LABELS=label_count, LANES=lanes, CHOICES=choices, ROWS=block,
    )  # fmt: skip
    return labels, gains, sentence_labels, is_finite


def _rank_tags(scores: Tensor, lengths: Tensor, total_words: int) -> tuple[Tensor, Tensor]:
    batch, width, tag_count = scores.shape
    choices, lanes = min(TAG_CHOICES, tag_count), max(2, triton.next_power_of_2(tag_count))
    tags = torch.empty(total_words, choices, dtype=torch.int16, device=scores.device)
    odds = torch.empty(total_words, choices, device=scores.device)
    block = max(1, LANES // lanes)
    rank_tags_kernel[(triton.cdiv(batch * width, block),)](
        scores.contiguous(), lengths, lengths.cumsum(0) - lengths, tags, odds, batch * width, width,
        TAGS=tag_count, LANES=lanes, CHOICES=choices, ROWS=block,
    )  # fmt: skip
    return tags, odds
