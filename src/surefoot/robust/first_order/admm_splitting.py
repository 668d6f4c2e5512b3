"""Operator splitting at a fixed price: margins on one side, coefficients on the other.

    min over b, mu of   sum_i w_i phi(mu_i)      subject to   mu_i = z_i . b,   || b / gamma ||_* <= lambda,
    phi(m) = h(m) + max(m - lambda kappa, 0),    h(m) = log(1 + exp(-m)),        z_i = y_i (1, x_i),

with the augmented Lagrangian in the norm of the row weights,

    sum_i w_i ( phi(mu_i) + force_i (mu_i - z_i . b) + rho / 2 (mu_i - z_i . b)^2 ).

LP-ADMM (Li, Huang and So, NeurIPS 2019) takes turns:

1. b minimises sum_i w_i (z_i . b - mu_i - force_i / rho)^2 over the ball: :mod:`surefoot.robust.first_order.box_least_squares`.
2. mu minimises the Lagrangian with h replaced by its tangent at the last mu. Row by row, with curvature c = rho,

       pull = (rho z_i . b - force_i - h'(mu_i)) / c,
       new mu_i = pull  if pull < lambda kappa,   max(pull - 1 / c, lambda kappa)  otherwise.

3. force_i += rho (mu_i - z_i . b), and rho grows by 5 %.

Two things go wrong with that as it stands. The tangent says nothing about curvature, so the step is only safe while rho is
above that of h; and a rho that always grows freezes the iterates wherever they are, with residuals that look converged. Here

- the tangent comes with a parabola, tau_i / 2 (mu - mu_i)^2, so that c = rho + tau_i and rho z_i . b gains tau_i mu_i. As
  |h'''| <= h'', h''(mu_i + t) <= h''(mu_i) exp(|t|). A trial step with tau_i = h''(mu_i) has some length t_i; with tau_i =
  min(1/4, h''(mu_i) exp(|t_i|)) the step is no longer than that, so the parabola is above h all along it. The step stays
  closed-form, and rows far on the right side, where h is flat, take long steps;
- rho grows only while the primal residual (mu against scores) dominates the dual one (the change of mu), both relative to
  the size of what they are residuals of, and falls where it has grown too far. Corrections become smaller with their number,
  so that rho settles. If the true gap stands still all the same, rho starts again well below the curvature of the rows;
- scores are over-relaxed by 1.6 before steps 2 and 3 (Eckstein and Bertsekas 1992).

The minimiser of step 1 satisfies the optimality conditions of the ball with the slopes rho (z_i . b - mu_i - force_i / rho),
and step 2 those of the rows with -force_i. Both are candidates for a proof; their difference is a residual of the method.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import FloatArray
from surefoot.robust.first_order.admm_bounds import SignedRows
from surefoot.robust.first_order.box_least_squares import BallLeastSquares

# The published pace: 5 % an iteration.
GROWTH = 1.05
# The published first penalty, for the plain sum of squares over all rows.
PUBLISHED_PENALTY = 1e-3
RELAXATION = 1.6
# Residuals within this factor of each other are balanced.
BALANCE = 2.0
# After twenty corrections of the penalty, the next is half as large.
SETTLING = 0.05
PENALTY_RANGE = (1e-10, 1e10)
# The Gram matrix of columns of length 1 is made definite by this much; the term is centred at the last coefficients, so that it
# slows directions that the rows cannot see and changes no limit.
RIDGE = 1e-10


class Splitting:
    """The iterates of one solve.

    Attributes
    ----------
    coefficients, scores : b, always inside the ball of the last price, and the z_i . b
    margins : mu
    slopes : slopes of the rows that suit b
    force : multipliers of mu_i = z_i . b; -force are the slopes that suit mu
    penalty : rho
    """

    def __init__(self, rows: SignedRows) -> None:
        self.rows = rows
        gram = rows.gram()
        gram[np.diag_indices_from(gram)] += RIDGE
        self.least_squares = BallLeastSquares(gram, rows.weights, rows.problem.cost.numeric_norm)
        self.penalty = 1.0
        self.corrections = 0
        self.primal_residual = self.dual_residual = 0.0
        self.start(np.zeros(rows.weights.size), 1.0)

    def start(self, coefficients: FloatArray, price: float) -> None:
        """Begin at a model, with the slopes its rows have at this price."""
        self.coefficients = coefficients
        self.scores = self.margins = self.rows.rows @ coefficients
        self.force = expit(-self.scores) - (self.scores > price * self.rows.kappa)
        self.slopes = -self.force

    def steepest_price(self) -> float:
        """The price of the Newton step from the model 0 on the plain loss: the scale of prices that matter."""
        rows = self.rows
        newton = self.least_squares.solve((2.0 * rows.shares) @ rows.rows, np.log(2.0) / rows.radius)
        return rows.least_price(newton)

    def natural_penalty(self, price: float) -> float:
        """The curvature of the loss, and of a hinge of height 1 that is smoothed over its distance from 0."""
        return 0.25 + 1.0 / (price * self.rows.kappa)

    def change_price(self, old: float, new: float) -> None:
        """A first guess at a new price: ball and hinges grow with the price, and so do margins; the penalty keeps its ratio."""
        self.margins = self.margins * (new / old)
        self._set_penalty(self.penalty * self.natural_penalty(new) / self.natural_penalty(old))

    def thaw(self, price: float) -> None:
        """Start again from here with a small penalty: the iterates stand still although they are not at their goal."""
        self._set_penalty(0.1 * min(self.penalty, self.natural_penalty(price)))

    def _set_penalty(self, penalty: float) -> None:
        self.penalty = min(max(penalty, PENALTY_RANGE[0]), PENALTY_RANGE[1])

    def step(self, price: float) -> None:
        """One iteration, with curvature and over-relaxation."""
        scores = self._update_coefficients(price)
        relaxed = RELAXATION * scores + (1.0 - RELAXATION) * self.margins
        slope = expit(-self.margins)
        curvature = slope * (1.0 - slope)
        trial = self._new_margins(price, relaxed, slope, curvature)
        # exp(50) is far beyond what the minimum lets through.
        curvature = np.minimum(0.25, curvature * np.exp(np.minimum(np.abs(trial - self.margins), 50.0)))
        self._update_margins(self._new_margins(price, relaxed, slope, curvature), relaxed)

    def published_step(self, price: float) -> None:
        """One iteration as published: no curvature, no relaxation, and a penalty that always grows."""
        scores = self._update_coefficients(price)
        slope = expit(-self.margins)
        self._update_margins(self._new_margins(price, scores, slope, np.zeros_like(slope)), scores)
        self.penalty *= GROWTH

    def _update_coefficients(self, price: float) -> FloatArray:
        rows = self.rows
        target = self.margins + self.force / self.penalty
        right = (rows.shares * target) @ rows.rows + RIDGE * self.coefficients
        self.coefficients = self.least_squares.solve(right, price)
        self.scores = rows.rows @ self.coefficients
        self.slopes = self.penalty * (self.scores - target)
        return self.scores

    def _new_margins(self, price: float, scores: FloatArray, slope: FloatArray, curvature: FloatArray) -> FloatArray:
        total = self.penalty + curvature
        pull = (self.penalty * scores - self.force + curvature * self.margins + slope) / total
        hinge = price * self.rows.kappa
        new: FloatArray = np.where(pull < hinge, pull, np.maximum(pull - 1.0 / total, hinge))
        return new

    def _update_margins(self, new: FloatArray, scores: FloatArray) -> None:
        self.force = self.force + self.penalty * (new - scores)
        size = max(self._length(new), self._length(self.scores), 1e-300)
        self.primal_residual = self._length(new - self.scores) / size
        self.dual_residual = self.penalty * self._length(new - self.margins) / max(self._length(self.force), 1e-300)
        self.margins = new

    def _length(self, values: FloatArray) -> float:
        return float(np.sqrt(self.rows.shares @ np.square(values)))

    def balance(self, steps: int) -> None:
        """Correct the penalty after so many steps at the same one."""
        factor = 1.0 + (GROWTH**steps - 1.0) / (1.0 + SETTLING * self.corrections)
        if self.primal_residual > BALANCE * self.dual_residual:
            self._set_penalty(self.penalty * factor)
        elif self.dual_residual > BALANCE * self.primal_residual:
            self._set_penalty(self.penalty / factor)
        else:
            return
        self.corrections += 1
