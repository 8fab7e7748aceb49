"""Word vectors from a pretrained encoder: our own BERT, or any other encoder of Hugging Face."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.network.data.batch import SPECIAL
from treecrf.network.data.model_config import BertConfig, ModelConfig
from treecrf.network.data.subwords import import_transformers, load_pretrained
from treecrf.network.nn.batch import TensorBatch
from treecrf.network.nn.bert import Bert, SkipInit, from_mpnet


class Transformer(nn.Module):
    """The mean over the pieces of a word of a weighted sum of the encoder's last layers, (b, n + 2, size).

    A frozen encoder is not trained and has no dropout. With `add_word_inputs`, projected word vectors are added to the
    embeddings of their pieces. The projection is initialized with zeros.
    """

    def __init__(self, config: ModelConfig, encoder: nn.Module, *, tags: int = 0) -> None:
        super().__init__()
        self.encoder = encoder
        is_feature = config.encoder != "transformer"
        self.frozen = is_feature and not config.transformer_tuned
        self.mix = ScalarMix(config.transformer_layers)
        size = config.transformer_size if is_feature else 0
        width = int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]  # every config of Hugging Face has it
        has_entry = config.add_word_inputs and not is_feature
        self.entry = nn.Linear(config.word_input_size, width, bias=False) if has_entry else None
        if self.entry is not None:
            nn.init.zeros_(self.entry.weight)
        self.conditions = Conditions(config, encoder, tags) if config.has_conditions else None
        self.linear = nn.Linear(width, size, bias=False) if size else None
        self.size = size or width
        encoder.requires_grad_(not self.frozen)
        if isinstance(encoder, Bert):
            encoder.freeze_distances()
        self.train(self.training)

    def train(self, mode: bool = True) -> "Transformer":
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def forward(self, batch: TensorBatch, word_inputs: Tensor | None = None) -> Tensor:
        """Vectors of all words; `word_inputs` (b, n + 2, d) are added to the embeddings of their pieces."""
        pieces, lengths = batch.require("pieces", "segment_lengths")
        piece_inputs = None
        if self.entry is not None and word_inputs is not None:
            piece_inputs = spread_over_pieces(self.entry(word_inputs), batch)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            conditions = None if self.conditions is None else self.conditions(batch)
            if conditions is None:
                hidden = hidden_states(self.encoder, pieces, lengths, piece_inputs)
            else:
                hidden = self.encoder(pieces, lengths, piece_inputs, conditions)
        vectors = self._mean_over_pieces(self.mix(hidden), batch).to(self.mix.scale.dtype)
        return vectors if self.linear is None else self.linear(vectors)

    def _mean_over_pieces(self, hidden: Tensor, batch: TensorBatch) -> Tensor:
        """The mean over the pieces of each word, for segments (w, p, d)."""
        _, index, words, counts = batch.require("pieces", "piece_index", "piece_words", "piece_counts")
        positions = batch.words.numel() + 1  # the last one is for pieces that belong to no word
        hidden = hidden.to(torch.promote_types(hidden.dtype, torch.float32)).flatten(0, 1)
        pieces = hidden.index_select(0, index) / counts[:, None]
        means = pieces.new_zeros(positions, pieces.shape[1]).index_add(0, words, pieces)
        return means[:-1].view(*batch.words.shape, -1)


class Conditions(nn.Module):
    """Vectors of given tags and of the annotation scheme, for the embeddings and each layer of a BERT.

    They are zero at first, so that a network without training does not depend on conditions.
    """

    def __init__(self, config: ModelConfig, encoder: nn.Module, tags: int) -> None:
        super().__init__()
        if not isinstance(encoder, Bert):
            raise ValueError(
                f"tag_conditions and schemes need a plain BERT and the encoder is {type(encoder).__name__}"
            )
        layers, width = encoder.config.num_hidden_layers + 1, encoder.config.hidden_size
        self.tags = nn.Parameter(torch.zeros(layers, tags, width)) if config.tag_conditions else None
        schemes = len(config.schemes)
        self.schemes = nn.Parameter(torch.zeros(layers, schemes, width)) if schemes else None

    def forward(self, batch: TensorBatch) -> tuple[Tensor, ...] | None:
        """The vectors to add to the pieces (w, p, d) of each layer; None if the batch has no conditions."""
        tables: list[Tensor] = []  # (layers + 1, ids, d)
        ids: list[Tensor] = []  # (b, n + 2)
        if self.tags is not None and batch.tags is not None:
            tables.append(F.pad(self.tags, (0, 0, len(SPECIAL), 0)))  # special ids have no vector
            ids.append(batch.tags)
        if self.schemes is not None and batch.schemes is not None:
            tables.append(F.pad(self.schemes, (0, 0, 1, 0)))
            ids.append(batch.schemes[:, None].expand_as(batch.words))
        if not tables:
            return None
        # one vector for each pair of a tag and a scheme, and one place for all pieces without a word
        table, row = tables[0], ids[0]
        if len(tables) > 1:
            table, row = (
                (tables[0][:, :, None] + tables[1][:, None]).flatten(1, 2),
                ids[0] * tables[1].shape[1] + ids[1],
            )
        pieces, index, piece_words = batch.require("pieces", "piece_index", "piece_words")
        nothing = table.shape[1]
        rows = torch.full_like(pieces.flatten(), nothing, dtype=row.dtype)
        rows = rows.index_copy(0, index, F.pad(row.flatten(), (0, 1), value=nothing).index_select(0, piece_words))
        vectors: Tensor = F.pad(table, (0, 0, 0, 1)).index_select(1, rows)
        return vectors.unflatten(1, pieces.shape).unbind()  # type: ignore[no-any-return]


class ScalarMix(nn.Module):
    """A scaled weighted mean of the last layers of an encoder; initially the plain mean."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, hidden: tuple[Tensor, ...]) -> Tensor:
        weights = self.weights.softmax(0)
        layers = hidden[-len(weights) :]
        total = weights[0] * layers[0]
        for weight, layer in zip(weights[1:], layers[1:], strict=True):
            total = total + weight * layer
        return self.scale * total


def spread_over_pieces(words: Tensor, batch: TensorBatch) -> Tensor:
    """Copies word vectors (b, n + 2, d) to the pieces of each word, (w, p, d); zero at pieces without a word."""
    pieces, index, piece_words = batch.require("pieces", "piece_index", "piece_words")
    piece_vectors = F.pad(words.flatten(0, 1), (0, 0, 0, 1)).index_select(0, piece_words)
    zeros = piece_vectors.new_zeros(pieces.numel(), piece_vectors.shape[1])
    return zeros.index_copy(0, index, piece_vectors).view(*pieces.shape, -1)


def hidden_states(
    encoder: nn.Module, pieces: Tensor, lengths: Tensor, piece_inputs: Tensor | None = None
) -> tuple[Tensor, ...]:
    """The hidden states (w, p, d) of an encoder: of the embeddings, then of each layer.

    The first `lengths` (w,) of the pieces (w, p) count. `piece_inputs` (w, p, d) are added to their embeddings.
    """
    if isinstance(encoder, Bert):
        return encoder(pieces, lengths, piece_inputs)  # type: ignore[no-any-return]
    mask = torch.arange(pieces.shape[1], device=pieces.device) < lengths[:, None]
    inputs: dict[str, Tensor] = {"input_ids": pieces}
    if piece_inputs is not None:
        inputs = {"inputs_embeds": cast(Any, encoder).get_input_embeddings()(pieces) + piece_inputs}
    output = encoder(**inputs, attention_mask=mask.long(), output_hidden_states=True)
    return output.hidden_states  # type: ignore[no-any-return]


def load_encoder(name: str | Path) -> nn.Module:
    """Loads the pretrained encoder of a folder or of a name on the Hugging Face hub; a plain BERT becomes a `Bert`."""
    encoder = load_pretrained("AutoModel", name, "encoder")
    return _convert_bert(_drop_unused_parts(encoder.float()))  # transformers keeps the 16 bits of some files


def keep_layers(encoder: nn.Module, layers: Sequence[int]) -> nn.Module:
    """The encoder with only these of its layers, counted from 0: a smaller encoder to start training from."""
    if not isinstance(encoder, Bert):
        raise ValueError(f"train.encoder_layers needs a BERT and the encoder is a {type(encoder).__name__}")
    count = encoder.config.num_hidden_layers
    if list(layers) != sorted({layer for layer in layers if 0 <= layer < count}):
        raise ValueError(f"train.encoder_layers is {list(layers)}; expected ascending numbers from 0 to {count - 1}")
    smaller = Bert(replace(encoder.config, num_hidden_layers=len(layers)))
    smaller.embeddings = encoder.embeddings
    smaller.encoder = nn.ModuleDict(dict(encoder.encoder.items()))  # has the scores of distances, too
    smaller.encoder["layer"] = nn.ModuleList([encoder.layers[layer] for layer in layers])
    return smaller


def build_encoder(folder: str | Path) -> nn.Module:
    """Builds the encoder that the config.json of a folder describes, without loading weights."""
    if bert_config := _read_bert_config(folder):
        with SkipInit():
            return Bert(bert_config)
    transformers = import_transformers()
    try:
        config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        return _drop_unused_parts(transformers.AutoModel.from_config(config, trust_remote_code=False))
    except Exception as error:  # any class: the settings may have any values
        reason = " ".join(str(error).split())
        raise ValueError(f"transformers cannot build the encoder that config.json describes: {reason:.200}") from error


def save_encoder_config(encoder: nn.Module, folder: str | Path) -> None:
    """Writes the config.json from which `build_encoder` builds the same encoder."""
    cast(Any, encoder.config).save_pretrained(str(folder))


def _drop_unused_parts(encoder: Any) -> nn.Module:
    """The encoder without decoder and pooler, so that every parameter gets a gradient."""
    if encoder.config.is_encoder_decoder:
        encoder = encoder.get_encoder()
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder  # type: ignore[no-any-return]


def _convert_bert(encoder: Any) -> nn.Module:
    """The encoder as our own module if it is a plain BERT or an MPNet, else unchanged."""
    values, weights = encoder.config.to_dict(), encoder.state_dict()
    if type(encoder).__name__ == "MPNetModel":
        # pieces have the positions after the id of padding, and there are no token types
        first = encoder.config.pad_token_id + 1
        positions = values["max_position_embeddings"] - first
        values |= {"model_type": "bert", "type_vocab_size": 1, "max_position_embeddings": positions}
        weights = from_mpnet(weights, first)
    elif type(encoder).__name__ != "BertModel":
        return encoder  # type: ignore[no-any-return]
    config = BertConfig.from_dict(values)
    if config is None:
        return encoder  # type: ignore[no-any-return]
    bert = Bert(config)
    bert.load_state_dict(weights)
    return bert


def _read_bert_config(folder: str | Path) -> BertConfig | None:
    try:
        return BertConfig.from_dict(json.loads(Path(folder, "config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return None  # the fallback to transformers reports the problem
