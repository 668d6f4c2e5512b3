"""The restricted master problem: the SVM dual over ellipsoids that are restricted to the directions generated so far.

Batch i stands for the ellipsoid mu_i + tau_i A_i' u, ||u|| <= 1, with A_i the deviations of its samples times the roots of
their weights. In the master, u lies in the span of orthonormal directions u_i1, u_i2, ... that separation generates. Restricted
ellipsoids lie inside the full ones and demand less, so the optimum of the master is a lower bound of the problem.

Unknowns are alpha_i and the coordinates of alpha_i u along the directions; columns y_i mu_i and y_i A_i' u_ij of feature space,
whose inner products are the quadratic of the master (:mod:`surefoot.chancesvm.solvers.ellipsoid_dual`).

Separation. At the w of the master, batches whose full ellipsoid touches or crosses the margin are violated. Each gets the
direction of its worst point, A_i w, orthogonalised against those it has (block Gram-Schmidt, twice), and on request further
vectors of the Krylov space of B_i = A_i A_i' that it generates. Batches without a column of their own join, the most violated
first; batches without weight that are clear of the margin leave.

Directions and inner products depend neither on tau_i nor on the costs: problems on the same batches that differ in these alone
use the same ones, see :meth:`EllipsoidMaster.reset`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from surefoot.chancesvm.problem.problem import ChanceSVMProblem, EllipsoidMix
from surefoot.chancesvm.solvers.ellipsoid_dual import DualObjective, solve_ellipsoid_dual
from surefoot.chancesvm.solvers.feature_space import FeatureSpace
from surefoot.chancesvm.solvers.parameters import EllipsoidCutParameters
from surefoot.core.arrays import BoolArray, FloatArray, RowArray
from surefoot.core.solve_options import SolveOptions


class EllipsoidMaster:
    """Columns of the master and its last solution; see the module docstring.

    Attributes
    ----------
    batch, is_mean : ndarray of shape (n_columns,)
        Batch of each column, and whether it is that of the mean.
    combinations, image, inner
        The columns as combinations of samples, their images, and their inner products.
    directions : list of ndarray of shape (k, n_samples)
        Unit vectors of all batches side by side; zeros where a batch had none.
    joined, working : ndarray of shape (n_batches,)
        Which batches have columns, and which are part of the next master.
    weights, mix : ndarray
        alpha and the coefficients of the dual point of the last master.
    fraction : float
        w = fraction * (the point of the mix); below 1 with radii.
    values, squared_norm : ndarray of shape (n_samples,), float
        Of this w.
    bound : float
        The lower bound.
    """

    def __init__(self, problem: ChanceSVMProblem, space: FeatureSpace, parameters: EllipsoidCutParameters) -> None:
        self.problem, self.space, self.parameters = problem, space, parameters
        signs = np.repeat(problem.labels, problem.sizes)
        # Coefficients of the samples in a mean, and in a direction whose coordinates are 1.
        self.mean_coefficients = signs * problem.weights
        self.direction_coefficients = signs * np.sqrt(problem.weights)
        self.batch = _first_batches(problem, parameters.first_batches)
        self.is_mean = np.ones(self.batch.size, dtype=np.bool_)
        self.combinations = _rows(problem, self.batch, self.mean_coefficients)
        self.image = space.images(self.combinations)
        self.inner = _symmetric(space.inner_products(self.combinations, self.image, self.image))
        # The first is no direction at all: along the roots of the weights lies the mean.
        self.directions = [np.sqrt(problem.weights)[None]]
        self.joined = np.zeros(problem.n_batches, dtype=np.bool_)
        self.joined[self.batch] = True
        self.working = self.joined.copy()

    @property
    def has_directions(self) -> bool:
        return bool(self.batch.size > self.is_mean.sum())

    @property
    def dual(self) -> EllipsoidMix:
        """The dual point of the last master."""
        return EllipsoidMix(self.mix)

    def reset(self, problem: ChanceSVMProblem, options: SolveOptions) -> None:
        """Pose another problem on the same batches, with all directions that are known."""
        self.space.set_options(options)
        self.problem = problem
        self.working = self.joined.copy()

    def least_squares(self) -> tuple[FloatArray, FloatArray, float]:
        """Coefficients, values and squared norm of the w of ridge regression of the labels on the means: the initial point.

        One linear system, and often a fair model already.
        """
        labels = self.problem.labels[self.batch]
        ridge = self.parameters.ridge * max(float(np.trace(self.inner)) / self.batch.size, np.finfo(np.float64).tiny)
        matrix = self.inner + ridge * np.eye(self.batch.size)
        # Scores are y_i (w . mu_i + b); the equation of b makes the signed multipliers sum to 0.
        ones, signs = np.linalg.solve(matrix, np.stack((np.ones(labels.size), labels), axis=1)).T
        v = ones - float(labels @ ones) / float(labels @ signs) * signs
        image = self.image @ v
        return self.combinations.T @ v, self.space.values(image), max(float(v @ self.inner @ v), 0.0)

    def solve(self, tolerance: float) -> None:
        """Solve the master to a relative gap."""
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
            objective = DualObjective(quadratic)
        else:
            # One more coordinate for each batch, along w: it shortens w and does nothing else.
            size = used.size + members.size
            padded = np.zeros((size, size))
            padded[: used.size, : used.size] = quadratic
            outward = problem.tau[members] * np.sqrt(problem.covariance_radius[members])
            shortening = np.concatenate((problem.mean_radius[members], np.zeros(coordinates.size), outward))
            objective = DualObjective(padded, shortening)
            batch = np.concatenate((batch, np.arange(members.size)))
        found = solve_ellipsoid_dual(objective, problem.labels[members], problem.costs[members], batch, tolerance)
        self.weights = np.zeros(problem.n_batches)
        self.weights[members] = found.v[: members.size]
        v = np.zeros(self.batch.size)
        v[used] = scale * found.v[: used.size]
        self.mix = self.combinations.T @ v
        self.fraction, self.bound = found.fraction, found.bound
        image = self.image @ v
        self.values = found.fraction * self.space.values(image)
        self.squared_norm = found.fraction**2 * max(float(v @ self.inner @ v), 0.0)

    def separate(self, count: int, options: SolveOptions) -> bool:
        """Add batches, and up to so many directions for each violated one; whether the master has changed.

        The first direction is A_i w, and with B_i = A_i A_i' each is B_i times the one before, orthogonalised.
        """
        problem = self.problem
        demands = problem.demands(self.values, self.squared_norm)
        excess = demands - problem.labels * problem.best_intercept(demands)
        # Rounding must not keep a batch that the margin touches from its direction.
        violated = excess > -self.parameters.margin_tolerance
        joining = np.flatnonzero(violated & ~self.joined)
        most = self.parameters.joining_batches
        if joining.size > most:
            joining = np.sort(joining[np.argsort(-excess[joining])[:most]])
        self.joined[joining] = True
        rows, batches = [_rows(problem, joining, self.mean_coefficients)], [joining]
        images = [self.space.images(rows[0])] if joining.size else []
        values, unfinished = self.values, violated & self.joined & (problem.tau > 0)
        units: list[FloatArray] = []
        for _ in range(count):
            unit, unfinished = self._new_directions(values, unfinished, [*self.directions, *units])
            extended = np.flatnonzero(unfinished)
            # A product with a Gram matrix that is not stored may take long.
            if extended.size == 0 or (units and options.out_of_time):
                break
            units.append(unit[None])
            rows.append(_rows(problem, extended, self.direction_coefficients * unit))
            batches.append(extended)
            images.append(self.space.images(rows[-1]))
            values = self.space.values_of_columns(images[-1], np.repeat(np.cumsum(unfinished) - 1, problem.sizes))
        if units:
            self.directions.append(np.concatenate(units))
        if images:
            self._add(scipy.sparse.csr_array(scipy.sparse.vstack(rows)), np.concatenate(images, axis=1))
            self.batch = np.concatenate((self.batch, *batches))
            self.is_mean = np.concatenate((self.is_mean, np.arange(self.batch.size - self.is_mean.size) < joining.size))
        working = (self.weights > self.parameters.idle_weight_fraction * self.weights.mean()) | (violated & self.joined)
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
        new = wanted & (lengths > self.parameters.min_direction_norm) & (spreads > 0)
        return unit * np.repeat(np.where(new, 1.0 / np.where(new, lengths, 1.0), 0.0), sizes), new

    def _add(self, new: scipy.sparse.csr_array, image: FloatArray) -> None:
        """Add columns and their inner products."""
        corner = _symmetric(self.space.inner_products(new, image, image))
        cross = self.space.inner_products(new, self.image, image)
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


def _first_batches(problem: ChanceSVMProblem, count: int) -> RowArray:
    if problem.n_batches <= 2 * count:
        return np.arange(problem.n_batches)
    chosen = [np.flatnonzero(problem.labels == label) for label in (-1.0, 1.0)]
    # Evenly spread, and always of both classes.
    return np.sort(np.concatenate([part[:: max(1, part.size * 2 // count)] for part in chosen]))
