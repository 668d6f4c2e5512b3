"""No model leaves a fit whose numbers are not finite: its predictions would be one class, or nothing, without a word."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.exceptions import UnsupportedProblemError

ADVICE = "Scale the columns, take out settings of extreme size, or try another solver."


def require_finite_model(where: str, *numbers: Any, advice: str = ADVICE) -> None:
    """Raise unless all numbers of an answer are finite; called before an estimator takes over any of them.

    Parameters
    ----------
    where : str
        Whose fit it is.
    *numbers : arrays and floats
        Those by which the model answers.
    advice : str
        What to do.

    Raises
    ------
    UnsupportedProblemError
        If one of them is not.
    """
    if not all(np.all(np.isfinite(np.asarray(own, dtype=np.float64))) for own in numbers):
        raise UnsupportedProblemError(
            f"{where} found no model: the arithmetic of the solver broke down, and what it returned are no numbers. {advice}"
        )
