"""Input that a chance-constrained model cannot use: each with an error that names it and says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.exceptions import InvalidTableError

X = np.random.default_rng(0).normal(size=(12, 2)) + 3 * (np.arange(12) % 2)[:, None]
Y = np.arange(12) % 2
GROUPS = np.array(list("abababababab"))


def not_a_number(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.full((len(left), len(right)), np.nan)


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({}, {"y": [0] * 12}, "only one class: 0"),
        ({}, {"groups": list("aaaaaaaaaaab")}, "group 'a' has rows of both classes: row 0 is 0, row 1 is 1"),
        ({}, {"groups": ["a"] * 11}, "X has 12 rows, groups has 11 entries"),
        ({}, {"groups": [*"ababababab", None, "b"]}, r"groups has 1 missing value\(s\), the first in row 10"),
        ({}, {"X": pd.DataFrame({"a": ["x"] * 12, "b": 1.0})}, "column 'a', row 0: 'x' is not a number.*OneHotEncoder"),
        ({}, {"X": pd.DataFrame(X, columns=["a", "a"])}, "Column names must be unique, but these repeat: .a.. Rename them"),
        ({}, {"X": np.where(np.arange(24).reshape(12, 2) == 5, np.nan, X)}, "column 1 has 1 missing value.*row 2.*imputer"),
        ({}, {"X": np.where(np.arange(24).reshape(12, 2) == 5, np.inf, X)}, "column 1, row 2 holds inf"),
        ({}, {"sample_weight": [-1.0] * 12}, "Negative values in data passed to `sample_weight`: row 0"),
        ({"violation": 0.0}, {}, r"violation = 0\.0 must be above 0 and below 1"),
        ({"violation": 1.0}, {}, r"violation = 1\.0 must be above 0 and below 1"),
        ({"violation": {"a": 0.1}}, {}, "violation names no value for group 'b'"),
        ({"violation": [0.1, 0.2]}, {"groups": None}, "no groups were given"),
        ({"C": 0}, {}, "C = 0 must be a positive, finite number"),
        ({"C": np.inf}, {}, "C = inf must be a positive, finite number"),
        ({"tol": -1}, {}, "tol = -1 must be a positive"),
        ({"max_iter": 0}, {}, "max_iter = 0 must be None or a whole number"),
        ({"time_limit": 0}, {}, "time_limit = 0 must be None or a positive"),
        ({"batches": 1}, {}, "batches = 1 must be 'auto', 'rows', 'clusters', or a whole number of at least 2"),
        ({"standardize": 1}, {}, "standardize = 1 must be True or False"),
        ({"C": 1e-10}, {"sample_weight": [1e-320] * 12}, "C times sample_weight is no price of slack"),
        ({"C": 1e10}, {"sample_weight": [1e300] * 12}, "C times sample_weight is no price of slack"),
        ({"solver": "mosek"}, {}, "solver='mosek' is not known"),
        ({"solver": None}, {}, "solver = None must be the name"),
        ({"kernel": "cubic"}, {}, "kernel = 'cubic' is not known"),
        ({"kernel": not_a_number}, {}, "kernel of samples 0 and 0.*is nan"),
        ({"kernel": lambda left, right: left}, {}, "the kernel function returned shape"),
        ({"kernel": "precomputed"}, {}, "must be a square matrix. Input is a 12x2 matrix"),
        ({"kernel": "precomputed"}, {"X": np.eye(12) - 2 * np.eye(12)[::-1]}, "is indefinite: its smallest eigenvalue is -1"),
        ({"kernel": "precomputed"}, {"X": np.eye(12) + np.eye(12, k=3)}, "precomputed kernel is not symmetric"),
    ],
)  # fmt: skip
def test_a_fit_that_makes_no_sense_is_refused_and_leaves_no_trace(
    parameters: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    model = ChanceConstrainedSVC(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(**{"X": X, "y": Y, "groups": GROUPS, **given})
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({"kernel": "rbf"}, {}, "fit_moments needs kernel='linear', not 'rbf'"),
        ({}, {"covariances": [np.eye(2), [[1.0, 0.5], [0.1, 1.0]]]}, "covariance of input 1 is not symmetric"),
        ({}, {"covariances": [np.eye(2), -np.eye(2)]}, "covariance of input 1 is not positive semidefinite"),
        ({}, {"covariances": np.ones((2, 3))}, r"covariances has shape \(2, 3\)"),
        ({}, {"y": [0, 0]}, "only one class"),
        ({}, {"means": [[0.0, np.nan], [1.0, 1.0]]}, "column 1 has 1 missing value"),
        ({"violation": [0.1]}, {}, "violation has shape"),
    ],
)
def test_moments_that_make_no_sense_are_refused(parameters: dict[str, Any], given: dict[str, Any], message: str) -> None:
    model = ChanceConstrainedSVC(**{"kernel": "linear", **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit_moments(**{"means": [[0.0, 0.0], [1.0, 1.0]], "covariances": np.ones((2, 2)), "y": [0, 1], **given})


def test_predictions_want_the_columns_of_training() -> None:
    model = ChanceConstrainedSVC().fit(pd.DataFrame(X, columns=["a", "b"]), Y, GROUPS)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=["b", "a"]))
    with pytest.raises(InvalidTableError, match="missing value"):
        model.predict(pd.DataFrame({"a": [np.nan], "b": [1.0]}))
    gram = ChanceConstrainedSVC(kernel="precomputed").fit(X @ X.T, Y, GROUPS)
    with pytest.raises(ValueError, match="X has 3 features"):
        gram.predict(np.ones((2, 3)))
