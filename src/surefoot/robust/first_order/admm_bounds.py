"""Bounds for the splitting method: the exact objective of a model, and proofs made of the splitting's multipliers.

With z_i = y_i (1, x_i), margins m_i = z_i . b and softplus(m) = softplus(-m) + m, a row's worst case over its two labels is

    max(softplus(-m), softplus(m) - lambda kappa) = softplus(-m) + max(m - lambda kappa, 0).

Upper bound. For a given b the best price minimises lambda radius + sum_i w_i max(m_i - lambda kappa, 0) over lambda >= ||b /
gamma||_*: convex and piecewise linear with kinks at m_i / kappa, so the kink at which the weight of the rows above it falls to
radius / kappa is the exact minimiser.

Lower bound. Let row i send the share s_i of its mass to the flipped label, with slope 1 - q_i there and slope q_i where it
stays; its total slope is d_i = s_i - q_i. With entropy(q) = -q log q - (1 - q) log(1 - q), g = sum_i w_i d_i z_i, and g = 0 on
the free coordinates (the intercept, columns of infinite weight), weak duality (:class:`ShiftPlan`) gives for EVERY price

    min over b of F(b, lambda)  >=  E + lambda S,     E = sum_i w_i entropy(q_i),     S = radius - kappa sum_i w_i s_i - |g|,

with |g| the norm of (gamma_j g_j)_j. So each pair (q, s) is a line below the convex function of lambda that the search
minimises, a tangent if (q, s) is optimal at its own price; a line with S >= 0 bounds the optimum by E. Two lines, one falling
and one rising, are mixed: shares of masses and flows add up to another plan, with a slack S and an entropy at or above the
mixture of theirs (both are concave). g and the flipped mass are linear in the mixture, so the largest admissible share of the
falling line is found without touching a row.

Slopes d that the splitting proposes need not be any row's slopes. Each is clipped to [-1, 1]; the best s for the price at
hand is d + sigmoid(-lambda kappa), clipped to [0, 1], because moving mass to the flip gains log((1 - q) / q) - lambda kappa
per unit; and q = s - d. To make g vanish on the free coordinates, q_i = sigmoid(-t_i) moves to sigmoid(-t_i - z_i . v), where v
minimises the convex sum_i w_i (softplus(-t_i - z_i . v) + s_i z_i . v): a few Newton steps. What rounding leaves is paid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import entr, expit, logit

from surefoot.core.arrays import FloatArray
from surefoot.robust.problem.coefficient_bounds import coefficient_bounds
from surefoot.robust.problem.numeric_norm import coefficient_norm, gradient_norm
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan

NEWTON_STEPS = 40
# Lines of either kind, each three numbers a row.
LINES_KEPT = 4


class SignedRows:
    """The rows z_i = y_i (1, x_i) of a numeric problem, and the model's objective in terms of them.

    ``weights`` are the prices gamma of the coordinates, inf for the intercept; ``shares`` the weights of the rows.
    """

    def __init__(self, problem: RobustLogisticProblem) -> None:
        self.problem = problem
        self.first = int(problem.fit_intercept)
        self.rows = np.empty((problem.n_rows, self.first + problem.n_numeric))
        self.rows[:, : self.first] = problem.labels[:, None]
        np.multiply(problem.numeric, problem.labels[:, None], out=self.rows[:, self.first :])
        self.shares = problem.weights
        self.weights = np.concatenate((np.full(self.first, np.inf), problem.cost.numeric_weights))
        self.free = np.isinf(self.weights)
        self.free_rows = self.rows[:, self.free]
        self.kappa = problem.cost.label_weight
        self.radius = problem.radius
        self.bounds = coefficient_bounds(problem, float(np.log(2.0)) * self.shares.sum(), np.zeros(problem.n_numeric))

    def gram(self) -> FloatArray:
        """sum_i w_i z_i z_i'."""
        gram: FloatArray = (self.rows * self.shares[:, None]).T @ self.rows
        return gram

    def model(self, coefficients: FloatArray, price: float) -> RobustCoefficients:
        """The coefficients as a model of ``problem``."""
        intercept = float(coefficients[0]) if self.first else 0.0
        return RobustCoefficients(intercept, coefficients[self.first :], np.zeros(0), price)

    def coefficients(self, model: RobustCoefficients) -> FloatArray:
        """The reverse of ``model``."""
        return np.concatenate((np.full(self.first, model.intercept), model.numeric))

    def least_price(self, coefficients: FloatArray) -> float:
        return coefficient_norm(coefficients, self.weights, self.problem.cost.numeric_norm)

    def gradient_price(self, gradient: FloatArray) -> float:
        """|g| over the priced coordinates."""
        priced = ~self.free
        return gradient_norm(gradient[priced], self.weights[priced], self.problem.cost.numeric_norm)

    def value(self, margins: FloatArray, price: float) -> float:
        """The objective of a feasible model with these margins."""
        losses = np.logaddexp(0.0, -margins)
        if np.isfinite(self.kappa):
            losses += np.maximum(margins - price * self.kappa, 0.0)
        return self.radius * price + float(self.shares @ losses)

    def best_price(self, margins: FloatArray, least: float) -> float:
        """The price at or above ``least`` that suits these margins best."""
        if np.isinf(self.kappa):
            return least
        above = np.flatnonzero(margins > least * self.kappa)
        order = above[np.argsort(-margins[above])]
        too_many = np.flatnonzero(np.cumsum(self.shares[order]) * self.kappa > self.radius)
        return max(least, float(margins[order[too_many[0]]]) / self.kappa) if too_many.size else least


@dataclass(frozen=True)
class Line:
    """A plan (q, s) and what it proves: F >= entropy + lambda * slack for every model and every price lambda.

    ``gradient`` and ``flipped`` are g and sum_i w_i s_i, of which ``slack`` is made. ``paid`` is what the entropy has lost to
    a residual on the free coordinates.
    """

    stay_slope: FloatArray
    flip_slope: FloatArray
    flip_share: FloatArray
    gradient: FloatArray
    flipped: float
    entropy: float
    slack: float
    paid: float

    def at(self, price: float) -> float:
        return self.entropy + price * self.slack


def _slack(rows: SignedRows, gradient: FloatArray, flipped: float) -> float:
    flips = rows.kappa * flipped if flipped > 0 else 0.0
    return rows.radius - flips - rows.gradient_price(gradient)


def idle_line(rows: SignedRows) -> Line:
    """Nobody moves and no slope counts: proves no more than 0, but spends nothing."""
    nothing = np.zeros(rows.shares.size)
    return Line(nothing, nothing, nothing, np.zeros(rows.weights.size), 0.0, 0.0, rows.radius, 0.0)


def line_of(rows: SignedRows, slopes: FloatArray, price: float, coefficients: FloatArray) -> Line:
    """The line of the plan whose rows have (nearly) these total slopes, best for prices near the given one."""
    flips = np.isfinite(rows.kappa)
    slopes = np.clip(slopes, -1.0, 1.0 if flips else 0.0)
    share = np.clip(slopes + expit(-price * rows.kappa), 0.0, 1.0) if flips else np.zeros_like(slopes)
    stay = np.clip(share - slopes, 0.0, 1.0)
    if rows.free.any():
        stay = _balanced(rows, stay, share)
    gradient: FloatArray = (rows.shares * (share - stay)) @ rows.rows
    # Where nothing bounds a free coefficient (infinite weights), ten times those at hand is a claim, not a proof: certificates/
    # proves such cases by curvature.
    reach = 10.0 * (1.0 + float(np.abs(coefficients).max(initial=0.0)))
    bound = np.full(rows.weights.size, reach)
    if np.isfinite(rows.bounds.intercept):
        bound[: rows.first] = rows.bounds.intercept
    paid = float(bound[rows.free] @ np.abs(gradient[rows.free]))
    flipped = float(rows.shares @ share)
    entropy = float(rows.shares @ (entr(stay) + entr(1.0 - stay))) - paid
    return Line(stay, 1.0 - stay, share, gradient, flipped, entropy, _slack(rows, gradient, flipped), paid)


def _balanced(rows: SignedRows, stay: FloatArray, share: FloatArray) -> FloatArray:
    """Slopes near the given ones whose gradient vanishes on the free coordinates."""
    # Slopes of exactly 0 or 1 could not move; these are far from changing a bound.
    start = -logit(np.clip(stay, 1e-15, 1.0 - 1e-15))
    shift = np.zeros(rows.free_rows.shape[1])
    pull = (rows.shares * share) @ rows.free_rows

    def loss(v: FloatArray) -> float:
        return float(rows.shares @ np.logaddexp(0.0, -start - rows.free_rows @ v)) + float(pull @ v)

    value = loss(shift)
    for _ in range(NEWTON_STEPS):
        stay = expit(-start - rows.free_rows @ shift)
        residual = pull - (rows.shares * stay) @ rows.free_rows
        if float(np.abs(residual).max()) <= 1e-16:
            break
        hessian = (rows.free_rows * (rows.shares * stay * (1.0 - stay))[:, None]).T @ rows.free_rows
        hessian[np.diag_indices_from(hessian)] += 1e-14 * np.trace(hessian) + 1e-300
        step = -scipy.linalg.solve(hessian, residual, assume_a="pos", check_finite=False)
        if -float(residual @ step) <= 1e-15 * value:
            # The loss can no longer tell; this close to its minimum whole steps need no judge.
            shift = shift + step
            break
        length = 1.0
        while (moved := loss(shift + length * step)) > value * (1.0 + 1e-15) and length > 1e-4:
            length *= 0.5
        if moved > value * (1.0 + 1e-15):
            break
        shift, value = shift + length * step, moved
        if float(np.abs(step).max()) <= 1e-15 * (1.0 + float(np.abs(shift).max())):
            break
    balanced: FloatArray = expit(-start - rows.free_rows @ shift)
    return balanced


def mixed_line(rows: SignedRows, falling: Line, rising: Line) -> Line:
    """The mixture with the largest share of ``falling`` (slack below 0) whose slack is not below 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        gradient = middle * falling.gradient + (1.0 - middle) * rising.gradient
        if _slack(rows, gradient, middle * falling.flipped + (1.0 - middle) * rising.flipped) >= 0:
            low = middle
        else:
            high = middle
    flip = low * falling.flip_share + (1.0 - low) * rising.flip_share
    stays = [low * (1.0 - falling.flip_share), (1.0 - low) * (1.0 - rising.flip_share)]
    moves = [low * falling.flip_share, (1.0 - low) * rising.flip_share]
    stay_slope = _average(stays, falling.stay_slope, rising.stay_slope)
    flip_slope = _average(moves, falling.flip_slope, rising.flip_slope)
    uncertain = (1.0 - flip) * (entr(stay_slope) + entr(1.0 - stay_slope)) + flip * (entr(flip_slope) + entr(1.0 - flip_slope))
    gradient = low * falling.gradient + (1.0 - low) * rising.gradient
    flipped = low * falling.flipped + (1.0 - low) * rising.flipped
    paid = low * falling.paid + (1.0 - low) * rising.paid
    entropy = float(rows.shares @ uncertain) - paid
    return Line(stay_slope, flip_slope, flip, gradient, flipped, entropy, _slack(rows, gradient, flipped), paid)


def _average(shares: list[FloatArray], one: FloatArray, other: FloatArray) -> FloatArray:
    total = shares[0] + shares[1]
    mean = (shares[0] * one + shares[1] * other) / np.where(total > 0, total, 1.0)
    return np.clip(mean, 0.0, 1.0)


def shift_plan(rows: SignedRows, line: Line) -> ShiftPlan:
    """The line's plan, entries row after row, those without mass left out."""
    mass = np.column_stack((rows.shares * (1.0 - line.flip_share), rows.shares * line.flip_share)).ravel()
    slope = np.column_stack((line.stay_slope, line.flip_slope)).ravel()
    held = np.flatnonzero(mass > 0)
    nothing = np.zeros(0)
    return ShiftPlan(
        row=held // 2,
        moved=np.zeros((held.size, 0), dtype=np.bool_),
        flipped=held % 2 == 1,
        mass=mass[held],
        slope=slope[held],
        lowest=nothing,
        highest=nothing,
    )


class Evidence:
    """What has been proven so far: the best plan within the radius, and the latest lines of either kind to mix new ones with.

    A mixture spends the whole radius, and can hardly make up for another line that spends more. So the lines themselves are
    kept, and the one whose mixture with a new line promises most is the one that is mixed.
    """

    def __init__(self, rows: SignedRows) -> None:
        self.rows = rows
        self.proof = idle_line(rows)
        self.rising = [self.proof]
        self.falling: list[Line] = []

    @property
    def lower_bound(self) -> float:
        """The entropy of the best plan whose slack is not negative; the loss is positive."""
        return max(self.proof.entropy, 0.0)

    def add(self, line: Line) -> None:
        """Take a line into account, alone and mixed."""
        if line.slack < 0:
            best = max(self.rising, key=lambda other: _crossing(line, other))
            self._offer(mixed_line(self.rows, line, best))
            self.falling = [*self.falling, line][-LINES_KEPT:]
            return
        self._offer(line)
        if self.falling:
            best = max(self.falling, key=lambda other: _crossing(other, line))
            self._offer(mixed_line(self.rows, best, line))
        self.rising = [*self.rising, line][-LINES_KEPT:]

    def _offer(self, line: Line) -> None:
        if line.slack >= 0 and line.entropy > self.proof.entropy:
            self.proof = line


def _crossing(falling: Line, rising: Line) -> float:
    """Where the two lines cross: what their mixture proves at least."""
    return (rising.entropy * -falling.slack + falling.entropy * rising.slack) / (rising.slack - falling.slack)
