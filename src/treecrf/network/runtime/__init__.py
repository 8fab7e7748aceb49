"""The CPU runtime: packed 8-bit weights and the compiled kernels that use them."""
