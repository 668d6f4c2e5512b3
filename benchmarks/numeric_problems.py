"""Problems with numeric columns only and a price of flipping a label: Gaussian, adult (LIBSVM) and text-like.

    min over beta, lambda of   lambda radius + mean_i (h(m_i) + max(m_i - lambda kappa, 0)),   h(m) = log(1 + exp(-m)),
    subject to   || beta ||_* <= lambda,   with margins m_i = y_i (beta_0 + x_i . beta);

every unit of every column costs the adversary 1. Radius 0.1, kappa = 1 and the l1 metric (|beta_j| <= lambda) are the settings
that the optima in ``KNOWN_OPTIMA`` and the poster of Li, Huang and So (NeurIPS 2019) are compared at. The poster names neither
its radius nor its label price; Section 5.1 of the paper behind it does, and they are these. Its Gaussian data are not public.
"""

from __future__ import annotations

import numpy as np
from problems import data_directory
from scipy.sparse import csr_array

from surefoot.core.arrays import AnyArray, FloatArray, NumericArray
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.numeric_norm import NumericNorm
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem

RADIUS = 0.1
LABEL_PRICE = 1.0
# Optima of gaussian_problem(rows, columns) with seed 0, computed by independent code.
KNOWN_OPTIMA = {(5_000, 100): 0.66772637, (10_000, 100): 0.66596745}
ADULT = tuple(f"a{k}a" for k in range(1, 10))
ADULT_COLUMNS = 123
# Popularity of the column at rank k is in proportion to 1 / (k + this): without it one word would stand in every text.
ZIPF_OFFSET = 10.0


def numeric_problem(
    numeric: NumericArray,
    labels: FloatArray,
    *,
    fit_intercept: bool,
    radius: float = RADIUS,
    label_price: float = LABEL_PRICE,
    norm: NumericNorm = "l1",
) -> RobustLogisticProblem:
    """The problem of the module docstring; rows weigh the same."""
    rows, columns = numeric.shape
    return RobustLogisticProblem(
        numeric=numeric,
        codes=np.empty((rows, 0), dtype=np.int32),
        n_levels=np.empty(0, dtype=np.int32),
        labels=labels,
        weights=np.full(rows, 1.0 / rows),
        cost=GroundCost(np.ones(columns), np.empty(0), label_price, norm),
        radius=radius,
        fit_intercept=fit_intercept,
    )


def gaussian_problem(rows: int, columns: int, *, random_state: int = 0) -> RobustLogisticProblem:
    """Standard normal columns, then a truth 2 N(0, I) / sqrt(columns), then one uniform number per label; no intercept."""
    generator = np.random.default_rng(random_state)
    numeric = generator.normal(size=(rows, columns))
    truth = 2.0 * generator.normal(size=columns) / np.sqrt(columns)
    return numeric_problem(numeric, _drawn_labels(numeric @ truth, generator), fit_intercept=False)


def adult_problem(name: str) -> RobustLogisticProblem:
    """One file of the adult series, sparse, with intercept.

    Parameters
    ----------
    name : str
        One of ``ADULT``.
    """
    # scikit-learn takes a second to import, which the problems that need no file are spared.
    from sklearn.datasets import load_svmlight_file

    if name not in ADULT:
        raise ValueError(f"unknown data set {name!r}; choose one of {', '.join(ADULT)}.")
    path = data_directory() / "libsvm" / f"{name}.svm.gz"
    if not path.exists():
        raise FileNotFoundError(
            f"{path.name} is not in {path.parent}: set SUREFOOT_DATA to the directory whose folder libsvm holds this file."
        )
    numeric, labels = load_svmlight_file(str(path), n_features=ADULT_COLUMNS)
    return numeric_problem(csr_array(numeric), labels, fit_intercept=True)


def text_problem(
    rows: int,
    columns: int,
    per_row: int,
    *,
    norm: NumericNorm = "l1",
    label_price: float = LABEL_PRICE,
    robustness: float = 0.1,
    random_state: int = 0,
) -> RobustLogisticProblem:
    """Sparse rows like those of texts: few columns each, popular columns in many rows, most columns in few.

    Parameters
    ----------
    rows, columns, per_row : int
        Every row has ``per_row`` different columns, drawn in proportion to their popularity, with exponential values.
    norm, label_price
        Of the ground cost.
    robustness : float
        Radius in units of the smallest one at which no column is of use: a number that means the same in every norm.
    random_state : int
    """
    generator = np.random.default_rng(random_state)
    indices = _distinct_columns(generator, rows, columns, per_row)
    values, starts = generator.exponential(size=rows * per_row), np.arange(0, rows * per_row + 1, per_row)
    numeric = csr_array((values, indices.ravel(), starts), shape=(rows, columns))
    scores = numeric @ generator.normal(size=columns)
    labels = _drawn_labels(2.0 * (scores - scores.mean()) / scores.std(), generator)
    positive = float((labels > 0).mean())
    if positive in (0.0, 1.0):
        raise ValueError(f"all {rows} rows drew the same label; ask for more rows.")
    # Where no column is of use, rows have the slopes 1 - positive and positive, and the columns this gradient.
    gradient = (np.where(labels > 0, 1.0 - positive, -positive) / rows) @ numeric
    useless = GroundCost(np.ones(columns), np.empty(0), label_price, norm).numeric_price(gradient)
    # With half of the labels flipped nothing is left to learn, whatever the columns.
    radius = robustness * min(useless, 0.5 * label_price)
    return numeric_problem(numeric, labels, fit_intercept=True, radius=radius, label_price=label_price, norm=norm)


def with_best_price(problem: RobustLogisticProblem, numeric: FloatArray, intercept: float = 0.0) -> RobustCoefficients:
    """A rival's coefficients as a model of the problem, at the price lambda that suits them best.

    The objective falls in lambda while more than the share radius / kappa of the rows has a margin above lambda kappa.
    """
    price, label_price = problem.cost.admitting_price(numeric), problem.cost.label_weight
    if problem.radius < label_price < np.inf:
        margins = problem.labels * (problem.numeric @ numeric + intercept)
        edge = np.quantile(margins, 1.0 - problem.radius / label_price, method="inverted_cdf", weights=problem.weights)
        price = max(price, float(edge) / label_price)
    return RobustCoefficients(intercept=intercept, numeric=numeric, levels=np.empty(0), price=price)


def _drawn_labels(scores: FloatArray, generator: np.random.Generator) -> FloatArray:
    labels: FloatArray = np.where(generator.uniform(size=scores.size) < 1.0 / (1.0 + np.exp(-scores)), 1.0, -1.0)
    return labels


def _distinct_columns(generator: np.random.Generator, rows: int, columns: int, per_row: int) -> AnyArray:
    """Ascending column numbers, none twice in a row; those drawn twice are drawn again."""
    if 2 * per_row > columns:
        raise ValueError(
            f"{per_row} entries a row need at least {2 * per_row} columns, not {columns}: rows would hardly differ."
        )
    popularity = np.cumsum(1.0 / (np.arange(columns) + ZIPF_OFFSET))
    popularity /= popularity[-1]

    def draw(shape: int | tuple[int, int]) -> AnyArray:
        return np.searchsorted(popularity, generator.random(shape), side="right").astype(np.int32)

    drawn = np.sort(draw((rows, per_row)), axis=1)
    while True:
        repeated = np.flatnonzero((drawn[:, 1:] == drawn[:, :-1]).any(axis=1))
        if not repeated.size:
            return drawn
        part = drawn[repeated]
        twice = np.zeros(part.shape, dtype=np.bool_)
        twice[:, 1:] = part[:, 1:] == part[:, :-1]
        part[twice] = draw(int(twice.sum()))
        drawn[repeated] = np.sort(part, axis=1)
