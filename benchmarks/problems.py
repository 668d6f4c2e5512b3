"""The 13 data sets of Table 1 of Sun, Justin, Gomez and Vayanos (AISTATS 2025), and the calibration of its Section 3.

    gamma_j = -log(1 - rho_j) / u_j,   u_j = 0.4 sigma_j          price per unit of numeric column j
    delta_l = log(rho_l (|C_l| - 1) / (1 - rho_l))                price of changing categorical column l
    radius  = -log(theta)

rho is the probability that a feature does not shift (categorical) or stays within u_j of its value (numeric), drawn per
feature from a normal distribution with mean 0.6, 0.7, 0.8 or 0.9 and standard deviation 0.2. A price is positive only for rho
in an open range, (0, 1) for numeric and (1/|C_l|, 1) for categorical columns. A draw outside it is drawn again, which is what
the authors' published program does, or, on request, moved to the nearest end; both keep ``MARGIN`` away from the ends, where a
price is 0 or infinite.

How each file becomes a table (missing values, dropped rows and columns, labels) is the paper's Appendix C as far as the files
permit; README.md beside this file lists what differs and why. The files are read with the standard library, so that a benchmark
measures solvers on arrays and needs no data frame package.
"""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.shift.prices import categorical_prices, rounded_prices, shift_radius

THETAS = (0.5, 0.65, 0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.99)
MEANS = (0.6, 0.7, 0.8, 0.9)
CERTAINTY_SD = 0.2
INTERVAL = 0.4
# One thousandth keeps delta at or above 0.004 and gamma * sigma between 0.0025 and 17.3; the paper names no margin.
MARGIN = 1e-3
MISSING = "?"

Columns = dict[str, AnyArray]


@dataclass(frozen=True)
class Shape:
    """Rows N, numeric columns n, categorical columns m and one-hot columns c = sum_l (|C_l| - 1)."""

    rows: int
    numeric: int
    categorical: int
    encoded: int


@dataclass(frozen=True)
class MixedTable:
    """A data set as the solvers see it, with the names that lead back to the file."""

    name: str
    numeric: FloatArray
    codes: IntArray
    n_levels: IntArray
    labels: FloatArray
    numeric_names: tuple[str, ...]
    categorical_names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @property
    def shape(self) -> Shape:
        return Shape(len(self.labels), self.numeric.shape[1], self.codes.shape[1], int((self.n_levels - 1).sum()))

    def standardized(self) -> MixedTable:
        """The same table with numeric columns of mean 0 and standard deviation 1."""
        spread = self.numeric.std(axis=0)
        return replace(self, numeric=(self.numeric - self.numeric.mean(axis=0)) / spread)


def _columns_that_vary_in_the_training_file(columns: Columns) -> Columns:
    # UCI ships audiology as 200 + 26 rows. The paper's m = 62 counts the columns that vary in the 200.
    return {name: values for name, values in columns.items() if np.unique(values[:200]).size > 1}


def _without_balanced(columns: Columns) -> BoolArray:
    kept: BoolArray = columns["class"] != "B"
    return kept


def _without_the_broken_record(columns: Columns) -> BoolArray:
    # UCI's file breaks this one record over two lines; a line-wise reader, like the paper's, has 539 records.
    broken = (columns["timestamp"] == "19930421") & (np.char.lower(columns["customer"]) == "eckerds")
    kept: BoolArray = ~broken
    return kept


@dataclass(frozen=True)
class Source:
    """How one file becomes a table; ``paper`` is its row of Table 1."""

    file: str
    label: str
    positive: str
    paper: Shape
    numeric: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    lower_case: bool = False
    keep_rows: Callable[[Columns], BoolArray] | None = None
    keep_columns: Callable[[Columns], Columns] | None = None


SOURCES: dict[str, Source] = {
    "audiology": Source(
        "audiology.csv",
        "class",
        "cochlear_age",
        Shape(226, 0, 62, 85),
        drop=("identifier",),
        keep_columns=_columns_that_vary_in_the_training_file,
    ),
    "balance-scale": Source("balance_scale.csv", "class", "L", Shape(576, 0, 4, 16), keep_rows=_without_balanced),
    "breast-cancer": Source("breast_cancer.csv", "class", "recurrence-events", Shape(286, 0, 9, 32)),
    "car": Source("car.csv", "class", "unacc", Shape(1728, 0, 6, 15)),
    # Classes 1 and 2 of hayes-roth are equally frequent (51 rows each): the first is taken as the majority class.
    "hayes-roth": Source("hayes_roth.csv", "class", "1", Shape(132, 0, 3, 9), drop=("name", "hobby")),
    "tic-tac-toe": Source("tic_tac_toe.csv", "class", "positive", Shape(958, 0, 9, 18)),
    "spect": Source("spect.csv", "diagnosis", "1", Shape(267, 0, 22, 22), drop=("split",)),
    "voting": Source("voting.csv", "class", "democrat", Shape(435, 0, 16, 32)),
    "credit-approval": Source(
        "credit_approval.csv", "A16", "+", Shape(690, 6, 9, 36), numeric=("A2", "A3", "A8", "A11", "A14", "A15")
    ),
    "cylinder": Source(
        "cylinder_bands.csv",
        "band_type",
        "noband",
        Shape(539, 19, 14, 43),
        numeric=(
            "proof_cut", "viscosity", "caliper", "ink_temperature", "humidity", "roughness", "blade_pressure", "varnish_pct",
            "press_speed", "ink_pct", "solvent_pct", "esa_voltage", "esa_amperage", "wax", "hardener", "roller_durometer",
            "current_density", "anode_space_ratio", "chrome_content",
        ),
        drop=("timestamp", "cylinder_number", "customer", "job_number"),
        lower_case=True,
        keep_rows=_without_the_broken_record,
    ),
    "hepatitis": Source(
        "hepatitis.csv",
        "class",
        "2",
        Shape(155, 6, 13, 23),
        numeric=("age", "bilirubin", "alk_phosphate", "sgot", "albumin", "protime"),
    ),
    "nursery": Source("nursery.csv.gz", "class", "not_recom", Shape(12960, 0, 8, 26)),
    "online-shopper": Source(
        "online_shoppers.csv.gz",
        "Revenue",
        "TRUE",
        Shape(12330, 14, 3, 14),
        numeric=(
            "Administrative", "Administrative_Duration", "Informational", "Informational_Duration", "ProductRelated",
            "ProductRelated_Duration", "BounceRates", "ExitRates", "PageValues", "SpecialDay", "OperatingSystems", "Browser",
            "Region", "TrafficType",
        ),
    ),
}  # fmt: skip

NAMES = tuple(SOURCES)


def data_directory() -> Path:
    """Directory of the data files: ``$SUREFOOT_DATA``, or ``shared/data`` beside the repository."""
    chosen = os.environ.get("SUREFOOT_DATA")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[2] / "shared" / "data"


def load(name: str) -> MixedTable:
    """Read one data set of Table 1; numeric columns are in the units of the file.

    Parameters
    ----------
    name : str
        One of ``NAMES``.
    """
    if name not in SOURCES:
        raise ValueError(f"unknown data set {name!r}; choose one of {', '.join(NAMES)}.")
    source = SOURCES[name]
    path = data_directory() / "uci" / source.file
    if not path.exists():
        raise FileNotFoundError(
            f"{source.file} is not in {path.parent}: set SUREFOOT_DATA to the directory whose folder uci holds this file."
        )
    columns = read_columns(path)
    if source.keep_rows is not None:
        kept = source.keep_rows(columns)
        columns = {column: values[kept] for column, values in columns.items()}
    labels = np.where(columns[source.label] == source.positive, 1.0, -1.0)
    columns = {column: values for column, values in columns.items() if column not in {source.label, *source.drop}}
    if source.lower_case:
        columns = {column: np.char.lower(values) for column, values in columns.items()}
    if source.keep_columns is not None:
        columns = source.keep_columns(columns)

    return coded_table(name, columns, labels, source.numeric)


def coded_table(name: str, columns: Columns, labels: FloatArray, numeric: Collection[str]) -> MixedTable:
    """Text columns as a table: those named ``numeric`` as numbers, gaps filled with the median, the others as categories."""
    numbers = {column: _numbers(columns[column]) for column in columns if column in numeric}
    numbers = {column: values for column, values in numbers.items() if values.std() > 0}
    texts = {column: values for column, values in columns.items() if column not in numeric}
    coded = {column: np.unique(values, return_inverse=True) for column, values in texts.items()}
    coded = {column: (levels, codes) for column, (levels, codes) in coded.items() if levels.size > 1}
    return MixedTable(
        name=name,
        numeric=_stacked(numbers.values(), len(labels), np.float64),
        codes=_stacked((codes for _, codes in coded.values()), len(labels), np.int32),
        n_levels=np.array([levels.size for levels, _ in coded.values()], dtype=np.int32),
        labels=labels,
        numeric_names=tuple(numbers),
        categorical_names=tuple(coded),
        levels=tuple(tuple(str(level) for level in levels) for levels, _ in coded.values()),
    )


def read_columns(path: Path) -> Columns:
    """The columns of a CSV file with a header row, as text."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        body = np.array(list(reader))
    return {column: np.char.strip(body[:, at]) for at, column in enumerate(header)}


def _numbers(values: AnyArray) -> FloatArray:
    missing = values == MISSING
    numbers = np.where(missing, "nan", values).astype(np.float64)
    numbers[missing] = np.median(numbers[~missing])
    return numbers


def _stacked(columns: Iterable[AnyArray], rows: int, dtype: type) -> AnyArray:
    listed = list(columns)
    return np.ascontiguousarray(np.column_stack(listed), dtype=dtype) if listed else np.empty((rows, 0), dtype=dtype)


def draw_certainty(
    lowest: FloatArray, *, mean: float, generator: np.random.Generator, outside: str = "redraw", margin: float = MARGIN
) -> FloatArray:
    """One probability of certainty per feature, each inside (lowest + margin, 1 - margin).

    Parameters
    ----------
    lowest : ndarray of shape (n_features,)
        Below it the price of a shift would not be positive: 0 for a numeric, 1/|C_l| for a categorical feature.
    mean : float
        Mean of the normal distribution; its standard deviation is 0.2.
    generator : numpy.random.Generator
    outside : {"redraw", "clip"}
        What happens to a draw outside the range.
    margin : float
    """
    low, high = lowest + margin, np.full_like(lowest, 1.0 - margin)
    if outside == "clip":
        clipped: FloatArray = np.clip(generator.normal(mean, CERTAINTY_SD, size=lowest.shape), low, high)
        return clipped
    if outside != "redraw":
        raise ValueError(f"outside = {outside!r} must be 'redraw' or 'clip'.")
    # Drawing again until the value fits is drawing from the truncated distribution, which needs one uniform number.
    below, above = ndtr((low - mean) / CERTAINTY_SD), ndtr((high - mean) / CERTAINTY_SD)
    drawn = mean + CERTAINTY_SD * ndtri(below + (above - below) * generator.uniform(size=lowest.shape))
    within: FloatArray = np.clip(drawn, low, high)
    return within


def calibrate(
    table: MixedTable, *, mean: float, random_state: int = 0, decimals: int | None = None, outside: str = "redraw"
) -> GroundCost:
    """Ground cost of a data set by the formulas of the module docstring; no label flips.

    Parameters
    ----------
    table : MixedTable
    mean : float
        Mean of the probabilities of certainty.
    random_state : int
        Seed; the draws depend on it, on the name of the data set and on ``mean``, and not on the units of a column.
    decimals : int or None
        Places to which the categorical prices are rounded (0: integers, 1: one decimal); None leaves them as they are. Numeric
        prices stay real: no formulation depends on how many distinct values they have.
    outside : {"redraw", "clip"}
        See :func:`draw_certainty`.
    """
    numeric, categorical = certainties(table, mean=mean, random_state=random_state, outside=outside)
    delta = categorical_prices(categorical, table.n_levels)
    return GroundCost(
        numeric_weights=numeric_prices(numeric, INTERVAL * table.numeric.std(axis=0)),
        categorical_weights=delta if decimals is None else rounded_prices(delta, decimals),
    )


def certainties(
    table: MixedTable, *, mean: float, random_state: int = 0, outside: str = "redraw"
) -> tuple[FloatArray, FloatArray]:
    """The drawn certainties of numeric and of categorical columns, from which :func:`calibrate` computes the prices."""
    seed = (random_state, zlib.crc32(table.name.encode()), round(1000 * mean))
    generator = np.random.default_rng(seed)
    categorical = draw_certainty(1.0 / table.n_levels, mean=mean, generator=generator, outside=outside)
    numeric = draw_certainty(np.zeros(len(table.numeric_names)), mean=mean, generator=generator, outside=outside)
    return numeric, categorical


def numeric_prices(certainty: FloatArray, interval: FloatArray) -> FloatArray:
    """gamma_j = -log(1 - rho_j) / u_j, for all columns at once."""
    prices: FloatArray = -np.log1p(-certainty) / interval
    return prices


def pose(table: MixedTable, cost: GroundCost, theta: float) -> RobustLogisticProblem:
    """The robust problem of a data set at robustness ``theta`` in (0, 1]; rows weigh the same."""
    if not 0 < theta <= 1:
        raise ValueError(f"theta = {theta} must be above 0 and at most 1.")
    rows = len(table.labels)
    return RobustLogisticProblem(
        numeric=table.numeric,
        codes=table.codes,
        n_levels=table.n_levels,
        labels=table.labels,
        weights=np.full(rows, 1.0 / rows),
        cost=cost,
        radius=shift_radius(theta),
    )
