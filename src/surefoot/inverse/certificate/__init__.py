"""Is it true: bounds on the objective of a cost from the raw arrays. NumPy only; knows no solver."""
