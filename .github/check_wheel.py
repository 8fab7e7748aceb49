"""Imports every compiled extension that setup.py names, from the installed wheel, and fails if one is missing."""

import re
import sys
from importlib import import_module
from pathlib import Path

SETUP = Path(__file__).parents[1] / "setup.py"


def main() -> None:
    """Exits with the names of the missing extensions."""
    names = re.findall(r'\bextension\(\s*"([\w.]+)"', SETUP.read_text(encoding="utf-8"))
    missing = [] if names else [f"{SETUP} names no extension"]
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            missing.append(f"{name}: {error}")
    if missing:
        sys.exit("\n".join(["compiled extensions are missing:", *missing]))
    print(f"{len(names)} compiled extensions: {', '.join(names)}")


if __name__ == "__main__":
    main()
