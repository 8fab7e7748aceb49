"""A tokenizer whose pieces are a word's letters."""

from treecrf.network.data.subwords import SubwordTokenizer

BEGIN, END, PAD, UNKNOWN = 1, 2, 3, 4


class Letters(SubwordTokenizer):
    """A tokenizer that splits words into letters and drops other characters."""

    def encode(self, texts):
        return [[ord(letter) for letter in text if letter.isalpha()] for text in texts]

    def save(self, folder):
        raise AssertionError("the letter tokenizer is not saved")


def letters(segment_size=512):
    ids = {"cls_token": BEGIN, "sep_token": END, "pad_token": PAD, "unk_token": UNKNOWN}
    return Letters(ids, segment_size=segment_size)
