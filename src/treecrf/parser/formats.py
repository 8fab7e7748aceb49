"""Parsed sentences as lines of brackets or JSON, or as drawings."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from treecrf.decoding.analysis import Alternative, Analysis, Constituent
from treecrf.tree import Tree

SUFFIXES = {"brackets": ".mrg", "json": ".jsonl", "pretty": ".txt"}
_BREAKS = re.compile("[\x85\u2028\u2029]")  # what some readers end a line at, and JSON leaves as it is
_DIGITS = 6


class Parsed(NamedTuple):
    """A sentence's tree, where its words stand in their line, and how sure the parser is if anyone asked.

    Row i of `marginals` holds the probability of the span `words[i:j]` for every j > i.
    """

    tree: Tree
    offsets: Sequence[tuple[int, int]]
    analysis: Analysis | None = None
    marginals: Sequence[Sequence[float]] | None = None


@dataclass(frozen=True, kw_only=True)
class Style:
    """How lines are written; `is_text` says that a line may hold several sentences."""

    format: Literal["brackets", "json", "pretty"] = "brackets"
    exact: bool = False
    probs: bool = False
    kbest: int = 0
    is_text: bool = False

    def line(self, sentences: Sequence[Parsed]) -> str:
        """What is written for the sentences of a line."""
        return self.join([self.sentence(sentence) for sentence in sentences])

    def join(self, sentences: Sequence[str]) -> str:
        """What is written for a line whose sentences are written already."""
        if self.format != "json":
            return (" " if self.format == "brackets" else "\n").join(sentences)
        return f'{{"sentences": [{", ".join(sentences)}]}}' if self.is_text else next(iter(sentences), "null")

    def sentence(self, sentence: Parsed) -> str:
        """What is written for one sentence."""
        if self.format == "brackets":
            return self.brackets(sentence.tree)
        if self.format == "pretty":
            return self._drawing(sentence)
        text = json.dumps(self._object(sentence), ensure_ascii=False)
        return _BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

    def brackets(self, tree: Tree) -> str:
        """A tree on one line, parentheses in its words as treebanks write them, or as `Tree.parse` reads them back."""
        text = str(tree)
        if self.exact or "\\u{2" not in text:
            return text
        return text.replace(r"\u{28}", "-LRB-").replace(r"\u{29}", "-RRB-")

    def _object(self, sentence: Parsed) -> dict[str, Any]:
        tree, offsets, analysis, marginals = sentence
        found: dict[str, Any] = {"tree": self.brackets(tree), "words": tree.words, "tags": tree.tags}
        found |= {"offsets": offsets, "spans": [_span(*span, offsets) for span in tree.spans()]}
        if analysis is not None and self.probs:
            found["spans"] = _rated(analysis.constituents, offsets)
            found |= {"log_prob": round(analysis.log_prob, _DIGITS), "entropy": round(analysis.entropy, _DIGITS)}
        if analysis is not None and self.kbest:
            found["kbest"] = [self._alternative(other, offsets) for other in analysis.alternatives]
        if marginals is not None:
            found["marginals"] = [[round(marginal, _DIGITS) for marginal in row] for row in marginals]
        return found

    def _alternative(self, other: Alternative, offsets: Sequence[tuple[int, int]]) -> dict[str, Any]:
        found = {"tree": self.brackets(other.tree), "log_prob": round(other.log_prob, _DIGITS)}
        return found | {"spans": _rated(other.constituents, offsets)} if self.probs else found

    def _drawing(self, sentence: Parsed) -> str:
        tree, analysis = sentence.tree, sentence.analysis
        lines = tree.pretty().split("\n")
        if analysis is not None and self.probs:
            probabilities = iter(analysis.constituents)
            for place, node in enumerate(tree.walk()):
                if not node.is_leaf:
                    lines[place] += f"  {next(probabilities).probability:.3f}"
            lines.append(f"log-probability {analysis.log_prob:.3f}, entropy {analysis.entropy:.3f}")
        if analysis is not None and self.kbest:
            for number, other in enumerate(analysis.alternatives, 1):
                lines += ["", f"{number}: log-probability {other.log_prob:.3f}", other.tree.pretty()]
        return "\n".join([*lines, ""])


def _rated(constituents: Sequence[Constituent], offsets: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    return [
        {**_span(c.start, c.end, c.label, offsets), "probability": round(c.probability, _DIGITS)} for c in constituents
    ]


def _span(start: int, end: int, label: str, offsets: Sequence[tuple[int, int]]) -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, "offsets": (offsets[start][0], offsets[end - 1][1])}
