"""Words to scores: numbers for words, the network in PyTorch, and the same network on a CPU with NumPy and C.

Here: vocabulary, subwords and batches (`data`), layers and losses (`nn`), and the runtime without PyTorch
(`runtime`). Not here: charts over spans (`chart`), trees from scores (`parser.decoding`), and optimizers
(`training`).
"""
