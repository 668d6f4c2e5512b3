"""What a person knows about tomorrow's table: how sure each column is."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from surefoot.design.encode.numeric_range import require_numeric_range
from surefoot.design.write.rewritable_table import RewritableTable
from surefoot.exceptions import InvalidTableError
from surefoot.shift.ambiguity import Ambiguity
from surefoot.shift.column_settings import require_certainties, require_intervals
from surefoot.shift.noise import named_noise
from surefoot.shift.prices import categorical_prices, shift_radius
from surefoot.shift.scenarios import EXPECTED
from surefoot.shift.shifting_columns import ShiftingColumns, read_shifting_columns
from surefoot.shift.table_shift import TableShift, set_seeds
from surefoot.shift.two_samples import estimate_shift


@dataclass(frozen=True)
class ShiftModel:
    """How sure each column of a table is to stay what it is.

    The shift of a numeric value lies within +-u with probability rho_x; a categorical value stays the same with probability
    rho_z. Shifts of rows and columns are independent. From that follow the weights and the radius of a robust model,
    :meth:`calibrate`, and random shifts of a table, :meth:`perturb`.

    Parameters
    ----------
    numeric_certainty : float or mapping of columns to floats, optional
        rho_x, above 0 and at most 1. None, and columns that a mapping leaves out: they never shift.
    numeric_interval : float, str, or mapping of columns to those, optional
        u: a number in the units of the column, or a multiple of its standard deviation such as "0.4 std", which is also the
        default.
    categorical_certainty : float or mapping of columns to floats, optional
        rho_z, above 1 / (number of levels) and at most 1. None, and columns that a mapping leaves out: they never shift.
    robustness : float, default=0.9
        theta, above 0 and at most 1. A model is protected against shifts whose likelihood is at least theta per row, relative
        to no shift: 1 is no protection, and the smaller, the more.
    noise : {"laplace", "gaussian", "uniform"}, callable, or mapping of columns to those, default="laplace"
        Law of numeric shifts. A callable gets (generator, size) and returns that many independent shifts in any unit; they are
        scaled so that rho_x and u hold. Columns that a mapping leaves out: "laplace".
    numeric_range : None, "observed", "observed +- 10 %", or mapping, optional
        Where numbers move to, as ``numeric_range`` of :class:`RobustLogisticRegression` says it: None is without end. Random
        shifts beyond an end stop there, and a number that is outside already goes no farther.
    categorical_features : "from_dtype", None, or list, default="from_dtype"
        Which columns are categories: those whose type says so (text, boolean, categorical) and columns of numbers that are all
        0 or 1; none; or a list of names, positions or booleans. Columns named in a mapping of certainties are what that
        mapping says.

    Notes
    -----
    Laplace noise and a uniform choice among the other levels have the greatest entropy for their mean size and certainty, as in
    Section 3 of Sun, Justin, Gomez and Vayanos, "Mixed-feature Logistic Regression Robust to Distribution Shifts" (AISTATS
    2025). The weights of other laws are those of the Laplace law nearest to them, 1 / (mean size of a shift).

    Examples
    --------
    >>> import surefoot as sf
    >>> X = [[20.0, "web"], [30.0, "shop"], [40.0, "phone"]]
    >>> shift = sf.ShiftModel(numeric_certainty=0.8, numeric_interval=2.0, categorical_certainty=0.75, robustness=0.9)
    >>> print(shift.calibrate(X))
    Ambiguity set: shifts at a mean price of up to 0.1054 per row
      x0: 0.8047 per unit
      x1: 1.792 per change
    """

    numeric_certainty: Any = None
    numeric_interval: Any = None
    categorical_certainty: Any = None
    robustness: float = 0.9
    _: KW_ONLY
    noise: Any = "laplace"
    categorical_features: Any = "from_dtype"
    numeric_range: Any = field(default=None, metadata={"later": True})

    def __post_init__(self) -> None:
        require_certainties(self.numeric_certainty, "numeric_certainty")
        require_certainties(self.categorical_certainty, "categorical_certainty")
        require_intervals(self.numeric_interval, "numeric_interval")
        require_numeric_range(self.numeric_range)
        theta = self.robustness
        if not (isinstance(theta, numbers.Real) and not isinstance(theta, bool) and 0 < theta <= 1):
            raise ValueError(
                f"robustness = {theta!r} must be above 0 and at most 1: the least likelihood of a shift, relative to no shift, "
                "that the model is protected against; 1 is no protection."
            )
        for law in self.noise.values() if isinstance(self.noise, Mapping) else [self.noise]:
            named_noise(law)

    @classmethod
    def from_two(
        cls,
        before: Any,
        after: Any,
        *,
        paired: bool = False,
        robustness: float = 0.9,
        numeric_interval: Any = None,
        categorical_features: Any = "from_dtype",
    ) -> ShiftModel:
        """The certainties that two periods, or two sites, of one's own data speak for.

        What is estimated is the least shift that turns one table into the other. For a numeric column that is the mean size b
        of the moves, as Laplace noise: rho_x = 1 - exp(-u / b), so that calibration gives the weight 1 / b. For a categorical
        column it is the share of rows that stay the same, rho_z.

        With ``paired=True`` row i of both tables is the same person or thing, and moves are read off. Otherwise nobody knows
        which row became which, and the cheapest way is assumed: numbers keep their order, so b is the Wasserstein distance of
        the two columns, and no more rows change their level than must, so 1 - rho_z is the total variation distance of the
        level shares. Real shifts may be larger; but two samples of the same population differ by chance too, which counts as
        shift here, and much so for small tables. Columns are taken one by one, and tomorrow's shift is assumed to be as large
        as yesterday's.

        Parameters
        ----------
        before, after : tables with the same columns
        paired : bool, default=False
        robustness : float, default=0.9
        numeric_interval : float, str, or mapping of columns to those, optional
            u, by default "0.4 std" of ``before``.
        categorical_features : "from_dtype", None, or list, default="from_dtype"

        Returns
        -------
        ShiftModel
            With certainties and intervals, in units, by column.

        Warns
        -----
        BelowChanceWarning
            If a categorical column kept no more of its values than one drawn anew would: its certainty is raised to just above
            chance, where a robust model hardly uses the column.
        """
        plain = cls(
            numeric_certainty=1.0,
            numeric_interval=numeric_interval,
            categorical_certainty=1.0,
            robustness=robustness,
            categorical_features=categorical_features,
        )
        table = RewritableTable(before, reference=after)
        if paired and table.reference_table.n_rows != table.table.n_rows:
            raise InvalidTableError(
                f"paired tables need the same rows, but before has {table.table.n_rows} and after has "
                f"{table.reference_table.n_rows}."
            )
        columns = plain._columns(table, spread_of_source=True)
        found = estimate_shift(table, columns, paired=paired)
        return replace(
            plain,
            numeric_certainty=found.numeric_certainty,
            numeric_interval=found.numeric_interval,
            categorical_certainty=found.categorical_certainty,
            categorical_features="from_dtype",
        )

    def calibrate(self, X: Any) -> Ambiguity:
        """The ambiguity set around a table, usually the training table.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix

        Returns
        -------
        Ambiguity
            ``numeric_weights`` gamma = 1 / (mean size of a shift), for Laplace noise -log(1 - rho_x) / u;
            ``categorical_weights`` delta = log(rho_z (k - 1) / (1 - rho_z)) for k levels; ``radius`` = -log(robustness);
            ``numeric_ranges`` the ends between which numbers move, where ``numeric_range`` says any.

        Raises
        ------
        ValueError
            If a certainty is not above chance, so that its delta would not be positive; the message names column and value.
        """
        columns = self._columns(RewritableTable(X))
        gamma = dict.fromkeys(columns.numeric_names, math.inf)
        delta = dict.fromkeys(columns.categorical_names, math.inf)
        for column in columns.numeric:
            if column.scale > 0:
                gamma[column.name] = 1.0 / (column.scale * column.noise.mean_size)
        for changed in columns.categorical:
            if changed.moves:
                price = categorical_prices(np.array([changed.certainty]), np.array([changed.n_levels], dtype=np.int32))
                delta[changed.name] = float(price[0])
        ends = {column.name: column.ends for column in columns.numeric if column.scale > 0 and math.isfinite(column.ends[0])}
        return Ambiguity(gamma, delta, shift_radius(float(self.robustness)), ends or None)

    def perturb(self, X: Any, n_sets: int = 1, random_state: Any = None, *, reference: Any = None) -> Iterator[Any]:
        """Random shifts of a table.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, or list of rows
        n_sets : int, default=1
        random_state : None, int, or NumPy generator
            A number makes the tables reproducible; table k does not depend on ``n_sets``.
        reference : table, optional
            Where standard deviations, observed ranges, and levels that X happens not to hold, come from: usually the training
            table. None means X itself.

        Returns
        -------
        iterator of tables
            Of the same type as X; lists of rows come back as arrays, and columns of whole numbers that move as floats.
        """
        if not (isinstance(n_sets, (int, np.integer)) and not isinstance(n_sets, bool) and n_sets >= 0):
            raise ValueError(f"n_sets = {n_sets!r} must be a whole number at or above 0.")
        shift = self.on(X, reference)
        seeds = set_seeds(random_state, EXPECTED.stream, int(n_sets))
        return (shift.write(shift.draw([seed])) for seed in seeds)

    def on(self, X: Any, reference: Any = None, certainties: Any = None) -> TableShift:
        """How a table shifts under this model.

        Parameters
        ----------
        X, reference
            As in :meth:`perturb`.
        certainties : callable, optional
            ``certainties(rho, lowest)`` returns other certainties, for arrays of all certainties and of those at chance.
        """
        if scipy.sparse.issparse(X):
            raise InvalidTableError("X is a sparse matrix, but shifted numbers are hardly ever 0. Pass X.toarray().")
        table = RewritableTable(X, reference)
        columns = self._columns(table)
        if certainties is not None:
            columns = columns.with_certainties(certainties)
        return TableShift(
            table,
            tuple(column for column in columns.numeric if column.scale > 0),
            tuple(column for column in columns.categorical if column.moves),
        )

    def _columns(self, table: RewritableTable, *, spread_of_source: bool = False) -> ShiftingColumns:
        return read_shifting_columns(
            table,
            numeric_certainty=self.numeric_certainty,
            numeric_interval=self.numeric_interval,
            categorical_certainty=self.categorical_certainty,
            noise=self.noise,
            numeric_range=self.numeric_range,
            categorical_features=self.categorical_features,
            spread_of_source=spread_of_source,
        )
