"""The one guard of all families against models whose numbers are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.exceptions import UnsupportedProblemError
from surefoot.sklearn_api.finite_model import require_finite_model


@pytest.mark.parametrize("number", [np.nan, np.inf, np.array([0.0, np.nan]), np.array([[1.0, -np.inf]])])
def test_one_number_that_is_not_finite_is_enough_to_refuse_a_model(number: object) -> None:
    require_finite_model("fit", np.zeros(3), 1.0, np.arange(3))
    with pytest.raises(UnsupportedProblemError, match=r"Some\.fit found no model.* narrower"):
        require_finite_model("Some.fit", np.zeros(3), number, advice="Ask for something narrower.")
