"""Models that read pieces through a small BERT, in all the ways there are."""

from collections.abc import Sequence
from dataclasses import replace

from data.letters import letters
from nn.batches import SMALL, VOCABULARY, batch_of
from treecrf.data.numericalize import Numericalizer
from treecrf.nn import Batch
from treecrf.nn.bert import BertConfig
from treecrf.tree import Tree

WINDOW = 400
BERT = BertConfig(
    vocab_size=128,
    hidden_size=16,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=20,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    max_position_embeddings=WINDOW,
)
_ALONE = replace(SMALL, encoder="transformer", transformer="tiny", transformer_layers=2, tag_head=True)
_FEATURE = replace(_ALONE, encoder="lstm", transformer_size=6)
READERS = {
    "alone": _ALONE,
    "over words": replace(_ALONE, add_word_inputs=True),
    "frozen beside words": _FEATURE,
    "tuned beside words": replace(_FEATURE, transformer_tuned=True, transformer_size=0),
}


def bert_batch(trees: Sequence[Tree], *, window: int = WINDOW) -> Batch:
    """A batch whose pieces are letters."""
    return batch_of(trees, encoder=Numericalizer(VOCABULARY, pieces=letters(window)))
