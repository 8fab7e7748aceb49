"""Building modules without initializing their parameters, for weights that are loaded afterwards."""

from typing import Any

from torch.overrides import TorchFunctionMode

_INITIALIZERS = {
    *("normal_", "uniform_", "orthogonal_", "kaiming_uniform_", "xavier_uniform_"),
    *("zeros_", "ones_", "zero_", "fill_"),
}


class SkipInit(TorchFunctionMode):
    """Modules created in this context allocate parameters without initializing them.

    Random initialization takes a second. The meta device would avoid it too, but it imports PyTorch's compiler.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _INITIALIZERS:
            return args[0] if args else kwargs["tensor"]
        if name == "linalg_qr":  # the slow step of `orthogonal_`
            return args[0], args[0][: args[0].shape[1]]
        return func(*args, **kwargs)
