"""Extreme rays of the cone of consistent costs, by double description (Motzkin et al., 1953) with generated half-spaces.

    C = {theta in Theta : <theta, phi(s_i, x_i) - phi(s_i, x)> <= 0 for all x in X(s_i) and all i}

(the consistent costs of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani, 2024). The cone that the decisions found so far leave
is held as a pair: half-spaces and extreme rays. One step takes a ray that is not known to be consistent and asks the oracle of
every observation for a better decision. If there is one, its half-space is intersected with the cone: rays outside are removed,
and every adjacent pair of rays across the hyperplane leaves a new ray on it. Termination: all rays are consistent, and so are
those of C itself; or there are too many.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import scipy.linalg

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError
from surefoot.inverse.exact.balanced_units import ObservationSizes
from surefoot.inverse.exact.consistent_cost import refuse_without_rays
from surefoot.inverse.exact.parameters import DoubleDescriptionParameters
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem

PARAMETERS = DoubleDescriptionParameters()
TOUCHING = PARAMETERS.touching


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

    def cut(self, normal: FloatArray, options: SolveOptions | None = None) -> None:
        """Intersect with {theta : normal . theta <= 0}; the cone stays as it is if there is no time for that."""
        side = self.rays @ normal
        outside, inside = np.flatnonzero(side > TOUCHING), np.flatnonzero(side < -TOUCHING)
        if outside.size == 0:
            return
        made, marks = [], []
        whole = self.touch.astype(np.int64)
        for a in outside.tolist():
            _require_time(options)
            common = self.touch[a] & self.touch[inside]
            for b, shared in zip(inside.tolist(), common, strict=True):
                count = int(shared.sum())
                # Two rays are adjacent if no third touches all that both touch.
                if count < self.dimension - 2 or int((whole @ shared == count).sum()) > 2:
                    continue
                ray = side[a] * self.rays[b] - side[b] * self.rays[a]
                made.append(ray / np.linalg.norm(ray))
                marks.append(shared)
        rays = np.vstack((self.rays[side <= TOUCHING], np.array(made).reshape(len(made), self.dimension)))
        self.normals = np.vstack((self.normals, normal))
        self.rays = rays
        self.touch = np.abs(rays @ self.normals.T) <= TOUCHING


def prior_rows(prior: PriorSet) -> FloatArray:
    """Half-spaces of a prior set that is a cone: bounds and rows."""
    eye = np.eye(prior.n_features)
    return np.vstack((-eye[prior.lower == 0], eye[prior.upper == 0], prior.matrix))


def whole_ray(ray: FloatArray) -> FloatArray | None:
    """A multiple of a ray with small whole entries, as rays of whole data are; None if it has none."""
    scaled = [Fraction(part).limit_denominator(PARAMETERS.largest_whole) for part in (ray / np.abs(ray).max()).tolist()]
    whole = np.array([float(part * lcm(*(each.denominator for each in scaled))) for part in scaled])
    apart = np.linalg.norm(whole / np.linalg.norm(whole) - ray / np.linalg.norm(ray))
    return whole if np.abs(whole).max() < PARAMETERS.largest_multiple and apart <= PARAMETERS.same_whole else None


def prior_normals(prior: PriorSet, units: FloatArray) -> FloatArray:
    """The same for costs in units of their columns, each of length 1."""
    rows = prior_rows(prior) / units
    size = np.linalg.norm(rows, axis=1)
    return np.asarray(rows[size > 0] / size[size > 0][:, None], dtype=np.float64)


def consistent_rays(
    separation: Separation,
    problem: InverseProblem,
    pool: CutPool,
    options: SolveOptions,
    parameters: DoubleDescriptionParameters = PARAMETERS,
) -> FloatArray:
    """The extreme rays of the consistent costs within the prior set, of length 1; decisions that prove there are no others join
    the pool.

    Rays are found in units of the columns, in which half-spaces are told apart whatever features are measured in.
    """
    if not problem.prior.is_cone or problem.prior.psd:
        raise UnsupportedProblemError("circumcenters need a prior set that is a cone: none, 'nonnegative', or A theta <= 0.")
    units = ObservationSizes.of(problem).columns
    first = prior_normals(problem.prior, units)
    cone = RayCone(_first_normals(separation, problem, pool, first, units, options, parameters))
    for row in first:
        cone.cut(row, options)
    consistent: set[bytes] = set()
    while True:
        open_rays = [ray for ray in cone.rays if ray.tobytes() not in consistent]
        if not open_rays:
            break
        ray = open_rays[0]
        normals = _refuted(separation, problem, ray, pool, units, options)
        if len(normals) == 0:
            consistent.add(ray.tobytes())
        for normal in normals:
            cone.cut(normal, options)
            _require_time(options)
            if len(cone.rays) > parameters.max_rays:
                raise UnsupportedProblemError(
                    f"the costs that explain the decisions seen so far have {len(cone.rays)} extreme rays, too many to go on "
                    "to a circumcenter, or to the proof that no cost explains all observations; choose approach='incenter'."
                )
    if len(cone.rays) == 0:
        refuse_without_rays(separation, problem, options)
    rays = cone.rays / units
    return np.asarray(rays / np.linalg.norm(rays, axis=1)[:, None])


def _first_normals(
    separation: Separation,
    problem: InverseProblem,
    pool: CutPool,
    first: FloatArray,
    units: FloatArray,
    options: SolveOptions,
    parameters: DoubleDescriptionParameters,
) -> FloatArray:
    """As many independent half-spaces as there are dimensions.

    Where the decisions found so far leave a line open, both of its ends are asked for more.
    """
    p = problem.n_features
    while True:
        slopes = pool.cuts().slopes / units
        size = np.linalg.norm(slopes, axis=1)
        # The prior's own half-spaces come first, weighted so that the pivots prefer them.
        known = np.vstack((first * parameters.prior_weight, slopes[size > 0] / size[size > 0][:, None]))
        _, triangle, order = scipy.linalg.qr(known.T, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(triangle))
        if diagonal.size == p and diagonal[-1] > parameters.rank:
            scaled = known / np.linalg.norm(known, axis=1)[:, None]
            return np.asarray(scaled[order[:p]])
        line = np.linalg.svd(known)[2][-1] if len(known) else np.eye(p)[0]
        if not any(_refuted(separation, problem, end, pool, units, options) for end in (line, -line)):
            way = line / units
            way = ", ".join(f"{entry:.3g}" for entry in way / np.abs(way).max())
            raise UnsupportedProblemError(
                f"as far as doubles tell, no decision and no prior distinguishes the cost vector ({way}) from its opposite, so "
                "that the consistent costs hold a line and no circumcenter is defined; add observations, or a prior such as "
                "'nonnegative'."
            )


def _require_time(options: SolveOptions | None) -> None:
    """Raise once the time limit is over: half of the rays say nothing."""
    if options is not None and options.out_of_time:
        raise UnsupportedProblemError(
            "the time limit ended the search for the extreme rays of the consistent costs, without which there is no "
            "circumcenter; set a longer time_limit, or approach='incenter'."
        )


def _refuted(
    separation: Separation, problem: InverseProblem, ray: FloatArray, pool: CutPool, units: FloatArray, options: SolveOptions
) -> list[FloatArray]:
    """Half-spaces of decisions that are better than the observed ones at a ray, the most violated one first."""
    found = []
    for i, example in enumerate(problem.examples):
        choice = separation.oracle.augmented(example, ray / units, problem.distance, seconds=options.seconds_left)
        # A search that was cut short does not say that there is no better decision.
        _require_time(options)
        slope = example.slopes(choice.point[None, :])[0] / units
        length = float(np.linalg.norm(slope))
        if length > 0 and choice.value > TOUCHING * length:
            pool.add(i, choice.point)
            found.append((choice.value / length, slope / length))
    found.sort(key=lambda pair: -pair[0])
    return [normal for _, normal in found]
