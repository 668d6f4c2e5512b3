"""The minimiser of a quadratic step to the last digit, from what an interior point found.

An interior point ends where rounding wins over its ever larger weights, about 1e-13 in value and the square root of that in
the coefficients. But it tells what is active: pieces of a tied row that share its mass, hinges that hesitate, constraints that
push. With those as equations the step is

    min over d of  g.d + 1/2 d' H d    subject to    A d = b,

one linear system in d and the multipliers. A row's heaviest piece enters g with all of the row's weight; its other active
pieces are equations "as large as the heaviest", and their multipliers are their masses. The cone
|| (s_j (x + d)_j)_j || <= price of the norm "l2" is an equation that bends: it is linearised, its curvature times its
multiplier joins H, and the system is solved again until nothing changes. Equations may depend on each other: a slight
softening of all of them keeps the system regular, and repeated solves with the remainder take the softening back.

If a multiplier turns out negative its equation leaves, if a piece or constraint is overstepped it enters; after a few such
rounds without an answer the interior point's is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot import _native
from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, RowArray
from surefoot.robust.sqp.lifted_coordinates import LiftedCoordinates

# Matrices beyond these sizes take longer than a step.
MOST_ENTRIES = 1_000_000
MOST_UNKNOWNS = 2000
# Equations beyond the number of unknowns depend on the others; a few are harmless, many take long for nothing.
SPARE_EQUATIONS = 200
ROUNDS = 8
# A softened system is right after two solves and polished after four; the cone's curvature takes a few more to settle.
SOLVES, CONE_SOLVES = 4, 8
# Equations are softened by this much, relative to unit length.
SOFTENING = 1e-12
# Oversteps and negative multipliers below this are rounding.
NOISE = 1e-13
# So near its limit, relative to the price, the norm of the coefficients may be what limits them.
TOUCHING = 1e-5


@dataclass(frozen=True)
class Multipliers:
    """What an interior point says about a step."""

    mass: FloatArray
    hinge_mass: FloatArray
    shared: FloatArray


def can_be_exact(rows: LiftedCoordinates, model: _native.RowModel) -> bool:
    """Whether the matrices of an exact step have a reasonable size."""
    return rows.size <= MOST_UNKNOWNS and (model.n_pieces + model.n_hinges) * rows.size <= MOST_ENTRIES


class ExactStep:
    """One quadratic step around a point, as its row model, linear terms and damping describe it."""

    def __init__(
        self, rows: LiftedCoordinates, x: FloatArray, model: _native.RowModel, linear: FloatArray, damping: FloatArray
    ) -> None:
        n = rows.size
        self.x, self.size, self.price_slot, self.norm = x, n, rows.price_slot, rows.norm_constraint
        lower = model.curvature[:n, :n]
        self.curvature = np.tril(lower) + np.tril(lower, -1).T
        self.curvature[np.diag_indices(n)] += damping[:n]
        self.linear = linear[:n]
        row, weight, self.value, gradient = model.pieces()
        self.row: RowArray = row
        self.weight, self.gradient = weight, gradient[:, :n]
        piece, self.hinge_value, hinge_gradient = model.hinges()
        self.piece: RowArray = piece
        self.hinge_gradient = hinge_gradient[:, :n]
        self.first = np.flatnonzero(np.diff(row, prepend=-1))
        self.limits = _limits(rows)
        self.slack: FloatArray = -(self.limits @ x[:n])

    def minimiser(self, near: FloatArray, told: Multipliers) -> FloatArray | None:
        """The step, given one near it; None if no set of equations was found that answers for it."""
        d = near[: self.size]
        active = self._first_guess(d, told)
        for _ in range(ROUNDS):
            solved = self._solve(d, active)
            if solved is None:
                return None
            changed = self._corrected(active, *solved)
            if changed is None:
                return np.append(solved[0], 0.0)
            active = changed
        return None

    def _first_guess(self, d: FloatArray, told: Multipliers) -> _Active:
        rises = self.hinge_value + self.hinge_gradient @ d
        worth = self._worth(d, rises)
        share = told.mass / np.where(self.weight > 0, self.weight, 1.0)
        part = told.hinge_mass / np.maximum(told.mass[self.piece], 1e-300)
        undecided = np.minimum(part, 1.0 - part) > np.abs(rises)
        # The last of a row's pieces in the order of their shares is its heaviest.
        base = np.lexsort((share, self.row))[np.append(self.first[1:], share.size)[: self.first.size] - 1]
        pieces = share > self._top(worth) - worth
        pieces[base] = True
        left = self.slack - self.limits @ d
        # The norm's own multiplier is not told; if it is near its limit it is taken to push until its multiplier denies it.
        near = TOUCHING * (1.0 + float(self.x[self.price_slot]))
        pushing = np.append(told.shared, np.full(left.size - told.shared.size, near)) > left
        return _Active(base, pieces, undecided, rises > 0, pushing, self._has_cone and self._cone(d)[0] >= -near)

    @property
    def _has_cone(self) -> bool:
        return self.norm.cone_slot.size > 0

    def _repeated(self, per_row: AnyArray) -> AnyArray:
        """Something of each tied row, for each of its pieces."""
        return np.repeat(per_row, np.diff(np.append(self.first, self.row.size)))

    def _worth(self, d: FloatArray, rises: FloatArray) -> FloatArray:
        """The value of every piece at a step."""
        worth: FloatArray = self.value + self.gradient @ d
        np.add.at(worth, self.piece, np.maximum(rises, 0.0))
        return worth

    def _top(self, worth: FloatArray) -> FloatArray:
        return self._repeated(np.maximum.reduceat(worth, self.first)) if worth.size else worth

    def _cone(self, d: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Norm minus price, its gradient, and its curvature, at a step."""
        slot, scale = self.norm.cone_slot, self.norm.cone_scale
        scaled = scale * (self.x[slot] + d[slot])
        length = max(float(np.linalg.norm(scaled)), 1e-300)
        gradient = np.zeros(self.size)
        gradient[slot] = scale * scaled / length
        gradient[self.price_slot] = -1.0
        bend = np.diag(scale * scale) - np.outer(gradient[slot], gradient[slot])
        return length - float(self.x[self.price_slot] + d[self.price_slot]), gradient, bend / length

    def _solve(self, d: FloatArray, active: _Active) -> tuple[FloatArray, FloatArray] | None:
        """Step and multipliers of a set of equations."""
        counted = active.rising & ~active.undecided
        value, gradient = self.value.copy(), self.gradient.copy()
        np.add.at(value, self.piece[counted], self.hinge_value[counted])
        np.add.at(gradient, self.piece[counted], self.hinge_gradient[counted])
        base = self._repeated(active.base)
        others, hinges, cone = active.others, active.hesitating(self.piece), int(active.cone)
        linear = self.linear + self.weight[active.base] @ gradient[active.base]
        equations = np.vstack(
            (
                gradient[others] - gradient[base[others]],
                self.hinge_gradient[hinges],
                self.limits[np.flatnonzero(active.pushing)].toarray(),
                np.zeros((cone, self.size)),
            )
        )
        right = np.concatenate(
            (value[base[others]] - value[others], -self.hinge_value[hinges], self.slack[active.pushing], np.zeros(cone))
        )
        if right.size > self.size + SPARE_EQUATIONS or self.size + right.size > MOST_UNKNOWNS:
            return None
        d, multiplier = d.copy(), np.zeros(right.size)
        system: _SoftSystem | None = None
        for _ in range(CONE_SOLVES if cone else SOLVES):
            if cone:
                over, equations[-1], bend = self._cone(d)
                right[-1] = float(equations[-1] @ d) - over
                bent = self.curvature.copy()
                bent[np.ix_(self.norm.cone_slot, self.norm.cone_slot)] += max(multiplier[-1], 0.0) * bend
                system = _SoftSystem(bent, equations)
            elif system is None:
                system = _SoftSystem(self.curvature, equations)
            slope = linear + self.curvature @ d + equations.T @ multiplier
            step, pushes = system.solve(-slope, right - equations @ d)
            if not (np.isfinite(step).all() and np.isfinite(pushes).all()):
                return None
            d += step
            multiplier += pushes
        return d, multiplier

    def _corrected(self, active: _Active, d: FloatArray, multiplier: FloatArray) -> _Active | None:
        """Another set of equations if this one's answer contradicts it, else None."""
        rises = self.hinge_value + self.hinge_gradient @ d
        worth = self._worth(d, np.where(active.hesitating(self.piece), 0.0, rises))
        overtaking = (worth > worth[self._repeated(active.base)] + NOISE) & ~active.pieces
        overstepped = (self.slack - self.limits @ d < -NOISE) & ~active.pushing
        decided = active.pieces[self.piece] & ~active.undecided & (np.abs(rises) > NOISE)
        turned = decided & ((rises > 0) != active.rising)
        outside = self._has_cone and not active.cone and self._cone(d)[0] > NOISE
        if overtaking.any() or overstepped.any() or turned.any() or outside:
            return _Active(
                active.base,
                active.pieces | overtaking,
                active.undecided | turned,
                active.rising,
                active.pushing | overstepped,
                active.cone or outside,
            )
        return active.without_negative(multiplier, self.piece, self.weight)


def _limits(rows: LiftedCoordinates) -> scipy.sparse.csr_array:
    """The constraints that all rows share, one per line; the norm's last, if it is a sum."""
    pairs, norm = rows.constraints, rows.norm_constraint
    count = pairs.first.size
    line = np.concatenate((np.arange(count), np.arange(count), np.full(norm.wide_slot.size, count)))
    slot = np.concatenate((pairs.first, pairs.second, norm.wide_slot))
    coef = np.concatenate((pairs.first_coef, pairs.second_coef, norm.wide_coef))
    kept = slot < rows.size
    shape = (count + int(norm.wide_slot.size > 0), rows.size)
    return scipy.sparse.csr_array((coef[kept], (line[kept], slot[kept])), shape=shape)


class _SoftSystem:
    """[H A'; A -softening] with the lines of A made equally long."""

    def __init__(self, curvature: FloatArray, equations: FloatArray) -> None:
        self.n = curvature.shape[0]
        length = np.sqrt(np.einsum("ij,ij->i", equations, equations))
        self.length = np.where(length > 0, length, 1.0)
        unit = equations / self.length[:, None]
        matrix = np.block([[curvature, unit.T], [unit, -SOFTENING * np.eye(self.length.size)]])
        # LAPACK itself does not warn of a singular matrix: it gives infinities, which the caller looks for.
        self.factors, self.pivots, _ = scipy.linalg.lapack.dgetrf(matrix)

    def solve(self, slope: FloatArray, miss: FloatArray) -> tuple[FloatArray, FloatArray]:
        found, _ = scipy.linalg.lapack.dgetrs(self.factors, self.pivots, np.concatenate((slope, miss / self.length)))
        return found[: self.n], found[self.n :] / self.length


@dataclass(frozen=True)
class _Active:
    """Which pieces are worst together, which hinges hesitate, which of the others rise, which constraints push."""

    base: RowArray
    pieces: BoolArray
    undecided: BoolArray
    rising: BoolArray
    pushing: BoolArray
    cone: bool

    @property
    def others(self) -> RowArray:
        rest = self.pieces.copy()
        rest[self.base] = False
        return np.flatnonzero(rest)

    def hesitating(self, piece: RowArray) -> BoolArray:
        held: BoolArray = self.undecided & self.pieces[piece]
        return held

    def without_negative(self, multiplier: FloatArray, piece: RowArray, weight: FloatArray) -> _Active | None:
        """The set without the equations whose multipliers are negative; None if there are none."""
        others, hinges, pushing = self.others, np.flatnonzero(self.hesitating(piece)), np.flatnonzero(self.pushing)
        cuts = np.cumsum([others.size, hinges.size, pushing.size])
        mass, lifted, push, cone = np.split(multiplier, cuts)
        light, idle = others[mass < -NOISE * weight[others]], pushing[push < -NOISE]
        down = hinges[lifted < -NOISE]
        if not (light.size or idle.size or down.size or (cone < -NOISE).any()):
            return None
        pieces, undecided, rising, pushes = self.pieces.copy(), self.undecided.copy(), self.rising.copy(), self.pushing.copy()
        pieces[light] = False
        pushes[idle] = False
        undecided[down] = False
        rising[down] = False
        return _Active(self.base, pieces, undecided, rising, pushes, self.cone and not (cone < -NOISE).any())
