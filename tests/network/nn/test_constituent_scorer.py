import torch

from treecrf.network.nn.constituent_scorer import ConstituentScorer


def test_a_constituent_depends_on_its_words_symbols_and_scheme_alone() -> None:
    torch.manual_seed(0)
    scorer = ConstituentScorer(width=6, size=8, roles=2, symbols=(3, 5), classes=4, schemes=2).eval()
    scorer.schemes.data.normal_()
    vectors, words, symbols = torch.randn(4, 6), torch.tensor([[0, 4], [1, 2]]), torch.tensor([[0, 1, 2], [4, 4, 4]])
    schemes = torch.tensor([0, 0])
    logits = scorer(vectors, words, symbols, schemes)
    assert logits.shape == (2, 4)
    changed = vectors.clone()
    changed[3] = 9  # no constituent has this word, and word 4 is no word
    torch.testing.assert_close(scorer(changed, words, symbols, schemes), logits)
    torch.testing.assert_close(scorer(vectors, words[1:], symbols[1:], schemes[1:]), logits[1:])
    assert not torch.allclose(scorer(vectors * 2, words, symbols, schemes), logits)
    assert not torch.allclose(scorer(vectors, words.flip(1), symbols, schemes), logits)
    assert not torch.allclose(scorer(vectors, words, symbols.flip(1), schemes)[0], logits[0])
    assert not torch.allclose(scorer(vectors, words, symbols, 1 - schemes), logits)
