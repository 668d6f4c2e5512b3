"""Fitted models on thousands of shifted tables, and what becomes of their metrics."""
