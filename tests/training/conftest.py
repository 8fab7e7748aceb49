"""Fixtures of the training tests."""

import pytest
import torch

from toygrammar import toy_trees


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a tiny encoder whose tokenizer has the letters and a few words."""
    transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
    folder = tmp_path_factory.mktemp("encoder")
    words = sorted({word for tree in toy_trees(50) for word in tree.words})
    letters = [chr(code) for code in range(33, 127)]
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
        *words[::2],
    ]
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(pieces)))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return str(folder)
