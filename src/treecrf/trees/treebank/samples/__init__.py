"""Sample treebanks of invented sentences, which the documentation uses; `treecrf samples` copies them."""

from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names of the sample files."""
    return sorted(path.name for path in FOLDER.iterdir() if path.suffix in (".mrg", ".fid"))
