"""The objective of a robust logistic model, enclosed.

    F(beta, lambda) = lambda * radius + sum_i w_i r_i,     subject to  || (beta_j / gamma_j)_j ||_* <= lambda,

    r_i = max over a target label s, over sets S of moves of
          log(1 + exp(v_s + sum_{l in S} u_sl)) - lambda sum_{l in S} delta_l - lambda kappa 1[s != y_i],

where v_s = -s * score of row i, and u_sl >= 0 is what feature l adds when it moves from the row's own level to the worst level
for label s: own - smallest coefficient for s = +1, largest - own for s = -1. Features with delta = inf never move, and labels
with kappa = inf never flip. A column j with a range adds u = |beta_j| d at the price gamma_j d, where d is the way from x_ij to
the end that hurts: the low one if s beta_j > 0. Rows may stop on the way. Then gain and price are the same part of both,
softplus is convex, and so the loss less its price is largest at one of the ends of the way. With radius 0 the price lambda is
free, prices out every shift, and the plain loss remains.

Why prefixes suffice. softplus(v) = log(1 + exp(v)) is the maximum over q in [0, 1] of q v - f*(q), with f*(q) = q log q +
(1 - q) log(1 - q). Exchange the two maxima:

    max_S softplus(v + sum_S u_l) - lambda sum_S delta_l  =  max_q  q v - f*(q) + sum_l max(0, q u_l - lambda delta_l).

(with d to the other end u would be negative: such moves have no part in it.) At the best q the set is {l : u_l / delta_l >
lambda / q}: the first few features in the order of u_l / delta_l, so the m + 1 prefixes of that order are enough, for any
positive delta (features tied at the threshold add nothing).

Rounding. Let t_l be a double at or above u_l / delta_l, and take u'_l = t_l delta_l. These gains are at or above the true
ones, so the maximum is too; and t_l is their exact ratio, so sorting the doubles t_l is their exact order.

A price below the dual norm of the coefficients is raised to it: any admissible price gives an upper bound on the optimum.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import Enclosure, choose, enclose, exact_dot, join
from surefoot.robust.certificate.posed_rows import Part, Setting, Sums, blocks, read_array, turned


def read_model(setting: Setting, source: Any) -> SimpleNamespace:
    """The coefficients of such a problem as doubles: ``intercept``, ``numeric``, ``levels``, ``price``."""
    n_levels = sum(setting.n_levels.tolist())  # without an array of that many entries, which may be a lie
    shapes = {"intercept": (), "numeric": setting.gamma.shape, "levels": (n_levels,), "price": ()}
    arrays = {name: read_array(f"coefficients.{name}", getattr(source, name), "fiu", shape) for name, shape in shapes.items()}
    return SimpleNamespace(**arrays)


def flaw(setting: Setting, model: Any) -> str:
    """Why these numbers are not a model of this problem, or nothing."""
    if not np.isfinite(np.concatenate(([model.intercept], model.numeric, model.levels))).all():
        return "a coefficient is not a finite number"
    # With radius 0 any price is free, and one that is high enough may be written as inf.
    if not model.price >= 0 or (np.isinf(model.price) and setting.radius > 0):
        return f"the price {model.price} is not a finite number at or above 0"
    if model.intercept != 0 and not setting.fit_intercept:
        return f"the intercept is {model.intercept} although the model has none"
    return "the coefficient of a reference level is not 0" if np.any(model.levels[setting.starts]) else ""


def admissible_price(setting: Setting, model: Any) -> float:
    """A price at or above the given one that admits the numeric coefficients."""
    return max(float(model.price), float(setting.dual_norm(model.numeric).high))


def row_sums(part: Part, model: Any, price: float) -> Sums:
    """Sum of share times r_i; then share, and weighted sum of each centred numeric column, of the rows of label +1 and -1."""
    setting, losses = part.setting, enclose(0.0)
    # beta_0 + beta_x . c, right to the last place.
    intercept = exact_dot(np.append(model.numeric, model.intercept), np.append(part.centre, 1.0))
    weights, sums = enclose(np.zeros(2)), enclose(np.zeros((setting.gamma.size, 2)))
    for rows in blocks(part.labels.size):
        columns, labels, shares = part.columns(rows), part.labels[rows], part.shares[rows]
        own = model.levels[setting.starts + part.codes[rows]]
        scores = columns @ enclose(model.numeric) + intercept + enclose(own).sum(axis=1)
        ranged = part.numeric[rows][:, setting.ranged] if setting.ranges.size else np.zeros((labels.size, 0))
        worst = _worst(setting, price, model, own, ranged, scores, labels)
        if setting.radius > 0 and np.isfinite(setting.kappa):
            flipped = _worst(setting, price, model, own, ranged, scores, -labels)
            worst = worst.maximum(flipped - enclose(price) * setting.kappa)
        losses = losses + (worst * shares).sum()
        by_label = choose(labels[:, None] == np.array([1.0, -1.0]), shares[:, None], 0.0)
        weights, sums = weights + by_label.sum(axis=0), sums + turned(columns) @ by_label
    return Sums((losses, weights, sums))


def _worst(
    setting: Setting, price: float, model: Any, own: FloatArray, ranged: FloatArray, scores: Enclosure, targets: FloatArray
) -> Enclosure:
    """The largest loss of some rows over sets of moves, with their final labels as given."""
    moves, stay = np.isfinite(setting.delta) & (setting.radius > 0), scores * -targets
    ratios, prices = np.zeros((targets.size, 0)), enclose(np.zeros((targets.size, 0)))
    if moves.any():
        delta, own = setting.delta[moves], own[:, moves]
        lowest, highest = (extreme.reduceat(model.levels, setting.starts)[moves] for extreme in (np.minimum, np.maximum))
        gains = choose(targets[:, None] > 0, enclose(own) - lowest, highest - enclose(own))
        ratios, prices = (gains / delta).high, enclose(np.tile(delta, (targets.size, 1)))
    if setting.ranges.size and setting.radius > 0:
        steep = (abs(enclose(model.numeric[setting.ranged])) / setting.ranges[:, 3]).high
        pays = np.flatnonzero(steep > price)  # q u <= lambda delta for all q in [0, 1] otherwise, whatever the row
        (low, high, rate), slopes = setting.ranges[pays, 1:].T, model.numeric[setting.ranged[pays]]
        ends = np.where(targets[:, None] * slopes > 0, low, high)
        ratios = np.column_stack((ratios, np.tile(steep[pays], (targets.size, 1))))
        prices = join([prices, abs(enclose(ranged[:, pays]) - ends) * rate], axis=1)
    if not ratios.size:
        return stay.softplus()
    order = np.argsort(-ratios, axis=1)
    prices = prices[np.arange(targets.size)[:, None], order]
    gained = (enclose(np.take_along_axis(ratios, order, axis=1)) * prices).cumsum(axis=1)
    charged = (prices * price).cumsum(axis=1)
    return ((gained + stay[:, None]).softplus() - charged).max(axis=1).maximum(stay.softplus())
