"""Penalised logistic regression rounded to whole points, and polished."""
