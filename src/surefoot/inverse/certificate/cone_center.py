"""Certificates of circumcenters and of costs with an ellipsoid around them, recomputed from the raw arrays.

Decisions bound the cone C of consistent costs from outside. The extreme rays of the cone that they leave are listed in whole
numbers by double description (Motzkin et al., 1953), without rounding: up to a right angle, no consistent cost is farther from
theta than the farthest of these. Rays inside C, with weights w_k >= 0 of sum 1, bound the angle from below: every unit vector
theta has min_k <theta, e_k> <= ||sum_k w_k e_k||.

An ellipsoid around the ends of rays has no smaller volume than (x - c)' S^-1 (x - c) <= n, c and S being their weighted mean
and covariance in n dimensions, whatever the weights; blown up until it holds all ends it is one. Costs with room around them,

    min -kappa log det A + (1/N) sum_i max over x of g(x) . theta + ||A g(x)||,     ||theta|| <= 1,

are bounded by weights w_k and vectors u_k of length at most 1 (||A g|| >= u . A g): with G = sum_k w_k g_k and M the symmetric
part of sum_k w_k u_k g_k', the objective is at least -||[G]|| + kappa p (1 - log kappa) + kappa log det M; [G] leaves out what
the bounds of Theta forbid to be of use. Where all g(x) lie in a subspace, A is an ellipsoid in that subspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, require_tolerance, rounded_up, verdict
from surefoot.core.enclosure import Enclosure, between, enclose
from surefoot.inverse.certificate.certificate import NEAR, problem_digest, require_cost, scope
from surefoot.inverse.certificate.cost_bound import cuts, decisions_flaw, exact_slope
from surefoot.inverse.certificate.decision_bound import decision_bound
from surefoot.inverse.certificate.observation import listed, slopes

if TYPE_CHECKING:
    from surefoot.inverse.problem.decision_proof import LossProof
    from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost, EllipsoidProof
    from surefoot.inverse.problem.problem import InverseProblem
    from surefoot.inverse.problem.ray_proof import RayProof

# Rays of the outer cone that are listed; radians between such a ray and the one that is named for it.
MAX_RAYS = 2000
SAME_RAY = 1e-6
# Singular values below this fraction of the largest are 0: features do not vary in such a direction.
RANK_FRACTION = 1e-9


@np.errstate(all="ignore")
def certify_rays(
    problem: InverseProblem,
    theta: FloatArray,
    proof: RayProof,
    tolerance: float,
    *,
    ellipsoid: bool = False,
    loss_proofs: Sequence[Sequence[LossProof | None]] | None = None,
) -> Certificate:
    """Judge a circumcenter: bounds are on the largest angle, in radians, or on the logarithm of the ellipsoid's volume.

    ``loss_proofs`` prove, for every ray and observation, that the ray explains the observation, where decisions cannot be
    listed; without them the rays are taken on trust, which is then said and not verified.
    """
    require_tolerance(tolerance)
    require_cost(problem, theta)
    flaw = decisions_flaw(problem, proof.owners, proof.points) or _rays_flaw(problem, proof)
    flaw, trust = (flaw, "") if flaw else _explained(problem, proof.rays, loss_proofs)
    upper, lower, words = np.inf, -np.inf, ""
    if not flaw:
        outer = _outer_rays(problem, proof) if proof.complete else None
        if outer is None and proof.complete:
            flaw = "the cone that the decisions of the proof leave holds a line, or has too many rays to list"
        named = None if outer is None else _angles(proof.rays, outer)
        if named is not None and float(named.max(initial=0.0)) > SAME_RAY:
            flaw = "the proof is refused because the cone that its decisions leave has rays that it does not name"
    if not flaw and ellipsoid:
        upper, lower, flat = _volumes(proof)
        trust = trust or flat
        off = _angles(theta[None, :], (enclose(np.maximum(proof.weights, 0.0)) @ proof.rays)[None, :])
        if float(off[0]) > SAME_RAY:
            flaw = "the cost vector is not the centre of the ellipsoid"
        words = f"; all extreme rays of the consistent costs are within {SAME_RAY:g} rad of these"
    elif not flaw:
        length = (_normalised(proof.weights) @ _unit(enclose(proof.rays)))[None, :]
        lower = float(_arccos((length * length).sum().sqrt()).low)
        upper = np.pi if outer is None else float(_angles(theta[None, :], outer).max(initial=0.0))
        if outer is None:
            upper, flaw = _widest(problem, theta), "the cone of consistent costs has too many rays to list"
        # The farthest cost is a ray only up to a right angle; beyond it a sum of rays may be farther than each of them.
        upper = upper if upper < 1.5707963267948966 or outer is None else np.pi
    return verdict(
        Statement(
            models="ellipsoid around the ends of the rays" if ellipsoid else "cost vector",
            quantity="log volume" if ellipsoid else "largest angle to a consistent cost",
            scope=f"{scope(problem)}{words}",
            flaw=flaw,
            trust=trust,
        ),
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=proof,
        problem_digest=problem_digest(problem),
        model_digest=digest("cost vector", {"theta": theta}),
        floor=1.0 if ellipsoid else 0.1,
    )


def _rays_flaw(problem: InverseProblem, proof: RayProof) -> str:
    prior = problem.prior
    shapes = proof.rays.ndim == 2 and proof.rays.shape == (len(proof.weights), prior.lower.size) and len(proof.weights) > 0
    if not shapes or not np.isfinite(proof.rays).all() or not np.isfinite(proof.weights).all() or not proof.weights.max() > 0:
        return "the proof is refused because rays and weights do not fit"
    if not np.abs(proof.rays).max(axis=1).min() > 0:
        return "the proof is refused because one of its rays is 0"
    ends = np.concatenate((prior.lower, prior.upper))
    if prior.total is not None or prior.psd or not np.all((ends == 0) | np.isinf(ends)) or prior.ceiling.any():
        return "the prior set is no cone of linear conditions"
    inside = np.all((proof.rays >= prior.lower) & (proof.rays <= prior.upper))
    rows = [
        [sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, ray, strict=True)) for row in prior.matrix]
        for ray in proof.rays
    ]
    if not inside or any(value > 0 for row in rows for value in row):
        return "the proof is refused because one of its rays lies outside the prior set"
    return ""


def _explained(problem: InverseProblem, rays: FloatArray, proofs: Any) -> tuple[str, str]:
    """What is wrong with the rays, and what is not proven about them, or nothing."""
    nothing = type(problem.distance)("none", "none")
    trust = ""
    for k, ray in enumerate(rays):
        for i, example in enumerate(problem.examples):
            points = listed(example.instance.decisions)
            if points is not None:
                points = points[np.any(points != example.response, axis=1)]
                if len(points) == 0:
                    continue
                gains = slopes(example, points) @ ray
                # Ties are decided without rounding.
                doubtful = points[gains.high > 0]
                near = float(gains.high.max(initial=0.0)) <= NEAR * float(
                    np.abs(ray).max() * slopes(example, points).size.max()
                )
                bound = 1.0 if not near else max((_exact_gain(example, point, ray) for point in doubtful), default=0.0)
            else:
                found = decision_bound(example, enclose(ray), nothing, None if proofs is None else proofs[k][i])
                near, bound = found is None or found <= NEAR * float(np.abs(ray).max()), 1.0 if found is None else found
            if not near:
                return f"the proof is refused because one of its rays does not explain observation {example.instance.index}", ""
            if bound > 0 and not trust:
                trust = f"ray {k} of the proof explains observation {example.instance.index}"
    return "", trust


def _exact_gain(example: Any, point: FloatArray, ray: FloatArray) -> float:
    """The sign of what a decision saves, without rounding."""
    slope = exact_slope(example, point, list(range(ray.size)))
    gain = sum((a * Fraction(float(b)) for a, b in zip(slope, ray, strict=True)), Fraction(0))
    return float((gain > 0) - (gain < 0))


def _outer_rays(problem: InverseProblem, proof: RayProof) -> Enclosure | None:
    """Extreme rays of the cone that decisions and prior set leave; None if it holds a line, or if they are too many."""
    prior, p = problem.prior, problem.prior.lower.size
    every = list(range(p))
    rows = [
        exact_slope(problem.examples[i], point, every) for i, point in zip(proof.owners.tolist(), proof.points, strict=True)
    ]
    eye = np.eye(p)
    rows += [[Fraction(float(a)) for a in row] for row in (*-eye[prior.lower == 0], *eye[prior.upper == 0], *prior.matrix)]
    whole = list(
        dict.fromkeys(_reduced([value * lcm(*(a.denominator for a in row)) for value in row]) for row in rows if any(row))
    )
    # Any p independent half-spaces have p rays; the others cut them.
    first: list[tuple[int, ...]] = []
    echelon: list[list[Fraction]] = []
    for row in whole:
        left = [Fraction(a) for a in row]
        for known in echelon:
            at = next(j for j in every if known[j])
            left = [a - left[at] / known[at] * b for a, b in zip(left, known, strict=True)]
        if any(left):
            echelon.append(left)
            first.append(row)
    if len(first) < p:
        return None
    rays = [_reduced(_solution(first, k)) for k in range(p)]
    done = list(first)
    for row in whole:
        if row in first:
            continue
        values = {ray: sum(a * b for a, b in zip(row, ray, strict=True)) for ray in rays}
        touch = {
            ray: frozenset(k for k, old in enumerate(done) if not sum(a * b for a, b in zip(old, ray, strict=True)))
            for ray in rays
        }
        fresh = []
        for high in (ray for ray in rays if values[ray] > 0):
            for low in (ray for ray in rays if values[ray] < 0):
                common = touch[high] & touch[low]
                if len(common) >= p - 2 and not any(common <= touch[ray] for ray in rays if ray not in (high, low)):
                    fresh.append(_reduced([values[high] * b - values[low] * a for a, b in zip(high, low, strict=True)]))
        rays = [ray for ray in rays if values[ray] <= 0] + fresh
        done.append(row)
        if len(rays) > MAX_RAYS:
            return None
    scaled = np.array([[float(Fraction(a, max(map(abs, ray)))) for a in ray] for ray in rays]).reshape(len(rays), p)
    return between(np.nextafter(scaled, -np.inf), np.nextafter(scaled, np.inf)) if len(rays) else enclose(scaled)


def _solution(rows: Sequence[tuple[int, ...]], k: int) -> list[Fraction]:
    """x with rows x = -e_k, in whole multiples."""
    n = len(rows)
    table = [[Fraction(a) for a in row] + [Fraction(-int(r == k))] for r, row in enumerate(rows)]
    for c in range(n):
        pivot = next(r for r in range(c, n) if table[r][c])
        table[c], table[pivot] = table[pivot], table[c]
        table[c] = [a / table[c][c] for a in table[c]]
        table = [
            row if r == c or not row[c] else [a - row[c] * b for a, b in zip(row, table[c], strict=True)]
            for r, row in enumerate(table)
        ]
    found = [row[-1] for row in table]
    return [a * lcm(*(b.denominator for b in found)) for a in found]


def _reduced(row: Sequence[Any]) -> tuple[int, ...]:
    whole = [int(a) for a in row]
    common = gcd(*whole) or 1
    return tuple(a // common for a in whole)


def _normalised(weights: FloatArray) -> Enclosure:
    """Weights over their sum."""
    clipped = enclose(np.maximum(weights, 0.0))
    return clipped / clipped.sum()


def _unit(rays: Enclosure) -> Enclosure:
    return rays / (rays * rays).sum(axis=1).sqrt()[:, None]


def _arccos(cosine: Enclosure) -> Enclosure:
    """It falls from pi to 0; NumPy's is taken to be right to 4 units in the last place, as its exp and log are."""
    low, high = (np.arccos(np.clip(end, -1.0, 1.0)) for end in (cosine.high, cosine.low))
    return between(low * (1.0 - 2.0**-50), high * (1.0 + 2.0**-50))


def _angles(few: FloatArray | Enclosure, many: Enclosure) -> FloatArray:
    """At or above the angles of all ``many`` vectors to the nearest of ``few``: twice the arc sine of half their chord."""
    near, far = _unit(enclose(few)), _unit(many)
    apart = [far - near[k][None, :] for k in range(near.shape[0])]
    chords = [(each * each).sum(axis=1).sqrt().high for each in apart]
    return np.asarray(2.0 * np.arcsin(np.clip(np.min(chords, axis=0) / 2.0, 0.0, 1.0)) * (1.0 + 2.0**-49))


def _widest(problem: InverseProblem, theta: FloatArray) -> float:
    """The largest angle of a vector to whatever a prior set without negative entries holds; pi for other sets.

    The least <theta, c> over unit vectors c >= 0 is the smallest entry of theta, or minus the length of its negative part.
    """
    if not np.all(problem.prior.lower >= 0) or not theta.any():
        return float(np.pi)
    negative = enclose(np.minimum(theta, 0.0))
    least = -(negative * negative).sum().sqrt() if theta.min() < 0 else enclose(theta.min())
    return float(_arccos(least / (enclose(theta) * theta).sum().sqrt()).high)


def _log_det(form: Enclosure) -> tuple[Enclosure, Enclosure, float] | None:
    """log det of a positive definite matrix, T with T form T' = I + X, and a bound on the row sums of |X|; None if unproven."""
    axes = np.linalg.eigh((form.mid + form.mid.T) / 2)[1]
    n = len(axes)
    turned, near = (enclose(axes.T) @ part @ enclose(axes) for part in (form, enclose(np.eye(n))))
    diagonal = turned[np.arange(n), np.arange(n)]
    if not diagonal.low.min() > 0:
        return None
    root = diagonal.sqrt()
    rest = [float(abs(part - np.eye(n)).sum(axis=1).high.max()) for part in (turned / root[:, None] / root[None, :], near)]
    if max(rest) > 0.25:
        return None
    # |log det(I + X)| <= -n log(1 - ||X||) <= 2 n ||X|| for ||X|| <= 1/4; so for V' V.
    slack = enclose(2.0 * n) * (enclose(rest[0]) + rest[1])
    value = diagonal.log().sum()
    return between((value - slack).low, (value + slack).high), enclose(axes.T) / root[:, None], rest[0]


def _volumes(proof: RayProof) -> tuple[float, float, str]:
    """Bounds on the log volume, and what is not proven about the dimension."""
    weights = _normalised(proof.weights)
    ends = _unit(enclose(proof.rays))
    _, size, axes = np.linalg.svd(ends.mid - ends.mid.mean(axis=0), full_matrices=False)
    n = int((size > RANK_FRACTION * max(float(size[0]), 1e-300)).sum())
    if n == 0:
        return 0.0, 0.0, "" if len(proof.rays) == 1 else "the rays are one ray"
    flat = (ends - weights @ ends) @ axes[:n].T
    found = _log_det((flat * weights[:, None]).transposed @ flat)
    if found is None:
        return np.inf, -np.inf, ""
    value, turn, rest = found
    spread = (value + n * enclose(float(n)).log()) * 0.5
    turned = flat @ turn.transposed
    largest = ((turned * turned).sum(axis=1) / (1.0 - enclose(rest))).max()
    blown = spread + n * 0.5 * (largest / float(n)).maximum(1.0).log()
    plane = "" if n == min(len(proof.rays) - 1, ends.shape[1]) else f"the ends of the rays lie in a plane of {n} dimensions"
    return float(blown.high), float(spread.low), plane


@np.errstate(all="ignore")
def certify_ellipsoid(
    problem: InverseProblem, cost: EllipsoidalCost, proof: EllipsoidProof | None, tolerance: float
) -> Certificate:
    """Judge a cost with an ellipsoid around it and what is said to prove it best."""
    require_tolerance(tolerance)
    require_cost(problem, cost.theta)
    prior, kappa, n, p = problem.prior, problem.kappa, len(problem.examples), cost.theta.size
    points = [listed(example.instance.decisions) for example in problem.examples]
    every = [slopes(example, each) for example, each in zip(problem.examples, points, strict=True) if each is not None]
    flaw, remark, upper, lower = "", "", np.inf, -np.inf
    if len(every) < n:
        flaw = "the decisions are too many to be listed, and nothing was checked"
    elif cost.shape.shape != (p, p) or not np.isfinite(cost.shape).all() or kappa <= 0:
        flaw = "the ellipsoid has no finite matrix of this order, or kappa is not above 0"
    moving = _moving(np.vstack([each.mid for each in every])) if not flaw else np.eye(p)
    if not flaw:
        inner = enclose(moving.T) @ ((enclose(cost.shape) + cost.shape.T) * 0.5) @ enclose(moving)
        extent = enclose(moving) @ inner
        values = [each @ cost.theta + ((each @ extent) * (each @ extent)).sum(axis=1).sqrt() for each in every]
        losses = np.array([max(0.0, float(each.high.max())) for each in values])
        outside = max(0.0, float(np.max(prior.lower - cost.theta)), float(np.max(cost.theta - prior.upper)))
        longer = float(((enclose(cost.theta) * cost.theta).sum().sqrt() - 1.0).high)
        size = max(float(each.size.max(initial=0.0)) for each in every)
        if max(longer, outside) > NEAR:
            flaw = "the cost vector is longer than 1, or outside its prior set"
        elif problem.hard and losses.max() > NEAR * size:
            reached = problem.examples[int(np.argmax(losses))].instance.index
            flaw = f"the room around the cost reaches a decision of observation {reached}"
        else:
            over = max(longer, outside, losses.max() if problem.hard else 0.0)
            remark = f"It meets its conditions to within {rounded_up(over, 3)}." if over > 0 else ""
            room = _log_det(inner)
            mean = enclose(0.0) if problem.hard else enclose(losses).sum() / float(n)
            upper = np.inf if room is None else float((mean - kappa * room[0]).high)
    if proof is not None and not flaw:
        flaw = decisions_flaw(problem, proof.owners, proof.points)
        if not flaw and not (len(proof.owners) == len(proof.weights) == len(proof.directions)):
            flaw = "the proof is refused because its parts differ in number"
        lower = -np.inf if flaw else _room_bound(problem, proof, moving)
    order = moving.shape[1]
    where = "" if order == p else f", with room in the {order} of {p} directions in which decisions vary"
    losses_in = "0 at most" if problem.hard else "its mean loss added"
    return verdict(
        Statement(
            models=f"cost vector of the prior set, of length 1 at most, and ellipsoid around it{where}",
            quantity=f"objective ({kappa:g} times minus the log determinant of the ellipsoid, losses being {losses_in})",
            scope=scope(problem),
            flaw=flaw,
            remark=remark,
        ),
        upper=upper,
        lower=lower,
        tolerance=tolerance,
        witness=proof,
        problem_digest=problem_digest(problem),
        model_digest=digest("cost with room", {"theta": cost.theta, "shape": cost.shape}),
        floor=kappa,
    )


def _moving(every: FloatArray) -> FloatArray:
    """Columns that span all slopes: the identity where they vary in every direction."""
    p = every.shape[1]
    _, size, axes = np.linalg.svd(np.linalg.qr(every / (np.abs(every).max(initial=0.0) or 1.0), mode="r"))
    rank = int((size > RANK_FRACTION * max(float(size.max(initial=0.0)), 1e-300)).sum())
    return np.eye(p) if rank == p else np.ascontiguousarray(axes[:rank].T)


def _room_bound(problem: InverseProblem, proof: EllipsoidProof, moving: FloatArray) -> float:
    """The lower bound of the module docstring; -inf if it proves nothing."""
    n, order, kappa, prior = len(problem.examples), moving.shape[1], enclose(problem.kappa), problem.prior
    sort = np.argsort(proof.owners, kind="stable")
    if len(sort) == 0 or not (np.isfinite(proof.weights).all() and np.isfinite(proof.directions).all()):
        return -np.inf
    owners, weights = proof.owners[sort], enclose(np.maximum(proof.weights[sort], 0.0))
    if not problem.hard:
        sums = weights.sums_by_place(owners, n)
        weights = weights / (sums * n).maximum(1.0)[owners]
    along = enclose(proof.directions[sort])
    unit = along / (along * along).sum(axis=1).sqrt().maximum(1.0)[:, None]
    steep = cuts(problem, proof.owners, proof.points)[0]
    moment = enclose(moving.T) @ ((unit * weights[:, None]).transposed @ steep) @ enclose(moving)
    found = _log_det((moment + moment.transposed) * 0.5)
    if found is None:
        return -np.inf
    gradient = weights @ steep
    useful = ((gradient.high > 0) & (prior.lower < 0)) | ((gradient.low < 0) & (prior.upper > 0))
    length = (gradient[useful] * gradient[useful]).sum().sqrt()
    return float((-length + kappa * float(order) * (1.0 - kappa.log()) + kappa * found[0]).low)
