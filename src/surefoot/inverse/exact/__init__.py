"""Approaches by constraint generation: solve a master, ask the oracle, repeat."""
