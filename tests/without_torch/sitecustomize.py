"""Hides PyTorch from every Python that starts with this folder in PYTHONPATH, as if it were not installed."""

import sys

for name in ("torch", "triton", "transformers"):
    sys.modules[name] = None  # type: ignore[assignment]  # an import then raises ModuleNotFoundError
