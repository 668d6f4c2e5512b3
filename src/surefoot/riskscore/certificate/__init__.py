"""Is it true: reads the proof of a search from the raw columns. NumPy only; knows no solver."""
