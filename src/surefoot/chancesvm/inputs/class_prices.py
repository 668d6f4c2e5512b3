"""What the slack of an input of each class costs, in units of what it would cost without ``class_weight``."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.design.encode.level_codes import listing

_KNOWN = "None, 'balanced', or a mapping from class to a positive, finite number"


def require_class_weight(class_weight: Any) -> None:
    """Raise on what no labels could make sense of."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight = {class_weight!r} must be {_KNOWN}.")
    for name, weight in class_weight.items():
        number = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
        if not (number and 0 < float(weight) < math.inf):
            raise ValueError(f"class_weight of class {name!r} = {weight!r} must be a positive, finite number.")


def class_prices(class_weight: Any, classes: AnyArray, codes: NDArray[np.intp], counts: FloatArray) -> FloatArray:
    """By what the price of each input, or row, is multiplied.

    Parameters
    ----------
    class_weight : None, "balanced", or mapping from class to float
        "balanced": the mean count of a class over that of its own, so that all classes cost the same and all inputs together
        what they would without. A class that a mapping does not name has the weight 1, as in scikit-learn.
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_inputs,)
        Places of the inputs' labels among the classes, which all occur.
    counts : ndarray of shape (n_inputs,)
        What an input counts for "balanced".

    Raises
    ------
    ValueError
        If a mapping names none of what it was probably meant for: a class that is not there, while one that is has no weight.
    """
    if class_weight is None:
        return np.ones(codes.size)
    if isinstance(class_weight, str):
        sums = np.bincount(codes, weights=counts, minlength=classes.size)
        weights = sums.sum() / (classes.size * sums)
    else:
        names = classes.tolist()
        unknown, missing = [name for name in class_weight if name not in names], [n for n in names if n not in class_weight]
        if unknown and missing:
            raise ValueError(
                f"class_weight names class {unknown[0]!r}, which y does not hold, and not {missing[0]!r}, which it does. The "
                f"classes are {listing(names)}."
            )
        weights = np.array([float(class_weight.get(name, 1.0)) for name in names])
    return np.asarray(weights[codes])
