"""The embedded models: one folder each, with weights, settings, vocabulary and model card."""

from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names of the embedded models, for `Parser.load`."""
    return sorted(path.parent.name for path in FOLDER.glob("*/model.json"))
