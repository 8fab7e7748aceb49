"""The rows of the tables: what each changes in the paper's settings. Nothing else holds these settings.

A row is trained by settings on top of the treebank's own; one without MBR, or one that stands in two tables, takes the
runs of another row.
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
    """One line of a table."""

    name: str
    title: str
    settings: tuple[str, ...] = ()  # {vectors}, {unknown} and {encoder} are what the caller names
    trained_as: str = ""  # the row whose runs it takes, if not its own
    mbr: bool = True
    needs: Literal["", "vectors", "encoder"] = ""
    share: float = 1.0  # of the training trees

    @property
    def runs_of(self) -> str:
        """The name of the row that is trained."""
        return self.trained_as or self.name


DEV = (
    Row(name="one-stage-margin", title="one-stage, max-margin", settings=("model.loss=one-stage-margin",)),
    Row(name="one-stage-crf", title="one-stage, CRF", settings=("model.loss=one-stage-crf",)),
    Row(name=MAIN, title="two-stage, CRF"),
    Row(name="no-mbr", title="without MBR", trained_as=MAIN, mbr=False),
    Row(name="minus", title="minus features", settings=("model.scorer=minus",)),
    Row(name="vanilla-dropout", title="vanilla dropout", settings=("model.dropout_kind=vanilla",)),
)
TEST = (
    Row(name="random", title="random word vectors", trained_as=MAIN),
    Row(
        name="vectors",
        title="pretrained word vectors",
        settings=("data.vectors={vectors}", "data.unknown_vector={unknown}"),
        needs="vectors",
    ),
    Row(
        name="frozen",
        title="frozen encoder",
        settings=("model.transformer={encoder}", "model.char_size=0"),
        needs="encoder",
    ),
    Row(
        name="fine-tuned",
        title="fine-tuned encoder",
        settings=("model.transformer={encoder}", "model.encoder=transformer", *FINE_TUNING),
        needs="encoder",
    ),
)
VARIANTS = (
    Row(name="as-in-the-paper", title="as in the paper", trained_as=MAIN),
    Row(name="right", title="binarized to the right", settings=("data.binarization=right",)),
    Row(name="batch-masks", title="dropout masks shared by a batch", settings=("model.recurrent_dropout=batch",)),
    Row(name="bf16", title="trained in bf16", settings=("train.precision=bf16",)),
)
SHARES = (0.1, 0.25, 0.5, 0.75)
LEARNING = (
    *(Row(name=f"share-{round(100 * share)}", title=f"{share:.0%} of the trees", share=share) for share in SHARES),
    Row(name="share-100", title="100% of the trees", trained_as=MAIN),
)
SPEED = (MAIN, "one-stage-crf")  # the rows whose parsers are timed, with MBR and without

BY_NAME = {row.name: row for row in (*DEV, *TEST, *VARIANTS, *LEARNING)}
TABLES = ("dev", "test", "speed", "calibration", "analysis")


def rows_of(table: str) -> tuple[Row, ...]:
    """The rows that a table needs runs of."""
    if table == "speed":
        return tuple(BY_NAME[name] for name in SPEED)
    return {"dev": DEV, "test": TEST, "calibration": (BY_NAME[MAIN],), "analysis": VARIANTS + LEARNING}[table]
