"""``surefoot.compare``: two tables in, a comparison out."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from surefoot.design.write.output_frame import frame_library
from surefoot.shift.comparison.column_distance import ColumnChance, column_chance, resampled_shifts
from surefoot.shift.comparison.column_line import ColumnLine, change_words, notes
from surefoot.shift.comparison.column_pairs import LABEL_NAME, ColumnPair, NumericPair, SharedColumns
from surefoot.shift.comparison.comparison import Comparison
from surefoot.shift.comparison.decomposition import Decomposition
from surefoot.shift.comparison.joint_chance import JointChance, joint_chance
from surefoot.shift.comparison.model_losses import class_places, decomposed_losses
from surefoot.shift.comparison.observed_radius import ObservedRadius, column_bound, combined
from surefoot.shift.comparison.priced_model import PricedModel, priced_model
from surefoot.shift.comparison.read_pairs import read_labels, read_shared_columns
from surefoot.shift.comparison.resampled_interval import reflected_interval
from surefoot.shift.comparison.transport import exchanged, priced_rows, transport_bounds
from surefoot.shift.table_shift import seed_entropy
from surefoot.sklearn_api.own_rows import own_columns, own_rows, seen_by_last_step
from surefoot.sklearn_api.proven_model import refitted
from surefoot.sklearn_api.rows_of_fit import rows_of_fit


@dataclass(frozen=True)
class ComparisonParameters:
    """Sizes that keep a comparison to seconds. Not tuned."""

    # Rows of each table that are exchanged at random, column by column; distances are of all rows.
    exchanged_rows: int = 30_000
    # Rows of each sample that is matched row by row, again and again.
    matched_rows: int = 300
    # Exchanges of matched rows for every one that the level needs, and those that say what chance pays.
    matched_exchanges: int = 2
    priced_exchanges: int = 19


PARAMETERS = ComparisonParameters()
# Columns, and how they go together: two questions share the level.
_QUESTIONS = 2
# What too few draws do.
_WHY = {"n_permutations": "no shift can be told from chance", "n_resamples": "intervals do not cover what they should"}


def compare(
    X_a: Any,
    X_b: Any,
    y_a: Any = None,
    y_b: Any = None,
    model: Any = None,
    *,
    categorical_features: Any = "from_dtype",
    level: float = 0.05,
    max_rows: int = 1000,
    n_permutations: int = 199,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> Comparison:
    """What has shifted from one table to another, how far, and what that did to a model.

    Parameters
    ----------
    X_a, X_b : data frames (pandas, polars, pyarrow), 2-d arrays, lists of rows, or scipy sparse matrices
        The table of before, such as the training rows, and the one of now. Columns go by name; the order of rows, the units of
        columns (without prices of a model) and the library do not matter.
    y_a, y_b : array-like of shape (n_rows,), optional
        Labels, both or neither.
    model : fitted classifier, optional
        Anything with ``predict_proba``, also a pipeline or a fitted search; with labels its loss is decomposed. Of a model of
        surefoot the rows that it was fitted to are recognised, in any order: their losses are then those of models that were
        fitted without the row. Of others, and of rows in part its own, the loss in the table is taken as it is. The prices of a
        robust model are those of the comparison (behind other steps of a pipeline: of the columns that it sees), and its radius
        is judged. Columns that it was not fitted to are named and left out. Without one, a number costs 1 / (standard deviation
        in ``X_a``) per unit and a change of level 1, which are the prices of a default model.
    categorical_features : "from_dtype", None, or list, default="from_dtype"
        Which columns are categories, as in :class:`~surefoot.RobustLogisticRegression`; a robust model knows.
    level : float, default=0.05
        How often tables that do not differ may be said to: in all columns together, and in how columns go together. Intervals
        cover with probability 1 - level.
    max_rows : int, default=1000
        Tables of up to so many rows are matched as a whole for the proven bounds. 2,000 take some seconds.
    n_permutations : int, default=199
        Random exchanges of rows that show what chance does.
    n_resamples : int, default=200
        Bootstrap samples behind the intervals; at least 4 / level - 1, which is 79.
    random_state : None, int, or NumPy generator, default=0
        Of samples, exchanges and resamples.

    Returns
    -------
    Comparison
        ``columns``, a table; ``radius``; ``decomposition``, if model and labels were given; ``plot()``; prints readably.

    Raises
    ------
    InvalidTableError
        If a table or labels cannot be read, or the tables have no column in common.

    Notes
    -----
    Gaps are compared too: filled with the median, and 1 for a value that goes missing, unless the model fills them. Columns
    that one table lacks, levels that the other lacks and columns without any value are named, and so are columns that hold
    numbers in one table and text or truth values in the other, and identifiers (a text or a whole number of its own in every
    row, where chance would have repeated some), which are not compared: identifiers of now differ from those of before and
    mean nothing. Name such a column in ``categorical_features`` to compare it.

    Examples
    --------
    >>> import numpy as np, surefoot as sf
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=(300, 3)), rng.normal(size=(250, 3))
    >>> after[:, 1] += 0.8
    >>> found = sf.compare(before, after)
    >>> found.shifted
    ('x1',)
    >>> print(found.radius)
    The shift amounts to a radius of about ... (... to ...), chance taken off.
    """
    settings = _Settings(level, max_rows, n_permutations, n_resamples)
    rng = np.random.default_rng(seed_entropy(random_state))
    if (y_a is None) != (y_b is None):
        raise ValueError(f"y_{'b' if y_b is None else 'a'} is missing: give the labels of both tables, or of neither.")
    whole = None if model is None else _fitted(model)
    (X_a, other_a), (X_b, other_b) = own_columns(whole, X_a), own_columns(whole, X_b)
    last = whole.steps[-1][1] if isinstance(whole, Pipeline) else whole
    priced = priced_model(last)
    seen_a, seen_b = X_a, X_b
    if priced is not None:
        seen_a, seen_b = seen_by_last_step(whole, X_a), seen_by_last_step(whole, X_b)
    expected = None if whole is None else getattr(whole, "feature_names_in_", None)
    shared = read_shared_columns(
        seen_a, seen_b, priced, None if expected is None else [str(name) for name in expected], categorical_features
    )
    columns: tuple[ColumnPair, ...] = shared.columns
    if y_a is not None:
        columns = (*columns, read_labels(y_a, y_b, shared.n_rows, priced, classes=whole is not None))
    streams = rng.spawn(5)
    chance = column_chance(
        columns,
        shared.n_rows,
        n_permutations=settings.n_permutations,
        most_rows=PARAMETERS.exchanged_rows,
        rng=streams[0],
    )
    chance = replace(chance, p_value=np.minimum(_QUESTIONS * chance.p_value, 1.0))
    norm = "l1" if priced is None else priced.cost.numeric_norm
    joint = joint_chance(
        columns,
        norm,
        n_rows=min(*shared.n_rows, PARAMETERS.matched_rows),
        n_permutations=settings.matched_exchanges,
        n_priced=PARAMETERS.priced_exchanges,
        rng=streams[1],
    )
    joint = replace(joint, p_value=min(_QUESTIONS * joint.p_value, 1.0))
    lower, upper = column_bound(columns, chance.distance, norm), math.nan
    by_chance = combined(columns, chance.mean, norm)
    if max(shared.n_rows) <= settings.max_rows:
        cost, first, second = priced_rows(columns, norm)
        bounds = transport_bounds(cost, first, second)
        lower = max(lower, bounds.lower)
        by_chance = max(by_chance, transport_bounds(cost, *exchanged(first, second, streams[4])).lower)
        # A plan that leaves out columns is no plan between the tables, and none ends beyond a range.
        whole_rows = not (shared.missing or shared.lacking or shared.retyped or shared.identifiers)
        if whole_rows and all(column.counted for column in shared.columns) and not _outside(columns):
            upper = bounds.upper
    radius = _radius(columns, shared.n_rows, chance, joint, (lower, upper, by_chance), priced, settings, streams[2])
    if priced is not None:
        radius = replace(radius, uncompared=(*shared.missing, *shared.lacking, *shared.retyped))
    parts, reason = _decomposition(whole, (X_a, X_b), (y_a, y_b), shared, settings, streams[3])
    return Comparison(
        lines=_lines(columns, chance, joint, settings.level),
        radius=radius,
        decomposition=parts,
        unjudged=reason,
        joint=joint,
        n_rows=shared.n_rows,
        n_chance_rows=chance.n_rows,
        model_name=None if priced is None else priced.name,
        missing=shared.missing,
        extra=shared.extra,
        lacking=shared.lacking,
        retyped=shared.retyped,
        identifiers=shared.identifiers,
        unknown=tuple(dict.fromkeys((*other_a, *other_b))),
        library=frame_library(X_a),
    )


@dataclass(frozen=True)
class _Settings:
    """The options, checked."""

    level: float
    max_rows: int
    n_permutations: int
    n_resamples: int

    def __post_init__(self) -> None:
        if not (isinstance(self.level, numbers.Real) and 0 < self.level < 1):
            raise ValueError(f"level = {self.level!r} must lie between 0 and 1: how often chance may be taken for a shift.")
        for name, least in (("max_rows", 1), ("n_permutations", self.fewest), ("n_resamples", self.fewest_resamples)):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least):
                why = "" if least == 1 else f", or {_WHY[name]} at the level {self.level:g}"
                raise ValueError(f"{name} = {value!r} must be a whole number of at least {least}{why}.")

    @property
    def fewest(self) -> int:
        """The fewest exchanges with which the level can be reached."""
        return math.ceil(_QUESTIONS / self.level - 1e-9) - 1

    @property
    def fewest_resamples(self) -> int:
        """The fewest bootstrap samples that have something beyond both ends of an interval.

        The relation is asked two questions that share the level, and q (B + 1) is the place of the quantile q.
        """
        return math.ceil(2 * _QUESTIONS / self.level - 1e-9) - 1

    @property
    def matched_exchanges(self) -> int:
        return min(self.n_permutations, PARAMETERS.matched_exchanges * (self.fewest + 1) - 1)


def _fitted(model: Any) -> Any:
    """The fitted classifier itself, or the reason why it is none."""
    model = refitted(model)
    name = type(model).__name__
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"model = {name} has no predict_proba. Pass a fitted classifier that has it, or wrap yours in scikit-learn's "
            "CalibratedClassifierCV."
        )
    if not hasattr(model, "classes_"):
        raise ValueError(f"model = {name} is not fitted: it has no classes_. Call fit first.")
    return model


def _radius(
    columns: tuple[ColumnPair, ...],
    n_rows: tuple[int, int],
    chance: ColumnChance,
    joint: JointChance,
    bounds: tuple[float, float, float],
    priced: PricedModel | None,
    settings: _Settings,
    rng: np.random.Generator,
) -> ObservedRadius:
    norm = "l1" if priced is None else priced.cost.numeric_norm
    counted = np.array([column.counted for column in columns])
    shifted = chance.p_value <= settings.level
    # Labels without a price are named in the table; columns that never shift are what the model was told.
    fixed = [at for at in np.flatnonzero(shifted & ~counted).tolist() if columns[at].name != LABEL_NAME]
    amounts = combined(columns, np.where(shifted, chance.shift, 0.0), norm)
    together = joint.excess if joint.p_value <= settings.level else 0.0
    estimate = max(amounts, together)
    low = high = estimate
    chosen = np.flatnonzero(shifted & counted)
    if chosen.size:
        drawn = np.zeros((settings.n_resamples, len(columns)))
        drawn[:, chosen] = resampled_shifts(
            [columns[at] for at in chosen],
            n_rows,
            chance.spread[chosen],
            n_resamples=settings.n_resamples,
            most_rows=PARAMETERS.exchanged_rows,
            rng=rng,
        )
        totals = np.array([combined(columns, row, norm) for row in drawn])
        low, high = (max(end, together) for end in reflected_interval(amounts, totals, settings.level))
    p_counted = float(chance.p_value[[at for at in range(len(columns)) if counted[at] or at in fixed]].min(initial=1.0))
    return ObservedRadius(
        estimate=math.inf if fixed else estimate,
        low=math.inf if fixed else low,
        high=math.inf if fixed else high,
        p_value=min(p_counted, joint.p_value),
        level=settings.level,
        lower=bounds[0],
        upper=bounds[1],
        by_chance=bounds[2],
        columns=amounts,
        joint=joint.excess,
        model_radius=None if priced is None else priced.radius,
        automatic=priced is not None and priced.automatic,
        unpriced=tuple(columns[at].name for at in fixed),
        outside=_outside(columns),
    )


def _outside(columns: tuple[ColumnPair, ...]) -> tuple[str, ...]:
    """Columns with values beyond the range of the model."""
    return tuple(column.name for column in columns if isinstance(column, NumericPair) and column.outside > 0)


def _lines(columns: tuple[ColumnPair, ...], chance: ColumnChance, joint: JointChance, level: float) -> tuple[ColumnLine, ...]:
    total = float(joint.parts.sum())
    shift = chance.shift
    lines = [
        ColumnLine(
            name=column.name,
            kind=column.kind,
            change=change_words(column),
            distance=float(chance.distance[at]),
            by_chance=float(chance.high[at]),
            shift=float(shift[at]),
            p_value=float(chance.p_value[at]),
            shifted=bool(chance.p_value[at] <= level),
            joint_cost=float(joint.parts[at]),
            joint_share=float(joint.parts[at]) / total if total > 0 else 0.0,
            joint_by_chance=float(joint.parts_by_chance[at]),
            price=column.price,
            note=notes(column, label=column.name == LABEL_NAME),
        )
        for at, column in enumerate(columns)
    ]
    return tuple(sorted(lines, key=lambda line: (not line.shifted, -line.shift, line.p_value)))


def _decomposition(
    model: Any,
    tables: tuple[Any, Any],
    labels: tuple[Any, Any],
    shared: SharedColumns,
    settings: _Settings,
    rng: np.random.Generator,
) -> tuple[Decomposition | None, str]:
    """Where the change of the loss comes from, or why that is not known: no reason if nobody asked."""
    if model is None or labels[0] is None:
        return None, ""
    places = [class_places(y, model.classes_, name) for y, name in zip(labels, ("y_a", "y_b"), strict=True)]
    if shared.retyped:
        return None, "The loss of the model is not compared, because columns changed their type."
    lost = (*shared.missing, *shared.lacking)
    if lost:
        return None, f"The model cannot judge both tables without {', '.join(map(repr, lost))}."
    probabilities = []
    for table, which in zip(tables, ("first", "second"), strict=True):
        try:
            probabilities.append(np.asarray(model.predict_proba(own_rows(table)), dtype=np.float64))
        except ValueError as error:  # a level that the model does not know, a gap: shifts too, and no reason to stop watching
            return None, f"The model cannot judge the {which} table: {error}"
    judged = decomposed_losses(
        (probabilities[0], probabilities[1]),
        (places[0], places[1]),
        str(np.asarray(model.classes_).tolist()[1]),
        shared,
        fitted=(rows_of_fit(model, tables[0], labels[0]), rows_of_fit(model, tables[1], labels[1])),
        n_resamples=settings.n_resamples,
        level=settings.level,
        rng=rng,
    )
    return judged, ""
