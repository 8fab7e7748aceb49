"""The program that computes a saved parser's scores: the CPU runtime, or the network of PyTorch.

Loading warns if compiled parts of treecrf are missing.
"""

import ctypes
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import treecrf
from treecrf.chart import cpu_backend
from treecrf.network.data.batch import Batch, Scores
from treecrf.network.data.model_config import ModelConfig
from treecrf.network.runtime import int8
from treecrf.network.runtime.int8 import is_fast, why_unsupported
from treecrf.network.runtime.scorer import Scorer as RuntimeScorer
from treecrf.network.runtime.weights import Weights
from treecrf.parser.decoding import label_grammar
from treecrf.parser.storage import ParserState
from treecrf.trees.treebank import bracket_writer

if TYPE_CHECKING:
    import torch


_SEARCH = Path(treecrf.__file__).parent / "trees" / "search"  # not imported: parsing does not need it


def missing_parts() -> list[str]:
    """The packages whose compiled part is missing, because treecrf was installed without a C compiler."""
    is_present = {
        "chart": cpu_backend.available,
        "decoding": label_grammar.available,
        "runtime": int8.is_compiled,
        "search": PathFinder.find_spec("_matcher", [str(_SEARCH)]) is not None,
        "treebank": bracket_writer.available,
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


Precision = Literal["float32", "int8"]
_GPU_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
_ROCM_DEVICE = Path("/dev/kfd")


class Scorer(Protocol):
    """The part of a network that a parser uses: `nn.SpanModel` or `runtime.scorer.Scorer`."""

    @property
    def config(self) -> ModelConfig:
        """The shape of the network."""

    @property
    def device(self) -> str:
        """The device that computes: cpu, or a GPU such as cuda:0."""

    @property
    def precision(self) -> str:
        """The precision of its products, for messages."""

    @property
    def initialize_thread(self) -> Callable[[], None] | None:
        """Function that a thread calls once before it scores batches beside other threads."""

    def score(self, batch: Batch) -> Scores:
        """The scores of a batch, as NumPy arrays."""


def load_scorer(state: ParserState, device: "str | torch.device | None", precision: Precision | None) -> Scorer:
    """Builds the scorer of a saved parser: on a CPU the runtime on 8-bit integers, unless `precision` is float32."""
    if precision not in (None, *get_args(Precision)):
        raise ValueError(f"precision is {precision!r}; expected 'float32', 'int8' or None")
    warn_about_missing_parts()
    where = str(device or default_device())
    has_known_encoder = state.encoder_json is None or state.bert is not None
    reason = why_unsupported(state.bert) if has_known_encoder else "its encoder is not a plain BERT"
    if where != "cpu":
        reason = f"it runs on {where}"
    if precision == "int8" and reason is not None:
        raise ValueError(f"the model cannot run on 8-bit integers: {reason}; load it with precision='float32'")
    is_int8 = precision == "int8" or (precision is None and reason is None and (is_fast() or not has_torch()))
    if is_int8 or (where == "cpu" and precision is None and not has_torch() and has_known_encoder):
        return RuntimeScorer(state.config.model, Weights(state.weights), state.bert, is_int8=is_int8)
    require_torch("a GPU" if where != "cpu" else "precision='float32'" if precision else "this encoder")
    from treecrf.parser.network import build_network

    return build_network(state).to(where)


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
