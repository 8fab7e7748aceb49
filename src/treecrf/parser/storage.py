"""Saved parsers: a folder with the config, vocabulary, weights and the transformer's tokenizer.

The header of the weights, a safetensors file, is checked before anything is built from it.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as to_safetensors

from treecrf.arrays import AnyArray
from treecrf.config import parse_config, to_toml
from treecrf.files import DamagedFileError, parse_json
from treecrf.network.data.model_config import BertConfig, ModelConfig, weight_shapes
from treecrf.network.data.subwords import SubwordTokenizer
from treecrf.network.data.vocabulary import Vocabulary
from treecrf.network.runtime.weights import SCALE_PREFIX, quantize_weights
from treecrf.parser.decoding.calibration import BetaCalibration, TreeCalibration
from treecrf.parser.decoding.grammar import ProductionCounts
from treecrf.parser.models import find_folder
from treecrf.parser.models.model_folder import load_folder, save_folder
from treecrf.text.normalization import Normalization
from treecrf.trees.treebank.well_formed import Production, productions_to_text

_LENGTH_BYTES = 8  # size of the number before the header
_MAX_HEADER_BYTES = 1 << 22
_FLOATS = ("F16", "F32", "F64")
_INTEGERS = ("BOOL", "U8", "I16", "I32", "I64")  # buffers of encoders that transformers implements
_QUANTIZED = "I8"
_MAX_WEIGHT = 1e30  # larger ones become infinite in float32 when they are multiplied
T = TypeVar("T")
Arrays = dict[str, AnyArray]
Shapes = Mapping[str, tuple[int, ...]]


class StoredWeight(NamedTuple):
    """The type and the shape of a weight in the header of its file."""

    dtype: str
    shape: tuple[int, ...]


def load_weights(data: bytes, expected: Shapes | None, path: Path) -> Arrays:
    """The weights of a safetensors file, as they are stored.

    They have the `expected` shapes, if these are known, and all of them are finite numbers.
    """
    header = _read_header(data, path)
    shapes = {name: weight.shape for name, weight in header.items() if not name.startswith(SCALE_PREFIX)}
    if expected is not None:
        check_shapes(shapes, expected, path)
    for name in header:
        _check_type(name, header, path, has_integers=expected is None)
    try:
        arrays = load_arrays(data)
    except (SafetensorError, ValueError) as error:  # NumPy has a limit on dimensions
        raise DamagedFileError(f"{path} cannot be read as safetensors: {error!s:.200}") from None
    for name, array in arrays.items():
        if not _is_finite(array):
            raise DamagedFileError(
                f"{path} has a weight in {name!r:.100} that is not a finite number below {_MAX_WEIGHT}"
            )
    return arrays


def check_shapes(actual: Shapes, expected: Shapes, path: str | Path) -> None:
    """Checks that a file has the weights of a model."""
    wrong = [name for name in {**expected, **actual} if expected.get(name) != actual.get(name)]
    if wrong:
        actual_shape, expected_shape = (
            "none" if (shape := shapes.get(wrong[0])) is None else list(shape) for shapes in (actual, expected)
        )
        raise DamagedFileError(
            f"{path} does not contain the weights of this model: '{wrong[0][:100]}' has shape {actual_shape!s:.100}, "
            f"expected {expected_shape}; {len(wrong)} of {len(expected)} differ"
        )


def _read_header(data: bytes, path: Path) -> dict[str, StoredWeight]:
    """The types and shapes of the weights in a safetensors file, without its metadata."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > min(_MAX_HEADER_BYTES, len(data) - _LENGTH_BYTES):
        raise DamagedFileError(f"{path} cannot be read as safetensors: its header would have {length:,} bytes")
    values = parse_json(data[_LENGTH_BYTES : _LENGTH_BYTES + length], path)
    try:
        entries = {name: entry for name, entry in values.items() if name != "__metadata__"}
        header = {name: StoredWeight(entry["dtype"], tuple(entry["shape"])) for name, entry in entries.items()}
    except (AttributeError, KeyError, TypeError):
        raise DamagedFileError(f"{path} cannot be read as safetensors: its header does not describe arrays") from None
    return header


def _check_type(name: str, header: Mapping[str, StoredWeight], path: Path, *, has_integers: bool) -> None:
    """Checks that a weight has floats, or bytes with one scale per row, and that scales belong to bytes."""
    weight = header[name]
    types = (*_FLOATS, *(_INTEGERS if has_integers else ()))
    if name.startswith(SCALE_PREFIX):
        quantized = header.get(name.removeprefix(SCALE_PREFIX))
        is_right = weight.dtype in _FLOATS and quantized is not None and quantized.dtype == _QUANTIZED
        is_right = is_right and quantized is not None and weight.shape == (*quantized.shape[:-1], 1)
    elif weight.dtype == _QUANTIZED:
        is_right = SCALE_PREFIX + name in header and len(weight.shape) > 1
    else:
        is_right = weight.dtype in types
    if not is_right:
        raise DamagedFileError(
            f"{path} has {name!r:.100} with type {weight.dtype!r:.20} and shape {list(weight.shape)!s:.100}; expected "
            f"{', '.join(types)}, or {_QUANTIZED} with one scale per row under '{SCALE_PREFIX}'"
        )


def _is_finite(array: AnyArray) -> bool:
    """Whether all numbers are finite in float32; NaN is the minimum of an array that contains it."""
    if array.dtype.kind != "f" or not array.size:
        return True
    return float(array.min()) > -_MAX_WEIGHT and float(array.max()) < _MAX_WEIGHT


CONFIG, VOCABULARY, WEIGHTS, ENCODER = "config.toml", "vocabulary.json", "model.safetensors", "config.json"
PRODUCTIONS, CONDITIONS = "productions.txt", "conditions.safetensors"
# files of optional components
COMPONENTS = {name: f"{name}.safetensors" for name in ("functions", "empties", "schemes")}
CONDITION_PREFIX = "transformer.conditions."  # names of the weights in their own file
_MAX_BYTES = {
    CONFIG: 1 << 13,
    ENCODER: 1 << 18,
    WEIGHTS: 1 << 36,
    PRODUCTIONS: 1 << 23,
    CONDITIONS: 1 << 27,
    **dict.fromkeys(COMPONENTS.values(), 1 << 24),
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
    scheme: str = ""  # annotation scheme of the trees; empty: none
    half_precision: bool = False  # whether a GPU computes in half precision, because the trees are as good
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
    components: Mapping[str, Arrays] = field(default_factory=dict)  # arrays by name; see COMPONENTS
    folder: Path | None = None  # folder that the components were loaded from


def load_parser_state(source: str | Path) -> ParserState:
    """Loads the components of a parser from a folder, or of an installed model by its name."""
    folder = find_folder(source)
    files = read_files(folder)
    for name in (CONFIG, VOCABULARY, WEIGHTS):
        if name not in files:
            raise DamagedFileError(f"{folder} is not a parser: its manifest has no {name}")
    config = parse_config(ParserConfig, files[CONFIG], folder / CONFIG)
    vocabulary_fields = parse_json(files[VOCABULARY], folder / VOCABULARY)
    with _damaged_file(f"{folder / VOCABULARY} is not a vocabulary"):
        vocabulary = Vocabulary.from_dict(vocabulary_fields)
    bert = subwords = None
    if config.model.transformer:
        if ENCODER not in files:
            raise DamagedFileError(f"{folder} is not a parser: it has a transformer, and its manifest has no {ENCODER}")
        bert = _read_bert(folder / ENCODER, files[ENCODER])
        subwords = SubwordTokenizer.load_saved(files, folder)
    shapes = None  # torch checks the weights of other packages' parts, and of encoders that are not a plain BERT
    if config.model.is_built_in and (bert is not None or not config.model.transformer):
        with _damaged_file(f"{folder} is not a parser"):
            shapes = weight_shapes(config.model, vocabulary.sizes, bert)
    return ParserState(
        config=config,
        vocabulary=vocabulary,
        weights=_load_all_weights(files, shapes, folder),
        subwords=subwords,
        encoder_json=files[ENCODER] if config.model.transformer else None,
        bert=bert,
        productions=_read_productions(folder / PRODUCTIONS, files.get(PRODUCTIONS)),
        components={
            name: load_weights(files[file], None, folder / file) for name, file in COMPONENTS.items() if file in files
        },
        folder=folder,
    )


def _load_all_weights(files: Mapping[str, bytes], shapes: Shapes | None, folder: Path) -> Arrays:
    """The weights of the network, and of its conditions if it has any."""
    if CONDITIONS not in files:
        return load_weights(files[WEIGHTS], shapes, folder / WEIGHTS)
    network, conditions = (None, None) if shapes is None else split_conditions(shapes)
    weights = load_weights(files[WEIGHTS], network, folder / WEIGHTS)
    return weights | load_weights(files[CONDITIONS], conditions, folder / CONDITIONS)


def split_conditions(weights: Mapping[str, T]) -> tuple[dict[str, T], dict[str, T]]:
    """The weights of the network, and of its conditions."""
    conditions = {name: value for name, value in weights.items() if name.startswith(CONDITION_PREFIX)}
    return {name: value for name, value in weights.items() if name not in conditions}, conditions


def read_files(folder: Path) -> dict[str, bytes]:
    """Reads the files of a saved parser and checks their checksums."""
    return load_folder(folder, _MAX_BYTES)


@contextmanager
def _damaged_file(problem: str) -> Iterator[None]:
    """Raises a DamagedFileError for a value that is not valid."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"{problem}: {error!s:.300}") from None


def save_parser_state(folder: str | Path, state: ParserState, *, weight_step: float | None = None) -> None:
    """Writes what `load_parser_state` reads; with `weight_step`, large matrices are bytes, a quarter of the size."""
    weights, conditions = split_conditions(state.weights)
    weights = weights if weight_step is None else quantize_weights(weights, weight_step)
    files = {
        CONFIG: to_toml(state.config).encode(),
        VOCABULARY: json.dumps(state.vocabulary.to_dict(), ensure_ascii=False).encode(),
        WEIGHTS: to_safetensors({name: np.asarray(array, order="C") for name, array in weights.items()}),
    }
    if conditions:
        files[CONDITIONS] = to_safetensors({name: array.astype(np.float16) for name, array in conditions.items()})
    for name, arrays in state.components.items():
        files[COMPONENTS[name]] = to_safetensors(dict(arrays))
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


def _read_productions(path: Path, data: bytes | None) -> ProductionCounts:
    if data == b"":
        raise DamagedFileError(f"{path} is empty; expected the productions of the training trees")
    with _damaged_file(f"{path} does not contain productions"):
        return ProductionCounts((data or b"").decode())


def _read_bert(path: Path, data: bytes) -> BertConfig | None:
    """The shape of a plain BERT, or None if the settings of another encoder are harmless."""
    values = parse_json(data, path)
    if not isinstance(values, dict):
        raise DamagedFileError(f"{path} is {values!r:.50}; expected the settings of an encoder")
    with _damaged_file(f"{path} does not describe an encoder"):
        bert = BertConfig.from_dict(values)
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
