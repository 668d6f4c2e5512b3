"""Stochastic approximate mirror descent, whole fits and online."""
