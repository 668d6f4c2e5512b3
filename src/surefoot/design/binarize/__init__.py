"""Columns become 0/1 columns that can be read aloud."""
