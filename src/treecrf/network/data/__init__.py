"""Data: the vocabulary, sentences and gold trees as ids, and batches of them."""
