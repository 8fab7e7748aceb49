"""The rows of the paper's tables and of our own: the settings in which each differs from the paper's main model.

A row is trained with its settings on top of the treebank's. A row that differs only in decoding, or that is in
two tables, shares the runs of another row.
"""

from dataclasses import dataclass
from typing import Literal

MAIN = "two-stage"
FINE_TUNING = (
    "train.epochs=30",
    "train.learning_rate=1.2e-4",
    "train.head_multiplier=8.0",
    "train.betas=0.9,0.999",
    "train.epsilon=1e-8",
    "train.weight_decay=0.01",
    "train.schedule=linear",
    "train.warmup=0.1",
    "train.clip=1.0",
    "train.precision=bf16",
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table."""

    name: str
    title: str
    settings: tuple[str, ...] = ()  # may contain {vectors}, {unknown} and {encoder}, which the plan fills in
    shares_runs_with: str = ""  # the row whose runs are used, if this row is not trained
    mbr: bool = True
    needs: Literal["", "vectors", "encoder"] = ""
    train_share: float = 1.0  # share of the training trees

    @property
    def trained_name(self) -> str:
        """The name of the row whose runs are used."""
        return self.shares_runs_with or self.name


_MARGIN_LOSS, _GOLD_TAG_SETTING = "model.loss=one-stage-margin", "model.tag_size=100"
_VECTORS = ("data.vectors={vectors}", "data.unknown_vector={unknown}")
_ENCODER = "model.transformer={encoder}"
_MAIN = Row(name=MAIN, title="two-stage, CRF")
_MARGIN = Row(name="one-stage-margin", title="one-stage, max-margin", settings=(_MARGIN_LOSS,))
_GOLD_TAGS = Row(name="gold-tags", title="gold tags as input", settings=(_GOLD_TAG_SETTING,))
# one-stage, minus, vanilla, boundary and margin are settings for these ablations only
DEV = (
    _MARGIN,
    Row(name="one-stage-crf", title="one-stage, CRF", settings=("model.loss=one-stage-crf",)),
    _MAIN,
    Row(name="no-mbr", title="without MBR", shares_runs_with=MAIN, mbr=False),
    Row(name="minus", title="minus features", settings=("model.scorer=minus",)),
    Row(name="vanilla-dropout", title="vanilla dropout", settings=("model.dropout_kind=vanilla",)),
)
_MINUS_VANILLA = ("model.scorer=minus", "model.dropout_kind=vanilla")
REMARKS = (  # remarks of the paper outside its tables
    _MAIN,
    Row(name="same-word", title="boundary f_i + b_i", settings=("model.boundary=same-word",)),
    _GOLD_TAGS,
    Row(name="minus-vanilla-dropout", title="minus features, vanilla dropout", settings=_MINUS_VANILLA),
    _MARGIN,
    Row(name="margin-0.5", title="margin of 0.5", settings=(_MARGIN_LOSS, "model.margin=0.5")),
    Row(name="margin-2", title="margin of 2", settings=(_MARGIN_LOSS, "model.margin=2.0")),
)
_VECTORS_TAGS = (*_VECTORS, _GOLD_TAG_SETTING)
_FINE_TUNED = (_ENCODER, "model.encoder=transformer", *FINE_TUNING)
TEST = (
    Row(name="random", title="random word vectors", shares_runs_with=MAIN),
    _GOLD_TAGS,
    Row(name="vectors", title="pretrained word vectors", settings=_VECTORS, needs="vectors"),
    Row(
        name="vectors-gold-tags",
        title="pretrained word vectors, gold tags as input",
        settings=_VECTORS_TAGS,
        needs="vectors",
    ),
    Row(name="frozen", title="frozen encoder", settings=(_ENCODER, "model.char_size=0"), needs="encoder"),
    Row(name="fine-tuned", title="fine-tuned encoder", settings=_FINE_TUNED, needs="encoder"),
)
VARIANTS = (
    Row(name="as-in-the-paper", title="as in the paper", shares_runs_with=MAIN),
    Row(name="right", title="right binarization", settings=("data.binarization=right",)),
    Row(name="batch-masks", title="dropout masks shared by a batch", settings=("model.recurrent_dropout=batch",)),
    Row(name="bf16", title="trained in bf16", settings=("train.precision=bf16",)),
)
LEARNING_CURVE = (
    *(
        Row(name=f"share-{share}", title=f"{share}% of the trees", train_share=share / 100)
        for share in (10, 25, 50, 75)
    ),
    Row(name="share-100", title="100% of the trees", shares_runs_with=MAIN),
)
SPEED = (MAIN, "one-stage-crf")  # rows whose parsers are timed

BY_NAME = {row.name: row for row in (*DEV, *REMARKS, *TEST, *VARIANTS, *LEARNING_CURVE)}
_ROWS = {
    "dev": DEV,
    "remarks": REMARKS,
    "test": TEST,
    "speed": tuple(BY_NAME[name] for name in SPEED),
    "calibration": (_MAIN,),
    "analysis": VARIANTS + LEARNING_CURVE,
}
TABLES = tuple(_ROWS)
DEFAULT_TABLES = ("dev", "remarks", "test")


def rows_of(table: str) -> tuple[Row, ...]:
    """Returns the rows whose runs a table needs."""
    return _ROWS[table]
