"""Ellipsoids in feature space, flattened to the few directions in which they matter, and the best plane between them.

Batch i stands for the ellipsoid mu_i + tau_i A_i' u, ||u|| <= 1, with A_i the deviations of its samples times the roots of
their weights. Flattened, u is a mix of orthonormal vectors u_i1, u_i2, ... that are found one by one. The flat ellipsoids lie
inside the full ones: they demand less, so that what separates them bounds the problem from below.

Directions and their inner products know nothing of tau_i and of the costs: problems on the same batches that differ in these
alone share them, see :meth:`FlatEllipsoids.pose`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from surefoot.chancesvm.problem.problem import ChanceSVMProblem
from surefoot.chancesvm.solvers.ellipsoid_dual import Objective, ellipsoid_mix
from surefoot.chancesvm.solvers.point_images import PointImages
from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.core.solve_options import SolveOptions

# The scores of a first model need not be exact: that would take long w, and many systems are singular.
RIDGE = 0.03
# Batches with less than this share of the mean weight have none.
IDLE_SHARE = 1e-6
# What is left of a unit vector after those of its batch were taken away; less is rounding.
NEW_SHARE = 1e-6
# So many batches take part from the beginning, and so many may join in a pass.
FIRST_BATCHES, JOINING_BATCHES = 1000, 500


class FlatEllipsoids:
    """Columns y_i mu_i, and y_i A_i' u_ij for each direction, and the dual's mix of them; see the module docstring."""

    def __init__(self, problem: ChanceSVMProblem, images: PointImages) -> None:
        self.problem, self.images = problem, images
        signs = np.repeat(problem.labels, problem.sizes)
        # Coefficients of the samples in a mean, and in a direction whose coordinates are 1.
        self.central = signs * problem.weights
        self.reach = signs * np.sqrt(problem.weights)
        self.batch = _first_batches(problem)
        self.is_mean = np.ones(self.batch.size, dtype=np.bool_)
        self.combinations = _rows(problem, self.batch, self.central)
        self.image = images.of(self.combinations)
        self.inner = _symmetric(images.inner(self.combinations, self.image, self.image))
        # Blocks of unit vectors of all batches side by side; zeros where a batch had none.
        # The first is no direction at all: along the roots of the weights lies the mean.
        self.directions = [np.sqrt(problem.weights)[None]]
        self.joined = np.zeros(problem.n_batches, dtype=np.bool_)
        self.joined[self.batch] = True
        self.working = self.joined.copy()

    @property
    def has_directions(self) -> bool:
        return bool(self.batch.size > self.is_mean.sum())

    def pose(self, problem: ChanceSVMProblem, options: SolveOptions) -> None:
        """Take another problem on the same batches, with all directions that are known."""
        self.images.obey(options)
        self.problem = problem
        self.working = self.joined.copy()

    def least_squares(self) -> tuple[FloatArray, FloatArray, float]:
        """Coefficients, values and squared length of the w whose scores of the means are nearest to their labels.

        A solve of one linear system, and often a fair model already.
        """
        labels = self.problem.labels[self.batch]
        ridge = RIDGE * max(float(np.trace(self.inner)) / self.batch.size, np.finfo(np.float64).tiny)
        matrix = self.inner + ridge * np.eye(self.batch.size)
        # Scores are y_i (w . mu_i + b); the equation of b makes the signed multipliers sum to 0.
        ones, signs = np.linalg.solve(matrix, np.stack((np.ones(labels.size), labels), axis=1)).T
        v = ones - float(labels @ ones) / float(labels @ signs) * signs
        image = self.image @ v
        return self.combinations.T @ v, self.images.values(image), max(float(v @ self.inner @ v), 0.0)

    def solve(self, tolerance: float) -> None:
        """Mix points of the flattened ellipsoids."""
        problem = self.problem
        members = np.flatnonzero(self.working)
        place = np.cumsum(self.working) - 1
        means = np.flatnonzero(self.is_mean & self.working[self.batch])
        means = means[np.argsort(self.batch[means])]
        coordinates = np.flatnonzero(~self.is_mean & self.working[self.batch])
        used = np.concatenate((means, coordinates))
        batch = place[self.batch[coordinates]]
        scale = np.concatenate((np.ones(means.size), problem.tau[self.batch[coordinates]]))
        quadratic = self.inner[np.ix_(used, used)] * np.outer(scale, scale)
        if not problem.has_radii:
            objective = Objective(quadratic)
        else:
            # One more coordinate for each batch, along w: it shortens w and does nothing else.
            size = used.size + members.size
            padded = np.zeros((size, size))
            padded[: used.size, : used.size] = quadratic
            outward = problem.tau[members] * np.sqrt(problem.covariance_radius[members])
            shortening = np.concatenate((problem.mean_radius[members], np.zeros(coordinates.size), outward))
            objective = Objective(padded, shortening)
            batch = np.concatenate((batch, np.arange(members.size)))
        found = ellipsoid_mix(objective, problem.labels[members], problem.costs[members], batch, tolerance)
        self.weights = np.zeros(problem.n_batches)
        self.weights[members] = found.v[: members.size]
        v = np.zeros(self.batch.size)
        v[used] = scale * found.v[: used.size]
        self.mix = self.combinations.T @ v
        self.share, self.bound = found.share, found.bound
        image = self.image @ v
        self.values = found.share * self.images.values(image)
        self.squared_length = found.share**2 * max(float(v @ self.inner @ v), 0.0)

    def extend(self, count: int, options: SolveOptions) -> bool:
        """Let batches join, and give so many directions to those at the margin; whether anything was new.

        The first is that of the worst point, A_i w, and with B_i = A_i A_i' each is what B_i makes of the one before.
        """
        problem = self.problem
        demands = problem.demands(self.values, self.squared_length)
        excess = demands - problem.labels * problem.best_intercept(demands)
        # Rounding must not keep a batch that the margin touches from its direction.
        touched = excess > -1e-9
        joining = np.flatnonzero(touched & ~self.joined)
        if joining.size > JOINING_BATCHES:
            joining = np.sort(joining[np.argsort(-excess[joining])[:JOINING_BATCHES]])
        self.joined[joining] = True
        rows, batches = [_rows(problem, joining, self.central)], [joining]
        images = [self.images.of(rows[0])] if joining.size else []
        values, turning = self.values, touched & self.joined & (problem.tau > 0)
        units: list[FloatArray] = []
        for _ in range(count):
            unit, turning = self._new_directions(values, turning, [*self.directions, *units])
            turned = np.flatnonzero(turning)
            # A product with a Gram matrix that is not kept may take long.
            if turned.size == 0 or (units and options.out_of_time):
                break
            units.append(unit[None])
            rows.append(_rows(problem, turned, self.reach * unit))
            batches.append(turned)
            images.append(self.images.of(rows[-1]))
            values = self.images.own(images[-1], np.repeat(np.cumsum(turning) - 1, problem.sizes))
        if units:
            self.directions.append(np.concatenate(units))
        if images:
            self._add(scipy.sparse.csr_array(scipy.sparse.vstack(rows)), np.concatenate(images, axis=1))
            self.batch = np.concatenate((self.batch, *batches))
            self.is_mean = np.concatenate((self.is_mean, np.arange(self.batch.size - self.is_mean.size) < joining.size))
        working = (self.weights > IDLE_SHARE * self.weights.mean()) | (touched & self.joined)
        changed = bool(np.any(working & ~self.working) or images)
        self.working = working
        return changed

    def _new_directions(self, values: FloatArray, wanted: BoolArray, known: list[FloatArray]) -> tuple[FloatArray, BoolArray]:
        """Unit vectors along the deviations of the values, orthogonal to those that are known, and whose are new."""
        problem, sizes = self.problem, self.problem.sizes
        means, spreads = problem.moments(values)
        lengths = np.where(spreads > 0, spreads, 1.0)
        unit = np.sqrt(problem.weights) * (values - np.repeat(means, sizes)) / np.repeat(lengths, sizes)
        for _ in range(2):
            for block in known:
                along = np.add.reduceat(block * unit, problem.starts[:-1], axis=1)
                unit = unit - np.einsum("ks,ks->s", np.repeat(along, sizes, axis=1), block)
        lengths = np.sqrt(problem.sums(unit * unit))
        new = wanted & (lengths > NEW_SHARE) & (spreads > 0)
        return unit * np.repeat(np.where(new, 1.0 / np.where(new, lengths, 1.0), 0.0), sizes), new

    def _add(self, new: scipy.sparse.csr_array, image: FloatArray) -> None:
        """Add points and their inner products."""
        corner = _symmetric(self.images.inner(new, image, image))
        cross = self.images.inner(new, self.image, image)
        self.inner = np.block([[self.inner, cross.T], [cross, corner]])
        self.image = np.concatenate((self.image, image), axis=1)
        self.combinations = scipy.sparse.csr_array(scipy.sparse.vstack((self.combinations, new)))


def _rows(problem: ChanceSVMProblem, batches: RowArray, coefficients: FloatArray) -> scipy.sparse.csr_array:
    """One row for each of some batches in ascending order: the coefficients of its own samples."""
    mask = np.zeros(problem.n_batches, dtype=np.bool_)
    mask[batches] = True
    columns = np.flatnonzero(np.repeat(mask, problem.sizes))
    pointers = np.concatenate(([0], np.cumsum(problem.sizes[batches])))
    return scipy.sparse.csr_array((coefficients[columns], columns, pointers), shape=(batches.size, problem.n_samples))


def _symmetric(inner: FloatArray) -> FloatArray:
    return 0.5 * (inner + inner.T)


def _first_batches(problem: ChanceSVMProblem) -> RowArray:
    if problem.n_batches <= 2 * FIRST_BATCHES:
        return np.arange(problem.n_batches)
    chosen = [np.flatnonzero(problem.labels == label) for label in (-1.0, 1.0)]
    # Evenly spread, and always of both classes.
    return np.sort(np.concatenate([part[:: max(1, part.size * 2 // FIRST_BATCHES)] for part in chosen]))
