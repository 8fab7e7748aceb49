"""Decoding on a GPU, which works while the host reads and writes."""

from dataclasses import dataclass

import torch

from treecrf.network.nn import SpanModel
from treecrf.parser.decoding import Decoded
from treecrf.parser.decoding.device_decode import decode_on_device
from treecrf.parser.inputs import Sentences
from treecrf.parser.pipeline import BatchDecoder, PendingTrees


@dataclass(frozen=True, kw_only=True)
class DeviceDecoder:
    """Decodes batches of sentences on a GPU; sentences with constraints on the host."""

    model: SpanModel
    host_decoder: BatchDecoder

    @torch.no_grad()
    def __call__(self, sentences: Sentences) -> PendingTrees:
        """Starts the computation of a batch's trees; a batch that does not fit into memory is decoded in halves."""
        host = self.host_decoder
        try:
            if sentences.has_constraints:
                return host(sentences)
            scores = self.model.score_on_device(host.scorer.collate(sentences))
            return decode_on_device(scores, mbr=host.mbr, expected_f1=host.expected_f1).wait
        except torch.OutOfMemoryError as error:
            if len(sentences) == 1:
                raise ValueError(
                    f"a sentence of {len(sentences.words[0])} words does not fit into the GPU's memory; parse it on a "
                    "CPU (device='cpu'), or stop other programs that use the GPU"
                ) from error
        torch.cuda.empty_cache()
        middle, indices = len(sentences) // 2, range(len(sentences))
        halves = (sentences.select(indices[:middle]), sentences.select(indices[middle:]))
        decoded = Decoded.concatenate([self(half)() for half in halves])
        return lambda: decoded
