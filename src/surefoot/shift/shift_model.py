"""What a person knows about tomorrow's table: how sure each column is."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from surefoot.design.encode.numeric_range import require_numeric_range
from surefoot.design.write.rewritable_table import RewritableTable
from surefoot.exceptions import InvalidTableError
from surefoot.shift.ambiguity import Ambiguity
from surefoot.shift.column_settings import require_certainties, require_intervals
from surefoot.shift.environments import Environments, of_tables, read_environments, read_signs
from surefoot.shift.estimated_certainties import Comparison, estimate_certainties, surest
from surefoot.shift.label_distances import flipped_share
from surefoot.shift.noise import named_noise
from surefoot.shift.prices import (
    LEAST_PRICE,
    categorical_prices,
    certainty_at_price,
    label_price,
    rounded_prices,
    scaled_certainties,
    shift_radius,
)
from surefoot.shift.scenarios import EXPECTED
from surefoot.shift.shift_settings import ShiftSettings
from surefoot.shift.shifting_columns import ShiftingColumns, read_shifting_columns
from surefoot.shift.table_shift import TableShift, set_seeds

# Places to which the paper rounds weights.
PUBLISHED_DECIMALS = (0, 1)


@dataclass(frozen=True, repr=False)
class ShiftModel(ShiftSettings):
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
        rho_z, above 1 / (number of levels) and at most 1; the levels that rows hold count, whatever a type declares. None, and
        columns that a mapping leaves out: they never shift.
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
    label_certainty : float, optional
        rho_y, above 1/2 and at most 1: the probability that a label stays what it is. None: labels never flip. It sets the
        label weight of robust models; :meth:`perturb` leaves labels alone.
    certainty_scale : float, optional
        How cautiously all certainties are taken: the doubts 1 - rho are multiplied by it. 2 doubles the probability of a shift,
        0.5 halves it; None, like 1, takes them as they are. No certainty falls to chance or below: its price stays at or above
        0.01.
    decimals : {None, 0, 1}, default=None
        Places to which :meth:`calibrate` rounds the weights of categorical columns, as published results have them: 0 for whole
        numbers, 1 for one decimal. None leaves them as they are. See the notes.

    Notes
    -----
    Laplace noise and a uniform choice among the other levels have the greatest entropy for their mean size and certainty, as in
    Section 3 of Sun, Justin, Gomez and Vayanos, "Mixed-feature Logistic Regression Robust to Distribution Shifts" (AISTATS
    2025). The weights of other laws are those of the Laplace law nearest to them, 1 / (mean size of a shift).

    The paper rounds the weights of categories because its dynamic programmes have a state for every sum of them, and sums of
    real numbers hardly ever agree; ``solver="graph"`` and ``solver="cutting-plane"`` are these programmes. The default solver
    sorts features by gain per price and takes any weights, so there is no reason to round but to repeat what was published. A
    weight that would become 0 becomes 1 (0.1 with one decimal), since changes that cost nothing make a column useless. Numeric
    weights are not rounded: no state depends on them.

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
    label_certainty: float | None = field(default=None, metadata={"later": True})
    certainty_scale: float | None = field(default=None, metadata={"later": True})
    decimals: int | None = field(default=None, metadata={"later": True})
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
        sure = self.label_certainty
        if sure is not None and not (isinstance(sure, numbers.Real) and not isinstance(sure, bool) and 0.5 < sure <= 1):
            raise ValueError(
                f"label_certainty = {sure!r} must be above 1/2, chance, and at most 1: the probability that a label stays what "
                "it is. None or 1: labels never flip."
            )
        scale = self.certainty_scale
        if scale is not None and not (isinstance(scale, numbers.Real) and not isinstance(scale, bool) and 0 < scale < math.inf):
            raise ValueError(
                f"certainty_scale = {scale!r} must be None or a positive number: what doubts, 1 - rho, are multiplied by."
            )
        for law in self.noise.values() if isinstance(self.noise, Mapping) else [self.noise]:
            named_noise(law)
        if not (self.decimals is None or (type(self.decimals) is int and self.decimals in PUBLISHED_DECIMALS)):
            raise ValueError(
                f"decimals = {self.decimals!r} must be None (weights as they are), 0 (whole numbers) or 1 (one decimal): the "
                "roundings of the paper."
            )

    @classmethod
    def from_environments(
        cls,
        X: Any,
        groups: Any = None,
        y: Any = None,
        robustness: float = 0.9,
        *,
        numeric_interval: Any = None,
        categorical_features: Any = "from_dtype",
        subtract_chance: bool = True,
    ) -> ShiftModel:
        """The certainties that many sites, periods or batches of one's own data speak for.

        What is estimated is the least shift that turns the rows of all other sites into those of one, on average over the
        sites. For a numeric column that is the mean size b of the moves, by Wasserstein distance, as Laplace noise:
        rho_x = 1 - exp(-u / b), so that calibration gives the weight 1 / b. For a categorical column it is the share of rows
        that stay the same, rho_z, by total variation distance. Two sites of one population differ by chance; squared
        differences are taken less what they are on average if the names of the sites are shuffled among the rows, which is
        known in closed form, so that equal sites have certainties of nearly 1: at most 1 - 1 / N for categories. Sites count by
        their rows n_g, with the weight n_g (N - n_g) of N rows.

        With ``y`` the certainty of labels is estimated too: one model for all sites sorts the rows into ten parts that are
        alike as far as the columns tell, and rho_y is the share of labels that stay if a site's shares of the second class in
        these parts become those of the others.

        A numeric gap counts as the median of all values, which is what models see that fill gaps, and a gap of a category is
        a level of its own. So a column that a site never measured shows the largest shift of all, and is named.

        Parameters
        ----------
        X : table, mapping of names to tables, or list of tables
            The rows of all sites in one table, or a table for each, whose columns may differ.
        groups : array-like of shape (n_rows,), optional
            The site of each row. For a list of tables their names, or None; for a mapping None.
        y : array-like of shape (n_rows,), optional
            Labels: any two values. For a mapping or a list of tables one sequence per table, in the same form, or one for all.
        robustness : float, default=0.9
        numeric_interval : float, str, or mapping of columns to those, optional
            u, by default "0.4 std" of all rows.
        categorical_features : "from_dtype", None, or list, default="from_dtype"
        subtract_chance : bool, default=True
            False counts chance differences of small sites as shift.

        Returns
        -------
        ShiftModel
            With certainties and intervals, in units, by column.

        Warns
        -----
        BelowChanceWarning
            If a categorical column kept no more of its values than one drawn anew would: its certainty is raised to just above
            chance, where a robust model hardly uses the column.
        UnmeasuredColumnWarning
            If a site has no value of a column at all; the message names columns and sites.

        Examples
        --------
        >>> import numpy as np
        >>> import surefoot as sf
        >>> rng = np.random.default_rng(0)
        >>> sites = np.repeat(["north", "south", "west"], 400)
        >>> X = rng.normal(size=(1200, 2))
        >>> X[sites == "north", 0] += 1.0
        >>> weights = sf.ShiftModel.from_environments(X, sites).calibrate(X).numeric_weights
        >>> weights["x0"] < 3 < 10 < weights["x1"]
        True
        """
        found = read_environments(X, groups)
        how = Comparison(correct=bool(subtract_chance))
        estimated, categorical = cls._estimated(found, robustness, numeric_interval, categorical_features, how)
        if y is None:
            return estimated
        doubt = flipped_share(found, categorical, read_signs(X, y, found), correct=how.correct)
        # Of two rows nobody sees a share below 1/2, which is chance.
        certainty = max(surest(1.0 - doubt, found, how), certainty_at_price(LEAST_PRICE, 2))
        return replace(estimated, label_certainty=certainty)

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

        This is :meth:`from_environments` for two tables, chance differences included. What is estimated is the least shift that
        turns one table into the other. For a numeric column that is the mean size b of the moves, as Laplace noise:
        rho_x = 1 - exp(-u / b), so that calibration gives the weight 1 / b. For a categorical column it is the share of rows
        that stay the same, rho_z.

        With ``paired=True`` row i of both tables is the same person or thing, and moves are read off. Otherwise nobody knows
        which row became which, and the cheapest way is assumed: numbers keep their order, so b is the Wasserstein distance of
        the two columns, and no more rows change their level than must, so 1 - rho_z is the total variation distance of the
        level shares. Real shifts may be larger; but two samples of the same population differ by chance too, which counts as
        shift here, and much so for small tables. Columns are taken one by one, and tomorrow's shift is assumed to be as large
        as yesterday's.

        Gaps count as in :meth:`from_environments`; of pairs those without a gap are compared.

        Parameters
        ----------
        before, after : tables
            A column that one of them lacks, or holds no value of, counts as never measured there.
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
        BelowChanceWarning, UnmeasuredColumnWarning
            As from :meth:`from_environments`.
        """
        found = of_tables([before, after], ("before", "after"))
        if paired and found.counts[0] != found.counts[1]:
            raise InvalidTableError(
                f"paired tables need the same rows, but before has {found.counts[0]:.0f} and after has {found.counts[1]:.0f}."
            )
        how = Comparison(paired=paired, correct=False, spread_of_first=True, place="table")
        return cls._estimated(found, robustness, numeric_interval, categorical_features, how)[0]

    @classmethod
    def _estimated(
        cls, found: Environments, robustness: float, numeric_interval: Any, categorical_features: Any, how: Comparison
    ) -> tuple[ShiftModel, Sequence[str]]:
        """The model that environments speak for, and the names of the columns that are categories."""
        # Sure labels are a certainty too; without any a model would refuse to read columns.
        plain = cls(
            numeric_interval=numeric_interval,
            robustness=robustness,
            categorical_features=categorical_features,
            label_certainty=1.0,
        )
        columns = plain._columns(RewritableTable(found.table))
        names = columns.numeric_names, columns.categorical_names
        estimates = estimate_certainties(found, *names, numeric_interval, how)
        model = cls(
            numeric_certainty=estimates.numeric_certainty,
            numeric_interval=estimates.numeric_interval,
            categorical_certainty=estimates.categorical_certainty,
            robustness=robustness,
        )
        return model, columns.categorical_names

    def calibrate(self, X: Any) -> Ambiguity:
        """The ambiguity set around a table, usually the training table.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix

        Returns
        -------
        Ambiguity
            ``numeric_weights`` gamma = 1 / (mean size of a shift), for Laplace noise -log(1 - rho_x) / u;
            ``categorical_weights`` delta = log(rho_z (k - 1) / (1 - rho_z)) for k levels, rounded to ``decimals``; ``radius`` =
            -log(robustness); ``label_weight`` kappa = log(rho_y / (1 - rho_y)), or inf; ``numeric_ranges`` the ends between
            which numbers move, where ``numeric_range`` says any.

        Raises
        ------
        ValueError
            If a certainty is not above chance, so that its delta would not be positive; the message names column and value.
        """
        self._require_a_certainty()
        columns = self._columns(RewritableTable(X))
        gamma = dict.fromkeys(columns.numeric_names, math.inf)
        delta = dict.fromkeys(columns.categorical_names, math.inf)
        for column in columns.numeric:
            if column.scale > 0:
                gamma[column.name] = 1.0 / (column.scale * column.noise.mean_size)
        for changed in columns.categorical:
            if changed.moves:
                price = categorical_prices(np.array([changed.certainty]), np.array([changed.n_levels], dtype=np.int32))
                delta[changed.name] = float((price if self.decimals is None else rounded_prices(price, self.decimals))[0])
        kappa = math.inf if self.label_certainty is None else label_price(float(self.label_certainty), self._scale)
        ends = {column.name: column.ends for column in columns.numeric if column.scale > 0 and math.isfinite(column.ends[0])}
        return Ambiguity(gamma, delta, shift_radius(float(self.robustness)), label_weight=kappa, numeric_ranges=ends or None)

    def scaled(self, scale: float) -> ShiftModel:
        """The same with ``certainty_scale`` multiplied by a number: above 1 more cautious, below 1 less."""
        return replace(self, certainty_scale=self._scale * scale)

    @property
    def _scale(self) -> float:
        return 1.0 if self.certainty_scale is None else float(self.certainty_scale)

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
        self._require_a_certainty()
        table = RewritableTable(X, reference)
        columns = self._columns(table)
        if certainties is not None:
            columns = columns.with_certainties(certainties)
        return TableShift(
            table,
            tuple(column for column in columns.numeric if column.scale > 0),
            tuple(column for column in columns.categorical if column.moves),
        )

    def _require_a_certainty(self) -> None:
        if self.numeric_certainty is None and self.categorical_certainty is None and self.label_certainty is None:
            raise ValueError(
                "this shift model names no certainty, so nothing ever shifts, and a model fitted with it would be plain "
                "logistic regression under another name. Give numeric_certainty, categorical_certainty or label_certainty; "
                "1.0 says that columns, or labels, stay what they are."
            )

    def _columns(self, table: RewritableTable, *, spread_of_source: bool = False) -> ShiftingColumns:
        columns = read_shifting_columns(
            table,
            numeric_certainty=self.numeric_certainty,
            numeric_interval=self.numeric_interval,
            categorical_certainty=self.categorical_certainty,
            noise=self.noise,
            numeric_range=self.numeric_range,
            categorical_features=self.categorical_features,
            spread_of_source=spread_of_source,
        )
        return columns if self._scale == 1 else columns.with_certainties(scaled_certainties(self._scale))
