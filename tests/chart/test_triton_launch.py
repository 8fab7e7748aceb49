import pytest
import torch

triton_launch = pytest.importorskip("treecrf.chart.triton_launch", reason="Triton is not installed")


class Kernel:
    """Records how it is launched."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getitem__(self, grid):
        def run(*arguments, **options):
            self.calls.append("launcher" if options else "compiled")
            return self

        return run


@pytest.mark.parametrize(("offset", "calls"), [(0, ["launcher", "compiled"]), (1, ["launcher", "launcher"])])
def test_only_aligned_tensors_go_to_a_compiled_kernel(monkeypatch, offset, calls):
    monkeypatch.setattr(triton_launch, "INTERPRETED", False)
    kernel, config = Kernel(), triton_launch.LaunchConfig(programs=1, spans=1, splits=1, warps=1)
    for _ in range(2):
        triton_launch.launch(kernel, (1,), (torch.zeros(8), torch.zeros(9)[offset:], 5), config, ())
    assert kernel.calls == calls
