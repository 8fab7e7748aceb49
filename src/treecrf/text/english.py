"""English tokens by the rules of the Penn Treebank, and sentence boundaries.

A sentence may end at a stop: the word before it and the word after it decide.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from treecrf.text.normalization import remove_invisible
from treecrf.text.word_lists import patterns, read_words, word_sets
from treecrf.trees.notation import PENN_ESCAPES

_WORDS = word_sets("en")
_PATTERNS = patterns("en")
_ABBREVIATIONS = frozenset().union(
    *(_WORDS[name] for name in ("before_names", "before_examples", "before_numbers", "possible_ends"))
)
_TWO_WORDS: dict[str, int] = read_words("en")["two_words"]  # with the length of the first
_TREEBANK_WORDS: dict[str, str] = PENN_ESCAPES | read_words("en")["quotation_marks"]
MAX_WORD = 24  # characters before a stop that decide about it
SPACE, NEXT_WORD = patterns("shared")["space"], patterns("shared")["next_word"]
CONTINUING = tuple(",;:.!?%)]}/")  # no sentence starts with these characters
_TIMES = ("a.m", "p.m")  # also after a number without a space
_CLOSING_MARKS = "\"”’»')]}"


def sentence_ends(text: str) -> Iterator[int]:
    """The positions of sentence ends in a text, in no particular order."""
    items = list(_list_items(text))
    yield from items
    starts = iter([*items, len(text)])
    start, next_item = 0, next(starts)
    for match in _PATTERNS["stop"].finditer(text):
        while next_item < match.start():
            start, next_item = max(start, next_item), next(starts)
        end = _end_after(text, match, start)
        if end is not None:
            yield end
            start = end


def _list_items(text: str) -> Iterator[int]:
    """The line breaks before list items. The number of an item is 1 or has a neighbor at the start of another line."""
    items = [(match.start(), match[1]) for match in _PATTERNS["list_item"].finditer("\n" + text)]
    numbers = {int(number) for _, number in items if number}
    for position, number in items:
        is_item = not number or int(number) == 1 or {int(number) - 1, int(number) + 1} & numbers
        if is_item and position:
            yield position - 1


def _end_after(text: str, stop: re.Match[str], start: int) -> int | None:
    """The end of the sentence if a stop ends it; `start` is the start of the sentence."""
    first, end = stop.span()
    before = text[max(start, first - MAX_WORD) : first]
    word = _last_word(before)
    if note := _PATTERNS["note_after_stop"].match(text, end):
        return note.end() if stop[0] == "." and word.isalpha() and word.islower() and len(word) > 2 else None
    end = skip(_PATTERNS["marks_after_stop"], text, end)
    next_start = skip(SPACE, text, end)
    if next_start == end:
        return end if _is_space_missing(text, stop, word, end) else None
    if next_start == len(text):
        return None
    if stop[0] == "." and len(before) < MAX_WORD and _is_list_number(before, is_new_line=_starts_line(text, start)):
        return None
    return end if _is_end(text, stop[0], word, before, next_start) else None


def _is_list_number(before: str, *, is_new_line: bool) -> bool:
    """Whether the text before a period is a number, or at the start of a line a letter, and nothing else."""
    return bool(
        _PATTERNS["list_number"].search(before)
        or _PATTERNS["list_letter"].search("\n" + before if is_new_line else before)
    )


def _starts_line(text: str, start: int) -> bool:
    return start == 0 or text[start : start + 1] == "\n" or text[start - 1] == "\n"


def _last_word(before: str) -> str:
    """The word at the end of a text, without opening marks."""
    if not before or before[-1].isspace():
        return ""
    return before.rsplit(None, 1)[-1].lstrip("\"“„«‹‘'`([{*_#•-–—/~$£€¥")


def _is_space_missing(text: str, stop: re.Match[str], word: str, end: int) -> bool:
    """Whether a sentence ends at a stop without white space after it, as in `left.Then`."""
    following = NEXT_WORD.match(text, end)
    if not following or stop.end() != end or len(stop[0]) > 3 or stop[0][-1] not in ".!?" or not word:
        return False
    next_word = following[0]
    is_capitalized = next_word[0].isupper() and (next_word[1:].islower() or next_word in ("I", "A"))
    next_end = following.end()
    is_in_name = text[next_end : next_end + 1] in tuple("._(=/\\@:-") or next_word in _WORDS["address_endings"]
    if not is_capitalized or is_in_name or _is_abbreviation(word) or not _is_plain(word):
        return False
    return (word.isalpha() and word.islower() and len(word) > 1) or next_word in _WORDS["sentence_starters"]


def _is_plain(word: str) -> bool:
    return word.replace("'", "").replace("’", "").replace("-", "").isalpha() or word.replace(".", "").isdigit()


def _is_end(text: str, stop: str, word: str, before: str, next_start: int) -> bool:
    """Whether a stop before white space ends a sentence; `next_start` is the position after the white space."""
    position = skip(_PATTERNS["sentence_opening"], text, next_start)
    next_character = text[position : position + 1]
    is_closed = stop[-1] in _CLOSING_MARKS
    is_ellipsis = ".." in stop or "…" in stop
    if next_character.islower() and (is_closed or is_ellipsis):
        return False
    if is_ellipsis and (next_character.isdigit() or _PATTERNS["pronoun_i"].match(text, position)):
        return False
    if "." in stop and _PATTERNS["attribution"].match(text, next_start):
        return True
    is_continuing = position == next_start and next_character in CONTINUING
    if is_continuing or _PATTERNS["dash_and_lower_case"].match(text, next_start):
        return False
    if "!" in stop or "?" in stop:
        is_name = stop == "!" and word in _WORDS["exclamation_names"] and next_character.islower()
        return not is_name and not (is_closed and _PATTERNS["speech"].match(text, next_start))
    if stop[0] != "." or len(stop.rstrip(_CLOSING_MARKS)) > 1:
        return True
    return _period_ends(text, word, before, position)


def _period_ends(text: str, word: str, before: str, position: int) -> bool:
    """Whether one period ends a sentence; the next word starts at `position`."""
    following = NEXT_WORD.match(text, position)
    next_word = following[0] if following else ""
    is_numeral = bool(_PATTERNS["numeral"].match(text, position))
    if next_word[:1].islower() or is_numeral:
        has_dots = before.endswith((". ", ".\xa0"))  # an ellipsis with spaces
        return not (_is_abbreviation(word) or _is_unit(word, before) or has_dots or _has_no_vowel(word, is_numeral))
    is_temperature = word in ("C", "F") and _PATTERNS["number_before"].search(before[:-1])
    if is_temperature or not _is_abbreviation(word):
        return True
    if not next_word or word in _WORDS["before_names"] or word in _WORDS["before_examples"]:
        return False
    if word in _WORDS["before_numbers"]:
        return len(next_word) > 1 or word in ("No", "no")
    if word.lower().endswith(_TIMES):
        is_zone = next_word.isupper() and 1 < len(next_word) < 5
        return not is_zone and next_word not in _WORDS["time_words"]
    if word.isupper() and len(word) > 1 and next_word.isupper() and len(next_word) > 1 and "." not in word:
        next_word = next_word.capitalize()
    end = position + len(next_word)
    is_initial = len(next_word) == 1 and text[end : end + 1] == "."
    return next_word in _WORDS["sentence_starters"] and not is_initial and text[end : end + 1] != "-"


def _is_abbreviation(word: str) -> bool:
    if word in _ABBREVIATIONS or word.lower().endswith(_TIMES):
        return True
    if len(word) == 1:
        return word.isalpha()
    if "." in word:
        return all(len(part) < 3 and part.isalpha() for part in word.rpartition("-")[2].split("."))
    return word.isupper() and (word.capitalize() in _WORDS["before_names"] or word in _WORDS["capital_abbreviations"])


def _is_unit(word: str, before: str) -> bool:
    is_after_number = bool(_PATTERNS["number_before"].search(before[: -len(word)]))
    return word in _WORDS["time_units"] or (word in _WORDS["units_after_numbers"] and is_after_number)


def _has_no_vowel(word: str, is_before_numeral: bool) -> bool:
    """Whether a word looks like an abbreviation that is not in the list, before a word in lower case."""
    is_lower_case = word.isascii() and word.isalpha() and word.islower()
    if is_before_numeral or not is_lower_case or word in _WORDS["not_abbreviated"]:
        return False
    return len(set(word)) > 1 and len(word) < 6 and not _PATTERNS["vowel"].search(word)


def skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Returns the position after a pattern that may match nothing."""
    match = pattern.match(text, position)
    assert match is not None
    return match.end()


Piece = tuple[int, int, str]  # a token: start and end in a chunk, and the word in treebanks


def split_chunk(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    """The tokens of a chunk between white space; in the last chunk of a sentence, a final period is a token."""
    return _cached_pieces(chunk, is_last) if len(chunk) < _MAX_CACHED else _pieces(chunk, is_last)


def _pieces(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for match in _PATTERNS["token"].finditer(chunk):
        start, end = match.span()
        if match[0] in ('"', "'", "’", "''"):
            pieces.append((start, end, _quotation_mark(chunk, start, end)))
            continue
        cuts = [start, *(_cuts(chunk, start, end, is_last) if match.lastgroup == "word" else ()), end]
        pieces += ((a, b, _treebank_word(chunk[a:b])) for a, b in pairwise(cuts) if a < b)
    return tuple(pieces)


# texts repeat their words; long ones repeat too rarely to cache
_MAX_CACHED = 64  # characters
_cached_pieces = lru_cache(maxsize=1 << 15)(_pieces)


def _cuts(chunk: str, start: int, end: int, is_last: bool) -> Iterator[int]:
    """The positions inside a word to cut at: before contracted words, and before the period of the sentence."""
    text = chunk[start:end]
    stop = end
    if text[-1] == "." and end - start > 1 and _PATTERNS["closing"].match(chunk, end):
        is_quoted = chunk[end : end + 1] in tuple("\"”»'’")
        is_abbreviation = "." in text[:-1] and chunk[end : end + 1] in ("?", "!")  # "at 5 p.m.?" has one stop
        if (is_last and not is_abbreviation) or (is_quoted and "." not in text[:-1]):
            stop -= 1
    if stop == end and text[-1] == "." and _PATTERNS["closing_bracket"].match(chunk, end):  # "(really.)"
        stop -= len(text) > 2 and text[:-1].isalpha() and not _is_abbreviation(text[:-1])
    if is_last and (note := _PATTERNS["numbered_note"].search(chunk, start, end)):
        yield from note.span()
        return
    first_length = _TWO_WORDS.get(chunk[start:stop].lower())
    if first_length:
        yield start + first_length
    else:
        yield from (match.start() for match in _PATTERNS["clitic"].finditer(chunk, start, stop))
    yield stop


def _quotation_mark(chunk: str, start: int, end: int) -> str:
    if chunk == '"':
        return chunk
    single = "`" if _PATTERNS["opening_quote"].match(chunk, start) else "'"
    return single if chunk[start:end] in ("'", "’") else 2 * single


def _treebank_word(text: str) -> str:
    if text.isascii() and text.isalnum():
        return text
    return _TREEBANK_WORDS.get(text) or remove_invisible(text).replace("’", "'") or text
