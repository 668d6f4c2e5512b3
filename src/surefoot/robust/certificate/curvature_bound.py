"""A lower bound from generalized self-concordance: the curvature of the loss around one point.

``weak_duality`` penalises residuals in first order, with limits that grow like 1 / radius and do not exist for radius 0 or
infinite weights. Near the optimum the curvature of the loss does better. Take the masses and level mixes of the plan, ignore
its slopes, and let (as there) a_k = -s (1, x_i - c, zbar_k) and P = sum_k mass_k price_k. For every model

    F(beta, lambda) >= lambda (radius - P) + G(beta),     G(beta) = sum_k mass_k softplus(a_k . beta).

Let h be any vector on the numeric columns with || (gamma_j h_j)_j || <= max(0, radius - P) in the norm of the ground cost (0 on
columns with gamma = inf, and h = 0 if radius = 0). The dual norm of (beta_j / gamma_j)_j is at most lambda, so by Hoelder's
inequality lambda max(0, radius - P) >= -h . beta, and with L a limit on lambda

    F(beta, lambda) >= G(beta) - h . beta - L max(0, P - radius).                                                 (1)

Now expand at any point b. Softplus is generalized self-concordant, |softplus'''| <= softplus'', hence (Bach 2010, Electronic
Journal of Statistics 4, Lemma 1) with q_k = 1 / (1 + exp(-a_k . b)) and S_k = |a_k . u|

    softplus(a_k . (b + u)) >= softplus(a_k . b) + q_k a_k . u + q_k (1 - q_k) (exp(-S_k) + S_k - 1).

The last term is at or above 0 and may be left out; it is for entries with hardly any curvature. Let H = sum_k mass_k q_k
(1 - q_k) a_k a_k^T over the others, and e = grad G(b) - h. As (exp(-S) + S - 1) / S^2 decreases in S, if all S_k <= S then

    G(b + u) - h . (b + u) >= G(b) - h . b + e . u + |u|_H^2 (exp(-S) + S - 1) / S^2.                             (2)

Let T be any nonsingular matrix (here T^T H T is nearly the identity), u = T w, r = T^T e, and mu_i the diagonal of T^T H T less
the absolute values of the other entries of its row, so that |u|_H^2 >= sum_i mu_i w_i^2 (Gershgorin).

- Everywhere, if all mu_i > 0: S = R |u|_H with R^2 = max_k sum_i (a_k . T_i)^2 / mu_i. Minimising over |u|_H, with
  d^2 = sum_i r_i^2 / mu_i and R d < 1, the residual costs at most ((1 - R d) log(1 - R d) + R d) / R^2 <= d^2 / (2 (1 - R d)).
- In the box of ``coefficient_limits``, where every better model lies: |u_j| <= box_j, and S from the largest numbers of the
  columns. As (exp(-S) + S - 1) / S^2 >= 1 / (2 + S), the residual costs at most sum_i r_i^2 (2 + S) / (4 mu_i). Parts of it may
  be penalised in first order instead, |e_j| box_j or |r_i| max |w_i|: whatever is cheaper. A mu_i < 0 costs -mu_i w_i^2 / 2.

Coordinates that no entry has (levels nobody has, constant columns) change nothing and are left out: there e_j = 0. How b, h, T
and the entries of H are chosen does not matter for the truth of the bound, so plain doubles choose them: h = t (g - H (y, 0))
on the columns with a price, where g = grad G(b), H_ff y = g_f on the coordinates f without one, and t <= 1 is as large as the
limit on h admits; T holds the eigenvectors of H scaled to a unit diagonal, each over the root of its eigenvalue, with scales
that are powers of 2 and hence exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan, EntryBlock
from surefoot.robust.certificate.objective import centred_intercept
from surefoot.robust.certificate.posed_rows import Frame, Sums

# Mass below this fraction of its row's weight stays with the row: it proves nothing, and a direction that only it involves has
# almost no curvature. This costs at most that fraction of lambda * price.
NEGLIGIBLE_MASS = 1e-7
NEGLIGIBLE_CURVATURE = 1e-12
# Floating-point operations, and coordinates, above which this bound would take too long or too much memory.
MAX_OPERATIONS, MAX_COORDINATES = 4e11, 8000


@dataclass(frozen=True)
class ExpansionPlace:
    """The point b in coordinates (intercept, numeric, non-reference levels), how far from it a better model can be, and S."""

    point: FloatArray
    box: FloatArray
    largest_move: float


def too_large(frame: Frame, n_entries: int) -> bool:
    """Whether this bound would take too long."""
    size = int(frame.setting.fit_intercept) + frame.centre.size + int(frame.setting.others.sum())
    return size > MAX_COORDINATES or 4.0 * n_entries * size**2 > MAX_OPERATIONS


def expansion_place(frame: Frame, model: Any, limits: Any) -> ExpansionPlace:
    """The model in centred coordinates, to the nearest doubles, and the box around it that holds every better one."""
    setting, lead = frame.setting, int(frame.setting.fit_intercept)
    others, levels = setting.others, np.asarray(model.levels, dtype=np.float64)
    point = np.concatenate(([float(centred_intercept(frame, model).mid)] * lead, model.numeric, levels[others]))
    # No dual norm is below the largest |beta_j| / gamma_j.
    gamma = (enclose(setting.gamma) * limits.price).high
    box = (enclose(np.abs(point)) + np.concatenate(([limits.intercept] * lead, gamma, [limits.levels] * others.sum()))).high
    move = (enclose(box[: lead + gamma.size]) * np.append(np.ones(lead), frame.largest)).sum()
    if others.any():
        move = move + enclose(np.maximum.reduceat(np.abs(levels), setting.starts)).sum() + limits.levels
    return ExpansionPlace(point, box, float(move.high))


def _designs(plan: CheckedPlan) -> Iterator[tuple[EntryBlock, Enclosure]]:
    """Blocks of entries and their vectors a_k."""
    setting = plan.frame.setting
    places = [plan.place_matrix(l)[:, 1:] for l in range(setting.n_levels.size)]
    for block in plan.blocks():
        numeric = block.numeric if isinstance(block.numeric, Enclosure) else block.numeric.toarray()
        levels = [matrix[block.places[:, l]] for l, matrix in enumerate(places)]
        design = join([np.ones((block.sign.size, int(setting.fit_intercept))), numeric, *levels], axis=1)
        yield block, design * -block.sign[:, None]


def _slopes(argument: Enclosure) -> tuple[Enclosure, Enclosure]:
    """q = 1 / (1 + exp(-v)) and q (1 - q), from the exponential of -|v|, which cannot overflow."""
    rising = argument.mid > 0
    small = (-choose(rising, argument, -argument)).exp()
    return choose(rising, 1.0 / (small + 1.0), small / (small + 1.0)), small / (small + 1.0) / (small + 1.0)


def expansion_sums(plan: CheckedPlan, where: ExpansionPlace) -> Sums:
    """Mass, G, grad G, H, P, how many entries shift, and how many have each coordinate."""
    size, shifts = where.point.size, 0
    mass = value = price = enclose(0.0)
    gradient, hessian, touched = enclose(np.zeros(size)), enclose(np.zeros((size, size))), np.zeros(size, dtype=np.int64)
    for block, design in _designs(plan):
        argument = design @ where.point
        slope, second = _slopes(argument)
        curved = second.mid > NEGLIGIBLE_CURVATURE
        mass = mass + block.mass.sum()
        value = value + (block.mass * argument.softplus()).sum()
        gradient = gradient + design.transposed @ (block.mass * slope)
        hessian = hessian + design[curved].transposed @ (design[curved] * (block.mass * second)[curved][:, None])
        price = price + (block.mass * block.price).sum()
        shifts += int(np.count_nonzero(block.price.mid))
        touched = touched + (design.mid != 0).sum(axis=0)
    return Sums((mass, value, gradient, hessian, price, shifts, touched))


def longest_entry(plan: CheckedPlan, where: ExpansionPlace, axes: FloatArray, curvatures: FloatArray) -> float:
    """R^2 = max_k sum_i (a_k . T_i)^2 / mu_i over the entries in H; the largest of all parts is that of the table."""
    longest = 0.0
    for _, design in _designs(plan):
        along = design[_slopes(design @ where.point)[1].mid > NEGLIGIBLE_CURVATURE] @ axes
        longest = max(longest, float((along * along / curvatures).sum(axis=1).high.max(initial=0.0)))
    return longest


def curvature_bound(
    frame: Frame,
    sums: Sums,
    where: ExpansionPlace,
    limits: Any,
    longest: Callable[[FloatArray, FloatArray], float],
    enough: float = np.inf,
) -> float:
    """The bound from the sums over all entries; ``longest`` gives their ``longest_entry``, if ``enough`` is not reached."""
    _, value, gradient, hessian, price, shifts, touched = sums
    local = _Local(frame, where, gradient, hessian, touched > 0, float((frame.setting.radius - price).low))
    excess = price - frame.setting.radius
    start = value - excess.maximum(0.0) * limits.price if shifts and excess.high > 0 else value
    lower = float((start - local.boxed_cost()).low)
    return lower if lower >= enough else max(lower, float((start - local.unboxed_cost(longest)).low))


class _Local:
    """Both choices of S, in the coordinates that entries have."""

    def __init__(
        self, frame: Frame, where: ExpansionPlace, gradient: Enclosure, hessian: Enclosure, live: BoolArray, budget: float
    ) -> None:
        self.setting, self.live, self.budget = frame.setting, live, budget
        self.numeric = slice(int(frame.setting.fit_intercept), int(frame.setting.fit_intercept) + frame.live.size)
        live[self.numeric] &= frame.live
        gamma = np.full(live.size, np.inf)
        gamma[self.numeric] = frame.setting.gamma if frame.setting.radius > 0 else np.inf
        self.priced = np.isfinite(gamma[live])
        self.point, self.box, self.largest_move = where.point[live], where.box[live], where.largest_move
        self.gradient, self.hessian = gradient[live], hessian[live][:, live]
        self.sound = bool(np.isfinite(self.hessian.size).all() and np.isfinite(self.gradient.size).all())
        matrix = self.hessian.mid if self.sound else np.eye(self.point.size)
        self.scale = _power_of_two(np.sqrt(np.maximum(np.diag(matrix), 1e-290)))
        self.scaled = matrix / self.scale[:, None] / self.scale
        values, self.vectors = np.linalg.eigh(self.scaled)
        self.roots = _power_of_two(np.sqrt(np.maximum(values, 1e-15)))
        self.axes = self.vectors / self.scale[:, None] / self.roots
        table, unit = enclose(self.axes).transposed @ (self.hessian @ self.axes), np.eye(self.point.size)
        self.curvatures = (enclose(table.low * unit) - enclose(table.size * (1.0 - unit))).sum(axis=1).low
        # ||V^T V - I|| in the maximum norm: below 1 the vectors span the space.
        self.skew = float(abs(enclose(self.vectors).transposed @ self.vectors - unit).sum(axis=1).high.max(initial=0.0))

    def _residual(self, penalised: BoolArray) -> tuple[Enclosure, Enclosure]:
        """|r| for the best h that this finds, without the penalised coordinates, and h . b."""
        part = self._priced_part(penalised)
        residual = choose(penalised, 0.0, self.gradient - part)
        return abs(enclose(self.axes).transposed @ residual), (enclose(part) * self.point).sum()

    def _priced_part(self, penalised: BoolArray) -> FloatArray:
        """The vector h of the module docstring."""
        priced, free, part = self.priced, ~self.priced & ~penalised, np.zeros(self.live.size)
        if not priced.any() or self.budget <= 0:
            return part[self.live]
        inverse = np.linalg.pinv(self.scaled[np.ix_(free, free)], rcond=1e-11, hermitian=True)
        step = inverse @ (self.gradient.mid / self.scale)[free]
        wanted = self.gradient.mid[priced] - (self.scaled[np.ix_(priced, free)] @ step) * self.scale[priced]
        part[np.flatnonzero(self.live)[priced]] = wanted
        used = float(self.setting.shift_price(enclose(part[self.numeric])).high)
        part *= min(1.0, self.budget / used * (1.0 - 1e-12))
        admitted = self.setting.shift_price(enclose(part[self.numeric])).high <= self.budget
        return part[self.live] if admitted else np.zeros(self.point.size)

    def unboxed_cost(self, longest: Callable[[FloatArray, FloatArray], float]) -> Enclosure:
        """What h and its residual cost with S = R |u|_H; infinite if a condition fails."""
        if not (self.sound and self.skew < 1 and (self.curvatures > 0).all()):
            return enclose(np.inf)
        residual, tilt = self._residual(np.zeros(self.point.size, dtype=np.bool_))
        axes = np.zeros((self.live.size, self.point.size))
        axes[self.live] = self.axes
        square = (residual * residual / self.curvatures).sum()
        room = 1.0 - (square * longest(axes, self.curvatures)).sqrt()
        return tilt + square / (room * 2.0) if room.low > 0 else enclose(np.inf)

    def boxed_cost(self) -> Enclosure:
        """What h and its residual cost with S as the box tells; infinite without a box."""
        if not (self.sound and self.skew < 0.5 and np.isfinite(self.box).all()):
            return enclose(np.inf)
        factor, size = (enclose(self.largest_move) + 2.0) / 4.0, abs(self.gradient)
        # A level that hardly any mass has: its residual is small, but even smaller is the curvature along its axis.
        few: BoolArray = ~self.priced & (self.box * np.diag(self.hessian.mid) <= size.mid * factor.mid)
        residual, tilt = self._residual(few)
        # w = S^-1 V^-1 D u, where V^T V = I + E with |E| <= skew.
        turned = enclose(np.abs(self.vectors)).transposed @ (enclose(self.box) * self.scale)
        spread = enclose(turned.high.max(initial=0.0)) * self.skew / (1.0 - enclose(self.skew))
        widths = (turned + spread) * self.roots
        first, curved = residual * widths, self.curvatures > 0
        second = residual * residual * factor / np.where(curved, self.curvatures, 1.0)
        cheaper = choose(curved & (second.high < first.high), second, first)
        flat = enclose(np.maximum(-self.curvatures, 0.0)) * widths * widths * 0.5
        return tilt + (size * self.box)[few].sum() + cheaper.sum() + flat.sum()


def _power_of_two(sizes: FloatArray) -> FloatArray:
    found: FloatArray = np.exp2(np.round(np.log2(sizes)))
    return found
