"""Columns become numbers: which are categories, what their levels are, and which rows and labels count."""
