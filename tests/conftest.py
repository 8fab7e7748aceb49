"""What holds for all tests.

Triton kernels run in its interpreter where there is no GPU; the choice must stand before Triton is imported.
"""

import os

import torch
from hypothesis import settings

# how long an example takes says more about the machine than about us
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
