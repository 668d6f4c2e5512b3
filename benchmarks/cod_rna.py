"""The table of cod-rna: a copy of the user's in LIBSVM's format, or a simulated one of its size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from bench_chance_rows import simulated_table
from chance_printed import COD_RNA_SHAPE

NAME = "cod-rna"


def load_cod_rna(path: Path | None, random_state: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and labels (True for the positive class), at most so many rows, drawn at random.

    Parameters
    ----------
    path : Path or None
        A file of LIBSVM's format, plain, gzip or bzip2; None simulates normal columns of two classes that overlap a little.
    random_state : int
    most : int

    Raises
    ------
    ValueError
        If the file has another number of columns, or labels other than -1 and 1.
    """
    if path is None:
        X, y = simulated_table(COD_RNA_SHAPE[0], random_state)
    else:
        from sklearn.datasets import load_svmlight_file

        sparse, labels = load_svmlight_file(str(path))
        if sparse.shape[1] != COD_RNA_SHAPE[1]:
            raise ValueError(f"{path.name} has {sparse.shape[1]} columns; cod-rna has {COD_RNA_SHAPE[1]}.")
        if set(np.unique(labels)) != {-1.0, 1.0}:
            raise ValueError(f"{path.name} has the labels {np.unique(labels).tolist()}; cod-rna has -1 and 1.")
        X, y = sparse.toarray(), labels > 0
    kept = np.sort(np.random.default_rng(random_state).permutation(len(y))[:most])
    return X[kept], np.asarray(y)[kept]
