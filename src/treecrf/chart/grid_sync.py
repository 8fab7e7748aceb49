"""How the programs of one Triton launch wait for each other.

A grid whose programs meet has to be launched cooperatively, so that all of them are on the device at once.
"""

import triton
import triton.language as tl
from triton import knobs

# in Triton's interpreter programs run one after another and cannot meet: what lies between meetings is a launch each
INTERPRETED = bool(knobs.runtime.interpret)


@triton.jit
def meet(meeting, rounds, PARTS: tl.constexpr):
    """Wait until all PARTS programs that share a counter have stored what they had to, for the `rounds`-th time."""
    tl.debug_barrier()
    if PARTS > 1:
        tl.atomic_add(meeting, 1, sem="acq_rel", scope="gpu")
        while tl.atomic_add(meeting, 0, sem="acq_rel", scope="gpu") < rounds * PARTS:
            pass
        tl.debug_barrier()
