"""Is it true: objective and lower bound of a robust model from the raw arrays. NumPy only; knows no solver."""
