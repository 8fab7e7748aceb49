"""The models of this project that are packages of their own: `packages.toml` lists them."""

import re
from pathlib import Path
from typing import NamedTuple

from treecrf.config import tomllib

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")  # name of a model
PREFIX = "treecrf-"  # prefix of the names of model packages


class ModelPackage(NamedTuple):
    """A model package of this project."""

    model: str
    language: str
    license: str
    summary: str

    @property
    def name(self) -> str:
        return PREFIX + self.model


_TABLES = tomllib.loads(Path(__file__).with_name("packages.toml").read_text(encoding="utf-8"))
MODEL_PACKAGES = tuple(ModelPackage(model, **table) for model, table in _TABLES.items())
