"""The models that come with the package, a folder each: weights, what they belong to, and a card."""

from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names under which they are loaded."""
    return sorted(path.parent.name for path in FOLDER.glob("*/model.json"))
