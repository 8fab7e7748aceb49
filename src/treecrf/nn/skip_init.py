"""Networks without numbers, for weights that are yet to be loaded."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

_FILLING = {
    "normal_",
    "uniform_",
    "orthogonal_",
    "kaiming_uniform_",
    "xavier_uniform_",
    "zeros_",
    "ones_",
    "zero_",
    "fill_",
}


class SkipInit(TorchFunctionMode):
    """Modules that are built inside have room for their weights, and leave it as it is.

    To draw weights at random takes a second, and to do so on the meta device loads PyTorch's whole compiler.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _FILLING:
            return args[0] if args else kwargs["tensor"]
        if name == "linalg_qr":  # by which `orthogonal_` draws, and which takes most of the second
            return args[0], args[0][: args[0].shape[1]]
        return func(*args, **kwargs)
