"""The shift that would hurt a fitted model most, in the words of its table.

The adversary may spend ``radius`` on moving rows. Its best distribution splits the mass of each row into shares: this share
stays, that share changes these categories or flips its label. What is not worth spending there goes to the numeric columns,
where the supremum is approached and not attained: an ever smaller mass moves ever farther in the direction u that changes the
score most for its cost, beta . u = || (beta_j / gamma_j)_j ||_* at cost 1
(:func:`surefoot.robust.sqp.adversary.steepest_move`). With the l1 norm that is the one column with the largest |beta_j| /
gamma_j, with l2 and linf all columns move together.

The table shows one distribution on the way, within one millionth of the supremum, so that every line of it is a move that can
be checked. Mass t of a share with loss argument v that moves by (budget / t) u against its label has the loss argument
v + price budget / t. The loss log(1 + exp(.)) lies above its argument, so that mass adds at least

    t (v + price budget / t - log(1 + exp(v)))  =  price budget - t log(1 + exp(-v))

to the expected loss, t log(1 + exp(-v)) short of the supremum. Columns that move together share the bill in proportion to the
parts beta_j u_j that they have in the change of the score.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import AnyArray, FloatArray, RowArray
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.write.output_frame import build_frame
from surefoot.robust.problem.numeric_columns import as_dense
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.sqp.adversary import WorstCaseDistribution, steepest_move

LABEL_FEATURE = "(label)"
# How close, relative to the expected loss, the distribution shown comes to the supremum that numeric columns only approach.
_APPROACH = 1e-6
# Moves listed in the printed form before it says "and so many more".
_LISTED = 10
# Numbers of the moves that are not from one level to another: flips away from either class, then numeric columns, downwards.
_FLIP_MOVES, _FIRST_NUMERIC_MOVE = (-2, -1), -3


@dataclass(frozen=True, eq=False)
class Moves:
    """Every single move of a distribution; moves that one share makes together carry the same ``shift``."""

    row: RowArray
    mass: FloatArray
    feature: list[Level]
    origin: list[Level]
    target: list[Level]
    budget: FloatArray
    kind: RowArray
    shift: RowArray


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The adversary's best distribution within the radius, for one model and one table.

    Attributes
    ----------
    table : data frame
        One line per moved value: ``row`` (position in the table, from 0), ``mass`` (share of the whole table that moves),
        ``feature``, ``from``, ``to``. Mass that is not listed stays where it is. A share of a row that moves in several
        features at once has several lines, which follow each other and carry the same mass. Label flips have the feature
        "(label)".
    expected_loss : float
        Mean log loss under that distribution.
    nominal_loss : float
        Mean log loss of the table as it is.
    price : float
        How much the expected loss would grow per unit of additional radius.
    radius : float
    numeric_budget : float
        The part of the radius that is spent on numeric columns.
    shift : ndarray of shape (n_lines,)
        Number of the joint move that each line of ``table`` belongs to.
    """

    table: Any
    expected_loss: float
    nominal_loss: float
    price: float
    radius: float
    numeric_budget: float
    shift: RowArray
    _moves: Moves = field(repr=False)
    _library: str | None = field(repr=False)

    def summary(self) -> Any:
        """What hurts most: equal moves added up over the rows.

        Returns
        -------
        data frame
            ``feature``, ``from``, ``to``, ``mass`` (share of the table that makes this move) and ``budget`` (the part of the
            radius that pays for it), by falling budget. A move along a numeric column has neither ``from`` nor ``to``.
        """
        return build_frame(self.summed(), self._library)

    def summed(self) -> dict[str, Any]:
        """The same as plain lists and arrays, by the names of the columns."""
        moves = self._moves
        kinds, first, group = np.unique(moves.kind, return_index=True, return_inverse=True)
        mass = np.bincount(group, weights=moves.mass, minlength=kinds.size).astype(np.float64)
        budget = np.bincount(group, weights=moves.budget, minlength=kinds.size).astype(np.float64)
        order = np.argsort(-budget, kind="stable")
        at = first[order].tolist()
        numeric = kinds[order] <= _FIRST_NUMERIC_MOVE
        return {
            "feature": [moves.feature[k] for k in at],
            "from": [None if unit else moves.origin[k] for k, unit in zip(at, numeric, strict=True)],
            "to": [None if unit else moves.target[k] for k, unit in zip(at, numeric, strict=True)],
            "mass": mass[order],
            "budget": budget[order],
        }

    def __str__(self) -> str:
        heading = (
            f"Worst case within radius {self.radius:g}: expected log loss {self.expected_loss:.6g} "
            f"(as the table is: {self.nominal_loss:.6g})"
        )
        summed = self.summed()
        count = len(summed["feature"])
        if count == 0:
            return f"{heading}\n  No shift within the radius raises it."
        cells = [["feature", "from", "to", "mass", "budget"]]
        for k in range(min(count, _LISTED)):
            ends = [str(summed["from"][k]), str(summed["to"][k])]
            if summed["from"][k] is None:
                ends = ["(any value)", "(far away)"]
            cells.append([str(summed["feature"][k]), *ends, f"{summed['mass'][k]:.4g}", f"{summed['budget'][k]:.4g}"])
        widths = [max(len(line[at]) for line in cells) for at in range(5)]
        lines = [
            "  ".join([*(line[at].ljust(widths[at]) for at in range(3)), *(line[at].rjust(widths[at]) for at in (3, 4))])
            for line in cells
        ]
        more = [f"  ... and {count - _LISTED} more"] if count > _LISTED else []
        return "\n".join([heading, *(f"  {line}" for line in lines), *more])

    __repr__ = __str__


def describe_worst_case(
    problem: RobustLogisticProblem,
    coefficients: RobustCoefficients,
    distribution: WorstCaseDistribution,
    *,
    schema: Schema,
    classes: AnyArray,
    nominal_loss: float,
    library: str | None,
) -> WorstCase:
    """Put a worst-case distribution into the words of the table it is about."""
    shares = _Shares.of(problem, coefficients, distribution)
    travel = _numeric_travel(problem, coefficients, distribution, shares)
    if travel is not None:
        shares = shares.split(travel.share, travel.mass)
    moves = _name_moves(problem, shares, travel, schema, classes)
    columns: dict[str, Any] = {
        "row": moves.row,
        "mass": moves.mass,
        "feature": moves.feature,
        "from": moves.origin,
        "to": moves.target,
    }
    return WorstCase(
        table=build_frame(columns, library),
        expected_loss=float(distribution.expected_loss),
        nominal_loss=nominal_loss,
        price=float(distribution.price),
        radius=problem.radius,
        numeric_budget=float(distribution.numeric_budget),
        shift=moves.shift,
        _moves=moves,
        _library=library,
    )


@dataclass(frozen=True)
class _Shares:
    """The distribution share by share: where each comes from and where it ends."""

    row: RowArray
    mass: FloatArray
    label: FloatArray
    codes: RowArray
    final_label: FloatArray
    final_codes: RowArray

    @classmethod
    def of(
        cls, problem: RobustLogisticProblem, coefficients: RobustCoefficients, distribution: WorstCaseDistribution
    ) -> _Shares:
        label = problem.labels[distribution.row]
        final_label = np.where(distribution.flipped, -label, label)
        codes = problem.codes[distribution.row].astype(np.int64)
        # A feature moves to its lowest coefficient under a final label +1 and to its highest under -1, whatever the row.
        slices = [slice(*ends) for ends in zip(problem.level_offsets[:-1], problem.level_offsets[1:], strict=True)]
        lowest = np.array([np.argmin(coefficients.levels[own]) for own in slices], dtype=np.int64)
        highest = np.array([np.argmax(coefficients.levels[own]) for own in slices], dtype=np.int64)
        worst = np.where(final_label[:, None] > 0, lowest, highest)
        final_codes = np.where(distribution.moved, worst, codes)
        return cls(distribution.row.astype(np.int64), distribution.mass, label, codes, final_label, final_codes)

    def split(self, share: int, mass: float) -> _Shares:
        """The same distribution with some mass of one share set apart, as the last share."""
        doubled = np.append(np.arange(self.row.size), share)
        masses = self.mass[doubled]
        masses[share] -= mass
        masses[-1] = mass
        parts = (part[doubled] for part in (self.label, self.codes, self.final_label, self.final_codes))
        return _Shares(self.row[doubled], masses, *parts)


@dataclass(frozen=True)
class _Travel:
    """Part of a share that goes along some numeric columns, by signed distances, and what each of them costs."""

    share: int
    mass: float
    columns: RowArray
    distances: FloatArray
    prices: FloatArray


def _numeric_travel(
    problem: RobustLogisticProblem, coefficients: RobustCoefficients, distribution: WorstCaseDistribution, shares: _Shares
) -> _Travel | None:
    """How to spend the numeric budget; see the module docstring."""
    budget = float(distribution.numeric_budget)
    move = steepest_move(problem.cost, coefficients.numeric)
    columns = np.flatnonzero(move)
    if columns.size == 0 or not budget > 0:
        return None
    scores = coefficients.intercept + (problem.numeric @ coefficients.numeric)[shares.row]
    scores = scores + coefficients.levels[problem.level_offsets[:-1] + shares.final_codes].sum(axis=1)
    argument = np.where(shares.mass > 0, -shares.final_label * scores, -np.inf)
    share = int(np.argmax(argument))
    shortfall_per_mass = float(np.logaddexp(0.0, -argument[share]))
    wanted = _APPROACH * float(distribution.expected_loss) / max(shortfall_per_mass, 1e-300)
    mass = min(float(shares.mass[share]), wanted)
    effect = coefficients.numeric[columns] * move[columns]
    away = -float(shares.final_label[share]) * budget / mass
    return _Travel(share, mass, columns, away * move[columns], budget / mass * effect / effect.sum())


class _Part(NamedTuple):
    """Moves of one sort, before they are put in order; ``position`` is that of the column, ``price`` is per unit of mass."""

    share: RowArray
    position: RowArray
    origin: NDArray[np.object_]
    target: NDArray[np.object_]
    price: FloatArray
    kind: RowArray


def _category_moves(problem: RobustLogisticProblem, shares: _Shares, schema: Schema) -> _Part:
    names = _objects([label for column in schema.categorical_columns for label in column.level_labels])
    share, feature = np.nonzero((shares.codes != shares.final_codes) & (shares.mass > 0)[:, None])
    start = problem.level_offsets[feature].astype(np.int64)
    origin, target = start + shares.codes[share, feature], start + shares.final_codes[share, feature]
    position = np.array(schema.categorical_positions, dtype=np.int64)[feature]
    price = problem.cost.categorical_weights[feature]
    return _Part(share, position, names[origin], names[target], price, origin * names.size + target)


def _label_moves(problem: RobustLogisticProblem, shares: _Shares, schema: Schema, classes: AnyArray) -> _Part:
    names = _objects(classes.tolist())
    share = np.flatnonzero((shares.label != shares.final_label) & (shares.mass > 0))
    origin = (shares.label[share] > 0).astype(np.int64)
    position = np.full(share.size, len(schema.columns))
    price = np.full(share.size, problem.cost.label_weight)
    return _Part(share, position, names[origin], names[1 - origin], price, np.array(_FLIP_MOVES)[origin])


def _numeric_moves(problem: RobustLogisticProblem, shares: _Shares, schema: Schema, travel: _Travel) -> _Part:
    start = as_dense(problem.numeric[shares.row[-1:]])[0, travel.columns]
    return _Part(
        share=np.full(travel.columns.size, shares.row.size - 1),
        position=np.array(schema.numeric_positions, dtype=np.int64)[travel.columns],
        origin=_objects(start.tolist()),
        target=_objects((start + travel.distances).tolist()),
        price=travel.prices,
        kind=_FIRST_NUMERIC_MOVE - travel.columns,
    )


def _name_moves(
    problem: RobustLogisticProblem, shares: _Shares, travel: _Travel | None, schema: Schema, classes: AnyArray
) -> Moves:
    parts = [_category_moves(problem, shares, schema), _label_moves(problem, shares, schema, classes)]
    if travel is not None:
        parts.append(_numeric_moves(problem, shares, schema, travel))
    joined = _Part(*(np.concatenate(piece) for piece in zip(*parts, strict=True)))
    order = np.lexsort((joined.position, joined.share, shares.row[joined.share]))
    share = joined.share[order]
    mass = shares.mass[share]
    return Moves(
        row=shares.row[share],
        mass=mass,
        feature=_objects([*schema.names, LABEL_FEATURE])[joined.position[order]].tolist(),
        origin=joined.origin[order].tolist(),
        target=joined.target[order].tolist(),
        budget=mass * joined.price[order],
        kind=joined.kind[order],
        shift=np.unique(share, return_inverse=True)[1].astype(np.int64),
    )


def _objects(values: list[Any]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
