"""A barrier between the programs of one Triton launch.

The grid must be launched cooperatively, so that all its programs are on the device at once.
"""

import triton
import triton.language as tl
from triton import knobs

# Triton's interpreter runs programs one after another, so they cannot wait for each other: launches end at barriers
INTERPRETED = bool(knobs.runtime.interpret)


@triton.jit
def grid_barrier(counter, barriers, PROGRAMS: tl.constexpr):
    """Waits until all PROGRAMS programs that share a counter reach their `barriers`-th barrier (from 1).

    Stores of a program before the barrier are visible to the others after it.
    """
    tl.debug_barrier()
    if PROGRAMS > 1:
        tl.atomic_add(counter, 1, sem="acq_rel", scope="gpu")
        while tl.atomic_add(counter, 0, sem="acq_rel", scope="gpu") < barriers * PROGRAMS:
            pass
        tl.debug_barrier()
