"""Saved parsers: a folder with the config, vocabulary, weights and the transformer's tokenizer."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as to_safetensors

from treecrf.arrays import AnyArray
from treecrf.config import parse_config, to_toml
from treecrf.files import DamagedFileError, parse_json
from treecrf.network.data.model_config import BertConfig, ModelConfig
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.data.weight_shapes import weight_shapes
from treecrf.network.runtime.weights import quantize_weights
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.models import find_folder
from treecrf.parser.models.model_folder import load_folder, save_folder
from treecrf.parser.weight_file import load_weights
from treecrf.text.normalization import Normalization
from treecrf.trees.treebank.productions import Production, ProductionCounts, productions_to_text

CONFIG, VOCABULARY, WEIGHTS, ENCODER = "config.toml", "vocabulary.json", "model.safetensors", "config.json"
PRODUCTIONS = "productions.txt"
_MAX_BYTES = {
    CONFIG: 1 << 13,
    ENCODER: 1 << 18,
    WEIGHTS: 1 << 36,
    PRODUCTIONS: 1 << 23,
}  # the limit of other files is MAX_FILE_BYTES
# settings with which transformers loads code or weights from elsewhere, and their harmless values
_REFUSED_SETTINGS = {
    *("auto_map", "attn_implementation", "_attn_implementation", "_attn_implementation_internal"),
    *("experts_implementation", "_experts_implementation", "quantization_config", "backbone", "backbone_config"),
    *("use_pretrained_backbone", "use_timm_backbone", "timm_model_name"),
}
_HARMLESS_VALUES = (None, False, "", "eager", "sdpa")
_MAX_LAYERS, _MAX_NUMBER = 1000, 1 << 24  # in the settings of encoders


@dataclass(frozen=True, kw_only=True)
class ParserConfig:
    """The settings of a parser, which its folder has in config.toml."""

    root: str = "TOP"
    language: str = "en"  # language of raw text
    normalization: Normalization = "as-is"  # normalization of words, before the network reads them
    calibration: tuple[float, float, float] = BetaCalibration()
    tree_calibration: tuple[float, float, float, float] = TreeCalibration()
    f1_threshold: float = 0.0  # threshold of expected-F1 decoding; 0: the paper's MBR
    grammar_weight: float = 0.015  # weight of the productions in expected-F1 decoding; 0: no grammar
    same_label_unaries: bool = True  # whether alternatives may have a constituent over one with its label and words
    model: ModelConfig = field(default_factory=ModelConfig)

    def __post_init__(self) -> None:
        object.__setattr__(self, "calibration", BetaCalibration(*self.calibration))
        object.__setattr__(self, "tree_calibration", TreeCalibration(*self.tree_calibration))
        if not self.root.isprintable() or len(self.root) > 1000:
            raise ValueError(f"root is {self.root!r:.50}; expected a printable label")
        for name in ("calibration", "tree_calibration"):
            if not all(-1000 <= number <= 1000 for number in getattr(self, name)):
                raise ValueError(f"{name} is {list(getattr(self, name))}; expected numbers from -1000 to 1000")
        if not 0 <= self.f1_threshold < 1:
            raise ValueError(f"f1_threshold is {self.f1_threshold}; expected at least 0 and less than 1")
        if not 0 <= self.grammar_weight <= 1:
            raise ValueError(f"grammar_weight is {self.grammar_weight}; expected a number from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class ParserState:
    """The components of a parser, without the program that computes with them."""

    config: ParserConfig
    vocabulary: Vocabulary
    weights: Mapping[str, AnyArray]  # as stored: see network/runtime/weights.py
    subwords: SubwordTokenizer | None = None
    encoder_json: bytes | None = None  # the config.json of the pretrained encoder
    bert: BertConfig | None = None  # the shape of the encoder, if it is a plain BERT
    productions: Mapping[Production, int] = field(default_factory=dict)  # counts in the training trees; may be empty
    folder: Path | None = None  # folder that the components were loaded from


def load_parser_state(source: str | Path) -> ParserState:
    """Loads the components of a parser from a folder, or of an installed model by its name."""
    folder = find_folder(source)
    files = read_files(folder)
    for name in (CONFIG, VOCABULARY, WEIGHTS):
        if name not in files:
            raise DamagedFileError(f"{folder} is not a parser: its manifest has no {name}")
    config = parse_config(ParserConfig, files[CONFIG], folder / CONFIG)
    vocabulary = _read_vocabulary(folder / VOCABULARY, files[VOCABULARY])
    bert = subwords = None
    if config.model.transformer:
        if ENCODER not in files:
            raise DamagedFileError(f"{folder} is not a parser: it has a transformer, and its manifest has no {ENCODER}")
        bert = _read_bert(folder / ENCODER, files[ENCODER])
        subwords = SubwordTokenizer.load_saved(files, folder)
    return ParserState(
        config=config,
        vocabulary=vocabulary,
        weights=load_weights(files[WEIGHTS], _shapes(config.model, vocabulary, bert, folder), folder / WEIGHTS),
        subwords=subwords,
        encoder_json=files[ENCODER] if config.model.transformer else None,
        bert=bert,
        productions=_read_productions(folder / PRODUCTIONS, files.get(PRODUCTIONS)),
        folder=folder,
    )


def read_files(folder: Path) -> dict[str, bytes]:
    """Reads the files of a saved parser and checks their checksums."""
    return load_folder(folder, _MAX_BYTES)


def _shapes(
    config: ModelConfig, vocabulary: Vocabulary, bert: BertConfig | None, folder: Path
) -> dict[str, tuple[int, ...]] | None:
    """The shapes of the weights; None if the encoder is not a plain BERT: torch checks the weights of others."""
    try:
        return None if config.transformer and bert is None else weight_shapes(config, vocabulary.sizes, bert)
    except ValueError as error:
        raise DamagedFileError(f"{folder} is not a parser: {error}") from None


def save_parser_state(folder: str | Path, state: ParserState, *, weight_step: float | None = None) -> None:
    """Writes what `load_parser_state` reads; with `weight_step`, large matrices are bytes, a quarter of the size."""
    weights = state.weights if weight_step is None else quantize_weights(state.weights, weight_step)
    files = {
        CONFIG: to_toml(state.config).encode(),
        VOCABULARY: json.dumps(state.vocabulary.to_dict(), ensure_ascii=False).encode(),
        WEIGHTS: to_safetensors({name: np.asarray(array, order="C") for name, array in weights.items()}),
    }
    if state.productions:
        files[PRODUCTIONS] = productions_to_text(state.productions).encode()
    save_folder(Path(folder), _encoder_files(state) | files)


def copy_with_config(source: str | Path, folder: str | Path, config: ParserConfig) -> None:
    """Copies a saved parser with other settings; all other files keep their bytes."""
    files = read_files(find_folder(source))
    save_folder(Path(folder), {**files, CONFIG: to_toml(config).encode()})


def _encoder_files(state: ParserState) -> dict[str, bytes]:
    if state.encoder_json is None or state.subwords is None:
        return {}
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary, ENCODER).write_bytes(state.encoder_json)  # the tokenizer's files depend on it
        state.subwords.save(temporary)
        return {path.name: path.read_bytes() for path in sorted(Path(temporary).iterdir())}


def _read_vocabulary(path: Path, data: bytes) -> Vocabulary:
    values = parse_json(data, path)
    try:
        return Vocabulary.from_dict(values)
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"{path} is not a vocabulary: {error!s:.300}") from None


def _read_productions(path: Path, data: bytes | None) -> ProductionCounts:
    if data == b"":
        raise DamagedFileError(f"{path} is empty; expected the productions of the training trees")
    try:
        return ProductionCounts((data or b"").decode())
    except ValueError as error:
        raise DamagedFileError(f"{path} does not contain productions: {error}") from None


def _read_bert(path: Path, data: bytes) -> BertConfig | None:
    """The shape of a plain BERT, or None if the settings of another encoder are harmless."""
    values = parse_json(data, path)
    if not isinstance(values, dict):
        raise DamagedFileError(f"{path} is {values!r:.50}; expected the settings of an encoder")
    try:
        bert = BertConfig.from_dict(values)
    except ValueError as error:
        raise DamagedFileError(f"{path} does not describe an encoder: {error}") from None
    if bert is None:
        _check_encoder_settings(path, values)
    return bert


def _check_encoder_settings(path: Path, values: Mapping[str, Any]) -> None:
    """Refuses settings with which the package transformers would load more than the folder has, or build for ever."""
    tables = [values]
    while tables:
        for name, value in tables.pop().items():
            if isinstance(value, dict):
                tables.append(value)
            if name in _REFUSED_SETTINGS and value not in _HARMLESS_VALUES:
                raise DamagedFileError(f"{path} has the setting {name!r}, which a saved encoder must not have")
            is_layers = "layer" in name and isinstance(value, int)
            if isinstance(value, int | float) and abs(value) > (_MAX_LAYERS if is_layers else _MAX_NUMBER):
                raise DamagedFileError(f"{path} has {name!r:.50} = {value!r:.50}; expected a smaller number")
