"""The words of treebanks of several languages as they are printed in running text, each with the space before it."""

from collections.abc import Iterator, Sequence

from gold_text import Printer, print_words

_CLOSING = {",", ".", ";", ":", "?", "!", ")", "]", "}", "»", "...", "…", "%"}
_OPENING = {"(", "[", "{", "«", "¿", "¡", "$"}
_MARKS = {'"', "'", "-"}  # open and close in turn
_PORTUGUESE_SIGNS = {"{": "(", "}": ")", ";": ":"}  # how Floresta writes brackets and colons
# a preposition and the word after it, and how the preposition is printed in their contraction
_ARTICLES = ("o", "a", "os", "as")
_DETERMINERS = ("este", "esta", "estes", "estas", "esse", "essa", "esses", "essas", "aquele", "aquela")
_DETERMINERS += ("aqueles", "aquelas", "isto", "isso", "aquilo", "ele", "ela", "eles", "elas")
_CONTRACTED = {
    **{("de", word): "d" for word in (*_ARTICLES, *_DETERMINERS, "aqui", "aí", "ali")},
    **{("em", word): "n" for word in (*_ARTICLES, *_DETERMINERS, "um", "uma")},
    **{("por", word): "pel" for word in _ARTICLES},
    **{("a", word): "a" for word in ("o", "os")},
    **{("a", word): "à" for word in ("a", "as", "aquele", "aquela", "aqueles", "aquelas", "aquilo")},
}


def print_spaced(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Spanish and Icelandic words: underscores are spaces, and marks open and close in turn."""
    open_marks: set[str] = set()
    is_tight = True
    for number, word in enumerate(words):
        text = word.strip("_").replace("_", " ") or word
        is_closing = word in _CLOSING or word in open_marks
        if word in _MARKS:
            open_marks ^= {word}
        is_period_printed = number + 1 < len(words) and words[number + 1] == "." and text[-1:] == "." and len(text) > 1
        if is_period_printed and text != "...":
            text = text[:-1]
        yield text, "" if is_tight or is_closing else " "
        is_tight = word in _OPENING or (word in _MARKS and word in open_marks)


def print_catalan(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Catalan words: elided words and pronouns after verbs have an apostrophe or a hyphen and no space."""
    is_tight = False
    for word, (text, space) in zip(words, print_spaced(words), strict=True):
        is_pronoun = len(word) > 1 and word[0] in "-'" and word[1].isalpha()
        yield text.replace("' ", "'").replace(" ,", ","), "" if is_tight or is_pronoun else space
        is_tight = len(word) > 1 and word[-1] == "'"


def print_unspaced(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Chinese and Japanese words."""
    return ((word, "") for word in words)


def print_indonesian(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Indonesian words: hyphens, slashes and clitics have no spaces around them."""
    previous = ""
    for word, (text, space) in zip(words, print_spaced([_hide_hyphen(word) for word in words]), strict=True):
        is_tight = word in ("-", "/", "nya", "ku", "mu") or previous in ("-", "/") or (previous, word) == ("US", "$")
        yield word if word == "-" else text, "" if is_tight else space
        previous = word


def print_portuguese(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Portuguese words: prepositions and articles are contracted, and pronouns follow a hyphen."""
    signs = [_PORTUGUESE_SIGNS.get(word, word) for word in words]
    printed = list(print_spaced([_hide_hyphen(sign) for sign in signs]))
    first_part = ""  # of a contraction
    is_tight = False
    for word, next_word, (text, space) in zip(words, [*words[1:], ""], printed, strict=True):
        if first_part == "à":  # it has the first letter of both words
            text = text[1:]
        preposition, following = word.split("_")[-1].lower(), next_word.split("_")[0]
        before, space = first_part, "" if first_part or is_tight else space
        first_part = _CONTRACTED.get((preposition, following), "") if not before else ""
        if first_part:
            text = text[: len(text) - len(preposition)] + _match_case(first_part, text[-len(preposition)])
        yield text, space
        is_tight = len(word) > 1 and word.endswith("-") and word != "--"


def _match_case(text: str, first_letter: str) -> str:
    return text.capitalize() if first_letter.isupper() else text


def _hide_hyphen(word: str) -> str:
    return "–" if word == "-" else word


PRINTERS: dict[str, Printer] = {
    "ca": print_catalan,
    "en": print_words,
    "es": print_spaced,
    "fo": print_spaced,
    "id": print_indonesian,
    "is": print_spaced,
    "ja": print_unspaced,
    "pt": print_portuguese,
    "zh": print_unspaced,
}
