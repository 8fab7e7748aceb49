"""Raw text to sentences and tokens.

Here: paragraphs, sentence boundaries and tokens of each language, the normalization of words, and a guess of the
language. Not here: treebank notations (`trees.treebank`) and the numbers of words (`network.data`). The word lists
are data, in `words/`.
"""

from treecrf.text.language_guess import (
    LanguageCheck,
    LanguageGuess,
    guess_language,
    guess_other_language,
    language_name,
    language_warning,
)
from treecrf.text.layout import Paragraph, doubt, layout_warning, paragraphs
from treecrf.text.sentence_splitter import (
    Sentence,
    Token,
    sentence_count_warning,
    sentences,
    sentences_with_offsets,
    tokenize,
)

__all__ = [
    "LanguageCheck",
    "LanguageGuess",
    "Paragraph",
    "Sentence",
    "Token",
    "doubt",
    "guess_language",
    "guess_other_language",
    "language_name",
    "language_warning",
    "layout_warning",
    "paragraphs",
    "sentence_count_warning",
    "sentences",
    "sentences_with_offsets",
    "tokenize",
]
