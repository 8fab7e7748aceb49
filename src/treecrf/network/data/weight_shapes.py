"""The names and shapes of a model's weights, so that a saved model can be checked before anything is built from it."""

from treecrf.network.data.batch import SPECIAL, Sizes
from treecrf.network.data.capitals import CAPITAL_CLASSES
from treecrf.network.data.model_config import BertConfig, ModelConfig

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
        shapes |= _below("transformer", _transformer_shapes(config, encoder))
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
        shapes |= _below("tagger", _linear_shapes(width if config.encoder == "lstm" else hidden_size, sizes.tags))
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
        return {"linear.weight": (size, width), "bias": (size,), **_below("out", _linear_shapes(size, classes))}
    shapes = _below("boundaries.linear", _linear_shapes(width, 2 * size))
    shapes |= {"weight": (classes, size, size), "weight_right": (classes, size)}
    return shapes | ({"weight_left": (classes, size), "bias": (classes,)} if bias_right else {})


def _transformer_shapes(config: ModelConfig, encoder: BertConfig) -> Shapes:
    size = encoder.hidden_size
    shapes: Shapes = {"mix.weights": (config.transformer_layers,), "mix.scale": ()}
    if config.encoder == "transformer" and config.add_word_inputs:
        shapes["entry.weight"] = (size, config.word_input_size)
    if config.encoder == "lstm" and config.transformer_size:
        shapes["linear.weight"] = (config.transformer_size, size)
    return shapes | _below("encoder", _bert_shapes(encoder))


def _bert_shapes(config: BertConfig) -> Shapes:
    size = config.hidden_size
    rows = {"word": config.vocab_size, "position": config.max_position_embeddings, "token_type": config.type_vocab_size}
    shapes: Shapes = {f"embeddings.{name}_embeddings.weight": (count, size) for name, count in rows.items()}
    shapes |= _below("embeddings.LayerNorm", _norm_shapes(size))
    layer: Shapes = {}
    for name in ("query", "key", "value"):
        layer |= _below(f"attention.self.{name}", _linear_shapes(size, size))
    layer |= _below("attention.output.dense", _linear_shapes(size, size))
    layer |= _below("attention.output.LayerNorm", _norm_shapes(size))
    layer |= _below("intermediate.dense", _linear_shapes(size, config.intermediate_size))
    layer |= _below("output.dense", _linear_shapes(config.intermediate_size, size))
    layer |= _below("output.LayerNorm", _norm_shapes(size))
    for number in range(config.num_hidden_layers):
        shapes |= _below(f"encoder.layer.{number}", layer)
    return shapes


def _linear_shapes(inputs: int, outputs: int) -> Shapes:
    return {"weight": (outputs, inputs), "bias": (outputs,)}


def _norm_shapes(size: int) -> Shapes:
    return {"weight": (size,), "bias": (size,)}


def _below(name: str, shapes: Shapes) -> Shapes:
    return {f"{name}.{key}": shape for key, shape in shapes.items()}
