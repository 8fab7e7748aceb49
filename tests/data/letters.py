"""A tokenizer whose pieces are a word's letters."""

from treecrf.data.subwords import SubwordTokenizer

BEGIN, END, PAD, UNKNOWN = 1, 2, 3, 4


class Letters:
    """A tokenizer that cuts words into letters and sees nothing in others."""

    begin, end, pad, unknown, limit = BEGIN, END, PAD, UNKNOWN, 512

    def cut(self, texts):
        return [[ord(letter) for letter in text if letter.isalpha()] for text in texts]

    def save(self, folder, *, limit):
        raise AssertionError("letters are not saved")


def letters(window=512):
    return SubwordTokenizer(Letters(), window=window)
