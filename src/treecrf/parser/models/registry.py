"""The models of this project that are packages of their own."""

import re
from typing import NamedTuple

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
        "es",
        "Spanish",
        "research use; commercial use unclear",
        "Spanish constituents and part-of-speech tags in the style of CESS-ESP, the precursor of AnCora",
    ),
    ModelPackage(
        "id",
        "Indonesian",
        "commercial use allowed, share alike",
        "Indonesian constituents and part-of-speech tags in the style of ICON",
    ),
    ModelPackage(
        "is",
        "Icelandic",
        "commercial use allowed",
        "Icelandic constituents and part-of-speech tags, in the style of GreynirCorpus for modern text and of IcePaHC "
        "for historical text",
    ),
    ModelPackage(
        "pt",
        "Portuguese",
        "non-commercial use only",
        "Portuguese constituents and part-of-speech tags in the style of Floresta Sintá(c)tica",
    ),
    ModelPackage(
        "zh",
        "Chinese",
        "non-commercial use only",
        "Chinese constituents and part-of-speech tags in the style of the Sinica Treebank: the paper's network with"
        " word vectors",
    ),
)
