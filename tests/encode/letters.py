"""A tokenizer whose pieces are a word's letters."""

from treecrf.encode.pieces import WordPieces

BEGIN, END, PAD, UNKNOWN = 1, 2, 3, 4


class Letters:
    """A tokenizer that cuts words into letters and sees nothing in others."""

    cls_token_id, sep_token_id, pad_token_id, unk_token_id = BEGIN, END, PAD, UNKNOWN
    bos_token_id = eos_token_id = None

    def __call__(self, texts, **_):
        return {"input_ids": [[ord(letter) for letter in text if letter.isalpha()] for text in texts]}


def letters(window=512):
    return WordPieces(Letters(), window=window)
