"""English tokens by the rules of the Penn Treebank, and sentence boundaries.

A sentence may end at a stop: the word before it and the word after it decide.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from treecrf.text.normalization import remove_invisible
from treecrf.text.word_lists import word_sets
from treecrf.trees.treebank.escapes import PENN_ESCAPES

_WORDS = word_sets("en")
_ABBREVIATIONS = frozenset().union(
    *(_WORDS[name] for name in ("before_names", "before_examples", "before_numbers", "possible_ends"))
)
PICTOGRAPHS = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
SUPERSCRIPTS = "⁰¹²³⁴-⁹"
FOOTNOTE_MARK = rf"(?:[{SUPERSCRIPTS}*†‡]|\[\d{{1,3}}(?:[,–-]\d{{1,3}})*\])"
MAX_WORD = 24  # characters before a stop that decide about it
# A run of stops and closing marks. The pattern has no condition on what follows, so that each character is read once.
_STOP = re.compile(r"""[.!?…。！？؟][.!?…。！？؟"”’»')\]}]*""")
_MARKS = re.compile(
    rf"(?:{FOOTNOTE_MARK}|[^\S\r\n]\[\d{{1,3}}\])*(?:[^\S\r\n]*[{PICTOGRAPHS}\U0001f3fb-\U0001f3ff\ufe0f\u200d])*"
)
_NOTE_AFTER_STOP = re.compile(r"\d{1,2}(?:[,–-]\d{1,2})*(?=\s+[A-Z])")
SPACE = re.compile(r"\s*")
_SENTENCE_OPENING = re.compile(r"""(?:["“”„«‹‘'`]\s?|[(\[{*_#•]|-+(?=\S)|\.{3,}\s?|…\s?)*""")
NEXT_WORD = re.compile(r"[^\W\d_]{1,24}")
_DASH_AND_LOWER_CASE = re.compile(r"(?:--|[–—-])\s{0,9}[a-z]")
_SPEECH = re.compile(
    r"(?:[A-Z][\w.'’-]{0,24}\s+|he\s+|she\s+){1,4}"
    r"(?:said|says|asked|asks|added|adds|replied|cried|wrote|writes|told|answered|shouted|explained|continued)\b"
)
_LIST_NUMBER = re.compile(r"(?:\A|\n)\s*[(\[]?[1-9]\d?\Z")
_LIST_LETTER = re.compile(r"\n[^\S\n]*[(\[]?(?:[A-Za-z]|[ivxIVX]{1,5})\Z")
_LIST_ITEM = re.compile(r"\n[^\S\n]{0,32}(?:(\d{1,3})[.)][^\S\n]+(?![a-z\s])|[•▪◦‣●*][^\S\n]+\S|-[^\S\n]+[A-Z])")
CONTINUING = tuple(",;:.!?%)]}/")  # no sentence starts with these characters
_PRONOUN_I = re.compile(r"I\b")
_NUMERAL = re.compile(r"[A-Z]{0,4}_?-?\d|[IVX]{2,6}\b")
_VOWEL = re.compile(r"[aeiouyAEIOUY]")
_NUMBER_BEFORE = re.compile(r"\d\s{0,3}\Z")


def sentence_ends(text: str) -> Iterator[int]:
    """The positions of sentence ends in a text, in no particular order."""
    items = list(_list_items(text))
    yield from items
    starts = iter([*items, len(text)])
    start, next_item = 0, next(starts)
    for match in _STOP.finditer(text):
        while next_item < match.start():
            start, next_item = max(start, next_item), next(starts)
        end = _end_after(text, match, start)
        if end is not None:
            yield end
            start = end


def _list_items(text: str) -> Iterator[int]:
    """The line breaks before list items. The number of an item is 1 or has a neighbor at the start of another line."""
    items = [(match.start(), match[1]) for match in _LIST_ITEM.finditer("\n" + text)]
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
    if note := _NOTE_AFTER_STOP.match(text, end):
        return note.end() if stop[0] == "." and word.isalpha() and word.islower() and len(word) > 2 else None
    end = skip(_MARKS, text, end)
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
    return bool(_LIST_NUMBER.search(before) or _LIST_LETTER.search("\n" + before if is_new_line else before))


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
    position = skip(_SENTENCE_OPENING, text, next_start)
    next_character = text[position : position + 1]
    is_closed = stop[-1] in "\"”’»')]}"
    is_ellipsis = ".." in stop or "…" in stop
    if next_character.islower() and (is_closed or is_ellipsis):
        return False
    if is_ellipsis and (next_character.isdigit() or _PRONOUN_I.match(text, position)):
        return False
    is_continuing = position == next_start and next_character in CONTINUING
    if is_continuing or _DASH_AND_LOWER_CASE.match(text, next_start):
        return False
    if "!" in stop or "?" in stop:
        is_name = stop == "!" and word in _WORDS["exclamation_names"] and next_character.islower()
        return not is_name and not (is_closed and _SPEECH.match(text, next_start))
    if stop[0] != "." or len(stop.rstrip("\"”’»')]}")) > 1:
        return True
    return _period_ends(text, word, before, position)


def _period_ends(text: str, word: str, before: str, position: int) -> bool:
    """Whether one period ends a sentence; the next word starts at `position`."""
    following = NEXT_WORD.match(text, position)
    next_word = following[0] if following else ""
    is_numeral = bool(_NUMERAL.match(text, position))
    if next_word[:1].islower() or is_numeral:
        has_dots = before.endswith((". ", ".\xa0"))  # an ellipsis with spaces
        return not (_is_abbreviation(word) or _is_unit(word, before) or has_dots or _has_no_vowel(word, is_numeral))
    is_temperature = word in ("C", "F") and _NUMBER_BEFORE.search(before[:-1])
    if is_temperature or not _is_abbreviation(word):
        return True
    if not next_word or word in _WORDS["before_names"] or word in _WORDS["before_examples"]:
        return False
    if word in _WORDS["before_numbers"]:
        return len(next_word) > 1 or word in ("No", "no")
    if word.lower() in ("a.m", "p.m"):
        is_zone = next_word.isupper() and 1 < len(next_word) < 5
        return not is_zone and next_word not in _WORDS["time_words"]
    if word.isupper() and len(word) > 1 and next_word.isupper() and len(next_word) > 1 and "." not in word:
        next_word = next_word.capitalize()
    end = position + len(next_word)
    is_initial = len(next_word) == 1 and text[end : end + 1] == "."
    return next_word in _WORDS["sentence_starters"] and not is_initial and text[end : end + 1] != "-"


def _is_abbreviation(word: str) -> bool:
    if word in _ABBREVIATIONS:
        return True
    if len(word) == 1:
        return word.isalpha()
    if "." in word:
        return all(len(part) < 3 and part.isalpha() for part in word.rpartition("-")[2].split("."))
    return word.isupper() and (word.capitalize() in _WORDS["before_names"] or word in _WORDS["capital_abbreviations"])


def _is_unit(word: str, before: str) -> bool:
    is_after_number = bool(_NUMBER_BEFORE.search(before[: -len(word)]))
    return word in _WORDS["time_units"] or (word in _WORDS["units_after_numbers"] and is_after_number)


def _has_no_vowel(word: str, is_before_numeral: bool) -> bool:
    """Whether a word looks like an abbreviation that is not in the list, before a word in lower case."""
    is_lower_case = word.isascii() and word.isalpha() and word.islower()
    if is_before_numeral or not is_lower_case or word in _WORDS["not_abbreviated"]:
        return False
    return len(set(word)) > 1 and len(word) < 6 and not _VOWEL.search(word)


def skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Returns the position after a pattern that may match nothing."""
    match = pattern.match(text, position)
    assert match is not None
    return match.end()


Piece = tuple[int, int, str]  # a token: start and end in a chunk, and the word in treebanks
_EMOJI = f"[{PICTOGRAPHS}][\U0001f3fb-\U0001f3ff\ufe0f]*"
# addresses, mentions, hashtags, and runs of one flag or one emoji: one token each, also in Chinese text
UNSPLIT = rf"""
    (?:https?://|ftp://|www\.)(?:[^\s<>"“”«»()\u3000-\u9fff\uff00-\uffef]|\([^\s()]*\))+(?<![.,;:!?'’…*])
  | [A-Za-z0-9._%+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})+
  | (?<!\w)[@\#](?!\d)[A-Za-z0-9_]+
  | (?P<flag>[\U0001f1e6-\U0001f1ff]{{2}})(?P=flag)*
  | (?P<emoji>{_EMOJI}(?:\u200d{_EMOJI})*)(?P=emoji)*
"""
_CURRENCY = "$¢£¥֏؋฿₠-\u20cf"
_SEPARATE = rf"\s,;:!?()\[\]{{}}<>\"“”„‟«»‹›`‘’'{_CURRENCY}%‰…‒–—―.&*=|~±×÷≤≥≈≠←→†‡\-{SUPERSCRIPTS}{PICTOGRAPHS}"
_BEFORE_NOTE = r".,;:!?)\]}\"”’»'"
_TOKEN = re.compile(
    rf"""{UNSPLIT}
  | (?<!\w)[:;=]-?[()DPpO/\\|*]+(?!\w) | <3(?!\w)  # emoticons
  | </?[A-Za-z][^\s<>]*> | &\#?\w{{1,31}};  # markup
  | &{{2,}} | \|{{2,}} | ~{{2,}} | [!<>=]=+ | =>  # operators
  | \.{{2,}} | …+ | <?-{{2,}}>? | -> | <- | [‒–—―]+ | [!?]+ | \*+
  | `` | ''
  | (?<!\w)[A-Z]{{1,2}}\$
  | (?P<word>
        (?<!\w)['’](?i:em|til|cause|cuz|bout|round|neath|n['’]|tis|twas|\d\ds|s|m|d|ll|re|ve|t)(?!\w)
      | (?: [^{_SEPARATE}]+ | \.(?!\.) | -(?!-|>) | [†‡]+(?=\w) | (?<=\d)[,:](?=\d) | (?<=\w)(?:&|\*+)(?=\w)
          | (?<=[\w.])['’](?=-?\w) | (?<=[a-z]in)['’](?!\w)
          | (?<=\w)(?<![a-z]{{3}})[{SUPERSCRIPTS}]+ | (?<![\w{_BEFORE_NOTE}])[{SUPERSCRIPTS}]+(?=[A-Z])  # km², ¹H
          | (?<=\w)\((?:e?s|[+-])\) | (?<=[\w-])\(\w{{1,8}}\)(?=\w) )+
    )
  | [{SUPERSCRIPTS}]+ | [†‡]+  # footnotes
  | .
    """,
    re.VERBOSE | re.DOTALL,
)
_CLITIC = re.compile(r"(?i)(?<=[\w.])(?:n['’]t|['’](?:s|m|d|ll|re|ve))(?![\w-])")
_TWO_WORDS = {  # two words in one, with the length of the first
    **dict.fromkeys(("cannot", "gonna", "gotta", "wanna", "gimme", "lemme"), 3),
    **dict.fromkeys(("'tis", "'twas", "’tis", "’twas"), 2),
}
_CLOSING = re.compile(rf"""(?:["”»'’)\]}}>!?]|{FOOTNOTE_MARK})*\Z""")
_NUMBERED_NOTE = re.compile(r"(?<=[a-z]{3})\.(?=\d{1,2}(?:[,–-]\d{1,2})*\Z)")
_OPENING = re.compile(r"""(?:\A|(?<=[(\[{<\-–—/“‘"'`]))(?:''|["'’])(?:[^.,;:!?)\]}>%"'”’]|['’]\w|\.\.)""")
_TREEBANK_WORDS = {
    **PENN_ESCAPES,
    **{"“": "``", "”": "''", "„": "``", "‟": "``", "«": "``", "»": "''", "‘": "`"},
}


def split_chunk(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    """The tokens of a chunk between white space; in the last chunk of a sentence, a final period is a token."""
    return _cached_pieces(chunk, is_last) if len(chunk) < _MAX_CACHED else _pieces(chunk, is_last)


def _pieces(chunk: str, is_last: bool) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for match in _TOKEN.finditer(chunk):
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
    if text[-1] == "." and end - start > 1 and _CLOSING.match(chunk, end):
        is_quoted = chunk[end : end + 1] in tuple("\"”»'’")
        is_abbreviation = "." in text[:-1] and chunk[end : end + 1] in ("?", "!")  # "at 5 p.m.?" has one stop
        if (is_last and not is_abbreviation) or (is_quoted and "." not in text[:-1]):
            stop -= 1
    if is_last and (note := _NUMBERED_NOTE.search(chunk, start, end)):
        yield from note.span()
        return
    first_length = _TWO_WORDS.get(chunk[start:stop].lower())
    if first_length:
        yield start + first_length
    else:
        yield from (match.start() for match in _CLITIC.finditer(chunk, start, stop))
    yield stop


def _quotation_mark(chunk: str, start: int, end: int) -> str:
    if chunk == '"':
        return chunk
    single = "`" if _OPENING.match(chunk, start) else "'"
    return single if chunk[start:end] in ("'", "’") else 2 * single


def _treebank_word(text: str) -> str:
    if text.isascii() and text.isalnum():
        return text
    return _TREEBANK_WORDS.get(text) or remove_invisible(text).replace("’", "'") or text
