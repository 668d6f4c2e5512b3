"""First-order methods for the beta-subproblem of Li, Huang and So (NeurIPS 2019), with the settings of their experiment 5.2.

    min over b, mu of   (1/N) sum_i (h(mu_i) + max(mu_i - lambda kappa, 0))     subject to   mu = Z b,   ||b||_inf <= lambda,

with h(m) = log(1 + exp(-m)) and z_i = y_i x_i. Each method is a generator that yields, once per iteration, b inside the box,
the scores Z b and the margins it works with, so that whoever runs it can stop it, hold a clock around it and evaluate anything.
Penalties are those of the mean loss and the plain sum of squares, as in the paper. All but the subgradient method and PDHG take
the exact coefficient step, so that what is compared is the outer method.

Settings that the paper leaves open are those of its authors' program: everything starts at ones; LADMM has the curvature 1/4 of
one row's loss although the loss is a mean over rows (the curvature of which is 1 / (4 N)); the subgradient method there has no
projection onto the box, which is added here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from surefoot.core.arrays import FloatArray
from surefoot.robust.first_order.ball_least_squares import BallLeastSquares


class Iterate(NamedTuple):
    """b inside the box, Z b, and the margins of the splitting (the scores where there is none)."""

    coefficients: FloatArray
    scores: FloatArray
    margins: FloatArray


class BetaProblem:
    """The data of one subproblem: Z, lambda and kappa."""

    def __init__(self, rows: FloatArray, price: float, label_price: float) -> None:
        self.rows, self.price = rows, price
        self.hinge = price * label_price
        self.size, self.width = rows.shape
        self.ones = np.ones(self.width)

    def objective(self, scores: FloatArray) -> float:
        """The objective of a feasible point, or of margins."""
        return float(np.mean(np.logaddexp(0.0, -scores) + np.maximum(scores - self.hinge, 0.0)))

    def least_squares(self) -> BallLeastSquares:
        gram = self.rows.T @ self.rows
        gram[np.diag_indices(self.width)] += 1e-12 * np.trace(gram)
        return BallLeastSquares(gram, self.ones, "l1")

    def clipped(self, point: FloatArray) -> FloatArray:
        inside: FloatArray = np.clip(point, -self.price, self.price)
        return inside

    def hinge_step(self, point: FloatArray, curvature: float) -> FloatArray:
        """argmin of (1/N) max(m - hinge, 0) + curvature / 2 (m - point)^2, row by row."""
        new: FloatArray = np.where(point < self.hinge, point, np.maximum(point - 1.0 / (self.size * curvature), self.hinge))
        return new


Method = Callable[[BetaProblem], Iterator[Iterate]]


def splitting(
    problem: BetaProblem, *, penalty: float, growth: float = 1.0, curvature: float = 0.0, start: float = 1.0
) -> Iterator[Iterate]:
    """LP-ADMM (curvature 0), adaptive with a growth above 1; linearised ADMM with a curvature."""
    steps = problem.least_squares()
    y, w, rho = np.full(problem.size, start), np.full(problem.size, start), penalty
    while True:
        x = steps.solve((y + w / rho) @ problem.rows, problem.price)
        scores = problem.rows @ x
        total = rho + curvature
        y = problem.hinge_step((rho * scores + curvature * y - w + expit(-y) / problem.size) / total, total)
        w = w - rho * (scores - y)
        rho *= growth
        yield Iterate(x, scores, y)


def standard_admm(problem: BetaProblem, *, penalty: float, start: float = 1.0) -> Iterator[Iterate]:
    """Two blocks, both minimised exactly: margins by Newton's method on each side of the hinge."""
    steps = problem.least_squares()
    x = problem.clipped(np.full(problem.width, start))
    y, w = problem.rows @ x, np.zeros(problem.size)
    while True:
        x = steps.solve((y + w / penalty) @ problem.rows, problem.price)
        scores = problem.rows @ x
        y = _exact_margins(problem, scores - w / penalty, penalty, y)
        w = w - penalty * (scores - y)
        yield Iterate(x, scores, y)


def _exact_margins(problem: BetaProblem, point: FloatArray, penalty: float, first: FloatArray) -> FloatArray:
    """argmin of (h(m) + max(m - hinge, 0)) / N + penalty / 2 (m - point)^2, row by row."""
    ends = []
    for slope in (0.0, 1.0):  # below the hinge and above it
        m = first
        for _ in range(100):
            down = expit(-m)
            gradient = (slope - down) / problem.size + penalty * (m - point)
            step = gradient / (down * (1.0 - down) / problem.size + penalty)
            m = m - step
            if float(np.abs(step).max()) < 1e-13:
                break
        ends.append(m)
    below, above = ends
    found: FloatArray = np.where(below < problem.hinge, below, np.maximum(above, problem.hinge))
    return found


def primal_dual(problem: BetaProblem, *, primal_step: float, dual_step: float, ahead: float) -> Iterator[Iterate]:
    """PDHG on the saddle point of mean h(m) + (1 + u) (m - hinge) / 2, |u| <= 1; the smooth part by its gradient."""
    x, u, rows = problem.ones.copy(), np.ones(problem.size), problem.rows
    scores = rows @ x
    while True:
        gradient = ((0.5 + 0.5 * u - expit(-scores)) @ rows) / problem.size
        new = problem.clipped(x - primal_step * gradient)
        new_scores = rows @ new
        u = np.clip(u + dual_step * (new_scores + ahead * (new_scores - scores) - problem.hinge), -1.0, 1.0)
        x, scores = new, new_scores
        yield Iterate(x, scores, scores)


def subgradient(problem: BetaProblem, *, step: float, shrinking: float) -> Iterator[Iterate]:
    """Projected subgradient steps of geometrically shrinking length."""
    x = problem.clipped(problem.ones)
    scores = problem.rows @ x
    while True:
        slope = 0.5 + 0.5 * np.sign(scores - problem.hinge) - expit(-scores)
        x = problem.clipped(x - step * (slope @ problem.rows) / problem.size)
        scores = problem.rows @ x
        step *= shrinking
        yield Iterate(x, scores, scores)


METHODS: dict[str, Method] = {
    "adaptive LP-ADMM": lambda problem: splitting(problem, penalty=1e-3, growth=1.01),
    "adaptive LP-ADMM, growth 1.05": lambda problem: splitting(problem, penalty=1e-3, growth=1.05),
    "adaptive LP-ADMM, growth 1.05, from 0": lambda problem: splitting(problem, penalty=1e-3, growth=1.05, start=0.0),
    "LP-ADMM": lambda problem: splitting(problem, penalty=1e-2),
    "LADMM": lambda problem: splitting(problem, penalty=0.1, curvature=0.25),
    "LADMM, curvature 1 / (4 N)": lambda problem: splitting(problem, penalty=1e-2, curvature=0.25 / problem.size),
    "SADMM": lambda problem: standard_admm(problem, penalty=10.0 / problem.size),
    "PDHG": lambda problem: primal_dual(problem, primal_step=0.3, dual_step=0.3, ahead=0.5),
    "subgradient": lambda problem: subgradient(problem, step=0.1, shrinking=0.999),
}
