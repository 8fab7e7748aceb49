"""The shape of the network: settings that its weights fit, whether PyTorch or the CPU runtime computes with them.

`weight_shapes` has the names and shapes of the weights, so that a saved model is checked before anything is built.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from treecrf.network.data.batch import SPECIAL, Sizes
from treecrf.network.data.distances import FARTHEST
from treecrf.network.data.extensions import BUILT_IN, check_name
from treecrf.network.data.numericalize import CAPITAL_CLASSES

DropoutKind = Literal["shared", "vanilla"]
RecurrentDropout = Literal["batch", "sentence", "none"]
LEAKY_SLOPE = 0.1  # slope of the scorers' leaky ReLU


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The shape of the network; a size of 0 omits that part.

    Only the paper's ablations use the one-stage losses, the scorer minus, the boundary same-word and vanilla dropout.
    Installed packages may have further losses, scorers and encoders (`extensions`).
    """

    loss: str = "two-stage"  # or the probability of the tree, whatever its binarization: "tree"
    margin: float = 1.0  # cost of a wrong labeled span in the loss one-stage-margin
    scorer: str = "biaffine"
    encoder: str = "lstm"
    word_size: int = 100
    char_embedding_size: int = 50
    char_size: int = 100
    tag_size: int = 0  # embeddings of input tags
    lstm_size: int = 400
    lstm_layers: int = 3
    boundary: Literal["next-word", "same-word"] = "next-word"  # the word of the backward LSTM state at a boundary
    transformer: str = ""  # name or folder; the encoder itself, or an input feature of the LSTM
    transformer_tuned: bool = False  # as a feature: fine-tuned instead of frozen; the encoder is always fine-tuned
    add_word_inputs: bool = False  # as the encoder: add word and character vectors to its piece embeddings
    transformer_size: int = 100  # size of the feature; 0 keeps the size of the hidden states
    transformer_layers: int = 4  # number of last layers in the weighted mean
    span_size: int = 500
    label_size: int = 100
    dropout: float = 0.33
    dropout_kind: DropoutKind = "shared"
    recurrent_dropout: RecurrentDropout = "sentence"
    tag_head: bool = False  # predict part-of-speech tags as well
    tag_capitals: bool = False  # the tag head also reads whether words have capital letters
    tag_conditions: bool = False  # the layers of the encoder also read the tags that callers give, of some or all words
    schemes: tuple[str, ...] = ()  # names of the annotation schemes that the layers of the encoder can be told

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name, value in vars(self).items():
            choices = get_args(hints[name]) if get_origin(hints[name]) is Literal else ()
            if choices and value not in choices:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}")
            if hints[name] is int:
                _check_size(name, value, least=0 if name in _OPTIONAL else 1)
        for setting, built_in in BUILT_IN.items():
            if getattr(self, setting) not in built_in:
                check_name(setting, getattr(self, setting))
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; expected at least 0 and less than 1")
        if not self.margin >= 0:
            raise ValueError(f"margin is {self.margin}; expected 0 or more")
        if self.encoder == "transformer" and self.boundary != "next-word":
            raise ValueError(f"boundary is {self.boundary!r} and encoder is 'transformer'; the setting is for LSTMs")
        if self.tag_size and not self.reads_words:
            raise ValueError(
                f"tag_size is {self.tag_size} and encoder is 'transformer'; it reads tags only with add_word_inputs"
            )
        if self.char_size % 2:
            raise ValueError(f"char_size is {self.char_size}; expected an even number, half for each direction")
        if self.tag_capitals and not self.tag_head:
            raise ValueError("tag_capitals is true and tag_head is false; the setting is for models that predict tags")
        if self.has_conditions and self.encoder != "transformer":
            raise ValueError(f"encoder is {self.encoder!r}; tag_conditions and schemes need the encoder 'transformer'")
        if len(set(self.schemes)) != len(self.schemes) or not all(map(str.isidentifier, self.schemes)):
            raise ValueError(f"schemes is {list(self.schemes)!r:.100}; expected different names of letters and digits")
        if self.encoder == "transformer" and not self.transformer:
            raise ValueError("encoder is 'transformer' and transformer is empty; set it to a model's name or folder")

    @property
    def reads_words(self) -> bool:
        """Whether the network reads words and characters, not only subword pieces."""
        return self.encoder != "transformer" or self.add_word_inputs

    @property
    def has_conditions(self) -> bool:
        """Whether the network may be told tags or the scheme."""
        return self.tag_conditions or bool(self.schemes)

    @property
    def word_input_size(self) -> int:
        """The size of a word's features: its word, character and tag vectors."""
        return self.word_size + self.char_size + self.tag_size

    @property
    def one_stage(self) -> bool:
        """Whether labeled spans are scored directly, without bracketing first."""
        return self.loss in ("one-stage-crf", "one-stage-margin")

    @property
    def is_built_in(self) -> bool:
        """Whether no weights belong to a scorer or an encoder of another package."""
        return all(getattr(self, setting) in BUILT_IN[setting] for setting in ("scorer", "encoder"))

    @property
    def is_crf(self) -> bool:
        """Whether scores are log-potentials of a CRF."""
        return self.loss != "one-stage-margin"


_OPTIONAL = ("char_size", "tag_size", "transformer_size", "relative_attention_num_buckets")
_MAX_SIZE = 1 << 16  # far above any network, so that a wrong number is an error before memory is allocated
_MAX_LAYERS = 1000
_MAX_PIECES = 1 << 24


def _check_size(name: str, value: int, *, least: int) -> None:
    most = _MAX_LAYERS if "layers" in name else _MAX_PIECES if name == "vocab_size" else _MAX_SIZE
    if type(value) is not int or value < least:
        raise ValueError(f"{name} is {value!r:.50}; expected {least} or more")
    if value > most:
        raise ValueError(f"{name} is {value!r:.50}; expected at most {most:,}")


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """The shape of a BERT, with the field names of its config.json."""

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    relative_attention_num_buckets: int = 0  # MPNet's buckets of distances between pieces; 0: none

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if hint is int:
                _check_size(name, value, least=0 if name in _OPTIONAL else 1)
            elif hint is float and (type(value) not in (int, float) or not 0 <= value < 1):
                raise ValueError(f"{name} is {value!r:.50}; expected at least 0 and less than 1")
        if self.hidden_size % self.num_attention_heads:
            raise ValueError(
                f"hidden_size is {self.hidden_size}; expected a multiple of the {self.num_attention_heads} heads"
            )
        buckets = self.relative_attention_num_buckets
        if buckets and not 4 <= buckets < 4 * FARTHEST:
            raise ValueError(f"relative_attention_num_buckets is {buckets}; expected 0, or 4 to {4 * FARTHEST - 1}")
        padding = self.pad_token_id
        if padding is not None and (type(padding) is not int or not 0 <= padding < self.vocab_size):
            raise ValueError(f"pad_token_id is {padding!r:.50}; expected the id of one of {self.vocab_size:,} pieces")

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "BertConfig | None":
        """The config in the values of a config.json, or None if they do not describe a plain BERT."""
        is_plain = (
            values.get("model_type") == "bert"
            and values.get("hidden_act", "gelu") == "gelu"
            and values.get("position_embedding_type", "absolute") == "absolute"
            and not values.get("is_decoder")
            and not values.get("add_cross_attention")
        )
        names = {field.name for field in fields(BertConfig)}
        return BertConfig(**{name: value for name, value in values.items() if name in names}) if is_plain else None

    def save_pretrained(self, folder: str | Path) -> None:
        """Writes the config.json that `from_dict` and Hugging Face read."""
        values = {"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", **asdict(self)}
        Path(folder, "config.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


Shapes = dict[str, tuple[int, ...]]


def weight_shapes(config: ModelConfig, sizes: Sizes, encoder: BertConfig | None) -> Shapes:
    """The shape of each weight of a network; `encoder` is the shape of its BERT, if it has one."""
    if bool(config.transformer) != (encoder is not None):
        raise ValueError(f"transformer is {config.transformer!r} and encoder is {encoder}; expected both or neither")
    if encoder is not None and config.transformer_layers > encoder.num_hidden_layers + 1:
        raise ValueError(
            f"transformer_layers is {config.transformer_layers}; expected at most {encoder.num_hidden_layers + 1}, "
            "the layers of the encoder and its embeddings"
        )
    shapes: Shapes = {}
    hidden_size = 0 if encoder is None else encoder.hidden_size
    if encoder is not None:
        shapes |= _below("transformer", _transformer_shapes(config, encoder, sizes.tags))
    if config.reads_words:
        shapes |= _below("inputs", _input_shapes(config, sizes))
    width = 2 * hidden_size
    if config.encoder == "lstm":
        feature_size = (config.transformer_size or hidden_size) if config.transformer else 0
        input_size = config.word_input_size + feature_size
        for layer in range(config.lstm_layers):
            inputs = input_size if layer == 0 else 2 * config.lstm_size
            shapes |= _below(f"lstm.layers.{layer}", _lstm_shapes(inputs, config.lstm_size))
        width = 2 * config.lstm_size
    if not config.one_stage:
        shapes |= _below("span_scorer", _scorer_shapes(config, width, config.span_size, 1, bias_right=False))
    shapes |= _below("label_scorer", _scorer_shapes(config, width, config.label_size, sizes.labels, bias_right=True))
    if config.tag_head:
        shapes |= _affine_shapes("tagger", sizes.tags, width if config.encoder == "lstm" else hidden_size)
    if config.tag_capitals:
        shapes["capitals.weight"] = (CAPITAL_CLASSES, sizes.tags)
    return shapes


def _input_shapes(config: ModelConfig, sizes: Sizes) -> Shapes:
    shapes: Shapes = {"words.trained.weight": (sizes.words, config.word_size)}
    if sizes.vectors:
        shapes["words.pretrained.weight"] = (sizes.vectors, config.word_size)
    if config.char_size:
        shapes["chars.embedding.weight"] = (sizes.chars, config.char_embedding_size)
        shapes |= _below("chars.lstm", _lstm_shapes(config.char_embedding_size, config.char_size // 2))
    if config.tag_size:
        shapes["tags.weight"] = (len(SPECIAL) + sizes.tags, config.tag_size)
    return shapes


def _lstm_shapes(inputs: int, size: int) -> Shapes:
    biases: Shapes = {name: (2, 4 * size) for name in ("bias_input", "bias_hidden")}
    return {"weight_input": (2, 4 * size, inputs), "weight_hidden": (2, 4 * size, size), **biases}


def _scorer_shapes(config: ModelConfig, width: int, size: int, classes: int, *, bias_right: bool) -> Shapes:
    if config.scorer == "minus":
        return {"linear.weight": (size, width), "bias": (size,), **_affine_shapes("out", classes, size)}
    shapes = _affine_shapes("boundaries.linear", 2 * size, width)
    shapes |= {"weight": (classes, size, size), "weight_right": (classes, size)}
    return shapes | ({"weight_left": (classes, size), "bias": (classes,)} if bias_right else {})


def _transformer_shapes(config: ModelConfig, encoder: BertConfig, tags: int) -> Shapes:
    size = encoder.hidden_size
    shapes: Shapes = {"mix.weights": (config.transformer_layers,), "mix.scale": ()}
    if config.encoder == "transformer" and config.add_word_inputs:
        shapes["entry.weight"] = (size, config.word_input_size)
    layers = encoder.num_hidden_layers + 1
    if config.tag_conditions:
        shapes["conditions.tags"] = (layers, tags, size)
    if config.schemes:
        shapes["conditions.schemes"] = (layers, len(config.schemes), size)
    if config.encoder == "lstm" and config.transformer_size:
        shapes["linear.weight"] = (config.transformer_size, size)
    return shapes | _below("encoder", _bert_shapes(encoder))


def _bert_shapes(config: BertConfig) -> Shapes:
    size = config.hidden_size
    rows = {"word": config.vocab_size, "position": config.max_position_embeddings, "token_type": config.type_vocab_size}
    shapes: Shapes = {f"embeddings.{name}_embeddings.weight": (count, size) for name, count in rows.items()}
    shapes |= _affine_shapes("embeddings.LayerNorm", size)
    if buckets := config.relative_attention_num_buckets:
        shapes["encoder.relative_attention_bias.weight"] = (buckets, config.num_attention_heads)
    for number in range(config.num_hidden_layers):
        layer = f"encoder.layer.{number}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _affine_shapes(f"{layer}.attention.{name}", size, size)
        shapes |= _affine_shapes(f"{layer}.attention.output.LayerNorm", size)
        shapes |= _affine_shapes(f"{layer}.intermediate.dense", config.intermediate_size, size)
        shapes |= _affine_shapes(f"{layer}.output.dense", size, config.intermediate_size)
        shapes |= _affine_shapes(f"{layer}.output.LayerNorm", size)
    return shapes


def _affine_shapes(name: str, *shape: int) -> Shapes:
    """The shapes of a linear layer (outputs, inputs) or a layer normalization (size,)."""
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def _below(name: str, shapes: Shapes) -> Shapes:
    return {f"{name}.{key}": shape for key, shape in shapes.items()}
