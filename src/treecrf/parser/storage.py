"""Saved parsers: a folder with the config, vocabulary, weights and the transformer's tokenizer."""

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors

from treecrf import models
from treecrf.atomic_io import DamagedFileError, load_folder, save_folder
from treecrf.config import read_config, to_toml
from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.nn import ModelConfig, SpanModel
from treecrf.nn.skip_init import SkipInit
from treecrf.nn.transformer import build_encoder, save_encoder_config
from treecrf.parser.tensor_io import to_safetensors
from treecrf.runtime.weights import dequantize_state_dict, quantize_state_dict
from treecrf.text.normalization import Normalization

CONFIG, VOCABULARY, WEIGHTS = "config.toml", "vocabulary.json", "model.safetensors"


@dataclass(frozen=True, kw_only=True)
class ParserConfig:
    """The settings of a saved parser."""

    root: str = "TOP"
    language: str = "en"  # of raw text
    normalization: Normalization = "as-is"  # of words, before the network reads them
    calibration: tuple[float, float, float] = (1.0, 1.0, 0.0)  # a, b and c of BetaCalibration
    f1_threshold: float = 0.0  # of expected-F1 decoding; 0: the paper's MBR
    model: ModelConfig = field(default_factory=ModelConfig)


class ParserState(NamedTuple):
    """The components of a parser."""

    config: ParserConfig
    vocabulary: Vocabulary
    model: SpanModel
    subwords: SubwordTokenizer | None


def load_parser_state(source: str | Path) -> ParserState:
    """Loads the components of a parser from a folder, or of an embedded model by its name."""
    folder = find_folder(source)
    files = load_folder(folder)
    for name in (CONFIG, VOCABULARY, WEIGHTS):
        if name not in files:
            raise DamagedFileError(f"{folder} is not a parser: its manifest has no {name}")
    config = read_config(ParserConfig, folder / CONFIG)
    vocabulary = _read_vocabulary(folder / VOCABULARY, files[VOCABULARY])
    encoder = build_encoder(folder) if config.model.transformer else None
    with SkipInit():
        model = SpanModel(config.model, vocabulary.sizes, encoder=encoder)
    _load_weights(model, files[WEIGHTS], folder / WEIGHTS)
    return ParserState(config, vocabulary, model, SubwordTokenizer.load(folder) if config.model.transformer else None)


def save_parser_state(folder: str | Path, state: ParserState, *, small: bool = False) -> None:
    """Writes what `load_parser_state` reads; `small` stores large matrices in 8 bits, a quarter of the size."""
    weights = state.model.state_dict()
    files = {
        CONFIG: to_toml(state.config).encode(),
        VOCABULARY: json.dumps(state.vocabulary.to_dict(), ensure_ascii=False).encode(),
        WEIGHTS: to_safetensors(quantize_state_dict(weights) if small else weights),
    }
    save_folder(Path(folder), _encoder_files(state) | files)


def _encoder_files(state: ParserState) -> dict[str, bytes]:
    if state.model.transformer is None or state.subwords is None:
        return {}
    with tempfile.TemporaryDirectory() as temporary:
        state.subwords.save(temporary)
        save_encoder_config(state.model.transformer.encoder, temporary)
        return {path.name: path.read_bytes() for path in sorted(Path(temporary).iterdir())}


def find_folder(source: str | Path) -> Path:
    """The folder of a parser, or of an embedded model by its name."""
    folder = Path(source)
    if folder.is_dir():
        return folder
    known = models.names()
    if str(source) in known:
        return models.FOLDER / source
    raise FileNotFoundError(
        f"there is no model '{source}': no folder has that name"
        + (f", and the embedded models are {', '.join(known)}" if known else "")
    )


def _read_vocabulary(path: Path, data: bytes) -> Vocabulary:
    try:
        return Vocabulary.from_dict(json.loads(data))
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} is not a vocabulary: {error}") from None


def _load_weights(model: SpanModel, data: bytes, path: Path) -> None:
    try:
        tensors = dequantize_state_dict(load_tensors(data))
    except SafetensorError as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error}") from None
    expected = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    actual = {name: list(tensor.shape) for name, tensor in tensors.items()}
    wrong = [name for name in {**expected, **actual} if expected.get(name) != actual.get(name)]
    if wrong:
        raise DamagedFileError(
            f"{path} does not contain the weights of this model: '{wrong[0]}' has shape "
            f"{actual.get(wrong[0], 'none')}, expected {expected.get(wrong[0], 'none')}; "
            f"{len(wrong)} of {len(expected)} differ"
        )
    model.load_state_dict(tensors, strict=True, assign=True)
