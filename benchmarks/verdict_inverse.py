"""Inverse optimization against all decisions: every loss is a maximum over a list, every bound a programme over all of it.

Slopes phi(response) - phi(decision) and distances are computed with 60 digits; :mod:`verdict_decisions` has the reference.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import verdict_intervals
from numpy.typing import NDArray
from verdict_centres import judge_circumcenter, judge_ellipsoid, judge_volume, without_distance
from verdict_decisions import (
    EXPLAINED,
    Facts,
    consistent_exists,
    distance,
    inradius,
    losses,
    margin_exists,
    objective,
    outside,
    posed,
    reference,
    scale,
    unexplained,
)
from verdict_fits import begin, excuse_limit, fitted
from verdict_numbers import Numbers, exact, exactly
from verdict_record import EXTREME, FALSE_CLAIM, FALSE_VERDICT, NUMBER, POSED, REFUSED, UNVERIFIED, Record, judge, short

import surefoot as sf

FAMILY = "inverse"
ODD = (
    "attributes of 1e+-9", "thousands", "offset", "ties", "one observation", "one decision", "centre explains", "no distance",
    "tiny kappa", "huge kappa", "features alike", "no decision", "bounded prior", "tiny features", "duplicates",
    "1e-9 apart", "rows of 1e9", "euros, rooms, km", "empty prior",
)  # fmt: skip
APPROACHES = (
    "asl", "asl", "asl", "asl", "incenter", "incenter", "incenter", "suboptimality", "feasibility", "cutting-plane",
    "predictability", "circumcenter", "ellipsoidal-incenter", "ellipsoidal-asl", "ellipsoidal-circumcenter",
)  # fmt: skip
MEAN_OR_HARD = ("asl", "incenter", "suboptimality", "feasibility", "cutting-plane")
DISTANCES = ("l1", "l2", "linf", "squared-l2", "zero-one", "none")
# Measured between features, and by functions of the caller's: of decisions that can be listed.
LISTED = ("features", "auto", "function", "function")
MEMBER = Decimal("1e-7")
EMPTY = "the set is empty"


def toll(signal: Any, seen: Any, other: Any) -> float:
    """A distance that knows the signal and is no norm: a toll for every entry that differs, whatever the way back costs."""
    apart = np.abs(np.asarray(seen, dtype=float) - np.asarray(other, dtype=float))
    size = float(np.abs(np.asarray(signal[0] if isinstance(signal, tuple) else signal, dtype=float)).sum())
    return float(np.sum(np.log1p(apart) * np.arange(1, apart.size + 1))) + (0.25 if size > 3.0 and apart.any() else 0.0)


def uneven(signal: Any, seen: Any, other: Any) -> float:
    """No distance at all: what is more than was decided is ten times as far as what is less, and much of it is none."""
    apart = np.asarray(other, dtype=float) - np.asarray(seen, dtype=float)
    far = float(np.where(apart > 0, 10.0 * apart, -apart).sum())
    return far if far < 40.0 else 0.0


@dataclass
class Case:
    """Observations, and the parameters of the estimator."""

    signals: list[Any]
    decisions: list[NDArray[Any]]
    responses: list[NDArray[Any]]
    p: int
    params: dict[str, Any]
    intervals: list[Any] | None = None


def alike(signal: Any, x: Any) -> NDArray[Any]:
    """Features under which decisions look alike that differ in their last entry only."""
    given = np.asarray(x, dtype=float)
    return np.append(given[:-1], 0.0) if given.size > 1 else given


def tiny(signal: Any, x: Any) -> NDArray[Any]:
    return 1e-7 * np.asarray(x, dtype=float)


def bent(signal: Any, x: Any) -> NDArray[Any]:
    """Features that are not linear in the decision."""
    given = np.asarray(x, dtype=float)
    return np.append(given, given[0] * given[-1])


def draw(rng: np.random.Generator, record: Record) -> Case:
    """Random observations with random settings."""
    odd = set(rng.choice(ODD, size=int(rng.integers(1, 4)), replace=False)) if record.stratum == EXTREME else set()
    approach = str(rng.choice(APPROACHES))
    record.settings = sorted(map(str, odd))
    if rng.random() < 0.06:
        return _interval_case(rng, record, odd)
    n = int(rng.integers(2, 4))
    binary = rng.random() < 0.45 and not odd & {"attributes of 1e+-9", "thousands", "offset", "1e-9 apart", "euros, rooms, km"}
    function = alike if "features alike" in odd else tiny if "tiny features" in odd else None
    if function is None and not binary and rng.random() < 0.15:
        function = bent
    theta = np.round(rng.normal(size=n + (function is bent)), 2)
    prior = _prior(rng, odd, theta.size)
    if prior is not None and not isinstance(prior, dict):
        theta = np.abs(theta)
    noisy = rng.random() < 0.4
    count = 1 if "one observation" in odd else int(rng.integers(1, 6))
    scale = 10.0 ** rng.uniform(-9, 9, size=n) if "attributes of 1e+-9" in odd else np.ones(n)
    scale = scale * 1e4 if "thousands" in odd else scale
    scale = np.array([3e4, 3.0, 20.0])[:n] if "euros, rooms, km" in odd else scale
    # Over [0, 1]^n with so many ones at least the 0/1 vectors are the vertices, where convex losses are largest.
    kind = rng.random() if binary and approach in (*MEAN_OR_HARD, "circumcenter") and function is None else 1.0
    continuous, mixed = kind < 0.3, kind < 0.12
    signals: list[Any] = []
    decisions, responses = [], []
    for _ in range(count):
        if binary:
            signal, points = _binary(rng, n, whole=not continuous, large="rows of 1e9" in odd)
        else:
            size = 1 if "one decision" in odd and rng.random() < 0.5 else int(rng.integers(2, 6))
            points = np.round(rng.normal(scale=3.0, size=(size, n)), 0 if "ties" in odd or rng.random() < 0.5 else 3) * scale
            if "offset" in odd:
                points = points + 1e6
            if "duplicates" in odd:
                points[-1] = points[0]
            if "1e-9 apart" in odd:
                points[-1] = points[0] + 1e-9 * scale * rng.integers(-1, 2, size=n)
            signal = points
        prices = np.array([(theta / (np.append(scale, 1.0)[: theta.size])) @ _features(function, signal, x) for x in points])
        best = int(np.argmin(prices)) if not noisy or rng.random() < 0.5 else int(rng.integers(len(points)))
        response = points[best]
        if continuous and noisy and rng.random() < 0.5:
            between = (response + points[int(rng.integers(len(points)))]) / 2
            response = response if mixed else between
        if "no decision" in odd and rng.random() < 0.5:
            response = 1.0 - response if binary else response + scale
        signals.append(signal)
        decisions.append(points)
        responses.append(response)
    params: dict[str, Any] = {
        "approach": approach,
        "features": function,
        "distance": "none" if "no distance" in odd else str(rng.choice(DISTANCES[:5])),
        "regularizer": str(rng.choice(["l2", "l2", "l1"])),
        "center": None if rng.random() < 0.7 else np.round(rng.normal(size=theta.size), 2),
        "kappa": _kappa(rng, odd),
        "prior": prior,
        "infeasible": "clamp" if "no decision" in odd else "error",
    }
    if rng.random() < 0.2 and params["distance"] != "none" and not continuous:
        name = str(rng.choice(LISTED))
        params["distance"] = [toll, uneven][int(rng.integers(2))] if name == "function" else name
    if "centre explains" in odd:
        params["center"] = theta
    if approach == "circumcenter" or approach.startswith("ellipsoidal"):
        # These take cones of costs, and regularizers of their own.
        params |= {"prior": prior if prior == "nonnegative" else None, "center": None, "kappa": max(params["kappa"], 1e-3)}
    if rng.random() < 0.04:
        params["time_limit"] = float(10.0 ** rng.uniform(-6, -1))
    forward: Any = sf.inverse.forward.BinaryProgram() if binary else sf.inverse.forward.FiniteChoice()
    if continuous:
        forward = sf.inverse.forward.LinearProgram(lower=0.0, upper=1.0)
        params["distance"] = "none" if params["distance"] == "none" else "linf"
        record.settings.append("linear programmes")
    if mixed:
        # The first unknown is continuous; for whole others its ends are 0 or 1 as well.
        forward, signals = sf.inverse.forward.MixedIntegerProgram(), [(a[:, :1], a[:, 1:], b) for a, b in signals]
        whole = str(rng.choice(DISTANCES[:5]))
        params["distance"] = "none" if params["distance"] == "none" else ("linf", whole)
        record.settings.append("mixed programmes")
    elif approach in ("asl", "suboptimality") and rng.random() < 0.1:
        params |= {"solver": "samd", "max_iter": 300, "random_state": 0}
        record.settings.append("samd")
    params["forward"] = forward
    return Case(signals, decisions, responses, theta.size, params)


def _interval_case(rng: np.random.Generator, record: Record, odd: set[str]) -> Case:
    """One continuous unknown with a quadratic cost."""
    ellipsoid = bool(rng.random() < 0.5)
    record.settings.append("ellipsoids of decisions" if ellipsoid else "quadratic programmes")
    count = 1 if "one observation" in odd else int(rng.integers(1, 6))
    signals, responses, intervals = verdict_intervals.drawn(rng, count, ellipsoid=ellipsoid, noisy=rng.random() < 0.6)
    params = {
        "approach": "asl",
        "features": None,
        "distance": "none" if "no distance" in odd or rng.random() < 0.3 else "squared-l2" if ellipsoid else "linf",
        "regularizer": "l2",
        "center": np.array([1.0, 0.0]) if rng.random() < 0.7 else None,
        "kappa": max(_kappa(rng, odd), 1e-3),
        "prior": None,
        "infeasible": "error",
        "forward": verdict_intervals.forward(ellipsoid=ellipsoid),
    }
    return Case(signals, [verdict_intervals.grid(each) for each in intervals], responses, 2, params, intervals)


def _kappa(rng: np.random.Generator, odd: set[str]) -> float:
    if "tiny kappa" in odd:
        return float(10.0 ** rng.uniform(-9, -4))
    if "huge kappa" in odd:
        return float(10.0 ** rng.uniform(2, 6))
    return 0.0 if rng.random() < 0.4 else float(10.0 ** rng.uniform(-3, 1))


def _prior(rng: np.random.Generator, odd: set[str], p: int) -> Any:
    if "bounded prior" in odd:
        width = float(rng.choice([0.5, 1.0, 3.0]))
        if rng.random() < 0.4:
            # Some directions reach further than others.
            return (-rng.choice([0.0, 0.3, 1.0], p), rng.choice([0.2, 0.8, 1.0, np.inf], p))
        return (-width, width) if rng.random() < 0.5 else (np.zeros(p), np.full(p, width))
    if "empty prior" in odd:
        return {"A": np.vstack((np.eye(p)[:1], -np.eye(p)[:1])), "b": np.array([-1.0, float(rng.choice([0.5, 1.0, 1.5]))])}
    draws = rng.random()
    if draws < 0.5:
        return None
    if draws < 0.75:
        return "nonnegative"
    if draws < 0.92:
        return "simplex"
    return {"A": -np.eye(p)[:1], "b": np.zeros(1)}


def _binary(rng: np.random.Generator, n: int, *, whole: bool, large: bool = False) -> tuple[Any, NDArray[Any]]:
    """At least so many ones, and, for 0/1 unknowns, a random row that the all-ones vector keeps to."""
    matrix = np.vstack((-np.ones(n), rng.integers(-2, 3, size=n).astype(float)))
    ceiling = np.array([-float(rng.integers(1, n)), max(float(matrix[1].sum()), float(rng.integers(0, 3)))])
    if not whole:
        matrix, ceiling = matrix[:1], ceiling[:1]
    elif large:
        # With the first unknown the second is too much, by one part in a billion.
        matrix, ceiling = np.vstack((matrix, 1e9 * (np.arange(n) == 0) + (np.arange(n) == 1))), np.append(ceiling, 1e9)
        matrix[1], ceiling[1] = np.zeros(n), 0.0
    points = np.array([x for x in itertools.product((0.0, 1.0), repeat=n) if np.all(matrix @ np.array(x) <= ceiling)])
    return (matrix, ceiling), points


def _features(function: Any, signal: Any, x: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(x if function is None else function(signal, x), dtype=np.float64)


@exactly
def _read_intervals(case: Case, *, wider: bool) -> Facts:
    """The same for one continuous unknown: a grid of decisions, and the worst ones at any cost."""
    ellipsoid, name = isinstance(case.params["forward"], sf.inverse.forward.EllipsoidProgram), case.params["distance"]
    slopes, distances = [], []
    for points, response in zip(case.decisions, case.responses, strict=True):
        seen = exact(response)[0]
        own, rows = verdict_intervals.phi(seen, ellipsoid=ellipsoid), exact(points[:, 0])
        slopes.append(np.array([own - verdict_intervals.phi(y, ellipsoid=ellipsoid) for y in rows]))
        apart = [seen - y for y in rows]
        distances.append(np.array([Decimal(0) if name == "none" else d * d if ellipsoid else abs(d) for d in apart]))
    more = verdict_intervals.worst_decisions(case.responses, case.intervals or [], name, ellipsoid=ellipsoid, wider=wider)
    # Of quadratic programmes the cost is convex.
    lower = np.array([-np.inf if ellipsoid else 0.0, -np.inf])
    center = np.zeros(2) if case.params["center"] is None else case.params["center"]
    return Facts(
        slopes, distances, [True] * len(slopes), lower, np.full(2, np.inf), np.empty((0, 2)), np.empty(0), None, center,
        "l2", float(case.params["kappa"]), clamp=False, more=more,
    )  # fmt: skip


@exactly
def read(case: Case) -> Facts:
    """What the reference needs, from the raw arrays."""
    if case.intervals is not None:
        return posed(_read_intervals(case, wider=True), case.params["approach"])
    slopes, distances, inside = [], [], []
    name = case.params["distance"]
    if isinstance(name, str) and name == "auto":  # Definition 3.3 of the paper measures features
        name = "features" if case.params["approach"] == "incenter" and case.params["features"] is not None else "l2"
    for signal, points, response in zip(case.signals, case.decisions, case.responses, strict=True):
        own = exact(_features(case.params["features"], signal, response))
        slopes.append(np.array([own - exact(_features(case.params["features"], signal, x)) for x in points]))
        if callable(name):
            distances.append(exact([name(signal, response, x) for x in points]))
        elif name == "features":
            distances.append(np.array([distance("l2", slope) for slope in slopes[-1]]))
        else:
            distances.append(np.array([_apart(name, exact(response) - exact(x)) for x in points]))
        inside.append(bool((points == response).all(axis=1).any()))
    lower, upper, matrix, ceiling, whole = np.full(case.p, -np.inf), np.full(case.p, np.inf), np.empty((0, case.p)), [], None
    prior = case.params["prior"]
    if isinstance(prior, str):
        lower, whole = np.zeros(case.p), 1.0 if prior == "simplex" else None
    elif isinstance(prior, dict):
        matrix, ceiling = prior["A"], prior["b"]
    elif prior is not None:
        lower, upper = (np.broadcast_to(np.asarray(side, dtype=float), (case.p,)).copy() for side in prior)
    center = np.zeros(case.p) if case.params["center"] is None else np.asarray(case.params["center"], dtype=float)
    facts = Facts(
        slopes, distances, inside, lower, upper, np.asarray(matrix), np.asarray(ceiling, dtype=float), whole, center,
        case.params["regularizer"], float(case.params["kappa"]), case.params["infeasible"] == "clamp",
    )  # fmt: skip
    if case.params.get("solver") == "samd" and case.params["approach"] == "suboptimality":
        # Mirror descent looks for the least mean over the prior set itself, and says so.
        return replace(without_distance(facts), kappa=facts.kappa)
    return posed(facts, case.params["approach"])


def _apart(name: Any, apart: Numbers) -> Decimal:
    """One distance of all unknowns, or one of the first, which is continuous, and one of the others."""
    return distance(name, apart) if isinstance(name, str) else distance(name[0], apart[:1]) + distance(name[1], apart[1:])


def _named(distance: Any) -> str:
    return "of a function" if callable(distance) else str(distance)


def right_error(case: Case, error: Exception) -> bool:
    """Whether the sentence of an error is true."""
    if isinstance(error, sf.InconsistentDataError) and case.intervals is not None:
        return False
    if EMPTY in str(error):
        prior = case.params["prior"]
        return isinstance(prior, dict) and len(prior["b"]) == 2 and bool(prior["b"].sum() < 0)
    if isinstance(error, sf.ForwardSolveError) and "was found in time" in str(error):
        return "time_limit" in case.params
    facts = read(case)
    if isinstance(error, sf.InconsistentDataError) and "not proven that there is none" in str(error):
        return True
    if isinstance(error, sf.InconsistentDataError) and "by the distance asked for" in str(error):
        return not margin_exists(facts)
    if isinstance(error, sf.InconsistentDataError):
        # The cone that a sphere was cut out of is judged without rounding, where programmes with bounds of 1 see 1e-9.
        return not consistent_exists(read(replace(case, params=case.params | {"approach": "asl"})) if facts.sides else facts)
    if isinstance(error, sf.InvalidObservationError):
        return all(not any(slope) for g in facts.slopes for slope in g)
    return False


def estimator(case: Case) -> Any:
    return sf.inverse.InverseOptimizer(**case.params)


def trial(seed: int) -> Record:
    """Draw, fit, and hold the certificate against all decisions."""
    record, rng = begin(FAMILY, seed)
    case = draw(rng, record)
    limit = case.params.get("time_limit")
    record.settings += [case.params["approach"], f"distance {_named(case.params['distance'])}"]
    responses = [np.asarray(response) for response in case.responses]

    def fit() -> Any:
        try:
            return estimator(case).fit(case.signals, responses)
        except ValueError as error:
            if EMPTY not in str(error):
                raise
            # A sentence like others, to be judged.
            raise sf.InconsistentDataError(str(error)) from error

    model = fitted(record, fit, limit, lambda error: right_error(case, error))
    if model is None:
        return record
    if case.params["approach"] in ("ellipsoidal-incenter", "ellipsoidal-asl"):
        hard = case.params["approach"] == "ellipsoidal-incenter"
        judge_ellipsoid(record, read(case), model.certificate_, model.outcome_.primal, hard=hard)
    else:
        judge_cost(record, case, model.certificate_, np.asarray(model.cost_, dtype=float))
    excuse_limit(record, limit if case.params.get("solver") != "samd" or record.verified else 0.0)
    return record


def judge_cost(record: Record, case: Case, certificate: Any, cost: NDArray[Any]) -> None:
    """Hold a certificate against the exact objective of its cost and the reference of its approach."""
    facts, theta = read(case), exact(cost)
    approach = case.params["approach"]
    if approach == "predictability":
        _judge_prediction(record, facts, certificate, theta)
        return
    if approach == "circumcenter":
        judge_circumcenter(record, facts, certificate, cost)
        return
    if approach == "ellipsoidal-circumcenter":
        judge_volume(record, facts, certificate)
        return
    hard = approach in ("incenter", "cutting-plane")
    if approach == "cutting-plane" and "mean suboptimality loss" in certificate.claim:
        # Where no consistent cost is nearer to the guess than 0, the least suboptimality is sought instead. Which of the two
        # it was, the claim says; objectives do not tell, since both may be the same number.
        facts, hard = posed(replace(facts, kappa=0.0, kind="l2", center=np.zeros(facts.p)), "suboptimality"), False
    best = reference(facts, hard=hard)
    if hard and _broken(record, facts, certificate, theta):
        record.answered, record.verified = True, bool(certificate.verified)
        if certificate.verified:
            record.add(FALSE_VERDICT, f"verified, but an observation is not explained: {short(unexplained(facts, theta))}")
        else:
            record.add(UNVERIFIED, "an observation is not explained")
        return
    if certificate.verified and outside(facts, theta) > MEMBER:
        record.add(FALSE_VERDICT, f"verified outside its set by {short(outside(facts, theta))}")
    # What is no member of the class, if only by rounding, reaches nothing for it.
    member = outside(facts, theta) <= 0 and (not hard or unexplained(facts, theta) <= 0)
    reached = None if member else Decimal("Infinity")
    # A certificate may allow for a little more than the decisions that there are, as its claim says.
    nominal = facts if case.intervals is None else _read_intervals(case, wider=False)
    value = objective(nominal, theta, hard=hard)
    if case.intervals is not None and reached is None:
        reached = objective(facts, theta, hard=hard)
    judge(record, certificate, value, best, floor=scale(facts, theta), reached=reached)
    if approach == "incenter":
        _check_radius(record, facts, certificate)


@exactly
def _broken(record: Record, facts: Facts, certificate: Any, theta: Numbers) -> bool:
    """Whether an observation is not explained, beyond what the claim says of the largest loss."""
    largest = max(losses(facts, theta))
    said = re.search(rf"largest loss is not proven to be 0, but at most {NUMBER}", certificate.claim)
    if said and Decimal(said[1].lower()) < largest * (1 - POSED):
        record.add(FALSE_CLAIM, f"'largest loss at most {said[1]}' where it is {short(largest)}")
    return bool(unexplained(facts, theta) > EXPLAINED and largest > EXPLAINED * Decimal(scale(facts, theta)))


@exactly
def _judge_prediction(record: Record, facts: Facts, certificate: Any, theta: Numbers) -> None:
    """Predictability is verified at 0 only: then every response must be a best decision."""
    record.answered, record.verified = True, bool(certificate.verified)
    plain = without_distance(facts)
    explained = any(theta) and unexplained(plain, theta) <= EXPLAINED and all(facts.inside)
    none = all(not any(part) for part in facts.distances)
    if certificate.verified and not (explained or none):
        record.add(FALSE_VERDICT, f"verified, but a response is no best decision by {short(unexplained(plain, theta))}")
    if not certificate.verified and explained:
        record.add(REFUSED, f"all observations are explained: {certificate.claim}")
    elif not certificate.verified:
        record.add(UNVERIFIED, f"upper bound {certificate.upper_bound:.3g}")
    if certificate.lower_bound > certificate.upper_bound:
        record.add(FALSE_VERDICT, f"lower bound {certificate.lower_bound!r} above upper bound {certificate.upper_bound!r}")


def _check_radius(record: Record, facts: Facts, certificate: Any) -> None:
    """A sentence about the radius of the cone of consistent costs, against the largest ball in it."""
    for low, high in re.findall(rf"radius between {NUMBER} and {NUMBER}", certificate.claim):
        radius = inradius(facts)
        if radius is not None and not float(low) * (1 - 1e-6) <= radius <= float(high) * (1 + 1e-6):
            record.add(FALSE_CLAIM, f"'radius between {low} and {high}' where it is {radius:.9g}")
