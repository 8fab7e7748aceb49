"""Raw text: sentences, tokens and the normalization of words."""

from treecrf.text.sentence_splitter import Token, sentences, tokenize

__all__ = ["Token", "sentences", "tokenize"]
