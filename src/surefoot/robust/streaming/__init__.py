"""Rows in batches and partitions: sums are computed where the rows live."""
