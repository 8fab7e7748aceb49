"""The folder of a parser: its config, vocabulary, weights, and what its transformer needs."""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors

from treecrf import models
from treecrf.checkpoint import DamagedFileError, load_folder, pack, save_folder
from treecrf.config import read_config, to_toml
from treecrf.encode.pieces import WordPieces
from treecrf.encode.vocabulary import Vocabulary
from treecrf.forms import Forms
from treecrf.nn import ModelConfig, SpanModel
from treecrf.nn.blank import Blank
from treecrf.nn.transformer import build_encoder, save_encoder_config
from treecrf.weights import restore, shrink

CONFIG, VOCABULARY, WEIGHTS = "config.toml", "vocabulary.json", "model.safetensors"


@dataclass(frozen=True, kw_only=True)
class ParserConfig:
    """What a saved parser is, besides its vocabulary and weights."""

    root: str = "TOP"
    language: str = "en"  # of raw text
    forms: Forms = "as-is"  # in which the network reads words
    certainty: tuple[float, float, float] = (1.0, 1.0, 0.0)  # of the curve that probabilities are told by
    price: float = 0.0  # of a constituent, where MBR looks for those that are worth the most; 0: the paper's MBR
    model: ModelConfig = field(default_factory=ModelConfig)


class Parts(NamedTuple):
    """What a parser is made of."""

    config: ParserConfig
    vocabulary: Vocabulary
    model: SpanModel
    pieces: WordPieces | None


def load_parts(source: str | Path) -> Parts:
    """The parts of a parser in a folder, or of one that came with the package, by its name."""
    folder = find_folder(source)
    files = load_folder(folder)
    for name in (CONFIG, VOCABULARY, WEIGHTS):
        if name not in files:
            raise DamagedFileError(f"{folder} holds no parser: there is no {name} in its manifest")
    config = read_config(ParserConfig, folder / CONFIG)
    vocabulary = _read_vocabulary(folder / VOCABULARY, files[VOCABULARY])
    encoder = build_encoder(folder) if config.model.transformer else None
    with Blank():
        model = SpanModel(config.model, vocabulary.sizes, encoder=encoder)
    _load_weights(model, files[WEIGHTS], folder / WEIGHTS)
    return Parts(config, vocabulary, model, WordPieces.load(folder) if config.model.transformer else None)


def save_parts(folder: str | Path, parts: Parts, *, small: bool = False) -> None:
    """Write what `load_parts` reads; `small` in a quarter of the size, large matrices in bytes."""
    weights = parts.model.state_dict()
    files = {
        CONFIG: to_toml(parts.config).encode(),
        VOCABULARY: json.dumps(parts.vocabulary.to_dict(), ensure_ascii=False).encode(),
        WEIGHTS: pack(shrink(weights) if small else weights),
    }
    save_folder(Path(folder), _encoder_files(parts) | files)


def _encoder_files(parts: Parts) -> dict[str, bytes]:
    if parts.model.transformer is None or parts.pieces is None:
        return {}
    with tempfile.TemporaryDirectory() as scratch:
        parts.pieces.save(scratch)
        save_encoder_config(parts.model.transformer.encoder, scratch)
        return {path.name: path.read_bytes() for path in sorted(Path(scratch).iterdir())}


def find_folder(source: str | Path) -> Path:
    """The folder of a parser, or of one that came with the package, by its name."""
    folder = Path(source)
    if folder.is_dir():
        return folder
    known = models.names()
    if str(source) in known:
        return models.FOLDER / source
    raise FileNotFoundError(
        f"there is no model '{source}': no folder has that name"
        + (f", and the models that came with treecrf are {', '.join(known)}" if known else "")
    )


def _read_vocabulary(path: Path, data: bytes) -> Vocabulary:
    try:
        return Vocabulary.from_dict(json.loads(data))
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} is no vocabulary: {error}") from None


def _load_weights(model: SpanModel, data: bytes, path: Path) -> None:
    try:
        tensors = restore(load_tensors(data))
    except SafetensorError as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error}") from None
    expected = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: list(tensor.shape) for name, tensor in tensors.items()}
    wrong = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    if wrong:
        raise DamagedFileError(
            f"{path} does not hold the weights of this model: '{wrong[0]}' has shape {found.get(wrong[0], 'none')}, "
            f"expected {expected.get(wrong[0], 'none')}; {len(wrong)} of {len(expected)} differ"
        )
    model.load_state_dict(tensors, strict=True, assign=True)
