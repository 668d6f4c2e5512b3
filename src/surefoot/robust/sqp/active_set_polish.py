"""Active-set polish of a quadratic programme: its minimiser to the last digit, from what an interior point found.

Problem. The programme of one SQP step (cpp/include/surefoot/robust/qp_interior_point.hpp). An interior point ends where
rounding wins over its ever larger weights, about 1e-13 in value and the square root of that in the coefficients. But its
multipliers say what is active: pieces of a tied row that hold mass, hinges at their kink (degenerate hinges), constraints that
bind. With those as equations the programme is

    min over d of  g.d + 1/2 d' H d    subject to    A d = b,

one KKT system in d and the multipliers. The heaviest piece of a row enters g with all of the row's weight; its other active
pieces are equations "as large as the heaviest", and their multipliers are their masses. The cone
|| (s_j (x + d)_j)_j || <= price of the norm "l2" is a nonlinear equation: it is linearised, its curvature times its multiplier
joins H, and the system is solved again until nothing changes.

One round:

1. the KKT system [H A'; A -delta] of the active set, with a small delta, because equations may depend on each other
2. iterative refinement with its factor takes the regularisation delta back
3. a violated constraint enters the active set, or else one with a negative multiplier leaves it

Termination: no constraint is violated and no multiplier negative, beyond rounding. After a few rounds without an answer, or if
the matrices are too large, there is none, and the interior point's stands.

Reference: Nocedal and Wright, Numerical Optimization, Section 16.5 (active-set methods for convex quadratic programmes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse

from surefoot import _native
from surefoot.core.arrays import AnyArray, BoolArray, FloatArray, RowArray
from surefoot.robust.sqp.lifted_coordinates import LiftedCoordinates
from surefoot.robust.sqp.parameters import ActiveSetParameters

DEFAULTS = ActiveSetParameters()


@dataclass(frozen=True)
class Multipliers:
    """The multipliers that an interior point found: masses of pieces, of hinges, and those of the pair constraints."""

    mass: FloatArray
    hinge_mass: FloatArray
    pairs: FloatArray


def can_polish(rows: LiftedCoordinates, model: _native.RowModel, parameters: ActiveSetParameters = DEFAULTS) -> bool:
    """Whether the matrices of the polish have a reasonable size."""
    entries = (model.n_pieces + model.n_hinges) * rows.size
    return rows.size <= parameters.max_unknowns and entries <= parameters.max_entries


class ActiveSetStep:
    """The quadratic programme of one step around a point, with its row model, linear term and regularisation."""

    def __init__(
        self,
        rows: LiftedCoordinates,
        x: FloatArray,
        model: _native.RowModel,
        terms: _native.QpTerms,
        parameters: ActiveSetParameters = DEFAULTS,
    ) -> None:
        n = rows.size
        self.parameters = parameters
        self.x, self.size, self.price_slot, self.norm = x, n, rows.price_slot, rows.norm_constraint
        lower = model.curvature[:n, :n]
        self.curvature = np.tril(lower) + np.tril(lower, -1).T
        self.curvature[np.diag_indices(n)] += terms.regularisation[:n]
        self.linear = terms.linear[:n]
        pieces, hinges = model.pieces(), model.hinges()
        self.row: RowArray = pieces.row
        self.weight, self.value, self.gradient = pieces.weight, pieces.value, pieces.gradient[:, :n]
        self.piece: RowArray = hinges.piece
        self.hinge_value, self.hinge_gradient = hinges.value, hinges.gradient[:, :n]
        self.first = np.flatnonzero(np.diff(self.row, prepend=-1))
        self.limits = _limits(rows)
        self.slack: FloatArray = -(self.limits @ x[:n])

    # Of extreme prices the products overflow; what is not finite proves nothing, and the approximate step stays.
    @np.errstate(over="ignore", invalid="ignore")
    def minimiser(self, approximate: FloatArray, multipliers: Multipliers) -> FloatArray | None:
        """The step, given an approximate one; None if no active set was found whose multipliers prove it."""
        d = approximate[: self.size]
        active = self._first_guess(d, multipliers)
        for _ in range(self.parameters.max_rounds):
            solved = self._solve(d, active)
            if solved is None:
                return None
            changed = self._corrected(active, *solved)
            if changed is None:
                return np.append(solved[0], 0.0)
            active = changed
        return None

    def _first_guess(self, d: FloatArray, multipliers: Multipliers) -> _Active:
        hinge_values = self.hinge_value + self.hinge_gradient @ d
        values = self._piece_values(d, hinge_values)
        fraction = multipliers.mass / np.where(self.weight > 0, self.weight, 1.0)
        open_part = multipliers.hinge_mass / np.maximum(multipliers.mass[self.piece], 1e-300)
        degenerate = np.minimum(open_part, 1.0 - open_part) > np.abs(hinge_values)
        # The last of a row's pieces in the order of their masses is its heaviest.
        base = np.lexsort((fraction, self.row))[np.append(self.first[1:], fraction.size)[: self.first.size] - 1]
        pieces = fraction > self._row_maximum(values) - values
        pieces[base] = True
        left = self.slack - self.limits @ d
        # The multiplier of the norm is not at hand; near its limit it is taken to bind until its multiplier denies it.
        margin = self.parameters.cone_margin * (1.0 + float(self.x[self.price_slot]))
        binding = np.append(multipliers.pairs, np.full(left.size - multipliers.pairs.size, margin)) > left
        return _Active(base, pieces, degenerate, hinge_values > 0, binding, self._has_cone and self._cone(d)[0] >= -margin)

    @property
    def _has_cone(self) -> bool:
        return self.norm.cone_slot.size > 0

    def _repeated(self, per_row: AnyArray) -> AnyArray:
        """Something of each tied row, for each of its pieces."""
        return np.repeat(per_row, np.diff(np.append(self.first, self.row.size)))

    def _piece_values(self, d: FloatArray, hinge_values: FloatArray) -> FloatArray:
        """The value of every piece at a step."""
        values: FloatArray = self.value + self.gradient @ d
        np.add.at(values, self.piece, np.maximum(hinge_values, 0.0))
        return values

    def _row_maximum(self, values: FloatArray) -> FloatArray:
        return self._repeated(np.maximum.reduceat(values, self.first)) if values.size else values

    def _cone(self, d: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Norm minus price, its gradient, and its curvature, at a step."""
        slot, scale = self.norm.cone_slot, self.norm.cone_scale
        scaled = scale * (self.x[slot] + d[slot])
        length = max(float(np.linalg.norm(scaled)), 1e-300)
        gradient = np.zeros(self.size)
        gradient[slot] = scale * scaled / length
        gradient[self.price_slot] = -1.0
        curvature = np.diag(scale * scale) - np.outer(gradient[slot], gradient[slot])
        return length - float(self.x[self.price_slot] + d[self.price_slot]), gradient, curvature / length

    def _solve(self, d: FloatArray, active: _Active) -> tuple[FloatArray, FloatArray] | None:
        """Step and multipliers of a set of equations."""
        counted = active.open & ~active.degenerate
        value, gradient = self.value.copy(), self.gradient.copy()
        np.add.at(value, self.piece[counted], self.hinge_value[counted])
        np.add.at(gradient, self.piece[counted], self.hinge_gradient[counted])
        base = self._repeated(active.base)
        others, hinges, cone = active.others, active.degenerate_hinges(self.piece), int(active.cone)
        linear = self.linear + self.weight[active.base] @ gradient[active.base]
        equations = np.vstack(
            (
                gradient[others] - gradient[base[others]],
                self.hinge_gradient[hinges],
                self.limits[np.flatnonzero(active.binding)].toarray(),
                np.zeros((cone, self.size)),
            )
        )
        right = np.concatenate(
            (value[base[others]] - value[others], -self.hinge_value[hinges], self.slack[active.binding], np.zeros(cone))
        )
        limits = self.parameters
        if right.size > self.size + limits.spare_equations or self.size + right.size > limits.max_unknowns:
            return None
        d, multiplier = d.copy(), np.zeros(right.size)
        system: _KktSystem | None = None
        for _ in range(limits.cone_refinements if cone else limits.refinements):
            if cone:
                over, equations[-1], curvature = self._cone(d)
                right[-1] = float(equations[-1] @ d) - over
                hessian = self.curvature.copy()
                hessian[np.ix_(self.norm.cone_slot, self.norm.cone_slot)] += max(multiplier[-1], 0.0) * curvature
                system = _KktSystem(hessian, equations, limits.regularisation)
            elif system is None:
                system = _KktSystem(self.curvature, equations, limits.regularisation)
            dual_residual = linear + self.curvature @ d + equations.T @ multiplier
            step, multiplier_step = system.solve(-dual_residual, right - equations @ d)
            if not (np.isfinite(step).all() and np.isfinite(multiplier_step).all()):
                return None
            d += step
            multiplier += multiplier_step
        return d, multiplier

    def _corrected(self, active: _Active, d: FloatArray, multiplier: FloatArray) -> _Active | None:
        """Another active set if this one's answer contradicts it, else None."""
        rounding = self.parameters.rounding
        hinge_values = self.hinge_value + self.hinge_gradient @ d
        values = self._piece_values(d, np.where(active.degenerate_hinges(self.piece), 0.0, hinge_values))
        violated_pieces = (values > values[self._repeated(active.base)] + rounding) & ~active.pieces
        violated = (self.slack - self.limits @ d < -rounding) & ~active.binding
        regular = active.pieces[self.piece] & ~active.degenerate & (np.abs(hinge_values) > rounding)
        turned = regular & ((hinge_values > 0) != active.open)
        outside = self._has_cone and not active.cone and self._cone(d)[0] > rounding
        if violated_pieces.any() or violated.any() or turned.any() or outside:
            return _Active(
                active.base,
                active.pieces | violated_pieces,
                active.degenerate | turned,
                active.open,
                active.binding | violated,
                active.cone or outside,
            )
        return active.without_negative(multiplier, self.piece, self.weight, rounding)


def _limits(rows: LiftedCoordinates) -> scipy.sparse.csr_array:
    """The constraints that all rows share, one per line; the norm's last, if it is a sum."""
    pairs, norm = rows.constraints, rows.norm_constraint
    count = pairs.first.size
    line = np.concatenate((np.arange(count), np.arange(count), np.full(norm.sum_slot.size, count)))
    slot = np.concatenate((pairs.first, pairs.second, norm.sum_slot))
    coef = np.concatenate((pairs.first_coef, pairs.second_coef, norm.sum_coef))
    free = slot < rows.size
    shape = (count + int(norm.sum_slot.size > 0), rows.size)
    return scipy.sparse.csr_array((coef[free], (line[free], slot[free])), shape=shape)


class _KktSystem:
    """[H A'; A -delta] with the lines of A made equally long."""

    def __init__(self, curvature: FloatArray, equations: FloatArray, delta: float) -> None:
        self.n = curvature.shape[0]
        length = np.sqrt(np.einsum("ij,ij->i", equations, equations))
        self.length = np.where(length > 0, length, 1.0)
        unit = equations / self.length[:, None]
        matrix = np.block([[curvature, unit.T], [unit, -delta * np.eye(self.length.size)]])
        # LAPACK itself does not warn of a singular matrix: it gives infinities, which the caller looks for.
        self.factors, self.pivots, _ = scipy.linalg.lapack.dgetrf(matrix)

    def solve(self, dual: FloatArray, primal: FloatArray) -> tuple[FloatArray, FloatArray]:
        found, _ = scipy.linalg.lapack.dgetrs(self.factors, self.pivots, np.concatenate((dual, primal / self.length)))
        return found[: self.n], found[self.n :] / self.length


@dataclass(frozen=True)
class _Active:
    """The active set: pieces that tie, degenerate hinges, hinges that are open, constraints that bind, and the cone."""

    base: RowArray
    pieces: BoolArray
    degenerate: BoolArray
    open: BoolArray
    binding: BoolArray
    cone: bool

    @property
    def others(self) -> RowArray:
        rest = self.pieces.copy()
        rest[self.base] = False
        return np.flatnonzero(rest)

    def degenerate_hinges(self, piece: RowArray) -> BoolArray:
        equations: BoolArray = self.degenerate & self.pieces[piece]
        return equations

    def without_negative(self, multiplier: FloatArray, piece: RowArray, weight: FloatArray, rounding: float) -> _Active | None:
        """The set without the equations whose multipliers are negative; None if there are none."""
        others, hinges, binding = self.others, np.flatnonzero(self.degenerate_hinges(piece)), np.flatnonzero(self.binding)
        cuts = np.cumsum([others.size, hinges.size, binding.size])
        mass, hinge_mass, pairs, cone = np.split(multiplier, cuts)
        light, idle = others[mass < -rounding * weight[others]], binding[pairs < -rounding]
        down = hinges[hinge_mass < -rounding]
        if not (light.size or idle.size or down.size or (cone < -rounding).any()):
            return None
        pieces, degenerate, opened, bound = self.pieces.copy(), self.degenerate.copy(), self.open.copy(), self.binding.copy()
        pieces[light] = False
        bound[idle] = False
        degenerate[down] = False
        opened[down] = False
        return _Active(self.base, pieces, degenerate, opened, bound, self.cone and not (cone < -rounding).any())
