"""Output formats of parsed sentences: brackets, JSON, and drawings in text."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treecrf.trees.analysis import Alternative, Constituent, Offsets, ParsedSentence
from treecrf.trees.notation import penn_brackets, split_label
from treecrf.trees.placed_nodes import PlacedNode, place_nodes
from treecrf.trees.tree import Tree

_LINE_BREAKS = re.compile("[\x85\u2028\u2029]")  # end a line for some readers, and JSON does not escape them
_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Formatter:
    """Formats parsed lines. With `is_text`, a line may contain several sentences."""

    format: Literal["brackets", "json", "pretty"] = "brackets"
    exact: bool = False
    probs: bool = False
    kbest: int = 0
    functions: bool = False  # whether spans have functions beside their category
    empties: bool = False  # whether the trees have empty elements
    is_text: bool = False

    def line(self, sentences: Sequence[ParsedSentence]) -> str:
        return self.join([self.sentence(sentence) for sentence in sentences])

    def join(self, sentences: Sequence[str]) -> str:
        """The output of a line whose sentences are already formatted."""
        if self.format != "json":
            return (" " if self.format == "brackets" else "\n").join(sentences)
        return f'{{"sentences": [{", ".join(sentences)}]}}' if self.is_text else next(iter(sentences), "null")

    def sentence(self, sentence: ParsedSentence) -> str:
        if self.format == "brackets":
            return self.brackets(sentence.tree)
        if self.format == "pretty":
            return self._drawing(sentence)
        text = json.dumps(self._json(sentence), ensure_ascii=False)
        return _LINE_BREAKS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

    def brackets(self, tree: Tree) -> str:
        """A tree on one line, parentheses in words as -LRB- and -RRB-, or with `exact` as `Tree.parse` reads them."""
        return str(tree) if self.exact else penn_brackets(str(tree))

    def _json(self, sentence: ParsedSentence) -> dict[str, Any]:
        tree, offsets, analysis, _ = sentence
        constituents = analysis.constituents if analysis is not None and self.probs else None
        fields: dict[str, Any] = {"tree": self.brackets(tree), "words": tree.words, "tags": tree.tags}
        fields |= {"offsets": offsets, "spans": self._spans(tree, constituents, offsets)}
        if self.empties:
            fields["empties"] = list(map(_empty, filter(lambda node: node.tree.is_empty, place_nodes(tree))))
        if analysis is not None and self.probs:
            names = ("log_prob", "calibrated", "entropy")
            fields |= {name: round(getattr(analysis, name), _DIGITS) for name in names}
        if analysis is not None and self.kbest:
            fields["kbest"] = [self._alternative(alternative, offsets) for alternative in analysis.alternatives]
            fields["kbest_exact"] = analysis.alternatives_exact
            fields["differences"] = list(analysis.differences)
        if analysis is not None and analysis.marginals is not None:
            fields["marginals"] = [[round(marginal, _DIGITS) for marginal in row] for row in analysis.marginals]
        return fields

    def _spans(self, tree: Tree, constituents: Sequence[Constituent] | None, offsets: Offsets) -> list[dict[str, Any]]:
        spans = [_span(*span, offsets) for span in tree.spans()]
        if constituents is not None:
            spans = _spans_with_probabilities(constituents, offsets)
        for span, (_, _, label) in zip(spans, tree.spans(), strict=True):
            parts = split_label(label)
            if self.functions:
                span |= {"label": parts.category, "functions": list(parts.functions)}
            if self.empties:
                span |= {"label": parts.category, "index": parts.index}
        return spans

    def _alternative(self, alternative: Alternative, offsets: Offsets) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "tree": self.brackets(alternative.tree),
            "probability": round(alternative.probability, _DIGITS),
            "log_prob": round(alternative.log_prob, _DIGITS),
            "calibrated": round(alternative.calibrated, _DIGITS),
            "differences": list(alternative.differences),
        }
        if self.probs:
            fields["spans"] = self._spans(alternative.tree, alternative.constituents, offsets)
        return fields

    def _drawing(self, sentence: ParsedSentence) -> str:
        tree, analysis = sentence.tree, sentence.analysis
        lines = tree.pretty().split("\n")
        if analysis is not None and self.probs:
            constituents = iter(analysis.constituents)
            for row, node in enumerate(tree.walk()):
                if not node.is_leaf and node.words:
                    lines[row] += f"  {next(constituents).calibrated:.3f}"
            lines.append(
                f"log-probability {analysis.log_prob:.3f}, calibrated {analysis.calibrated:.3f}, "
                f"entropy {analysis.entropy:.3f}"
            )
        if analysis is not None and self.kbest:
            for number, alternative in enumerate(analysis.alternatives, 1):
                lines += ["", f"{number}: probability {alternative.probability:.3f} of the reading"]
                lines += [*alternative.differences, alternative.tree.pretty()]
            if not analysis.alternatives_exact:
                lines += [
                    "",
                    "Other readings may have more probable trees: the search has reached the limit on its work.",
                ]
        return "\n".join([*lines, ""])


def _empty(node: PlacedNode) -> dict[str, Any]:
    """An empty element: its kind and index, the label around it, and the number of words before it."""
    label = "" if node.parent is None else node.parent.tree.label
    return {"kind": node.tree.kind, "parent": label, "index": node.tree.index, "words_before": node.start}


def _spans_with_probabilities(constituents: Sequence[Constituent], offsets: Offsets) -> list[dict[str, Any]]:
    return [
        {
            **_span(c.start, c.end, c.label, offsets),
            "probability": round(c.probability, _DIGITS),
            "calibrated": round(c.calibrated, _DIGITS),
            **({"function_probabilities": [round(f.probability, _DIGITS) for f in c.functions]} if c.functions else {}),
        }
        for c in constituents
    ]


def _span(start: int, end: int, label: str, offsets: Offsets) -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, "offsets": (offsets[start][0], offsets[end - 1][1])}
