"""The kernels of BERT compared with PyTorch in float32."""

import pytest
import torch
import torch.nn.functional as F

from kernels import DEVICE

triton_bert = pytest.importorskip("treecrf.network.nn.triton_bert", reason="Triton is not installed")


@pytest.mark.parametrize(("heads", "head_size", "width"), [(2, 8, 7), (3, 20, 70), (2, 32, 33), (1, 64, 1)])
@pytest.mark.parametrize("farthest", [0, 1, 40])
def test_attention_equals_pytorch_and_is_zero_in_padding(heads, head_size, width, farthest):
    torch.manual_seed(width)
    lengths = torch.tensor([width, max(1, width // 3), 1], device=DEVICE)
    query, key, value = torch.randn(3, 3, width, heads * head_size, device=DEVICE).half()
    is_piece = torch.arange(width, device=DEVICE) < lengths[:, None]
    value[~is_piece] = torch.nan  # nothing reads padding
    distance_scores = torch.randn(heads, 2 * farthest + 1, device=DEVICE).half() if farthest else None
    actual = triton_bert.attention(query, key, value, lengths, heads, distance_scores)
    by_head = (x.float().nan_to_num().unflatten(-1, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    mask = torch.where(is_piece[:, None, None], 0.0, -torch.inf)
    if distance_scores is not None:
        positions = torch.arange(width, device=DEVICE)
        clipped = (positions - positions[:, None]).clamp(-farthest, farthest)
        mask = mask + distance_scores.float()[:, clipped + farthest]
    expected = F.scaled_dot_product_attention(*by_head, attn_mask=mask)
    expected = expected.transpose(1, 2).flatten(2) * is_piece[..., None]
    torch.testing.assert_close(actual.float(), expected, atol=4e-3, rtol=4e-3)


@pytest.mark.parametrize("size", [1, 20, 384])
def test_the_end_of_a_block_equals_pytorch(size):
    torch.manual_seed(size)
    norm = torch.nn.LayerNorm(size, eps=1e-12, device=DEVICE)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    norm.half()
    x, residual = torch.randn(2, 3, 5, size, device=DEVICE).half()
    actual = triton_bert.add_and_normalize(x, residual, norm)
    expected = norm.float()(x.float() + residual.float())
    torch.testing.assert_close(actual.float(), expected, atol=4e-3, rtol=4e-3)
