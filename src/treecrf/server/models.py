"""Loads the parsers that a server offers, and describes them."""

from collections.abc import Sequence
from pathlib import Path

from treecrf.parser import Parser
from treecrf.parser.models.model_card import CARD_JSON, ModelCard, format_megabytes
from treecrf.text import language_name, tokenize

_ENCODERS = {"lstm": "LSTM", "transformer": "transformer"}


def load_parsers(sources: Sequence[str], device: str | None = None) -> dict[str, Parser]:
    """Loads installed models by name and saved parsers by folder; a folder's last component is the parser's name."""
    parsers: dict[str, Parser] = {}
    for source in sources:
        name = Path(source).resolve().name if Path(source).is_dir() else source
        if name in parsers:
            raise ValueError(f"two models have the name '{name}'; expected folders with different names")
        parsers[name] = parser = Parser.load(source, device)
        tokenize("a", language=parser.language)  # a missing segmenter is an error at startup, not in a request
        parser.parse(["a"], tags=["_"])
    return parsers


def describe_model(parser: Parser) -> str:
    """A line about a model: language, encoder, and from its model card the size, the first score and the license."""
    encoder = parser.model_config.encoder
    facts = [language_name(parser.language), _ENCODERS.get(encoder, encoder)]
    if parser.folder is None or not (parser.folder / CARD_JSON).is_file():
        return ", ".join(facts)
    card = ModelCard.load(parser.folder)
    facts += [format_megabytes(card.size), *(f"F1 {score.f1:.1f} on {score.name}" for score in card.scores[:1])]
    return ", ".join([*facts, card.purpose.license])
