"""Random chance-constrained SVMs of 4 to 60 inputs in ordinary settings: certificates against an independent cone programme.

The campaign ``verdicts`` judges thousands of tiny problems with 60 digits, odd ones among them. Here problems have the sizes
that people have, and the questions are whether a verdict is false and whether a solve ends without a proof.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from measure import say
from svm_conic_model import ConicModel, Values
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits

from surefoot import ChanceConstrainedSVC
from surefoot.chancesvm.estimator.chance_svc_proof import read_rows
from surefoot.chancesvm.estimator.svm_settings import read_settings
from surefoot.core.arrays import AnyArray, FloatArray

DESCRIPTION = "500 random uncertain-input problems of several sizes: certificates against an independent cone programme"
KERNELS, COVARIANCES = ("linear", "poly", "rbf"), ("auto", "batch", "pooled")
FEWEST, MOST, MOST_REPEATS, MOST_COLUMNS = 4, 60, 8, 12
# What doubles of the reference may be off by, over the objective.
ROUNDING = 1e-9
FINDINGS = ("false_verdict", "false_bound", "stall", "no_reference")
SAID_EVERY = 50


@dataclass(frozen=True)
class Drawn:
    """Readings of inputs with their labels, and the parameters of the model."""

    X: FloatArray
    y: AnyArray
    groups: AnyArray
    params: dict[str, Any]
    offset: float


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--problems", type=int, help="random problems (default: 500; quick: 12)")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem")


def run(options: argparse.Namespace) -> Report:
    """Draw, fit and judge, and say what was found."""
    count = options.problems or (12 if options.quick else 500)
    rows = []
    for at in range(count):
        rows.append(_trial(options.seed + at))
        for kind in (kind for kind in FINDINGS if rows[-1][kind]):
            say(f"seed {options.seed + at}: {kind}")
        if (at + 1) % SAID_EVERY == 0:
            say(f"{at + 1} of {count}")
    apart = [float(row["above_reference"] or 0) for row in rows]
    return Report(
        name="chance_verdicts",
        title="Certificates of uncertain inputs against an independent cone programme",
        tables=[
            Table("chance_verdicts_summary", "By kernel, covariance and size", _summary(rows)),
            Table("chance_verdicts", "Problem by problem", rows, on_page=False),
        ],
        findings=[
            f"{count} problems: verified {_count(rows, 'verified')}, false verdicts {_count(rows, 'false_verdict')}, false "
            f"bounds {_count(rows, 'false_bound')}, solves without a proof {_count(rows, 'stall')}, without a reference "
            f"{_count(rows, 'no_reference')}.",
            f"Objectives of models over those of the reference, less 1: {min(apart):.1e} to {max(apart):.1e}.",
        ],
        method=[
            f"Each problem: {FEWEST} to {MOST} inputs (all sizes of a logarithmic scale as likely), up to {MOST_REPEATS} "
            f"repeats, 1 to {MOST_COLUMNS} columns, classes that overlap or not; linear, quadratic, cubic and RBF kernels; "
            "columns in units of 1e-4 to 1e4 with offsets of up to a thousand of their deviations where standardize is True, "
            "one unit and no offset where it is False; C from 0.1 to 1000, violation from 0.05 to 0.95, covariance 'auto', "
            "'batch' or 'pooled', the default solver and tolerance.",
            "Reference: benchmarks/svm_conic_model.py. Rows are put into standard units and compared by the kernel by code of "
            "its own; the samples of inputs that borrow deviations are those of the model, which the campaign 'verdicts' holds "
            "against their definition.",
            "false verdict: verified, and more than the tolerance above the reference, or with an upper bound below the "
            f"model's own objective. false bound: a lower bound above the reference. Both beyond {ROUNDING:g} of the "
            "objective, for the doubles of the reference. stall: not ended as optimal, or not verified. flat: w = 0 "
            "is the optimum.",
        ],
        not_measured=["Extreme settings and other ways to pose a problem: see `verdicts`."],
    )


def draw(seed: int) -> Drawn:
    """Readings of inputs of two classes in ordinary settings."""
    rng = np.random.default_rng(seed)
    count, columns = int(np.exp(rng.uniform(np.log(FEWEST), np.log(MOST + 1)))), int(rng.integers(1, MOST_COLUMNS + 1))
    labels = np.arange(count) % 2 == 1
    true = rng.normal(size=(count, columns)) + rng.uniform(0.0, 3.0) * np.outer(labels, rng.normal(size=columns))
    sizes = rng.integers(1, MOST_REPEATS + 1, size=count)
    groups = np.repeat(np.arange(count), sizes)
    noise = rng.uniform(0.05, 0.5) * np.exp(rng.uniform(0, 0.5) * rng.normal(size=count))
    X = true[groups] + noise[groups, None] * rng.normal(size=(groups.size, columns))
    standardize, offset = bool(rng.random() < 0.75), 0.0
    if standardize:
        offset = float(10.0 ** rng.uniform(-1, 3))
        X = (X + offset * rng.choice([-1.0, 1.0], size=columns)) * 10.0 ** rng.uniform(-4, 4, size=columns)
    params: dict[str, Any] = {
        "kernel": str(rng.choice(KERNELS)), "degree": int(rng.integers(2, 4)), "C": float(10.0 ** rng.uniform(-1, 3)),
        "violation": float(rng.uniform(0.05, 0.95)), "covariance": str(rng.choice(COVARIANCES)), "standardize": standardize,
    }  # fmt: skip
    return Drawn(X, labels[groups], groups, params, offset)


def _trial(seed: int) -> dict[str, Cell]:
    drawn = draw(seed)
    started = time.process_time()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # What a warning says is counted below, or beside the point.
        warnings.simplefilter("ignore")
        model = ChanceConstrainedSVC(**drawn.params).fit(drawn.X, drawn.y, groups=drawn.groups)
        seconds = time.process_time() - started
        conic, scores = reference(drawn, model)
        best = conic.least()
    certificate, square = model.certificate_, _squared_length(conic, model)
    own = conic.objective(scores, square, 0.0)
    slack = ROUNDING * max(abs(best), abs(own))
    return {
        "seed": seed, "inputs": len(conic.labels), "samples": len(conic.products), "columns": drawn.X.shape[1],
        "offset": drawn.offset, **drawn.params, "status": model.outcome_.status.value, "verified": certificate.verified,
        "objective": own, "reference": best, "above_reference": (own - best) / max(abs(best), np.finfo(float).tiny),
        "flat": bool(square == 0.0), "false_verdict": is_false(certificate, own, best, slack),
        "false_bound": bool(certificate.lower_bound > best + slack),
        "stall": model.outcome_.status.value != "optimal" or not certificate.verified,
        "no_reference": bool(best > own * (1.0 + certificate.tolerance) + slack), "seconds": seconds,
    }  # fmt: skip


def is_false(certificate: Any, own: float, best: float, slack: float) -> bool:
    """Whether a certificate verifies what the reference refutes."""
    beaten = own > best * (1.0 + certificate.tolerance) + slack
    return bool(certificate.verified and (beaten or certificate.upper_bound < own - slack))


def reference(drawn: Drawn, model: Any) -> tuple[ConicModel, Values]:
    """The cone programme of a problem, and the scores of its samples by the model, intercept included."""
    params, inputs = drawn.params, np.unique(drawn.groups, return_index=True)[1]
    rows = (drawn.X - drawn.X.mean(axis=0)) / drawn.X.std(axis=0) if params["standardize"] else drawn.X
    starts = np.append(inputs, len(rows))
    weights = np.repeat(1.0 / np.diff(starts), np.diff(starts))
    given = drawn.X
    if "borrowed from each other" in model.certificate_.claim:
        settings = read_settings(model)
        posed = model._posed_again(*read_rows(drawn.X, drawn.y, drawn.groups, None, settings), settings).problem
        starts, weights, given = posed.starts, posed.weights, posed.samples
        rows = given
        if params["standardize"]:
            given = given * model.column_scales_ + model.column_means_
            rows = (given - drawn.X.mean(axis=0)) / drawn.X.std(axis=0)
    labels = np.where(drawn.y[inputs], 1.0, -1.0)
    costs = np.full(labels.size, params["C"] * len(drawn.X) / labels.size)
    violation = np.full(labels.size, params["violation"])
    return ConicModel(_products(rows, params, model), starts, weights, labels, costs, violation), model.decision_function(given)


def _products(rows: FloatArray, params: dict[str, Any], model: Any) -> Values:
    if params["kernel"] == "linear":
        return np.asarray(rows @ rows.T)
    if params["kernel"] == "poly":
        return np.asarray((model.gamma_ * (rows @ rows.T) + 1.0) ** params["degree"])
    squares = np.square(rows[:, None, :] - rows[None]).sum(axis=2)
    return np.asarray(np.exp(-model.gamma_ * squares))


def _squared_length(conic: ConicModel, model: Any) -> float:
    coefficients = np.zeros(len(conic.products))
    coefficients[model.support_] = model.dual_coef_[0]
    return float(coefficients @ conic.centred @ coefficients)


def _summary(rows: Sequence[dict[str, Cell]]) -> list[dict[str, Cell]]:
    found: list[dict[str, Cell]] = []
    for key, values in (("kernel", KERNELS), ("covariance", COVARIANCES), ("standardize", (True, False))):
        found += [_counted(f"{key} {value}", [row for row in rows if row[key] == value]) for value in values]
    for name, least, most in (("few inputs", FEWEST, 12), ("many inputs", 13, MOST)):
        own = [row for row in rows if least <= float(row["inputs"] or 0) <= most]
        found.append(_counted(f"{name} ({least} to {most})", own))
    return [row for row in found if row["problems"]]


def _counted(name: str, rows: Sequence[dict[str, Cell]]) -> dict[str, Cell]:
    seconds = float(np.mean([float(row["seconds"] or 0) for row in rows])) if rows else None
    counts: dict[str, Cell] = {kind: _count(rows, kind) for kind in FINDINGS}
    return {
        "with": name,
        "problems": len(rows),
        "flat": _count(rows, "flat"),
        "verified": _count(rows, "verified"),
        **counts,
        "cpu_seconds": seconds,
    }


def _count(rows: Sequence[dict[str, Cell]], name: str) -> int:
    return sum(bool(row[name]) for row in rows)
