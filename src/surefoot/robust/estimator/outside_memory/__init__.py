"""Fits of rows that are not in the memory of this process: batches, Parquet files, Dask."""
