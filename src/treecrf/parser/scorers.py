"""The scorer of a saved parser: the CPU runtime, or the network of PyTorch.

Loading warns if compiled parts of treecrf are missing.
"""

import ctypes
import sys
import warnings
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import treecrf
from treecrf.chart import cpu_backend
from treecrf.network.runtime import int8
from treecrf.network.runtime.int8 import is_fast, why_unsupported
from treecrf.network.runtime.scorer import DEFAULT_PRECISION, Precision
from treecrf.network.runtime.scorer import Scorer as RuntimeScorer
from treecrf.network.runtime.weights import Weights
from treecrf.parser.decoding import label_grammar
from treecrf.parser.pipeline import Scorer
from treecrf.parser.storage import ParserState
from treecrf.trees.treebank import bracket_writer, word_table

if TYPE_CHECKING:
    import torch

    from treecrf.network.nn import SpanModel

_SEARCH = Path(treecrf.__file__).parent / "trees" / "search"  # not imported: parsing does not need it
_GPU_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
_ROCM_DEVICE = Path("/dev/kfd")


def missing_parts() -> list[str]:
    """The packages whose compiled part is missing, because treecrf was installed without a C compiler."""
    is_present = {
        "chart": cpu_backend.available,
        "decoding": label_grammar.available,
        "runtime": int8.is_compiled,
        "search": PathFinder.find_spec("_matcher", [str(_SEARCH)]) is not None,
        "treebank": bracket_writer.available and word_table.available,
    }
    return [name for name in is_present if not is_present[name]]


@cache
def warn_about_missing_parts() -> None:
    """Warns once in a process if compiled parts are missing."""
    if parts := missing_parts():
        warnings.warn(
            f"parsing is slow: treecrf was installed without its compiled parts ({', '.join(parts)}); install a C "
            "compiler, then treecrf again",
            RuntimeWarning,
            stacklevel=4,
        )


def load_scorer(state: ParserState, device: "str | torch.device | None", precision: Precision | None) -> Scorer:
    """Builds the scorer of a saved parser.

    Without a `precision`, it computes with 8-bit integers on a CPU that can, in half precision on a GPU if the model is
    known to parse as well, and else in float32.
    """
    if precision not in (None, *get_args(Precision)):
        raise ValueError(f"precision is {precision!r}; expected {', '.join(map(repr, get_args(Precision)))} or None")
    warn_about_missing_parts()
    where = f"cuda:{device}" if isinstance(device, int) else str(device or default_device())
    reasons = {"float16": _why_not_half(state, where)} | dict.fromkeys(("int8", "int14"), _why_not_int8(state, where))
    if precision is not None and (reason := reasons.get(precision)):
        numbers = "in half precision" if precision == "float16" else "on 8-bit integers"
        raise ValueError(f"the model cannot run {numbers}: {reason}; load it with precision='float32'")
    if precision is None and reasons["int8"] is None and (is_fast() or not has_torch()):
        precision = DEFAULT_PRECISION
    elif precision is None and reasons["float16"] is None and state.config.half_precision:
        precision = "float16"
    without_torch = where == "cpu" and precision is None and not has_torch() and _has_known_encoder(state)
    if precision in ("int8", "int14") or without_torch:
        return RuntimeScorer(state.config.model, Weights(state.weights), state.bert, precision=precision or "float32")
    require_torch("a GPU" if where != "cpu" else "precision='float32'" if precision else "this encoder")
    return _load_network(state, where, is_half=precision == "float16")


def _has_known_encoder(state: ParserState) -> bool:
    return (state.encoder_json is None or state.bert is not None) and state.config.model.is_built_in


def _why_not_int8(state: ParserState, where: str) -> str | None:
    if where != "cpu":
        return f"it runs on {where}"
    if not state.config.model.is_built_in:
        return "its scorer or encoder is of another package"
    return why_unsupported(state.bert) if _has_known_encoder(state) else "its encoder is neither a BERT nor an MPNet"


def _why_not_half(state: ParserState, where: str) -> str | None:
    if not where.startswith("cuda"):
        return f"it runs on {where}"
    return None if state.config.model.is_built_in else "its scorer or encoder is of another package"


def _load_network(state: ParserState, where: str, *, is_half: bool) -> "SpanModel":
    import torch

    from treecrf.parser.network import build_network

    try:
        target = torch.device(where)
    except RuntimeError:
        raise ValueError(f"the device is {where!r}; expected 'cpu', 'cuda' or another device of PyTorch") from None
    try:
        network = build_network(state).to(target)
    except AssertionError as error:  # this PyTorch was built without such devices
        raise ValueError(
            f"the device is {where!r}: {error}; expected 'cpu', or a device that PyTorch supports"
        ) from None
    if is_half:
        network.halve_precision()
    return network


def default_device() -> str:
    """A GPU if PyTorch has one, else the CPU. PyTorch is imported only where a GPU's driver is installed."""
    if sys.modules.get("torch") is None and not (has_torch() and _has_gpu_driver()):
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def has_torch() -> bool:
    return find_spec("torch") is not None


def require_torch(feature: str) -> None:
    """Raises an error with the command that installs PyTorch, if it is not installed."""
    if not has_torch():
        raise ImportError(f"{feature} needs PyTorch: pip install 'treecrf[torch]'")


def _has_gpu_driver() -> bool:
    for name in _GPU_DRIVERS:
        with suppress(OSError):
            ctypes.CDLL(name)
            return True
    return _ROCM_DEVICE.exists()
