"""Whether rows are those that a model was fitted to, and what it would have said of them had it not been."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.sklearn_api.own_rows import seen_by_last_step
from surefoot.sklearn_api.proven_model import ProvenModel, last_step
from surefoot.sklearn_api.verification import proof_parts

# By so much, relative to the larger, may two sums of the same losses differ that were taken in another order.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class RowsOfFit:
    """Rows that a model was fitted to.

    Attributes
    ----------
    held_out : ndarray of shape (n_rows,) or None
        Probability of the second class by models of the same settings, each fitted without the row; None where there are none.
    """

    held_out: FloatArray | None


def rows_of_fit(model: Any, X: Any, y: Any) -> RowsOfFit | None:
    """Recognise the rows of the fit, in any order; None for other rows, and where that cannot be known.

    The proof of a model is about its rows: they pose the problem of its digest. In another order they pose another one, in
    which the model has the same objective, to the last digits.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends with one
    X, y : rows and labels
    """
    last = last_step(model)
    if not isinstance(last, ProvenModel):
        return None
    try:
        fresh = proof_parts(model, X, y).judge()
    except (ValueError, TypeError):  # rows that the model cannot read, or no proof: then nothing is known about its rows
        return None
    proven = last.certificate_
    if fresh.problem_digest != proven.problem_digest and not (
        # A constant has the same objective on all rows of the same share of classes.
        np.any(getattr(last, "coef_", 0.0)) and math.isclose(fresh.upper_bound, proven.upper_bound, rel_tol=_ROUNDING)
    ):
        return None
    with warnings.catch_warnings():
        # What a part of the rows has to say is not what the user asked.
        warnings.simplefilter("ignore")
        try:
            return RowsOfFit(last._held_out_probability(seen_by_last_step(model, X), y))
        except ValueError:  # separable without some rows, or a class of too few
            return RowsOfFit(None)
