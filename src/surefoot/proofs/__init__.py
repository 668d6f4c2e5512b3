"""Proof files, and the program that judges them with the trusted base alone."""
