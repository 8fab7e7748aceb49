"""The settings of a training run: data, model and training schedule."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from treecrf.network.data.model_config import ModelConfig
from treecrf.text.normalization import Normalization


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The treebanks and word vectors; several files are read as one treebank."""

    train: tuple[str, ...] = ()
    dev: tuple[str, ...]
    test: tuple[str, ...] = ()
    # how the trained parser tokenizes raw text
    language: Literal["ca", "en", "es", "fo", "id", "is", "ja", "pt", "zh"] = "en"
    # normalization of words before the model reads them: "plain" for text from several sources, "multiword" also for
    # tokens with underscores, "simplified" for Chinese
    normalization: Normalization = "as-is"
    # trees by a parser, for sentences without gold trees: training with teachers needs some trees for them; productions
    # are counted in gold trees alone
    parsed: tuple[str, ...] = ()
    # sentences with some brackets, which are all that is known of their trees; the module `partial` has the notations
    partial: tuple[str, ...] = ()
    # share of a tree's constituents that have brackets in `partial`, if they were chosen at random; 0: it is unknown
    partial_share: float = 0.0
    # how often an epoch has each sentence, by file of `train`, `parsed` and `partial` (default: once); with weight 0, a
    # file only adds its words to the vocabulary
    weights: tuple[float, ...] = ()
    # the annotation scheme of each file, for networks that can be told schemes; empty: none
    schemes: tuple[str, ...] = ()
    scheme: str = ""  # the scheme of the trained parser's trees unless a caller chooses another; empty: none
    taught: tuple[bool, ...] = ()  # whether teachers are asked about the sentences of each file (default: yes)
    told: float = 0.0  # the share of training sentences whose scheme or tags the network is told
    lowercase: float = 0.0  # the share of training sentences that are converted to lower case
    binarization: Literal["left", "right"] = "left"  # for training trees
    retag: tuple[str, ...] = ()  # word/TAG: replaces the tag of a word in training, for treebanks that disagree
    rules: str = "collins"  # EVALB rules for dev and test: a built-in name or a parameter file
    vectors: str = ""  # a file of pretrained word vectors, in the format of GloVe or word2vec
    unknown_vector: str = ""  # the word in that file whose vector is used for unknown words

    def __post_init__(self) -> None:
        if not (self.train or self.partial):
            raise ValueError("data.train names no file, and neither does data.partial; expected at least one")
        names = ["train", *(name for name in ("parsed", "partial") if getattr(self, name))]
        files = sum(len(getattr(self, name)) for name in names)
        for setting in ("weights", "schemes", "taught"):
            if (count := len(getattr(self, setting))) not in (0, files):
                raise ValueError(f"{count} {setting} for {files} files of {' and '.join(names)}; expected one for each")
        if self.weights and not (all(0 <= weight < math.inf for weight in self.weights) and any(self.weights)):
            raise ValueError(f"weights are {list(self.weights)}; expected numbers from 0, and at least one above 0")
        for name, items in (("lowercase", "sentences"), ("told", "sentences"), ("partial_share", "brackets")):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a share of the {items}, from 0 to 1")
        for pair in self.retag:
            if not all(pair.rpartition("/")[::2]):
                raise ValueError(f"retag has {pair!r}; expected a word, a slash and its tag, as in 'to/TO'")


_LIMITS: tuple[tuple[str, Callable[[float], bool], str], ...] = (
    ("epochs patience batch_words batch_cells accumulate decay_steps log_steps", lambda x: x >= 1, "1 or more"),
    ("learning_rate head_multiplier clip decay epsilon", lambda x: x > 0, "more than 0"),
    ("seed weight_decay checkpoint_steps checkpoint_seconds rounded_epochs", lambda x: x >= 0, "0 or more"),
    ("warmup", lambda x: 0 <= x < 1, "a share of the run, at least 0 and less than 1"),
    ("ema_decay", lambda x: 0 <= x < 1, "at least 0 and less than 1"),
    ("distillation_weight", lambda x: 0 <= x <= 1, "a share of the loss, from 0 to 1"),
)


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """The training schedule. The defaults are the paper's, with the departures that docs/reproduce.md lists.

    Fine-tuning has a warm-up, linear decay, and a higher learning rate for new weights.
    """

    seed: int = 1
    epochs: int = 1000
    patience: int = 100  # epochs without a better dev F before training ends
    batch_words: int = 5000  # per batch, summed over all processes
    batch_cells: int = 1_000_000  # cells of padded charts per batch; limits the memory that one long sentence needs
    accumulate: int = 1  # gradient accumulation: parts of a batch that are computed one after another

    learning_rate: float = 2e-3
    head_multiplier: float = 1.0  # factor of the learning rate, for all weights except a fine-tuned encoder's
    betas: tuple[float, float] = (0.9, 0.9)
    epsilon: float = 1e-12
    weight_decay: float = 0.0  # for matrices; with 0, AdamW is Adam
    clip: float = 5.0  # maximal norm of the gradient
    schedule: Literal["exponential", "linear"] = "exponential"
    decay: float = 0.75  # exponential: factor of the learning rate per `decay_steps`
    decay_steps: int = 5000
    warmup: float = 0.0  # the share of the run in which the learning rate rises to its peak
    ema_decay: float = 0.0  # 0 disables the moving average of weights
    encoder_layers: tuple[int, ...] = ()  # layers of the pretrained encoder to start from, counted from 0; (): all
    teachers: tuple[str, ...] = ()  # folders of parsers whose probabilities are soft targets beside the gold trees
    soft_targets: str = ""  # file with the probabilities of the teachers, which are then not read
    distillation_weight: float = 0.5  # weight of the soft targets: 0 uses only the gold trees, 1 only the teachers
    precision: Literal["fp32", "tf32", "bf16"] = "tf32"
    rounded_epochs: int = 0  # last epochs, by `epochs`, whose products are rounded as the precision int8 does
    cuda_graphs: bool | None = None  # on a GPU; default: only for models without a transformer

    mbr: bool = True  # MBR decoding of dev and test
    log_steps: int = 50  # steps between two records of the loss
    checkpoint_steps: int = 0  # steps between two checkpoints; 0: by time only
    checkpoint_seconds: float = 300.0

    def __post_init__(self) -> None:
        for names, is_allowed, expected in _LIMITS:
            for name in names.split():
                if not is_allowed(getattr(self, name)):
                    raise ValueError(f"{name} is {getattr(self, name)}; expected {expected}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas are {self.betas}; expected two numbers of at least 0 and less than 1")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of one training run."""

    data: DataConfig
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        if self.train.teachers and self.model.loss in ("one-stage-margin", "tree"):
            raise ValueError(
                f"train.teachers is set and model.loss is {self.model.loss!r}; expected 'two-stage' or 'one-stage-crf'"
            )
        if self.data.partial and (self.train.teachers or self.model.tag_size or not self.model.is_crf):
            raise ValueError(
                "data.partial is set; expected a CRF loss (model.loss), no input tags (model.tag_size=0) and no "
                "train.teachers"
            )
