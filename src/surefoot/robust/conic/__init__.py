"""Exponential-cone formulations of the papers: monolithic, longest path, cutting planes."""
