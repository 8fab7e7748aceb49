"""The models of this project that are packages of their own."""

import re
from typing import NamedTuple

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")  # of a model
PREFIX = "treecrf-"  # of the names of model packages


class ModelPackage(NamedTuple):
    """A model package of this project."""

    model: str
    language: str
    licence: str
    summary: str

    @property
    def name(self) -> str:
        """The name of the package."""
        return PREFIX + self.model


# one line for each folder in packages/, with the texts of its model card
MODEL_PACKAGES = (
    ModelPackage(
        "en-large",
        "English",
        "commercial use allowed",
        "English constituents and part-of-speech tags in the style of the Penn Treebank",
    ),
    ModelPackage(
        "zh",
        "Chinese",
        "non-commercial use only",
        "Chinese constituents and part-of-speech tags in the style of the Sinica Treebank: the paper's network",
    ),
)
