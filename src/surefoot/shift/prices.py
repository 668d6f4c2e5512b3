"""From certainties to prices: Section 3 and Appendix A of Sun, Justin, Gomez and Vayanos (AISTATS 2025).

A numeric value stays within u of itself with probability rho, a categorical one stays what it is with probability rho. Under
Laplace noise of scale b and a uniform choice among the other levels, the likelihood of a moved table relative to that of an
unmoved one is at least theta ** N exactly if

    (1/N) sum_i ( sum_j gamma_j |x_ij - x'_ij| + sum_l delta_l 1[z_il != z'_il] )  <=  radius,

    gamma_j = 1 / b_j = -log(1 - rho_j) / u_j,    delta_l = log(rho_l (|C_l| - 1) / (1 - rho_l)),    radius = -log(theta).

A label is a category of two levels: kappa = log(rho_y / (1 - rho_y)).

At rho_l = 1 / |C_l|, chance, a category may change for nothing; below it staying would be what costs, and no set of shifts
around a table says that. So certainties that are scaled or estimated stop where the price is LEAST_PRICE.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray

# A hundredth of a unit of log likelihood per change: a model hardly leans on such a column, and solvers meet no price near 0.
LEAST_PRICE = 0.01


def categorical_prices(certainty: FloatArray, n_levels: IntArray) -> FloatArray:
    """delta_l = log(rho_l (|C_l| - 1) / (1 - rho_l))."""
    prices: FloatArray = np.log(certainty * (n_levels - 1) / (1.0 - certainty))
    return prices


def rounded_prices(prices: FloatArray, decimals: int) -> FloatArray:
    """Prices rounded to so many places, those that would become 0 raised to one unit of the last place.

    A price of 0 would let the adversary change a column for nothing, so that the model could not use it at all. The paper does
    not say what it did with them, and the program of its authors keeps the zeros.
    """
    raised: FloatArray = np.maximum(np.round(prices, decimals), 10.0**-decimals)
    return raised


def certainty_at_price(price: float, n_levels: int) -> float:
    """rho = exp(delta) / (|C| - 1 + exp(delta)), the certainty that has this price."""
    return math.exp(price) / (n_levels - 1 + math.exp(price))


def label_price(certainty: float, scale: float = 1.0) -> float:
    """kappa = log(rho_y / (1 - rho_y)), the doubt 1 - rho_y multiplied by a scale; at least LEAST_PRICE, inf without doubt."""
    doubt = scale * (1.0 - certainty)
    if doubt <= 0.0:
        return math.inf
    return max(math.log((1.0 - doubt) / doubt), LEAST_PRICE) if doubt < 0.5 else LEAST_PRICE


def scaled_certainties(scale: float) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """certainties(rho, chance) with the doubts 1 - rho multiplied by a scale, and prices of at least LEAST_PRICE.

    ``chance`` is 1 / (number of levels), and 0 for numbers, whose certainty is 1 - exp(-price) in units of the interval.
    """

    def certainties(rho: FloatArray, chance: FloatArray) -> FloatArray:
        # certainty_at_price in terms of chance: 1 / chance levels, without end for numbers.
        weight = math.expm1(LEAST_PRICE)
        least = np.where(chance > 0, chance * (1.0 + weight) / (1.0 + chance * weight), -math.expm1(-LEAST_PRICE))
        found: FloatArray = np.where(rho == 1.0, 1.0, np.maximum(1.0 - scale * (1.0 - rho), np.minimum(least, rho)))
        return found

    return certainties


def shift_radius(robustness: float) -> float:
    """radius = -log(theta)."""
    return abs(math.log(robustness))
