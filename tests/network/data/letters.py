"""A tokenizer whose pieces are a word's letters."""

from treecrf.network.data.subwords import SubwordTokenizer

BEGIN, END, PAD, UNKNOWN = 1, 2, 3, 4


class Letters:
    """A tokenizer that splits words into letters and drops other characters."""

    begin_id, end_id, pad_id, unknown_id, max_length = BEGIN, END, PAD, UNKNOWN, 512

    def encode(self, texts):
        return [[ord(letter) for letter in text if letter.isalpha()] for text in texts]

    def save(self, folder, *, max_length):
        raise AssertionError("the letter tokenizer is not saved")


def letters(segment_size=512):
    return SubwordTokenizer(Letters(), segment_size=segment_size)
