"""Quadratic costs over mixed-integer decisions in one semidefinite programme: Theorem 4.5 of Zattoni Scroccaro et al. (2024).

    min kappa R(theta) + (1/N) sum_i beta_i    subject to, for every observation i, value z_j of the whole unknowns and h_k,

    <theta, phi(x_i)> + alpha + lambda . (c - B z_j) - q . outer(z_j) + h_k . y_i + d_z(z_i, z_j) <= beta_i,   lambda >= 0,

    [Q_yy  v / 2]
    [ *    alpha]  positive semidefinite,   v = Q inner(z_j) + h_k + A' lambda.

The multiplier w of such a constraint and that of its matrix, [Y, y; y', w], give a decision (y / w, z_j): weighted
decisions whose cuts bound the objective from below, with the rest of Y in the multiplier of the block.

There are no iterations of its own: an interior point solves the programme, and the bounds are recomputed from its solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.backends.clarabel import CLOSE, Cone, ConeProgramme
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.inverse.exact.balanced_units import ObservationSizes, power_of_2
from surefoot.inverse.exact.constraint_generation import CostOutcome
from surefoot.inverse.exact.cost_master import PriorRows, unpacked
from surefoot.inverse.exact.cost_run import CostRun
from surefoot.inverse.exact.parameters import QuadraticCostParameters
from surefoot.inverse.exact.sparse_rows import SparseRows
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import CostProof, proven_bound
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import QuadraticFeatures
from surefoot.inverse.problem.problem import Example, InverseProblem
from surefoot.inverse.problem.quadratic_terms import continuous_rows, directions, whole_values


@dataclass(frozen=True, eq=False)
class _Piece:
    """One (i, j, k): the rows of its constraint and of its matrix in theta, and what is constant in them."""

    owner: int
    z: FloatArray
    coefficients: FloatArray  # of theta in the linear constraint
    constant: float
    rows: FloatArray  # A: lambda enters v as A' lambda
    sides: FloatArray  # c - B z
    bend: FloatArray  # (u, p): v = bend theta + turn + A' lambda
    turn: FloatArray


def _units(problem: InverseProblem) -> tuple[FloatArray, FloatArray]:
    """What entries of a cost are multiplied by, so that features are near 1, and the same for continuous unknowns.

    A block that is semidefinite stays so where its rows and columns have units of their own.
    """
    sizes = ObservationSizes.of(problem)
    columns, u = sizes.columns, problem.prior.psd
    if np.all(columns == 1.0):
        return columns, np.ones(u)
    largest = np.sqrt(np.diag(sizes.steep.max(axis=0)[: u * u].reshape(u, u)))
    unknowns = power_of_2(np.where(largest > 0, largest, 1.0))
    columns = columns.copy()
    columns[: u * u] = np.outer(unknowns, unknowns).ravel()
    return columns, unknowns


def _pieces(problem: InverseProblem, i: int, example: Example) -> list[_Piece]:
    decisions, features = example.instance.decisions, example.instance.features
    assert isinstance(decisions, LinearSet) and isinstance(features, QuadraticFeatures)
    u, p = features.n_continuous, features.n_features
    rows, mixed, sides = continuous_rows(decisions)
    own = features.of(example.response[None, :])[0]
    whole = decisions.whole
    distance = Distance(problem.distance.integer, "none")
    found = []
    for z in whole_values(example.instance):
        inner, outer = features.factors(z)
        bend = np.zeros((u, p))
        for a in range(u):
            bend[a, u * u + a : u * u + u * inner.size : u] = inner
        coefficients = own.copy()
        coefficients[u * u + u * inner.size :] -= outer
        point = np.concatenate((example.response[~whole], z))[None, :]
        apart = float(example.distances(distance, point)[0])
        for turn in directions(u, problem.distance):
            constant = apart + float(turn @ example.response[~whole])
            found.append(_Piece(i, z, coefficients, constant, rows, sides - mixed @ z, bend, turn))
    return found


class QuadraticCost:
    """The semidefinite programme, and the bounds of its solution."""

    name = "quadratic"

    def __init__(self, separation: Separation, parameters: QuadraticCostParameters | None = None) -> None:
        self.separation = separation
        self.parameters = QuadraticCostParameters() if parameters is None else parameters

    def refuses(self, problem: InverseProblem) -> str | None:
        return None if problem.prior.psd else "the programme of quadratic costs needs a semidefinite block in the prior set."

    def solve(self, problem: InverseProblem, options: SolveOptions) -> CostOutcome:
        pieces = [piece for i, example in enumerate(problem.examples) for piece in _pieces(problem, i, example)]
        theta, proof, ended = self._programme(problem, pieces, options)
        if not np.isfinite(theta).all():
            run: CostRun[FloatArray, CostProof] = CostRun(options, np.zeros(problem.n_features), lower_bound=-np.inf)
            return run.outcome(ended)
        bound = proven_bound(problem, problem.cuts(proof.owners.tolist(), proof.points), proof)
        run = CostRun(
            options,
            theta,
            self._objective(problem, theta, options),
            lower_bound=bound,
            dual=proof,
            relative=max(options.tolerance, self.parameters.relative_gap),
            absolute=self.parameters.absolute_gap,
        )
        center = problem.regularizer.center
        whole = any(np.any(getattr(example.instance.decisions, "whole", True)) for example in problem.examples)
        measured = problem.distance.continuous != "none" or (whole and problem.distance.integer != "none")
        if not measured and problem.prior.excess(center) <= 0:
            # An interior point method only comes near a centre that is the answer itself.
            run.improve(center, self._objective(problem, center, options))
        run.record(1)
        return run.outcome(Status.STALLED if ended is Status.OPTIMAL and not run.converged else ended)

    def _objective(self, problem: InverseProblem, theta: FloatArray, options: SolveOptions) -> float:
        """The objective of a cost; infinite where losses must not be above 0, and are."""
        _, losses = self.separation.losses(problem, theta, seconds=options.seconds_left)
        most = self.parameters.explained * np.maximum(ObservationSizes.of(problem).losses(theta), 1.0)
        return np.inf if problem.hard and np.any(losses > most) else problem.objective(theta, losses)

    def _programme(
        self, problem: InverseProblem, pieces: list[_Piece], options: SolveOptions
    ) -> tuple[FloatArray, CostProof, Status]:
        p, n, prior = problem.n_features, 0 if problem.hard else problem.n_examples, problem.prior
        known = PriorRows.of(prior)
        u = prior.psd
        units, unknowns = _units(problem)
        starts, size = [], p + n
        l1 = problem.regularizer.kind == "l1"
        absolute = size
        size += p if l1 else 0
        for piece in pieces:
            starts.append(size)
            size += 1 + piece.sides.size  # alpha, lambda
        block = SparseRows(size)
        block.dense(known.equal / units, known.equal_sides)
        n_equal = block.count
        first = block.count
        for piece, at in zip(pieces, starts, strict=True):
            values = np.concatenate((piece.coefficients / units, [1.0], piece.sides, [-1.0] * bool(n)))
            columns = np.concatenate((np.arange(p), np.arange(at, at + 1 + piece.sides.size), [p + piece.owner] * bool(n)))
            block.row(columns, values, -piece.constant)
        floor = [i for i, example in enumerate(problem.examples[:n]) if example.inside or problem.clamp]
        for i in floor:
            block.row(np.array([p + i]), np.array([-1.0]), 0.0)
        prior_at = block.count
        block.dense(known.rows / units, known.sides)
        for piece, at in zip(pieces, starts, strict=True):
            for k in range(piece.sides.size):
                block.row(np.array([at + 1 + k]), np.array([-1.0]), 0.0)
        if l1:
            centre = problem.regularizer.center * units
            for k in range(p):
                for sign in (1.0, -1.0):
                    block.row(np.array([k, absolute + k]), np.array([sign, -1.0]), sign * float(centre[k]))
        n_linear = block.count - n_equal
        matrices = block.count
        for piece, at in zip(pieces, starts, strict=True):
            self._matrix(block, piece, at, known.block, units, unknowns)
        cones = (Cone("zero", n_equal), Cone("nonnegative", n_linear), *(Cone("psd", u + 1),) * len(pieces))
        cost = np.zeros(size)
        cost[p : p + n] = 1.0 / max(n, 1)
        curvature = None
        if l1:
            cost[absolute : absolute + p] = problem.kappa / units
        else:
            cost[:p] = -problem.kappa * problem.regularizer.center / units
            weight = np.zeros(size)
            weight[:p] = problem.kappa / units**2
            curvature = weight
        found = ConeProgramme(cost, block.matrix(), np.array(block.sides), cones, curvature).solve(options, CLOSE)
        theta = found.x[:p] / units
        values, vectors = np.linalg.eigh(prior.block(theta))
        theta[: u * u] = ((vectors * np.maximum(values, 0.0)) @ vectors.T).ravel()
        duals = found.multipliers
        proof = self._proof(problem, pieces, theta, duals[first : first + len(pieces)], duals[matrices:], unknowns)
        rows = np.maximum(duals[prior_at : prior_at + prior.matrix.shape[0]], 0.0)
        total = float(duals[0]) if prior.total is not None else 0.0
        proof = CostProof(proof.owners, proof.points, proof.weights, rows, total, proof.block_price, proof.reach)
        return theta, proof, found.ended

    @staticmethod
    def _matrix(
        block: SparseRows, piece: _Piece, at: int, triangle: FloatArray, units: FloatArray, unknowns: FloatArray
    ) -> None:
        """Rows of -[Q_yy, v / 2; *, alpha] as a scaled upper triangle, column by column, in units of the unknowns."""
        u = piece.turn.size
        of_pair = [unknowns[a] * unknowns[b] for b in range(u) for a in range(b + 1)]
        for row, size in zip(triangle / units, of_pair, strict=True):
            columns = np.flatnonzero(row)
            block.row(columns, -row[columns] * size, 0.0)
        root = np.sqrt(0.5)  # an off-diagonal entry is v / 2 times sqrt(2)
        for a in range(u):
            columns = np.concatenate((np.flatnonzero(piece.bend[a]), np.arange(at + 1, at + 1 + piece.sides.size)))
            values = unknowns[a] * np.concatenate(((piece.bend[a] / units)[piece.bend[a] != 0], piece.rows[:, a]))
            block.row(columns, -root * values, root * float(unknowns[a] * piece.turn[a]))
        block.row(np.array([at]), np.array([-1.0]), 0.0)

    def _proof(
        self,
        problem: InverseProblem,
        pieces: list[_Piece],
        theta: FloatArray,
        weights: FloatArray,
        matrices: FloatArray,
        unknowns: FloatArray,
    ) -> CostProof:
        u = unknowns.size
        length = (u + 1) * (u + 2) // 2
        owners, points, used, rest = [], [], [], np.zeros((u, u))
        for k, piece in enumerate(pieces):
            weight = float(weights[k])
            dual = unpacked(matrices[k * length : (k + 1) * length], u + 1)
            rest += dual[:u, :u]
            if weight <= self.parameters.least_weight / problem.n_examples:
                continue
            rest -= np.outer(dual[:u, u], dual[:u, u]) / weight
            decisions: Any = problem.examples[piece.owner].instance.decisions
            ends = decisions.lower[~decisions.whole], decisions.upper[~decisions.whole]
            point = np.concatenate((np.clip(unknowns * dual[:u, u] / weight, *ends), piece.z))
            if problem.examples[piece.owner].instance.decisions.allowed(point[None, :])[0]:
                owners.append(piece.owner)
                points.append(point)
                used.append(weight)
        cuts = problem.cuts(owners, points)
        # What an interior point leaves of the weight of an observation with a loss is all of it.
        sums = problem.n_examples * np.bincount(cuts.owners, weights=used, minlength=problem.n_examples)
        full = (np.abs(sums - 1.0) < self.parameters.full_weight) & (not problem.hard)
        shares = np.asarray(used) / np.where(full, sums, 1.0)[cuts.owners]
        slope = shares @ cuts.slopes if used else np.zeros(problem.n_features)
        gradient = slope[: u * u].reshape(u, u)
        square = problem.regularizer.kind == "l2" and problem.kappa > 0
        if square:
            # The cost that is best for these weights, to the last digit: the multiplier of its block is what a projection adds.
            best = problem.regularizer.center[: u * u].reshape(u, u) - gradient / problem.kappa
            values, axes = np.linalg.eigh((best + best.T) / 2)
            gradient = -problem.kappa * (axes * np.minimum(values, 0.0)) @ axes.T
        elif np.isfinite(problem.prior.upper[: u * u] - problem.prior.lower[: u * u]).all():
            # Where bounds hold the entries too, the block has what is left of the multipliers of the matrices.
            gradient = np.outer(unknowns, unknowns) * rest
        return CostProof(
            cuts.owners,
            cuts.points,
            shares,
            np.zeros(problem.prior.matrix.shape[0]),
            0.0,
            (gradient + gradient.T) / 2,
            np.inf if square else self.parameters.box_radius,
        )
