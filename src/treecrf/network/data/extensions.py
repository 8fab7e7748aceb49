"""Scorers, encoders and losses of installed packages, by the name of an entry point.

A recipe and a model's folder have the name alone. The code belongs to a package that somebody has installed: nothing
that a folder contains is imported.
"""

from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any

GROUPS = {"scorer": "treecrf.scorers", "encoder": "treecrf.encoders", "loss": "treecrf.losses"}  # by setting
BUILT_IN = {
    "scorer": ("biaffine", "minus"),
    "encoder": ("lstm", "transformer"),
    "loss": ("two-stage", "tree", "one-stage-crf", "one-stage-margin"),
}


def check_name(setting: str, name: str) -> None:
    """Raises a ValueError if there is not one installed package that has a name which is not built in."""
    found = list(entry_points(group=GROUPS[setting], name=name)) if isinstance(name, str) else []
    if len({entry.value for entry in found}) > 1:
        packages = " and ".join(sorted({entry.dist.name for entry in found if entry.dist}))
        raise ValueError(f"{setting} is {name!r:.80}, which {packages} have; uninstall all but one of them")
    if not found:
        near = get_close_matches(str(name)[:80], BUILT_IN[setting], n=1)
        suggestion = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{setting} is {name!r:.80}; expected one of {', '.join(map(repr, BUILT_IN[setting]))}, or a name that an "
            f"installed package has in the entry points {GROUPS[setting]}{suggestion}"
        )


def load_extension(setting: str, name: str) -> Any:
    """Imports the scorer, encoder or loss of an installed package."""
    check_name(setting, name)
    return next(iter(entry_points(group=GROUPS[setting], name=name))).load()
