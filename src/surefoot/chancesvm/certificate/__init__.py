"""Is it true: objective and dual bound of a plane from the raw samples. NumPy only; knows no solver."""
