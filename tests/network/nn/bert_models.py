"""Configurations of models with a small BERT, one for each way to use it."""

from collections.abc import Sequence
from dataclasses import replace

from network.berts import small_bert
from network.data.letters import letters
from network.nn.batches import SMALL, VOCABULARY, host_batch_of
from treecrf.network.data.batch import Batch
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.nn import TensorBatch
from treecrf.trees.tree import Tree

SEGMENT_SIZE = 400
BERT = small_bert(
    128,
    16,
    layers=3,
    heads=2,
    inner=20,
    positions=SEGMENT_SIZE,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
MPNET = replace(BERT, relative_attention_num_buckets=8)
_ENCODER = replace(SMALL, encoder="transformer", transformer="tiny", transformer_layers=2, tag_head=True)
_FEATURE = replace(_ENCODER, encoder="lstm", transformer_size=6)
BERT_CONFIGS = {
    "alone": _ENCODER,
    "with word inputs": replace(_ENCODER, add_word_inputs=True),
    "frozen feature": _FEATURE,
    "tuned feature": replace(_FEATURE, transformer_tuned=True, transformer_size=0),
}


def host_bert_batch(trees: Sequence[Tree], *, segment_size: int = SEGMENT_SIZE) -> Batch:
    """A batch whose pieces are letters."""
    return host_batch_of(trees, numericalizer=Numericalizer(VOCABULARY, subwords=letters(segment_size)))


def bert_batch(trees: Sequence[Tree], *, segment_size: int = SEGMENT_SIZE) -> TensorBatch:
    """The same batch as torch tensors."""
    return TensorBatch.from_host(host_bert_batch(trees, segment_size=segment_size))
