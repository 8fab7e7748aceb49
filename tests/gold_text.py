"""Raw text with gold sentences and tokens: the hard cases in `samples/hard_text.txt`, and treebanks as raw text.

A file of cases has blocks. A block is one line of raw text, in which `\\n` is a line break, and one indented line for
each gold sentence, with spaces between the tokens. Lines that start with `##` are comments.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from treecrf.trees.notation import unescape_brackets
from treecrf.trees.tree import Tree

HARD_CASES = Path(__file__).parent / "samples" / "hard_text.txt"

Offsets = tuple[int, int]  # the start and the end of a token
Printer = Callable[[Sequence[str]], Iterator[tuple[str, str]]]  # words as printed, each with the space before it


class GoldText(NamedTuple):
    """A raw text and the token offsets of each of its sentences."""

    text: str
    sentences: list[list[Offsets]]

    @property
    def tokens(self) -> list[Offsets]:
        return [token for sentence in self.sentences for token in sentence]

    @property
    def ends(self) -> list[int]:
        """The ends of the sentences, without that of the text, which every splitter finds."""
        return [sentence[-1][1] for sentence in self.sentences[:-1]]


class Counts(NamedTuple):
    """Counts of correct, predicted and gold items."""

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    def plus(self, gold: Iterable[object], predicted: Iterable[object]) -> "Counts":
        gold_items, predicted_items = set(gold), set(predicted)
        return Counts(
            self.correct + len(gold_items & predicted_items),
            self.predicted + len(predicted_items),
            self.gold + len(gold_items),
        )

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 1.0

    @property
    def f1(self) -> float:
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 1.0


def read_cases(path: Path = HARD_CASES) -> list[GoldText]:
    """Reads a file of cases."""
    cases: list[tuple[str, list[list[str]]]] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("  "):
            cases[-1][1].append(line.split())
        elif line and not line.startswith("##"):
            cases.append((line.replace("\\n", "\n"), []))
    return [align(text, sentences) for text, sentences in cases]


def align(text: str, sentences: Iterable[Sequence[str]]) -> GoldText:
    """Finds the offsets of gold tokens; all characters except white space must be in tokens, in order."""
    position = 0
    offsets: list[list[Offsets]] = []
    for sentence in sentences:
        offsets.append([])
        for token in sentence:
            start = text.find(token, position)
            if start < 0 or text[position:start].strip():
                raise ValueError(f"token {token!r} does not follow {text[:position]!r:.80} in {text!r:.80}")
            position = start + len(token)
            offsets[-1].append((start, position))
    if text[position:].strip():
        raise ValueError(f"no tokens for {text[position:]!r:.80}")
    return GoldText(text, offsets)


_NO_SPACE_BEFORE = {
    *(",", ".", ";", ":", "?", "!", "''", "'", "...", "%", ")", "]", "}"),
    *("n't", "'s", "'m", "'d", "'ll", "'re", "'ve"),
}
_NO_SPACE_AFTER = {"``", "`", "(", "[", "{", "$", "#", "£", "€"}
_JOINED = {("can", "not"), ("gon", "na"), ("got", "ta"), ("wan", "na"), ("lem", "me"), ("gim", "me")}
_RAW = {"``": '"', "''": '"', "`": "'"}


def print_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The English words as printed, each with the space before it."""
    previous = ""
    for number, word in enumerate(words):
        is_final_period = number + 1 < len(words) and words[number + 1] == "." and word[-1:] == "." and len(word) > 1
        is_tight = (
            not previous
            or word.lower() in _NO_SPACE_BEFORE
            or previous in _NO_SPACE_AFTER
            or (previous.lower(), word.lower()) in _JOINED
        )
        text = word[:-1] if is_final_period and word != "..." else word
        yield _RAW.get(text, text), "" if is_tight else " "
        previous = word


def rebuild(trees: Iterable[Tree], separator: str = " ", printer: Printer = print_words) -> GoldText:
    """The raw text of a treebank: words are joined as in print, sentences by a separator.

    A sentence without final punctuation is a title or a list item and has an empty line after it. The period after an
    abbreviation that ends its sentence is printed once.
    """
    pieces: list[str] = []
    sentences: list[list[Offsets]] = []
    position = 0
    for tree in trees:
        words = list(printer([_unescape(word) for word in tree.words]))
        sentences.append([])
        for word, space in words:
            position += len(space)
            sentences[-1].append((position, position + len(word)))
            pieces += [space, word]
            position += len(word)
        gap = separator if words[-1][0][-1:] in tuple(".?!…\"')»") else "\n\n"
        pieces.append(gap)
        position += len(gap)
    return GoldText("".join(pieces), sentences)


def _unescape(word: str) -> str:
    text = unescape_brackets(word)
    return text if text in _RAW else text.replace("''", '"').replace("``", '"')
