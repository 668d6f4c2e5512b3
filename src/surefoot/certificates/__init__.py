"""Is it true: arrays in, verdict out; NumPy only, and no acquaintance with any solver."""
