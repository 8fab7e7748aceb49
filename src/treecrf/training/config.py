"""What a training run is told: its data, its model, its schedule."""

import math
from dataclasses import dataclass, field
from typing import Literal

from treecrf.nn.model import ModelConfig
from treecrf.text.normalization import Normalization

Precision = Literal["fp32", "tf32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Where trees and vectors are; several files are read as one."""

    train: tuple[str, ...]
    dev: tuple[str, ...]
    test: tuple[str, ...] = ()
    language: Literal["en", "zh"] = "en"  # in which the trained parser cuts raw text into words
    normalization: Normalization = (
        "as-is"  # in which it reads words: "plain" for text from several sources, "simplified" for Chinese
    )
    # how often an epoch reads each sentence, by file of `train`: once if not given; a file of weight 0 lends its words
    weights: tuple[float, ...] = ()
    lowercase: float = 0.0  # the share of training sentences that are read in lower case
    binarization: Literal["left", "right"] = "left"  # of training trees; what parses needs not know
    retag: tuple[str, ...] = ()  # word/TAG: the tag of a word in training, where treebanks disagree about it
    rules: str = "collins"  # how dev and test are scored: built-in rules or a parameter file
    vectors: str = ""  # pretrained word vectors, as GloVe and word2vec write them
    unknown_vector: str = ""  # the word in that file whose vector stands for all unknown ones

    def __post_init__(self) -> None:
        if self.weights and len(self.weights) != len(self.train):
            raise ValueError(f"{len(self.weights)} weights for {len(self.train)} files of train; expected one for each")
        if self.weights and not (all(0 <= weight < math.inf for weight in self.weights) and any(self.weights)):
            raise ValueError(f"weights are {list(self.weights)}; expected numbers from 0, and one above it")
        if not 0 <= self.lowercase <= 1:
            raise ValueError(f"lowercase is {self.lowercase}; expected a share of the sentences, from 0 to 1")
        for pair in self.retag:
            if not all(pair.rpartition("/")[::2]):
                raise ValueError(f"retag has {pair!r}; expected a word, a slash and its tag, as in 'to/TO'")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The paper's schedule; for fine-tuning: warm-up, linear decay, another rate for what starts from nothing."""

    seed: int = 1
    epochs: int = 1000
    patience: int = 100  # epochs without a better dev F after which training ends
    batch_words: int = 5000  # of all processes together
    batch_cells: int = 1_000_000  # of its padded charts: what keeps one long sentence from filling the memory
    accumulate: int = 1  # parts that a batch is computed in, one after another

    learning_rate: float = 2e-3
    head_multiplier: float = 1.0  # of the learning rate, for all weights but a fine-tuned encoder's
    betas: tuple[float, float] = (0.9, 0.9)
    epsilon: float = 1e-12
    weight_decay: float = 0.0  # of matrices; 0 is Adam, more is AdamW
    clip: float = 5.0  # the longest that the gradient may be
    schedule: Literal["exponential", "linear"] = "exponential"
    decay: float = 0.75  # exponential: times this in every `decay_steps`
    decay_steps: int = 5000
    warmup: float = 0.0  # the share of the run in which the rate rises to its peak
    ema_decay: float = 0.0  # 0 disables the moving average of weights
    teachers: tuple[str, ...] = ()  # folders of parsers whose probabilities are learned beside the gold trees
    distillation_weight: float = 0.5  # how much the teachers count there: from 0, not at all, to 1, alone
    precision: Precision = "tf32"
    cuda_graphs: bool | None = None  # on a GPU, record steps and play them again: unless told, without a transformer

    mbr: bool = True  # how dev and test are parsed
    log_steps: int = 50  # steps between two looks at the loss
    checkpoint_steps: int = 0  # steps between two checkpoints; 0: by time alone
    checkpoint_seconds: float = 300.0

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "batch_words", "batch_cells", "accumulate", "decay_steps", "log_steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 1 or more")
        for name in ("learning_rate", "head_multiplier", "clip", "decay", "epsilon"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected more than 0")
        for name in ("seed", "weight_decay", "checkpoint_steps", "checkpoint_seconds"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 or more")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas are {self.betas}; expected two numbers from 0 to under 1")
        if not 0 <= self.warmup < 1:
            raise ValueError(f"warmup is {self.warmup}; expected a share of the run, from 0 to under 1")
        if not 0 <= self.ema_decay < 1:
            raise ValueError(f"ema_decay is {self.ema_decay}; expected at least 0 and less than 1")
        if not 0 <= self.distillation_weight <= 1:
            raise ValueError(
                f"distillation_weight is {self.distillation_weight}; expected a share of the loss, from 0 to 1"
            )


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All settings of one training run."""

    data: DataConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        if self.train.teachers and self.model.loss == "one-stage-margin":
            raise ValueError("train.teachers are given and model.loss is 'one-stage-margin'; expected a CRF's loss")
