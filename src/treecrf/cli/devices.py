"""Checks of the option `--device`."""

import re

from treecrf.cli.errors import OptionError


def check_device(device: str, *, is_local: bool) -> None:
    """Raises an error if a device has another name, or if this machine does not have it (with `is_local`)."""
    match = re.fullmatch(r"cpu|cuda(?::(\d+))?", device)
    if match is None:
        raise OptionError(f"--device is {device}; expected cpu, cuda or cuda:N")
    if device == "cpu" or not is_local:
        return
    import torch

    gpus = torch.cuda.device_count()
    if not gpus:
        raise OptionError(f"--device is {device}, and PyTorch finds no GPU on this machine; use --device cpu")
    if match[1] and int(match[1]) >= gpus:
        raise OptionError(f"--device is {device}, and the last GPU of this machine is cuda:{gpus - 1}")
