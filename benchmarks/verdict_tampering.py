"""Tampered answers: a proven model is changed in one place and judged again. Only what is still true may be verified.

What is changed: the numbers of the answer, the arrays of the witness, the rows or settings it is judged on, bytes of its file,
and, where the library can verify a model again, fields of a file with its digests made to fit and attributes in memory.
"""

from __future__ import annotations

import copy
import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import verdict_cards
import verdict_inverse
import verdict_robust
import verdict_svm
from numpy.typing import NDArray
from verdict_changes import changed, changed_witness, damaged, resealed
from verdict_fits import begin
from verdict_numbers import exact
from verdict_record import CRASH, FALSE_VERDICT, NO_REFERENCE, REFUSED, UNVERIFIED, Record, judge

import surefoot as sf
from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.core.certificate import Certificate
from surefoot.inverse.certificate.certificate import certify_cost
from surefoot.inverse.estimator.posed_distance import posed_distance
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import InverseProblem, Regularizer
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.problem.problem import RiskScore
from surefoot.robust.certificate.certificate import certify_robust_logistic

NOTHING, BYTES, FIELD, MEMORY = "nothing", "bytes of the file", "field of the file, resealed", "attribute in memory"
# Where a model can be verified again, whatever was done to it.
VERIFY: Callable[..., Certificate] | None = getattr(sf, "verify", None)
DRAWS = 60

Judge = Callable[[Certificate | None], None]


def tampered_robust(seed: int) -> Record:
    """A robust model, or its plan, rows, prices or file."""
    record, rng = begin("robust", seed)
    case, model = _proven(verdict_robust, rng, record, lambda case: (case.X, case.y, case.weight))
    if model is None:
        return record
    rows = verdict_robust.read(case, model)
    numeric, levels = model.coef_[0][: case.n_numeric].copy(), _all_levels(rows.n_levels, model.coef_[0][case.n_numeric :])
    answer = [float(model.intercept_[0]), numeric, levels, float(model.dual_price_)]
    plan = model.certificate_.witness
    kind = _kind(rng, record, "coefficients", "intercept", "price", "witness", "rows", "labels", "radius")

    def judged(certificate: Certificate, of: Any) -> None:
        at_price, least = verdict_robust.objectives(rows, verdict_robust.model_of(rows, of))
        judge(record, certificate, at_price, verdict_robust.best_known(rows, None), least=least)

    if kind in (BYTES, FIELD, MEMORY):
        _retold(record, rng, kind, model, (case.X, case.y), {"sample_weight": case.weight}, ("coef_", "intercept_"), judged)
        return record
    if kind == "coefficients":
        joined = np.concatenate((numeric, levels))
        joined = changed(rng, joined)
        numeric, levels = joined[: case.n_numeric], joined[case.n_numeric :]
        levels[np.concatenate(([0], np.cumsum(rows.n_levels)[:-1])).astype(int)[: len(rows.n_levels)]] = 0.0
        answer[1:3] = numeric, levels
    elif kind == "intercept":
        answer[0] = float(changed(rng, np.array([answer[0]]))[0]) if case.params["fit_intercept"] else answer[0]
    elif kind == "price":
        answer[3] = max(0.0, float(changed(rng, np.array([answer[3]]))[0]))
    elif kind == "witness":
        plan = changed_witness(rng, plan)
    elif kind == "rows" and case.n_numeric:
        rows = replace(rows, numeric=changed(rng, rows.numeric))
    elif kind == "labels":
        flipped = np.arange(rows.labels.size) == rng.integers(rows.labels.size)
        rows = replace(rows, labels=np.where(flipped, -rows.labels, rows.labels))
    elif kind == "radius":
        rows = replace(rows, radius=float(abs(changed(rng, np.array([rows.radius]))[0])))

    def certified() -> Certificate:
        cost = sf.GroundCost(rows.gamma, rows.delta, rows.kappa, rows.norm, numeric_ranges=rows.ranges)
        problem = sf.RobustLogisticProblem(
            rows.numeric, rows.codes.astype(np.int32), np.array(rows.n_levels, dtype=np.int32), rows.labels, rows.weights, cost,
            rows.radius, rows.intercept,
        )  # fmt: skip
        return certify_robust_logistic(problem, sf.RobustCoefficients(*answer), plan, model.certificate_.tolerance)

    certificate = _asked(record, certified)
    if certificate is not None and np.isfinite(np.concatenate(([answer[0], answer[3]], answer[1], answer[2]))).all():
        blocks = np.split(exact(answer[2]), np.cumsum(rows.n_levels)[:-1]) if rows.n_levels else []
        told = verdict_robust.Model(Decimal(answer[0]), exact(answer[1]), blocks, Decimal(answer[3]))
        at_price, least = verdict_robust.objectives(rows, told)
        judge(record, certificate, at_price, verdict_robust.best_known(rows, None), least=least)
    return _only_false(record)


def tampered_cards(seed: int) -> Record:
    """A card, or its proof, rows, limits or file."""
    record, rng = begin("cards", seed)

    def plain(case: Any) -> None:
        # Default prices of shifts are rounded in their own way, and a proof knows the problem it is about to the last bit.
        case.params["radius"] = 0.0

    case, model = _proven(verdict_cards, rng, record, lambda case: (case.X, case.y, case.weight), plain)
    if model is None:
        return record
    card, proof = verdict_cards.card_of(model), model.certificate_.witness
    kind = _kind(rng, record, "points", "intercept", "witness", "witness", "rows", "labels", "penalty", "limits")
    if kind == "rows" and case.rules:  # what rules say of groups and shares was drawn for the rows as they were
        kind = record.tampered = "labels"
    if case.params["scale"] == "free" and rng.random() < 0.3:
        kind = record.tampered = "multiplier"

    def judged(certificate: Certificate, of: Any) -> None:
        verdict_cards.judge_card(record, case, certificate, verdict_cards.card_of(of), verdict_cards.reference(case)[0])

    if kind in (BYTES, FIELD, MEMORY):
        _retold(record, rng, kind, model, (case.X, case.y), {"sample_weight": case.weight}, ("coef_", "intercept_"), judged)
        return record
    most = case.params["max_points"]
    if kind == "points":
        points = card.points.copy()
        points[rng.integers(points.size)] = rng.integers(-most - 1, most + 2)
        card = replace(card, points=points)
    elif kind == "intercept":
        card = replace(card, intercept=int(card.intercept + rng.choice([-2, -1, 1, 2])))
    elif kind == "multiplier":
        card = replace(card, multiplier=Decimal(float(card.multiplier) * float(rng.uniform(0.5, 1.5))))
    elif kind == "witness":
        proof = changed_witness(rng, proof)
    elif kind == "rows":
        drawn = np.where(np.abs(case.X) <= 1, np.round(rng.random(case.X.shape)), case.X)
        case.X = drawn if rng.random() < 0.5 else changed(rng, case.X)
    elif kind == "labels":
        at = case.counting[rng.integers(case.counting.size)]
        case.y[at] = 1 - case.y[at]
    elif kind == "penalty":
        case.params["sparsity_penalty"] = float(case.params["sparsity_penalty"] * 10.0 ** rng.uniform(-3, 3) + 1e-3)
    elif kind == "limits":
        most = case.params["max_points"] = most + 1
        case.params["max_features"] = None

    def certified() -> Certificate:
        problem = verdict_cards.estimator(case)._pose(case.X, case.y, case.weight)[1].problem
        given = RiskScore(card.intercept, card.points.astype(np.int32), float(card.multiplier))
        # As in a fit: without a proof the card's own coefficients are where a tangent is taken.
        tangent = np.append(card.intercept, card.points) / float(card.multiplier) if proof is None else None
        return certify_risk_score(
            problem, given, proof, model.certificate_.tolerance, tangent=tangent, price=problem.price(given)
        )

    certificate = _asked(record, certified)
    if certificate is not None:
        verdict_cards.judge_card(record, case, certificate, card, verdict_cards.reference(case)[0])
    return _only_false(record)


def tampered_svm(seed: int) -> Record:
    """A plane, or its mix, samples, prices or file."""
    record, rng = begin("svm", seed)
    case, model = _proven(verdict_svm, rng, record, lambda case: (case.X, case.y, case.given_groups, case.weight))
    if model is None:
        return record
    inputs = verdict_svm.read(case, model)
    plane, start = verdict_svm.plane_of(case, inputs, model)
    coefficients, intercept = plane.astype(np.float64), float(start)
    seen = {"centre": None if inputs.centre is None else tuple(inputs.centre.tolist()), "added": float(inputs.added)}
    mix = model.certificate_.witness
    kind = _kind(rng, record, "plane", "plane", "intercept", "witness", "witness", "rows", "labels", "C")

    def judged(certificate: Certificate, of: Any) -> None:
        again = verdict_svm.read(case, of)
        verdict_svm.judge_plane(record, certificate, again, verdict_svm.gram(again), *verdict_svm.plane_of(case, again, of))

    if kind in (BYTES, FIELD, MEMORY):
        asked = {"sample_weight": case.weight, "groups": case.given_groups}
        _retold(record, rng, kind, model, (case.X, case.y), asked, ("dual_coef_", "intercept_"), judged)
        return record
    if kind == "plane":
        coefficients = changed(rng, coefficients)
    elif kind == "intercept":
        intercept = float(changed(rng, np.array([intercept]))[0])
    elif kind == "witness":
        mix = changed_witness(rng, mix)
    elif kind == "rows" and inputs.kernel != "precomputed":
        inputs = replace(inputs, X=changed(rng, inputs.X))
    elif kind == "labels":
        labels = [-label for label in inputs.labels] if rng.random() < 0.5 else list(inputs.labels)
        labels[int(rng.integers(len(labels)))] *= -1
        inputs = replace(inputs, labels=labels if len(set(labels)) > 1 else [-label for label in inputs.labels])
    elif kind == "C":
        factor = float(10.0 ** rng.uniform(-2, 2))
        scaled = [Decimal(float(cost) * factor) for cost in inputs.costs]
        inputs = replace(inputs, costs=scaled, rounded_costs=scaled)
    order = np.concatenate(inputs.members)

    def certified() -> Certificate:
        gamma, degree, coef0 = float(inputs.gamma), inputs.degree, float(inputs.coef0)
        kernel = Kernel(inputs.kernel, gamma=gamma, degree=degree, coef0=coef0, **seen)  # type: ignore[arg-type]
        starts = np.concatenate(([0], np.cumsum([rows.size for rows in inputs.members])))
        samples = inputs.X[np.ix_(order, order)] if inputs.kernel == "precomputed" else inputs.X[order]
        shares = np.concatenate([np.array([float(part) for part in block]) for block in inputs.rounded])
        count = len(inputs.members)
        problem = ChanceSVMProblem(
            samples, starts, np.array(inputs.labels, dtype=float),
            np.array([float(cost) for cost in inputs.rounded_costs or inputs.costs]),
            np.full(count, case.params["violation"]), kernel, shares,
        )  # fmt: skip
        return certify_chance_svm(problem, KernelPlane(coefficients[order], intercept), mix, model.certificate_.tolerance)

    certificate = _asked(record, certified)
    if certificate is not None and np.isfinite(coefficients).all() and math.isfinite(intercept):
        products = verdict_svm.gram(inputs)
        verdict_svm.judge_plane(record, certificate, inputs, products, exact(coefficients), Decimal(intercept))
    return _only_false(record)


def tampered_inverse(seed: int) -> Record:
    """A cost, or its proof, observations, settings or file."""
    record, rng = begin("inverse", seed)

    def plain(case: Any) -> bool:
        case.params["approach"] = str(rng.choice(["asl", "incenter", "suboptimality"]))
        if case.intervals is not None:
            case.params["approach"] = "asl"
        if case.params["approach"] == "asl":
            case.params["kappa"] = max(case.params["kappa"], 1e-3)
        return True

    case, model = _proven(verdict_inverse, rng, record, lambda case: (case.signals, case.responses), plain)
    if model is None:
        return record
    theta, proof = np.array(model.cost_, dtype=float), model.certificate_.witness
    losses = list(model.outcome_.dual.losses)
    kinds = ["cost", "cost", "witness", "witness", "losses", "responses", "kappa", "distance"]
    # Functions do not travel in files.
    kind = _kind(rng, record, *kinds, files=case.params["features"] is None and not callable(case.params["distance"]))

    def judged(certificate: Certificate, of: Any) -> None:
        verdict_inverse.judge_cost(record, case, certificate, np.asarray(of.cost_, dtype=float))

    if kind in (BYTES, FIELD, MEMORY):
        _retold(record, rng, kind, model, (case.signals, case.responses), {}, ("cost_",), judged)
        return record
    if kind == "cost":
        theta = changed(rng, theta)
    elif kind == "witness":
        proof = changed_witness(rng, proof)
    elif kind == "losses":
        at = int(rng.integers(len(losses)))
        losses[at] = changed_witness(rng, losses[at]) if is_dataclass(losses[at]) else float(rng.normal())
    elif kind == "responses":
        at = int(rng.integers(len(case.responses)))
        case.responses[at] = case.decisions[at][rng.integers(len(case.decisions[at]))]
    elif kind == "kappa":
        case.params["kappa"] = float(case.params["kappa"] * 10.0 ** rng.uniform(-2, 2))
    elif kind == "distance":
        known = _distances(case)
        case.params["distance"] = known[int(rng.integers(len(known)))]

    def certified() -> Certificate:
        params = case.params
        examples = tuple(
            params["forward"].example(i, signal, response, params["features"])
            for i, (signal, response) in enumerate(zip(case.signals, case.responses, strict=True))
        )
        center = np.zeros(case.p) if params["center"] is None else np.asarray(params["center"], dtype=float)
        asked = params["distance"], params["approach"], params["features"]
        examples, distance = posed_distance(examples, case.signals, *asked)
        problem = InverseProblem(
            examples, distance, Regularizer(params["regularizer"], center), params["kappa"],
            PriorSet.of(params["prior"], case.p, psd=int(isinstance(params["forward"], sf.inverse.forward.QuadraticProgram))),
            params["infeasible"] == "clamp",
        )  # fmt: skip
        task = APPROACHES[params["approach"]].pose(problem)
        return certify_cost(task, theta, proof, model.certificate_.tolerance, losses)

    certificate = _asked(record, certified) if np.isfinite(theta).all() else None
    if certificate is not None and "which was not recomputed" in certificate.claim:
        # Its bounds hold if what was said of a loss does, as the claim says; that is not to be verified.
        if certificate.verified:
            record.add(FALSE_VERDICT, f"verified on trust: {certificate.claim}")
    elif certificate is not None:
        verdict_inverse.judge_cost(record, case, certificate, theta)
    return _only_false(record)


# Forward problems whose unknowns are all whole, or listed.
ALL_WHOLE = (sf.inverse.forward.BinaryProgram, sf.inverse.forward.FiniteChoice)


def _distances(case: Any) -> tuple[Any, ...]:
    """The distances that decisions of a kind have."""
    if isinstance(case.params["forward"], sf.inverse.forward.EllipsoidProgram):
        return "squared-l2", "none"
    if isinstance(case.params["forward"], sf.inverse.forward.MixedIntegerProgram) and case.intervals is None:
        return (case.params["distance"],)
    listed = (*verdict_inverse.DISTANCES, "features", verdict_inverse.toll, verdict_inverse.uneven)
    return listed if isinstance(case.params["forward"], ALL_WHOLE) else ("linf", "none")


def _proven(
    family: Any, rng: np.random.Generator, record: Record, given: Callable[[Any], tuple[Any, ...]], plain: Any = None
) -> tuple[Any, Any]:
    """The first problem drawn whose fit is proven, and the fit."""
    for _ in range(DRAWS):
        case = family.draw(rng, record)
        if plain is not None and plain(case) is False:
            continue
        case.params.pop("time_limit", None)
        if "solver" in case.params:
            case.params["solver"] = "auto"
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = family.estimator(case).fit(*given(case))
            except (ValueError, RuntimeError):
                continue
        if model.certificate_.verified:
            return case, model
    record.tampered = "no proven fit"
    return None, None


def _kind(rng: np.random.Generator, record: Record, *kinds: str, files: bool = True) -> str:
    told = ((BYTES, FIELD, MEMORY) if VERIFY is not None else (BYTES,)) if files else ((MEMORY,) if VERIFY is not None else ())
    record.tampered = str(rng.choice([NOTHING, *kinds, *told]))
    return record.tampered


def _asked(record: Record, certified: Callable[[], Certificate]) -> Certificate | None:
    """The certificate, or None if the answer was refused with an error of the library."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return certified()
        except ValueError:
            # CertificateError, or a problem that breaks its own conventions.
            return None
        except Exception as error:
            record.add(CRASH, f"{type(error).__name__}: {error}")
            return None


def _only_false(record: Record) -> Record:
    """To refuse a tampered answer is right; only what was not tampered with has to be verified."""
    for kind in (REFUSED, UNVERIFIED, NO_REFERENCE):
        if record.tampered != NOTHING:
            record.found.pop(kind, None)
    return record


def _all_levels(n_levels: list[int], coefficients: NDArray[Any]) -> NDArray[Any]:
    found, at = [np.zeros(0)], 0
    for count in n_levels:
        found.append(np.concatenate(([0.0], coefficients[at : at + count - 1])))
        at += count - 1
    return np.concatenate(found)


def _retold(
    record: Record,
    rng: np.random.Generator,
    kind: str,
    model: Any,
    given: tuple[Any, ...],
    asked: dict[str, Any],
    names: tuple[str, ...],
    judged: Callable[[Certificate, Any], None],
) -> None:
    """Change a file, or the model in memory, and judge what comes back."""
    if kind == MEMORY:
        again = copy.deepcopy(model)
        name = str(rng.choice(names))
        old = getattr(again, name)
        new = changed(rng, np.asarray(old, dtype=float))
        setattr(again, name, new if isinstance(old, np.ndarray) else type(old)(np.round(new)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.surefoot"
            sf.save(model, path)
            path.write_bytes(damaged(rng, path.read_bytes()) if kind == BYTES else resealed(rng, path.read_bytes()))
            loaded = _asked(record, lambda: sf.load(path))
        if loaded is None:
            return
        again = loaded
    if VERIFY is None:
        certificate: Certificate | None = again.certificate_
    else:
        extra = {name: value for name, value in asked.items() if value is not None}
        certificate = _asked(record, lambda: VERIFY(again, *given, **extra))
    if certificate is not None:
        judged(certificate, again)
    _only_false(record)
