"""Log odds of shifted rows from the shift alone, for models that add up their columns.

    score' = score + sum_j beta_j noise_j + sum_l (beta_l[new level] - beta_l[old level])

No table is written and none is read. Level terms are added in the order of the model's own sum, so that rows which the model
cannot tell apart keep equal scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import InvalidTableError
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic_model import RobustLogisticModel
from surefoot.shift.shifting_columns import CategoricalShift
from surefoot.shift.table_shift import Perturbation, TableShift

_LINEAR = (RobustLogisticModel, RiskScoreClassifier)


@dataclass(frozen=True)
class LevelTerm:
    """What a categorical column adds: ``values[code]`` with the codes of row ``at`` of a perturbation, or fixed values."""

    values: FloatArray
    at: int | None


@dataclass(frozen=True, eq=False)
class ShiftedScores:
    """A linear model on one table that shifts.

    Attributes
    ----------
    start : ndarray of shape (n_rows,)
        Intercept and numeric part before any shift.
    slopes : ndarray of shape (n_moving,)
        Coefficients of the numeric columns that move.
    terms : tuple of LevelTerm
    divisor : float
        The points per unit of log odds of a score card, else 1.
    """

    start: FloatArray
    slopes: FloatArray
    terms: tuple[LevelTerm, ...]
    divisor: float


@dataclass(frozen=True, eq=False)
class AlikeScores:
    """Models whose columns are added up in the same order, so that one look at a shift serves all of them.

    Attributes
    ----------
    places : list of int
        Where the models stand among all.
    start : ndarray of shape (n_models, n_rows)
    slopes : ndarray of shape (n_models, n_moving)
    terms : tuple of LevelTerm
        With one row of values per model.
    divisors : ndarray of shape (n_models, 1)
    """

    places: list[int]
    start: FloatArray
    slopes: FloatArray
    terms: tuple[LevelTerm, ...]
    divisors: FloatArray

    def on(self, drawn: Perturbation) -> FloatArray:
        """Scores of these models on every set, an array of shape (n_models, n_sets, n_rows)."""
        sets, rows = drawn.noise.shape[1:]
        scores: FloatArray = (self.slopes @ drawn.noise.reshape(-1, sets * rows)).reshape(-1, sets, rows)
        scores += self.start[:, None]
        for term in self.terms:
            # Codes are levels of the table, so nothing is ever clipped; numpy just looks them up faster so.
            scores += term.values[:, None] if term.at is None else term.values.take(drawn.codes[term.at], axis=1, mode="clip")
        scores /= self.divisors[:, None]
        return scores

    def every_score(self, n_levels: Sequence[int], most: int) -> FloatArray | None:
        """Scores of all rows that the moving columns allow; None if other columns count as well, or there are too many.

        Parameters
        ----------
        n_levels : sequence of int
            Levels of the columns that move, in the order of a perturbation.
        most : int

        Returns
        -------
        ndarray of shape (n_models, n_possible_rows), or None
            The last column changes fastest.
        """
        moving = {term.at for term in self.terms}
        if self.slopes.size or None in moving or len(moving) < len(n_levels) or math.prod(n_levels) > most:
            return None
        if (self.start != self.start[:, :1]).any():
            return None
        codes = np.stack([code.ravel() for code in np.indices(tuple(n_levels), dtype=np.int32)])
        start = np.repeat(self.start[:, :1], codes.shape[1], axis=1)
        every = AlikeScores(self.places, start, self.slopes, self.terms, self.divisors)
        return every.on(Perturbation(np.empty((0, 1, codes.shape[1])), codes[:, None]))[:, 0]


def alike_scores(models: Sequence[ShiftedScores], most: int) -> list[AlikeScores]:
    """The models in groups of up to ``most`` that can be evaluated together."""
    orders: dict[tuple[int | None, ...], list[int]] = {}
    for place, model in enumerate(models):
        orders.setdefault(tuple(term.at for term in model.terms), []).append(place)
    groups = [(order, places[at : at + most]) for order, places in orders.items() for at in range(0, len(places), most)]
    return [
        AlikeScores(
            places,
            np.stack([models[place].start for place in places]),
            np.stack([models[place].slopes for place in places]),
            tuple(
                LevelTerm(np.stack([models[place].terms[term].values for place in places]), at) for term, at in enumerate(order)
            ),
            np.array([[models[place].divisor] for place in places]),
        )
        for order, places in groups
    ]


def shifted_scores(model: Any, name: str, shift: TableShift) -> ShiftedScores | None:
    """The scores of a model, or None if it does not add up its columns, or not those that shift."""
    kind = next((known for known in _LINEAR if isinstance(model, known)), None)
    own = type(model)
    if kind is None or own.predict_proba is not kind.predict_proba or own.decision_function is not kind.decision_function:
        return None
    schema: Schema = model.schema_
    design = TableEncoder.from_schema(schema).encode(shift.table.table)
    numeric, levels = schema.split_coefficients(np.asarray(model.coef_[0], dtype=np.float64))
    place = {position: at for at, position in enumerate(schema.numeric_positions)}
    if any(column.position not in place for column in shift.numeric):
        return None
    start: FloatArray = design.numeric @ numeric + float(np.ravel(model.intercept_)[0])
    changing = {column.position: (at, column) for at, column in enumerate(shift.categorical)}
    terms: list[LevelTerm] = []
    for position, (at, column) in changing.items():
        if position in place:
            values = _numbers(column.levels.levels)
            if values is None:
                return None
            values = values * numeric[place[position]]
            start -= values[column.levels.codes]
            terms.append(LevelTerm(values, at))
    first = 0
    for feature, position in enumerate(schema.categorical_positions):
        own_levels = levels[first : first + int(design.n_levels[feature])]
        first += own_levels.size
        if position in changing:
            at, column = changing[position]
            terms.append(LevelTerm(own_levels[_codes(schema, position, column, name)], at))
        else:
            terms.append(LevelTerm(own_levels[design.codes[:, feature]], None))
    slopes = np.array([numeric[place[column.position]] for column in shift.numeric])
    # A card may give the risk of the first class; its log odds of the second are minus its score.
    sign = -1.0 if getattr(model, "pos_label_", model.classes_[1]) == model.classes_[0] else 1.0
    return ShiftedScores(start, slopes, tuple(terms), sign * float(getattr(model, "multiplier_", 1.0)))


def _numbers(levels: tuple[Level, ...]) -> FloatArray | None:
    if not all(isinstance(level, (bool, int, float)) for level in levels):
        return None
    return np.array(levels, dtype=np.float64)


def _codes(schema: Schema, position: int, column: CategoricalShift, name: str) -> list[int]:
    """The model's code of each level that a shift may lead to."""
    known = {level: code for code, level in enumerate(schema.columns[position].levels)}
    codes = []
    for level in column.levels.levels:
        if level not in known and schema.unseen_categories == "error":
            what = "a missing value" if level is None else repr(level)
            raise InvalidTableError(
                f"{schema.label(position)} may shift to {what}, which model {name!r} has not seen in training. Fit it with "
                "unseen_categories='reference', or leave such rows out of the reference table."
            )
        codes.append(known.get(level, 0))
    return codes
