"""Extreme rays of the cone of consistent costs, by double description with generated decisions.

The cone that the decisions found so far leave is kept by its extreme rays. A ray that some observation refutes is cut off with
the decision that refutes it: rays on the wrong side go, and every adjacent pair across the cut leaves a ray on it. When no
observation refutes any ray, the rays are those of the cone itself.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InconsistentDataError, UnsupportedProblemError
from surefoot.inverse.exact.constraint_generation import LossCuts
from surefoot.inverse.exact.cut_pool import CutPool
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem

# More rays than this are more than a cone of a handful of features has; finding them can take forever.
MOST_RAYS = 5000
# Rays and half-spaces are of length 1: a product this small is 0.
TOUCHING = 1e-9


class RayCone:
    """{theta : normals theta <= 0} by its extreme rays."""

    def __init__(self, normals: FloatArray) -> None:
        """Begin with as many independent half-spaces as there are dimensions."""
        self.normals = normals
        rays = -np.linalg.inv(normals).T
        self.rays = rays / np.linalg.norm(rays, axis=1)[:, None]
        self.touch: BoolArray = np.abs(self.rays @ normals.T) <= TOUCHING

    @property
    def dimension(self) -> int:
        return int(self.normals.shape[1])

    def cut(self, normal: FloatArray) -> None:
        """Intersect with {theta : normal . theta <= 0}."""
        side = self.rays @ normal
        outside, inside = np.flatnonzero(side > TOUCHING), np.flatnonzero(side < -TOUCHING)
        if outside.size == 0:
            return
        made, marks = [], []
        whole = self.touch.astype(np.int64)
        for a in outside.tolist():
            common = self.touch[a] & self.touch[inside]
            for b, shared in zip(inside.tolist(), common, strict=True):
                count = int(shared.sum())
                # Two rays are adjacent if no third touches all that both touch.
                if count < self.dimension - 2 or int((whole @ shared == count).sum()) > 2:
                    continue
                ray = side[a] * self.rays[b] - side[b] * self.rays[a]
                made.append(ray / np.linalg.norm(ray))
                marks.append(shared)
        kept = side <= TOUCHING
        rays = np.vstack((self.rays[kept], np.array(made).reshape(len(made), self.dimension)))
        self.normals = np.vstack((self.normals, normal))
        self.rays = rays
        self.touch = np.abs(rays @ self.normals.T) <= TOUCHING


def prior_normals(prior: PriorSet) -> FloatArray:
    """Half-spaces of a prior set that is a cone, each of length 1."""
    eye = np.eye(prior.n_features)
    rows = np.vstack((-eye[prior.lower == 0], eye[prior.upper == 0], prior.matrix))
    size = np.linalg.norm(rows, axis=1)
    return np.asarray(rows[size > 0] / size[size > 0][:, None], dtype=np.float64)


def consistent_rays(
    solver: LossCuts, problem: InverseProblem, pool: CutPool, options: SolveOptions, most: int = MOST_RAYS
) -> RayCone:
    """The extreme rays of the consistent costs within the prior set; decisions that prove there are no others join the pool."""
    if not problem.prior.is_cone or problem.prior.psd:
        raise UnsupportedProblemError("circumcenters need a prior set that is a cone: none, 'nonnegative', or A theta <= 0.")
    p = problem.n_features
    first = prior_normals(problem.prior)
    slopes = pool.cuts().slopes
    size = np.linalg.norm(slopes, axis=1)
    # The prior's own half-spaces come first, weighted so that the pivots prefer them.
    known = np.vstack((first * 1e3, slopes[size > 0] / size[size > 0][:, None]))
    _, triangle, order = scipy.linalg.qr(known.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    if diagonal.size < p or diagonal[-1] <= 1e-8:
        raise UnsupportedProblemError(
            "the cone of consistent costs contains a line, so that no circumcenter is defined; add observations, or a prior "
            "such as 'nonnegative'."
        )
    scaled = known / np.linalg.norm(known, axis=1)[:, None]
    cone = RayCone(scaled[order[:p]])
    for row in first:
        cone.cut(row)
    settled: set[bytes] = set()
    while True:
        open_rays = [ray for ray in cone.rays if ray.tobytes() not in settled]
        if not open_rays:
            break
        ray = open_rays[0]
        normals = _refuted(solver, problem, ray, pool)
        if len(normals) == 0:
            settled.add(ray.tobytes())
        for normal in normals:
            cone.cut(normal)
            if options.out_of_time or len(cone.rays) > most:
                raise UnsupportedProblemError(
                    f"the cone of consistent costs has too many extreme rays ({len(cone.rays)} so far) for a circumcenter; "
                    "choose approach='incenter'."
                )
    if len(cone.rays) == 0:
        raise InconsistentDataError("no cost vector but 0 explains all observations. approach='asl' learns from such data.")
    return cone


def _refuted(solver: LossCuts, problem: InverseProblem, ray: FloatArray, pool: CutPool) -> list[FloatArray]:
    """Half-spaces of decisions that are better than the observed ones at a ray, the most telling one first."""
    found = []
    for i, example in enumerate(problem.examples):
        choice = solver.oracle.augmented(example, ray, problem.distance)
        slope = example.slopes(choice.point[None, :])[0]
        length = float(np.linalg.norm(slope))
        if length > 0 and choice.value > TOUCHING * length:
            pool.add(i, choice.point)
            found.append((choice.value / length, slope / length))
    found.sort(key=lambda pair: -pair[0])
    return [normal for _, normal in found]
