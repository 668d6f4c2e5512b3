"""What the slack of an input of each class costs, in units of what it would cost without ``class_weight``."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray

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


def class_prices(class_weight: Any, classes: AnyArray, labels: FloatArray, counts: FloatArray) -> FloatArray:
    """By what the price of each input is multiplied.

    Parameters
    ----------
    class_weight : None, "balanced", or mapping from class to float
        "balanced": half of all counts over those of the class, so that both classes cost the same and all inputs together what
        they would without. A class that a mapping does not name has the weight 1, as in scikit-learn.
    classes : ndarray of shape (2,)
    labels : ndarray of shape (n_inputs,)
        -1.0 and +1.0, both present.
    counts : ndarray of shape (n_inputs,)
        What an input counts for "balanced".

    Raises
    ------
    ValueError
        If a mapping names none of what it was probably meant for: a class that is not there, while one that is has no weight.
    """
    second = labels > 0
    if class_weight is None:
        return np.ones(labels.size)
    if isinstance(class_weight, str):
        sums = np.array([counts[~second].sum(), counts[second].sum()])
        weights = sums.sum() / (2.0 * sums)
    else:
        names = classes.tolist()
        unknown, missing = [name for name in class_weight if name not in names], [n for n in names if n not in class_weight]
        if unknown and missing:
            raise ValueError(
                f"class_weight names class {unknown[0]!r}, which y does not hold, and not {missing[0]!r}, which it does. The "
                f"classes are {names[0]!r} and {names[1]!r}."
            )
        weights = np.array([float(class_weight.get(name, 1.0)) for name in names])
    return np.asarray(weights[second.astype(np.intp)])
