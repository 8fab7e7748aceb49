import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from small import random_parser
from toygrammar import toy_trees
from treecrf.network.nn.skip_init import SkipInit

LOAD = """
import sys
from treecrf.parser import Parser
Parser.load(sys.argv[1], device="cpu")
print(*[name for name in ("triton", "sympy", "transformers", "torch._dynamo") if name in sys.modules])
"""


def test_random_initialization_is_skipped_only_inside_the_context() -> None:
    state = torch.random.get_rng_state()
    with SkipInit():
        modules = nn.Sequential(nn.Embedding(50, 8, padding_idx=0), nn.Linear(8, 8), nn.LayerNorm(8), nn.LSTM(8, 8))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(parameter.requires_grad for parameter in modules.parameters())
    nn.Linear(8, 8)
    assert not torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)])
def test_orthogonal_initialization_is_skipped(shape: tuple[int, int]) -> None:
    with SkipInit():
        tall = torch.empty(max(shape), min(shape))
        assert torch.linalg.qr(tall)[0] is tall
        assert nn.init.orthogonal_(torch.empty(shape)).shape == shape


def test_loading_a_parser_imports_no_compiler(tmp_path: Path) -> None:
    random_parser(toy_trees(20)).save(tmp_path)
    process = subprocess.run([sys.executable, "-c", LOAD, str(tmp_path)], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == ""
