"""Triton kernels in tests: on a GPU, or on the host in Triton's interpreter."""

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
_USERS = ("network.nn.half_precision", "network.nn.lstm_recurrence", "parser.decoding.device_decode")


@pytest.fixture
def with_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of the host go to the kernels, too."""
    pytest.importorskip("triton", reason="Triton is not installed")
    for module in _USERS:
        monkeypatch.setattr(f"treecrf.{module}.runs_kernels", lambda _: True)
