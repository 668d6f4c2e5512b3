"""The kernel that the parameters name, with numbers in the place of words."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from surefoot.chancesvm.certificate.inner_products import MOST_DEGREES
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.core.arrays import FloatArray

_NAMES = ("linear", "poly", "rbf", "precomputed")


def make_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any, block: FloatArray, weights: FloatArray) -> Kernel:
    """The kernel for a table of training rows.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable
    gamma : "scale", "auto" or float
        "scale" is 1 / (columns * variance of all entries), rows counting by their weights; "auto" is 1 / columns.
    degree, coef0 : number
    block : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
        Summing to 1.
    """
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if kernel not in _NAMES:
        raise ValueError(f"kernel = {kernel!r} is not known. Choose one of {', '.join(map(repr, _NAMES))}, or a function.")
    if kernel == "poly":
        if isinstance(degree, numbers.Real) and float(degree) > MOST_DEGREES:
            raise ValueError(f"degree = {degree!r} must be at most {MOST_DEGREES}: powers beyond are 0 or overflow.")
        return Kernel(
            "poly", gamma=_gamma(gamma, block, weights), degree=_number("degree", degree), coef0=_number("coef0", coef0)
        )
    return Kernel("rbf", gamma=_gamma(gamma, block, weights)) if kernel == "rbf" else Kernel(kernel)


def _gamma(gamma: Any, block: FloatArray, weights: FloatArray) -> float:
    if isinstance(gamma, str):
        if gamma == "auto":
            return 1.0 / float(block.shape[1])
        if gamma == "scale":
            centre = float(weights @ block.mean(axis=1))
            variance = float(weights @ np.mean((block - centre) ** 2, axis=1))
            return 1.0 / float(block.shape[1] * variance) if variance > 0 else 1.0
        raise ValueError(f"gamma = {gamma!r} is not known. Use 'scale', 'auto' or a positive number.")
    return float(_number("gamma", gamma))


def _number(name: str, value: Any) -> Any:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError(f"{name} = {value!r} must be a number.")
    return value
