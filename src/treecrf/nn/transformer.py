"""A pretrained encoder as one vector per word: our own BERT, or any other of Hugging Face's."""

import json
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from treecrf.data.batch import Batch
from treecrf.nn.bert import Bert, BertConfig
from treecrf.nn.skip_init import SkipInit


class Transformer(nn.Module):
    """The mean over a word's pieces of the mixed last layers of an encoder, (b, n + 2, size).

    A frozen encoder stays as it came, without dropout, whatever mode the model is in. Vectors of words, `words` wide,
    may enter it, added to those of their pieces; at first they add nothing.
    """

    def __init__(self, encoder: nn.Module, *, layers: int, size: int = 0, words: int = 0, frozen: bool) -> None:
        super().__init__()
        self.encoder = encoder
        self.frozen = frozen
        self.mix = ScalarMix(layers)
        width = hidden_size(encoder)
        self.entry = nn.Linear(words, width, bias=False) if words else None
        if self.entry is not None:
            nn.init.zeros_(self.entry.weight)
        self.linear = nn.Linear(width, size, bias=False) if size else None
        self.size = size or width
        encoder.requires_grad_(not frozen)
        self.train(self.training)

    def train(self, mode: bool = True) -> "Transformer":
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def forward(self, batch: Batch, words: Tensor | None = None) -> Tensor:
        """`words` (b, n + 2, d) are the vectors that enter the encoder."""
        if batch.pieces is None or batch.piece_lengths is None:
            raise ValueError("the model reads word pieces and the batch has none; encode it with the model's tokenizer")
        added = None if self.entry is None or words is None else spread_over_pieces(self.entry(words), batch)
        vectors = self._pool(self._mixed(batch.pieces, batch.piece_lengths, added), batch)
        return vectors if self.linear is None else self.linear(vectors)

    def _mixed(self, pieces: Tensor, lengths: Tensor, added: Tensor | None) -> Tensor:
        """The mix of layers for pieces (w, p), (w, p, d)."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            hidden = hidden_states(self.encoder, pieces, lengths, added)
        return self.mix(hidden)  # type: ignore[no-any-return]

    def _pool(self, hidden: Tensor, batch: Batch) -> Tensor:
        """The mean over each word's pieces, of windows (w, p, d)."""
        assert batch.piece_rows is not None and batch.piece_words is not None and batch.piece_shares is not None
        positions = batch.words.numel() + 1  # the last one takes what belongs to no word
        hidden = hidden.to(torch.promote_types(hidden.dtype, torch.float32)).flatten(0, 1)
        pieces = hidden.index_select(0, batch.piece_rows) / batch.piece_shares[:, None]
        means = pieces.new_zeros(positions, pieces.shape[1]).index_add(0, batch.piece_words, pieces)
        return means[:-1].view(*batch.words.shape, -1)


class ScalarMix(nn.Module):
    """A weighted mean of an encoder's last layers, scaled; at first the plain mean."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    @property
    def shares(self) -> Tensor:
        """What each of the layers counts, (layers,): one in sum."""
        return self.weights.softmax(0)

    def forward(self, hidden: tuple[Tensor, ...]) -> Tensor:
        shares = self.shares
        last = hidden[-len(shares) :]
        total = shares[0] * last[0]
        for share, layer in zip(shares[1:], last[1:], strict=True):
            total = total + share * layer
        return self.scale * total


def spread_over_pieces(words: Tensor, batch: Batch) -> Tensor:
    """Vectors of words (b, n + 2, d) at each of their pieces, (w, p, d); zero at pieces that belong to no word."""
    assert batch.pieces is not None and batch.piece_rows is not None and batch.piece_words is not None
    entering = F.pad(words.flatten(0, 1), (0, 0, 0, 1)).index_select(0, batch.piece_words)
    spread = entering.new_zeros(batch.pieces.numel(), entering.shape[1])
    return spread.index_copy(0, batch.piece_rows, entering).view(*batch.pieces.shape, -1)


def hidden_states(
    encoder: nn.Module, pieces: Tensor, lengths: Tensor, added: Tensor | None = None
) -> tuple[Tensor, ...]:
    """What an encoder gives for pieces (w, p) of which the first `lengths` of each row count, after each layer.

    `added` (w, p, d) is added to the pieces' own vectors.
    """
    if isinstance(encoder, Bert):
        return encoder(pieces, lengths, added)  # type: ignore[no-any-return]
    mask = torch.arange(pieces.shape[1], device=pieces.device) < lengths[:, None]
    entering: dict[str, Tensor] = {"input_ids": pieces}
    if added is not None:
        entering = {"inputs_embeds": cast(Any, encoder).get_input_embeddings()(pieces) + added}
    output = encoder(**entering, attention_mask=mask.long(), output_hidden_states=True)
    return output.hidden_states  # type: ignore[no-any-return]


def load_encoder(name: str | Path) -> nn.Module:
    """The pretrained encoder of a folder, or of a name on the Hugging Face hub; ours, where it is a plain BERT."""
    transformers = import_transformers()
    try:
        encoder = transformers.AutoModel.from_pretrained(str(name), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no encoder could be loaded from '{name}': {error}; expected a folder with config.json and weights, "
            "or a name on huggingface.co that is cached or can be reached"
        ) from error
    return _ours(_bare(encoder))


def build_encoder(folder: str | Path) -> nn.Module:
    """The encoder that a folder's config.json describes, its weights yet to be loaded."""
    if own := _own_config(folder):
        with SkipInit():
            return Bert(own)
    transformers = import_transformers()
    config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    return _bare(transformers.AutoModel.from_config(config, trust_remote_code=False))


def save_encoder_config(encoder: nn.Module, folder: str | Path) -> None:
    """Write the config.json from which `build_encoder` builds the same encoder."""
    config: Any = encoder.config
    if isinstance(config, BertConfig):
        config.save(folder)
    else:
        config.save_pretrained(str(folder))


def hidden_size(encoder: nn.Module) -> int:
    """How many numbers an encoder gives for each piece."""
    return int(encoder.config.hidden_size)  # type: ignore[union-attr, arg-type]  # as all of theirs have


def _bare(encoder: Any) -> nn.Module:
    """The encoder without what only other tasks use, so that every parameter gets a gradient."""
    if encoder.config.is_encoder_decoder:
        encoder = encoder.get_encoder()
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder  # type: ignore[no-any-return]


def _ours(encoder: Any) -> nn.Module:
    """The same encoder as our own module, if it is a plain BERT."""
    config = BertConfig.of(encoder.config.to_dict()) if type(encoder).__name__ == "BertModel" else None
    if config is None:
        return encoder  # type: ignore[no-any-return]
    bert = Bert(config)
    bert.load_state_dict(encoder.state_dict())
    return bert


def _own_config(folder: str | Path) -> BertConfig | None:
    try:
        return BertConfig.of(json.loads(Path(folder, "config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None  # Hugging Face says what is wrong with it


def import_transformers() -> Any:
    """The package transformers, or an error that says how to get it."""
    try:
        import transformers
    except ImportError as error:
        raise ImportError(
            "a transformer encoder needs the package transformers: pip install 'treecrf[transformers]'"
        ) from error
    return transformers
