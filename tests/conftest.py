"""Triton kernels run in its interpreter where there is no GPU; the choice must stand before Triton is imported."""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
