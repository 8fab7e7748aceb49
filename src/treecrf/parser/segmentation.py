"""Trees of characters, in which a parser finds the words of text without spaces.

Such a parser has the scheme `characters`. In the trees of this scheme, the words are characters, and the constituents
are the words.
"""

from collections.abc import Sequence
from itertools import pairwise

from treecrf.text import Token
from treecrf.text.characters import split_chunk
from treecrf.trees.notation import unescape_brackets
from treecrf.trees.tree import Tree

CHARACTERS = "characters"  # name of the scheme
_WORD, _FIRST, _NEXT = "WORD", "FIRST", "NEXT"  # the label of a word, and the tags of its first and further characters


def join_characters(text: str, characters: Sequence[Token], tags: Sequence[str]) -> list[Token]:
    """The words of a sentence; white space always separates words.

    >>> characters = [Token(character, place, place + 1, character) for place, character in enumerate("私は猫だ")]
    >>> [word.text for word in join_characters("私は猫だ", characters, ["FIRST", "NEXT", "FIRST", "FIRST"])]
    ['私は', '猫', 'だ']
    """
    starts = [0] * bool(characters)
    for number, ((last, character), tag) in enumerate(zip(pairwise(characters), tags[1:], strict=True), 1):
        if tag != _NEXT or character.start > last.end:
            starts.append(number)
    words = (characters[first:end] for first, end in pairwise([*starts, len(characters)]))
    spans = ((word[0].start, word[-1].end) for word in words)
    return [Token(text[start:end], start, end, text[start:end]) for start, end in spans]


def character_tree(words: Sequence[str], root: str) -> Tree:
    """The tree of the characters of a sentence.

    >>> print(character_tree(["私", "は", "DNA", "です"], "TOP"))
    (TOP (WORD (FIRST 私)) (WORD (FIRST は)) (WORD (FIRST DNA)) (WORD (FIRST で) (NEXT す)))
    """
    return Tree(root, tuple(map(_word_tree, words)))


def _word_tree(word: str) -> Tree:
    characters = [text for _, _, text in split_chunk(unescape_brackets(word), False)]
    tags = [_FIRST] + [_NEXT] * (len(characters) - 1)
    return Tree(_WORD, tuple(Tree(tag, (text,)) for tag, text in zip(tags, characters, strict=True)))
