"""Hides every wing but `trees`, `files` and `config` from a Python that starts with this folder in PYTHONPATH."""

import sys

for wing in ("text", "chart", "network", "parser", "training", "corpus", "integrations", "server", "cli"):
    sys.modules[f"treecrf.{wing}"] = None  # type: ignore[assignment]  # an import then raises ModuleNotFoundError
