"""A lower bound from generalized self-concordance: the curvature of the loss around one point.

``weak_duality`` penalises residuals in first order, with limits that grow like 1 / radius and do not exist for radius 0 or
infinite weights. Near the optimum the curvature of the loss does better. Take the masses and level mixes of the plan, ignore
its slopes, and let (as there) a_k = -s (1, x_i - c, zbar_k) and P = sum_k mass_k price_k. For every model

    F(beta, lambda) >= lambda (radius - P) + G(beta),     G(beta) = sum_k mass_k softplus(a_k . beta).

Let h be any vector on the numeric columns with || (gamma_j h_j)_j || <= max(0, radius - P) in the norm of the ground cost (0 on
columns with gamma = inf, and h = 0 if radius = 0). The dual norm of (beta_j / gamma_j)_j is at most lambda, so by Hoelder's
inequality lambda max(0, radius - P) >= -h . beta, and with L a limit on lambda

    F(beta, lambda) >= G(beta) - h . beta - L max(0, P - radius).                                                 (1)

The right-hand side is smooth and convex in beta alone. Now expand at any point b. Softplus is generalized self-concordant,
|softplus'''| <= softplus'', hence (Bach 2010, Electronic Journal of Statistics 4, Lemma 1) with q_k = 1 / (1 + exp(-a_k . b))

    softplus(a_k . (b + u)) >= softplus(a_k . b) + q_k a_k . u + q_k (1 - q_k) (exp(-S_k) + S_k - 1),     S_k = |a_k . u|.

The last term may be left out for any entries; it is for those with hardly any curvature. For the others let H = sum_k mass_k
q_k (1 - q_k) a_k a_k^T, and let e = grad G(b) - h be the residual. (exp(-S) + S - 1) / S^2 decreases in S, so if S_k <= S then

    G(b + u) - h . (b + u) >= G(b) - h . b + e . u + |u|_H^2 (exp(-S) + S - 1) / S^2.                             (2)

Let T be any nonsingular matrix (here one that nearly makes T^T H T the identity), u = T w, r = T^T e, and mu_i the diagonal of
T^T H T less the absolute values of the other entries of its row, so that |u|_H^2 >= sum_i mu_i w_i^2 (Gershgorin).

- Everywhere, if all mu_i > 0: S = R |u|_H with R^2 = max_k sum_i (a_k . T_i)^2 / mu_i. Minimising over |u|_H, with
  d^2 = sum_i r_i^2 / mu_i and R d < 1, the residual costs at most ((1 - R d) log(1 - R d) + R d) / R^2 <= d^2 / (2 (1 - R d)).
- In the box of ``coefficient_limits``, where every better model lies: |u_j| <= box_j, S as the box and the largest numbers
  of the columns tell. As
  (exp(-S) + S - 1) / S^2 >= 1 / (2 + S), the residual costs at most sum_i r_i^2 (2 + S) / (4 mu_i). Any part of it may be
  penalised in first order instead, |e_j| box_j or |r_i| max |w_i|: here whatever is cheaper. A mu_i < 0 costs -mu_i w_i^2 / 2.

Coordinates that no entry has (levels nobody has, columns that are constant) change nothing and are left out: there e_j = 0.
How h, b, T and the entries are chosen does not matter for the truth of the bound, so they are chosen in plain doubles:
h = t (g - H (y, 0)) on the columns that have a price, where g = grad G(b), H_ff y = g_f on the coordinates f without one, and t
<= 1 is as large as the limit on h admits; T are the eigenvectors of H scaled to a unit diagonal, each divided by the root of
its eigenvalue; all scales are powers of 2, which are exact.

All that is needed of the entries are sums (``expansion_sums``) and one maximum (``longest_entry``), so they may live in parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.core.enclosure import Enclosure, choose, enclose, join
from surefoot.robust.certificate.checked_plan import CheckedPlan, EntryBlock
from surefoot.robust.certificate.objective import centred_intercept
from surefoot.robust.certificate.posed_rows import Frame, Sums

# Mass below this fraction of its row's weight stays with the row: it proves nothing, and a direction that only it involves has
# almost no curvature. This costs at most that fraction of lambda * price.
NEGLIGIBLE_MASS = 1e-7
# Entries whose curvature is below this fraction of the largest possible one, 1/4, are linearised.
NEGLIGIBLE_CURVATURE = 1e-12
# Floating-point operations, and coordinates, above which this bound would take too long or too much memory.
MAX_OPERATIONS = 4e11
MAX_COORDINATES = 8000


@dataclass(frozen=True)
class Expansion(Sums):
    """Sums over entries at one point: mass, G, grad G, H, P; how many entries shift; how many have each coordinate."""

    mass: Enclosure
    value: Enclosure
    gradient: Enclosure
    hessian: Enclosure
    price: Enclosure
    shifts: int
    touched: RowArray


@dataclass(frozen=True)
class ExpansionPlace:
    """The point b in coordinates (intercept, numeric, non-reference levels), how far from it a better model can be, and S."""

    point: FloatArray
    box: FloatArray
    largest_move: float


def too_large(frame: Frame, n_entries: int) -> bool:
    """Whether this bound would take too long."""
    size = int(frame.setting.fit_intercept) + frame.setting.gamma.size + int(frame.setting.others.sum())
    return size > MAX_COORDINATES or 4.0 * n_entries * size**2 > MAX_OPERATIONS


def expansion_place(frame: Frame, model: Any, limits: Any) -> ExpansionPlace:
    """The model in centred coordinates, to the nearest doubles, and the box around it that holds every better one."""
    setting, lead = frame.setting, int(frame.setting.fit_intercept)
    centred = [float(centred_intercept(frame, model).mid)] * lead
    point = np.concatenate((centred, model.numeric, np.asarray(model.levels)[setting.others])).astype(np.float64)
    # No dual norm is below the largest |beta_j| / gamma_j.
    numeric = (enclose(np.where(np.isfinite(setting.gamma), setting.gamma, 0.0)) * limits.price).high
    numeric = np.where(np.isfinite(setting.gamma), numeric, np.inf)
    reach = np.concatenate(([limits.intercept] * lead, numeric, np.full(int(setting.others.sum()), limits.levels)))
    box = np.nextafter(np.abs(point) + reach, np.inf)
    move = (enclose(box[: lead + numeric.size]) * np.append(np.ones(lead), frame.largest)).sum()
    if setting.others.any():
        sizes = np.maximum.reduceat(np.abs(np.asarray(model.levels, dtype=np.float64)), setting.offsets[:-1])
        move = move + enclose(sizes).sum() + limits.levels
    return ExpansionPlace(point, box, float(move.high))


def significant_part(plan: CheckedPlan) -> CheckedPlan:
    """The plan without its negligible mass."""
    return plan.without_negligible_mass(NEGLIGIBLE_MASS)


def _designs(plan: CheckedPlan) -> Iterator[tuple[EntryBlock, Enclosure]]:
    """Blocks of entries and their vectors a_k."""
    setting = plan.frame.setting
    places = [plan.place_matrix(l)[:, 1:] for l in range(setting.n_levels.size)]
    for block in plan.blocks():
        numeric = block.numeric if isinstance(block.numeric, Enclosure) else block.numeric.toarray()
        levels = [matrix[block.places[:, l]] for l, matrix in enumerate(places)]
        intercept = [np.ones((len(block.sign), int(setting.fit_intercept)))]
        yield block, join([*intercept, numeric, *levels], axis=1) * -block.sign[:, None]


def _curvature(argument: Enclosure) -> tuple[Enclosure, Enclosure]:
    """q = 1 / (1 + exp(-v)) and q (1 - q), from the exponential of -|v|, which cannot overflow."""
    rising = argument.mid > 0
    small = (-choose(rising, argument, -argument)).exp()
    whole = small + 1.0
    return choose(rising, 1.0 / whole, small / whole), small / whole / whole


def expansion_sums(plan: CheckedPlan, where: ExpansionPlace) -> Expansion:
    """One pass over the entries of the plan."""
    size = where.point.size
    mass = value = price = enclose(0.0)
    gradient, hessian = enclose(np.zeros(size)), enclose(np.zeros((size, size)))
    shifts, touched = 0, np.zeros(size, dtype=np.int64)
    for block, design in _designs(plan):
        argument = design @ where.point
        slope, second = _curvature(argument)
        mass = mass + block.mass.sum()
        value = value + (block.mass * argument.softplus()).sum()
        gradient = gradient + design.transposed @ (block.mass * slope)
        curved = second.mid > NEGLIGIBLE_CURVATURE
        bent = design[curved]
        hessian = hessian + bent.transposed @ (bent * (block.mass * second)[curved][:, None])
        price = price + (block.mass * block.price).sum()
        shifts += int(np.count_nonzero(block.price.mid))
        touched += (design.mid != 0).sum(axis=0)
    return Expansion(mass, value, gradient, hessian, price, shifts, touched)


def longest_entry(plan: CheckedPlan, where: ExpansionPlace, axes: FloatArray, curvatures: FloatArray) -> float:
    """max_k sum_i (a_k . T_i)^2 / mu_i over the entries in H; the largest of all parts is that of the table."""
    longest = 0.0
    for _, design in _designs(plan):
        curved = _curvature(design @ where.point)[1].mid > NEGLIGIBLE_CURVATURE
        if curved.any():
            along = design[curved] @ axes
            longest = max(longest, float((along * along / curvatures).sum(axis=1).max().high))
    return longest


def bound_from_expansion(
    frame: Frame,
    sums: Expansion,
    where: ExpansionPlace,
    limits: Any,
    longest: Callable[[FloatArray, FloatArray], float],
    enough: float,
) -> float:
    """The bound from the sums over all entries; ``longest`` gives ``longest_entry`` of them, if ``enough`` is not reached."""
    setting = frame.setting
    lead = int(setting.fit_intercept)
    numeric = slice(lead, lead + setting.gamma.size)
    live: BoolArray = sums.touched > 0
    live[numeric] &= frame.live
    if not np.isfinite(sums.hessian.size[np.ix_(live, live)]).all() or not np.isfinite(sums.gradient.size[live]).all():
        return -np.inf
    excess = sums.price - setting.radius
    start = sums.value - (excess.maximum(0.0) * limits.price if sums.shifts and excess.high > 0 else enclose(0.0))
    local = _Local(frame, sums, where, live)
    lower = float((start - local.boxed_cost()).low)
    if lower < enough:
        lower = max(lower, float((start - local.unboxed_cost(longest)).low))
    return lower


class _Local:
    """Both choices of S, in the coordinates that entries have."""

    def __init__(self, frame: Frame, sums: Expansion, where: ExpansionPlace, live: BoolArray) -> None:
        setting, lead = frame.setting, int(frame.setting.fit_intercept)
        self.setting, self.sums, self.live = setting, sums, live
        self.point, self.box, self.largest_move = where.point[live], where.box[live], where.largest_move
        self.gradient, self.hessian = sums.gradient[live], sums.hessian[live][:, live]
        gamma = np.full(live.size, np.inf)
        gamma[lead : lead + setting.gamma.size] = setting.gamma
        self.gamma = gamma[live] if setting.radius > 0 else np.full(int(live.sum()), np.inf)
        diagonal = np.diag(self.hessian.mid)
        self.scale = _power_of_two(np.sqrt(np.where(diagonal > 0, diagonal, 1.0)))
        values, self.vectors = np.linalg.eigh(self.hessian.mid / self.scale[:, None] / self.scale)
        self.roots = _power_of_two(np.sqrt(np.maximum(values, 1e-15 * values.max(initial=1.0))))
        self.axes = self.vectors / self.scale[:, None] / self.roots
        table = enclose(self.axes).transposed @ (self.hessian @ self.axes)
        own: FloatArray = np.eye(self.live.sum())
        self.curvatures = (enclose(table.low * own).sum(axis=1) - enclose(table.size * (1.0 - own)).sum(axis=1)).low
        # ||V^T V - I|| in the maximum norm: below 1 the vectors span the space.
        self.skew = float(abs(enclose(self.vectors).transposed @ self.vectors - own).sum(axis=1).high.max(initial=0.0))

    def _residual(self, penalised: BoolArray) -> tuple[Enclosure, Enclosure]:
        """r = T^T e for the best h that this finds, without the penalised coordinates, and h . b."""
        part = self._priced_part(penalised)
        residual = choose(penalised, 0.0, self.gradient - part)
        return abs(enclose(self.axes).transposed @ residual), (enclose(part) * self.point).sum()

    def _priced_part(self, penalised: BoolArray) -> FloatArray:
        """The vector h of the module docstring."""
        part, priced = np.zeros(self.point.size), np.isfinite(self.gamma)
        budget = float((self.setting.radius - self.sums.price).low)
        if not priced.any() or budget <= 0:
            return part
        wanted, free = self.gradient.mid[priced], ~priced & ~penalised
        if free.any():
            scaled = self.hessian.mid / self.scale[:, None] / self.scale
            inverse = np.linalg.pinv(scaled[np.ix_(free, free)], rcond=1e-11, hermitian=True)
            step = inverse @ (self.gradient.mid[free] / self.scale[free])
            wanted = wanted - (scaled[np.ix_(priced, free)] @ step) * self.scale[priced]
        for shrink in (1.0, 1.0 - 1e-12):
            part[priced] = wanted * shrink
            used = float(self._price(part).high)
            if used > budget:
                part[priced] *= budget / used * shrink
            if self._price(part).high <= budget:
                return part
        return np.zeros(self.point.size)

    def _price(self, part: FloatArray) -> Enclosure:
        lead = int(self.setting.fit_intercept)
        whole = np.zeros(self.live.size)
        whole[self.live] = part
        return self.setting.shift_price(enclose(whole[lead : lead + self.setting.gamma.size]))

    def unboxed_cost(self, longest: Callable[[FloatArray, FloatArray], float]) -> Enclosure:
        """What h and its residual cost with S = R |u|_H; infinite if a condition fails."""
        everything = enclose(np.inf)
        if not (self.skew < 1 and (self.curvatures > 0).all()):
            return everything
        residual, tilt = self._residual(np.zeros(self.point.size, dtype=np.bool_))
        axes = np.zeros((self.live.size, self.point.size))
        axes[self.live] = self.axes
        square = (residual * residual / self.curvatures).sum()
        room = 1.0 - (square * longest(axes, self.curvatures)).sqrt()
        return tilt + square / (room * 2.0) if room.low > 0 else everything

    def boxed_cost(self) -> Enclosure:
        """What h and its residual cost with S = max_k sum_j |a_kj| box_j; infinite without a box."""
        if not (np.isfinite(self.box).all() and self.skew < 0.5):
            return enclose(np.inf)
        factor = (enclose(self.largest_move) + 2.0) / 4.0
        size = abs(self.gradient)
        # A level that hardly any mass has: its residual is small, but even smaller is the curvature along its axis.
        few = size.mid * self.box * np.diag(self.hessian.mid) <= size.mid**2 * factor.mid
        penalised: BoolArray = np.isinf(self.gamma) & few
        residual, tilt = self._residual(penalised)
        # w = (D^-1 V S)^-1 u, where V^T V = I + E with |E| <= skew.
        turned = enclose(np.abs(self.vectors)).transposed @ (enclose(self.box) * self.scale)
        spread = turned.max() * (self.skew / (1.0 - enclose(self.skew))) if turned.shape[0] else enclose(0.0)
        widths = (turned + spread) * self.roots
        first = residual * widths
        second = residual * residual * factor / np.where(self.curvatures > 0, self.curvatures, np.nan)
        cheaper = (self.curvatures > 0) & (second.high < first.high)
        flat = enclose(np.maximum(-self.curvatures, 0.0)) * widths * widths * 0.5
        paid = (size * self.box)[penalised].sum() + choose(cheaper, second, first).sum() + flat.sum()
        return tilt + paid


def _power_of_two(sizes: FloatArray) -> FloatArray:
    found: FloatArray = np.exp2(np.round(np.log2(sizes)))
    return found
