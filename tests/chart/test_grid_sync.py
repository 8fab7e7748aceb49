"""The barrier between programs: on a GPU several programs wait for each other; the interpreter runs one."""

import pytest
import torch

triton = pytest.importorskip("triton", reason="Triton is not installed")
tl = pytest.importorskip("triton.language")
grid_sync = pytest.importorskip("treecrf.chart.grid_sync")
IS_ON_GPU = torch.cuda.is_available()
grid_barrier = grid_sync.grid_barrier


@triton.jit
def sum_after_barrier(values, sums, counter, PROGRAMS: tl.constexpr):
    """Each program stores its number plus 1, and after the barrier the sum of all numbers."""
    program = tl.program_id(0)
    tl.store(values + program, program + 1)
    grid_barrier(counter, 1, PROGRAMS)
    total = 0
    for other in range(PROGRAMS):
        total += tl.load(values + other, volatile=True)
    tl.store(sums + program, total)


@pytest.mark.parametrize(
    "programs", [1, pytest.param(8, marks=pytest.mark.skipif(not IS_ON_GPU, reason="needs a GPU"))]
)
def test_stores_before_the_barrier_are_visible_after_it(programs):
    device = "cuda" if IS_ON_GPU else "cpu"
    values, sums = torch.zeros(2, programs, dtype=torch.int32, device=device)
    counter = torch.zeros(1, dtype=torch.int32, device=device)
    sum_after_barrier[(programs,)](values, sums, counter, programs, launch_cooperative_grid=programs > 1)
    assert sums.tolist() == [programs * (programs + 1) // 2] * programs
    assert counter.item() == (programs if programs > 1 else 0)  # one program does not count
