"""Saved parsers: a folder with the config, vocabulary, weights and the transformer's tokenizer."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as to_safetensors

from treecrf import models
from treecrf.atomic_io import DamagedFileError, load_folder, save_folder
from treecrf.config import read_config, to_toml
from treecrf.data.model_config import BertConfig, ModelConfig
from treecrf.data.subwords import SubwordTokenizer
from treecrf.data.vocabulary import Vocabulary
from treecrf.data.weight_shapes import weight_shapes
from treecrf.runtime.weights import quantize_weights, stored_shapes
from treecrf.text.normalization import Normalization

CONFIG, VOCABULARY, WEIGHTS, ENCODER = "config.toml", "vocabulary.json", "model.safetensors", "config.json"


@dataclass(frozen=True, kw_only=True)
class ParserConfig:
    """The settings of a saved parser."""

    root: str = "TOP"
    language: str = "en"  # of raw text
    normalization: Normalization = "as-is"  # of words, before the network reads them
    calibration: tuple[float, float, float] = (1.0, 1.0, 0.0)  # a, b and c of BetaCalibration
    tree_calibration: tuple[float, float, float, float] = (1.0, 1.0, 0.0, 0.0)  # a, b, c and d of TreeCalibration
    f1_threshold: float = 0.0  # of expected-F1 decoding; 0: the paper's MBR
    same_label_unaries: bool = True  # whether alternatives may have a constituent over one with its label and words
    model: ModelConfig = field(default_factory=ModelConfig)


@dataclass(frozen=True, kw_only=True)
class ParserState:
    """The components of a parser, without the program that computes with them."""

    config: ParserConfig
    vocabulary: Vocabulary
    weights: Mapping[str, npt.NDArray[Any]]  # as stored: see runtime/weights.py
    subwords: SubwordTokenizer | None = None
    encoder_json: bytes | None = None  # the config.json of the pretrained encoder

    @property
    def bert(self) -> BertConfig | None:
        """The shape of the encoder, if it is a plain BERT."""
        return None if self.encoder_json is None else _read_bert(self.encoder_json)


def load_parser_state(source: str | Path) -> ParserState:
    """Loads the components of a parser from a folder, or of an embedded model by its name."""
    folder = find_folder(source)
    files = load_folder(folder)
    for name in (CONFIG, VOCABULARY, WEIGHTS):
        if name not in files:
            raise DamagedFileError(f"{folder} is not a parser: its manifest has no {name}")
    config = read_config(ParserConfig, folder / CONFIG)
    has_encoder = bool(config.model.transformer)
    if has_encoder and ENCODER not in files:
        raise DamagedFileError(f"{folder} is not a parser: it has a transformer, and its manifest has no {ENCODER}")
    state = ParserState(
        config=config,
        vocabulary=_read_vocabulary(folder / VOCABULARY, files[VOCABULARY]),
        weights=_read_weights(folder / WEIGHTS, files[WEIGHTS]),
        subwords=SubwordTokenizer.load(folder) if has_encoder else None,
        encoder_json=files[ENCODER] if has_encoder else None,
    )
    if not has_encoder or state.bert is not None:  # torch checks the weights of other encoders
        expected = weight_shapes(config.model, state.vocabulary.sizes, state.bert)
        check_shapes(stored_shapes(state.weights), expected, folder / WEIGHTS)
    return state


def save_parser_state(folder: str | Path, state: ParserState, *, small: bool = False) -> None:
    """Writes what `load_parser_state` reads; `small` stores large matrices in 8 bits, a quarter of the size."""
    weights = quantize_weights(state.weights) if small else state.weights
    files = {
        CONFIG: to_toml(state.config).encode(),
        VOCABULARY: json.dumps(state.vocabulary.to_dict(), ensure_ascii=False).encode(),
        WEIGHTS: to_safetensors({name: np.asarray(array, order="C") for name, array in weights.items()}),
    }
    save_folder(Path(folder), _encoder_files(state) | files)


def _encoder_files(state: ParserState) -> dict[str, bytes]:
    if state.encoder_json is None or state.subwords is None:
        return {}
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary, ENCODER).write_bytes(state.encoder_json)  # the tokenizer's files depend on it
        state.subwords.save(temporary)
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


def check_shapes(
    actual: Mapping[str, tuple[int, ...]], expected: Mapping[str, tuple[int, ...]], path: str | Path
) -> None:
    """Checks that a file has the weights of a model."""
    wrong = [name for name in {**expected, **actual} if expected.get(name) != actual.get(name)]
    if wrong:
        actual_shape, expected_shape = (
            "none" if (shape := shapes.get(wrong[0])) is None else list(shape) for shapes in (actual, expected)
        )
        raise DamagedFileError(
            f"{path} does not contain the weights of this model: '{wrong[0]}' has shape {actual_shape}, expected "
            f"{expected_shape}; {len(wrong)} of {len(expected)} differ"
        )


def _read_vocabulary(path: Path, data: bytes) -> Vocabulary:
    try:
        return Vocabulary.from_dict(json.loads(data))
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} is not a vocabulary: {error}") from None


def _read_weights(path: Path, data: bytes) -> dict[str, npt.NDArray[Any]]:
    try:
        return load_arrays(data)
    except SafetensorError as error:
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error}") from None


def _read_bert(encoder_json: bytes) -> BertConfig | None:
    try:
        return BertConfig.from_dict(json.loads(encoder_json))
    except ValueError as error:
        raise DamagedFileError(f"the {ENCODER} of the encoder is not JSON: {error}") from None
