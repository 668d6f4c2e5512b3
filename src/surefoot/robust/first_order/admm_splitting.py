"""ADMM at a fixed price: margins on one side, coefficients on the other.

    min over b, mu of   sum_i w_i phi(mu_i)      subject to   mu_i = z_i . b,   || b / gamma ||_* <= lambda,
    phi(m) = h(m) + max(m - lambda kappa, 0),    h(m) = log(1 + exp(-m)),        z_i = y_i (1, x_i),

with the augmented Lagrangian in the norm of the row weights, nu the multipliers,

    sum_i w_i ( phi(mu_i) + nu_i (mu_i - z_i . b) + rho / 2 (mu_i - z_i . b)^2 ).

One iteration of linearised proximal ADMM (LP-ADMM; Li, Huang and So, NeurIPS 2019):

1. b minimises sum_i w_i (z_i . b - mu_i - nu_i / rho)^2 over the ball: :mod:`surefoot.robust.first_order.ball_least_squares`.
2. mu minimises the Lagrangian with h linearised at the last mu: the proximal operator of the hinge, row by row. With curvature
   c = rho,

       p = (rho z_i . b - nu_i - h'(mu_i)) / c,
       new mu_i = p  if p < lambda kappa,   max(p - 1 / c, lambda kappa)  otherwise.

3. nu_i += rho (mu_i - z_i . b), and rho grows by 5 %.

Two things go wrong with that as it stands. The linearisation has no curvature, so the step is only safe while rho is above that
of h; and a rho that always grows freezes the iterates wherever they are, with residuals that look converged. Here

- the linearisation comes with a quadratic term, tau_i / 2 (mu - mu_i)^2, so that c = rho + tau_i and rho z_i . b gains tau_i
  mu_i. As |h'''| <= h'' (h is self-concordant-like), h''(mu_i + t) <= h''(mu_i) exp(|t|). A trial step with tau_i = h''(mu_i)
  has some length t_i; with tau_i = min(1/4, h''(mu_i) exp(|t_i|)) the step is no longer than that, so the quadratic majorises h
  all along it. The step stays closed-form, and rows with a large margin, where h is flat, take long steps;
- rho grows only while the primal residual (mu against scores) dominates the dual one (the change of mu), both relative to the
  size of what they are residuals of, and falls where it has grown too large (residual balancing). Corrections become smaller
  with their number, so that rho converges. If the true gap stands still all the same, rho restarts well below the curvature of
  the rows;
- scores are over-relaxed by 1.6 before steps 2 and 3 (Eckstein and Bertsekas 1992).

The minimiser of step 1 satisfies the optimality conditions of the ball with the slopes rho (z_i . b - mu_i - nu_i / rho), and
step 2 those of the rows with -nu_i. Both are candidates for a dual bound; their difference is the dual residual.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import FloatArray
from surefoot.robust.first_order.ball_least_squares import BallLeastSquares
from surefoot.robust.first_order.box_least_squares import BoxLeastSquares
from surefoot.robust.first_order.parameters import AdmmParameters, PublishedLpAdmm
from surefoot.robust.first_order.signed_rows import SignedRows


class Splitting:
    """The iterates of one solve.

    Attributes
    ----------
    coefficients, scores : b, always inside the ball of the last price, and the z_i . b
    margins : mu
    slopes : slopes of the rows that suit b
    multipliers : nu, of mu_i = z_i . b; -nu are the slopes that suit mu
    penalty : rho
    """

    def __init__(
        self, rows: SignedRows, parameters: AdmmParameters | None = None, published: PublishedLpAdmm | None = None
    ) -> None:
        self.rows = rows
        self.parameters = parameters or AdmmParameters()
        gram = rows.gram()
        gram[np.diag_indices_from(gram)] += self.parameters.proximal_weight
        self.least_squares: BallLeastSquares | BoxLeastSquares
        if published is None or published.coefficient_step == "exact":
            self.least_squares = BallLeastSquares(gram, rows.gamma, rows.problem.cost.numeric_norm)
        else:
            self.least_squares = BoxLeastSquares(
                gram,
                rows.gamma,
                published.coefficient_step,
                tolerance=published.step_tolerance,
                max_steps=self.parameters.max_coefficient_steps,
            )
        self.penalty = 1.0
        self.corrections = 0
        self.primal_residual = self.dual_residual = 0.0
        self.start(np.zeros(rows.gamma.size), 1.0)

    def start(self, coefficients: FloatArray, price: float) -> None:
        """Begin at a model, with the slopes its rows have at this price."""
        self.coefficients = coefficients
        self.scores = self.margins = self.rows.rows @ coefficients
        self.multipliers = expit(-self.scores) - (self.scores > price * self.rows.kappa)
        self.slopes = -self.multipliers

    def published_start(self, published: PublishedLpAdmm) -> None:
        """Begin at zeros or ones, in the multipliers of the paper, which count rows and not their weights."""
        first, rows = float(published.start == "ones"), self.rows.row_weights.size
        self.coefficients = np.full(self.rows.gamma.size, first)
        self.margins = np.full(rows, first)
        self.scores = self.rows.rows @ self.coefficients
        self.multipliers = np.full(rows, first * rows)
        self.slopes = -self.multipliers
        self.penalty = published.penalty * rows

    def newton_price(self) -> float:
        """The price of the Newton step from the model 0 on the plain loss: the scale of prices that matter."""
        rows = self.rows
        newton = self.least_squares.solve((2.0 * rows.row_weights) @ rows.rows, np.log(2.0) / rows.radius)
        return rows.least_price(newton)

    def natural_penalty(self, price: float) -> float:
        """The curvature of the loss, and of a hinge of height 1 that is smoothed over its distance from 0."""
        return 0.25 + 1.0 / (price * self.rows.kappa)

    def change_price(self, old: float, new: float) -> None:
        """Warm start at a new price: ball and hinges grow with the price, so margins do; the penalty keeps its ratio."""
        self.margins = self.margins * (new / old)
        self._set_penalty(self.penalty * self.natural_penalty(new) / self.natural_penalty(old))

    def restart_penalty(self, price: float) -> None:
        """Go on from here with a small penalty: the iterates stand still although the gap is open."""
        self._set_penalty(0.1 * min(self.penalty, self.natural_penalty(price)))

    def _set_penalty(self, penalty: float) -> None:
        self.penalty = min(max(penalty, self.parameters.smallest_penalty), self.parameters.largest_penalty)

    def step(self, price: float) -> None:
        """One iteration, with curvature and over-relaxation."""
        scores = self._update_coefficients(price)
        relaxation = self.parameters.relaxation
        relaxed = relaxation * scores + (1.0 - relaxation) * self.margins
        slope = expit(-self.margins)
        curvature = slope * (1.0 - slope)
        trial = self._proximal_margins(price, relaxed, slope, curvature)
        # exp(50) is well beyond what the minimum lets through.
        curvature = np.minimum(0.25, curvature * np.exp(np.minimum(np.abs(trial - self.margins), 50.0)))
        self._update_margins(self._proximal_margins(price, relaxed, slope, curvature), relaxed)

    def published_step(self, price: float, published: PublishedLpAdmm) -> None:
        """One iteration as published: no curvature, no relaxation, and a penalty that always grows."""
        scores = self._update_coefficients(price)
        slope = expit(-self.margins)
        self._update_margins(self._proximal_margins(price, scores, slope, np.zeros_like(slope)), scores)
        self.penalty *= published.penalty_growth

    def _update_coefficients(self, price: float) -> FloatArray:
        rows = self.rows
        target = self.margins + self.multipliers / self.penalty
        right = (rows.row_weights * target) @ rows.rows + self.parameters.proximal_weight * self.coefficients
        self.coefficients = self.least_squares.solve(right, price)
        self.scores = rows.rows @ self.coefficients
        self.slopes = self.penalty * (self.scores - target)
        return self.scores

    def _proximal_margins(self, price: float, scores: FloatArray, slope: FloatArray, curvature: FloatArray) -> FloatArray:
        total = self.penalty + curvature
        minimiser = (self.penalty * scores - self.multipliers + curvature * self.margins + slope) / total
        hinge = price * self.rows.kappa
        new: FloatArray = np.where(minimiser < hinge, minimiser, np.maximum(minimiser - 1.0 / total, hinge))
        return new

    def _update_margins(self, new: FloatArray, scores: FloatArray) -> None:
        self.multipliers = self.multipliers + self.penalty * (new - scores)
        size = max(self._norm(new), self._norm(self.scores), 1e-300)
        self.primal_residual = self._norm(new - self.scores) / size
        self.dual_residual = self.penalty * self._norm(new - self.margins) / max(self._norm(self.multipliers), 1e-300)
        self.margins = new

    def _norm(self, values: FloatArray) -> float:
        return float(np.sqrt(self.rows.row_weights @ np.square(values)))

    def balance_residuals(self, steps: int) -> None:
        """Correct the penalty after so many steps at the same one."""
        settings = self.parameters
        factor = 1.0 + (settings.penalty_growth**steps - 1.0) / (1.0 + settings.correction_decay * self.corrections)
        if self.primal_residual > settings.residual_balance * self.dual_residual:
            self._set_penalty(self.penalty * factor)
        elif self.dual_residual > settings.residual_balance * self.primal_residual:
            self._set_penalty(self.penalty / factor)
        else:
            return
        self.corrections += 1
