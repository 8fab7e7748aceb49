"""Word vectors from characters: the final states of a bidirectional LSTM, with a cache for words that come again."""

from collections.abc import Callable
from threading import Lock

import numpy as np

from treecrf.arrays import Floats, Ints
from treecrf.network.runtime.weights import Matrix

CACHE_BYTES = 8 << 20
_ENTRY_BYTES = 300  # a key and its dictionary entry, without the vector


class CharVectors:
    """Vectors of words by their characters.

    The vector of a word does not depend on other words, so it is computed once, as long as the cache holds it. A full
    cache is emptied, which is cheaper than tracking the least recently used words.
    """

    def __init__(
        self, embedding: Matrix, lstm: Callable[[Floats, Ints], Floats], *, cache_bytes: int = CACHE_BYTES
    ) -> None:
        self._embedding, self._lstm = embedding, lstm
        self._cache_bytes = cache_bytes
        self._vectors: dict[bytes, Floats] = {}
        self._lock = Lock()

    def __call__(self, chars: Ints, lengths: Ints) -> Floats:
        """Vectors (u, size) of distinct words with characters (u, c)."""
        keys = [row[:length].tobytes() for row, length in zip(chars, lengths.tolist(), strict=True)]
        with self._lock:
            vectors = [self._vectors.get(key) for key in keys]
        missing = [number for number, vector in enumerate(vectors) if vector is None]
        if missing:
            computed = self._compute(chars[missing, : lengths[missing].max()], lengths[missing])
            for number, vector in zip(missing, computed, strict=True):
                vectors[number] = vector
            self._store(dict(zip((keys[number] for number in missing), computed, strict=True)))
        return np.stack([vector for vector in vectors if vector is not None])

    def _compute(self, chars: Ints, lengths: Ints) -> Floats:
        states = self._lstm(self._embedding.vectors(chars), lengths)  # (u, c, 2, size / 2)
        words = np.arange(len(chars))
        return np.concatenate([states[words, lengths - 1, 0], states[:, 0, 1]], -1)

    def _store(self, vectors: dict[bytes, Floats]) -> None:
        entry_bytes = _ENTRY_BYTES + next(iter(vectors.values())).nbytes
        capacity = self._cache_bytes // entry_bytes
        with self._lock:
            if len(self._vectors) + len(vectors) > capacity:
                self._vectors.clear()
            if len(vectors) <= capacity:
                self._vectors.update(vectors)
