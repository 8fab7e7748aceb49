"""The text of a toy model's card."""

from treecrf.parser.models.model_card import Purpose, TreebankInfo

TREEBANK = TreebankInfo(name="toy", title="Toys", source="here", license="CC0", commercial="yes")
PURPOSE = Purpose(
    summary="A toy.",
    language="English",
    license="free",
    license_reason="it is a toy",
    uses="Play.",
    limits=("Small.",),
    tests=("toy",),
)
