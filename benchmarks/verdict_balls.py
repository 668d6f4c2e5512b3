"""A second opinion on the arithmetic: the certificate of one drawn problem in doubles and in the balls of python-flint.

Both enclose the same real numbers, so neither lower bound may lie above the other's upper bound, and balls must verify what
doubles verified: anything else is a contradiction. Balls have more digits, so they may prove what rounding leaves open in
doubles: that is honest, and named as what it is.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from verdict_fits import begin
from verdict_record import BALLS_PROVE, BALLS_REFUSE, CONTRADICTED, CRASH, Record

import surefoot as sf
from surefoot.core.certificate import Certificate
from surefoot.exceptions import CertificateError

DRAWS = 60
MISSES = ("lies outside its prior set by at most", "is not proven to be 0, but at most", "meets its conditions to within")
Given = tuple[tuple[Any, ...], dict[str, Any]]
# What a fit, and verifying it, take of a drawn case.
GIVEN: dict[str, Callable[[Any], Given]] = {
    "robust": lambda case: ((case.X, case.y), {"sample_weight": case.weight}),
    "cards": lambda case: ((case.X, case.y), {"sample_weight": case.weight}),
    "svm": lambda case: ((case.X, case.y), {"sample_weight": case.weight, "groups": case.given_groups}),
    "inverse": lambda case: ((case.signals, case.responses), {}),
}


def compared(family: str, seed: int) -> Record:
    """The first problem drawn that has an answer, judged twice."""
    record, rng = begin(family, seed)
    record.balls = True
    module, given = importlib.import_module(f"verdict_{family}"), GIVEN[family]
    for _ in range(DRAWS):
        record.settings = []
        case = module.draw(rng, record)
        case.params.pop("time_limit", None)
        rows, named = given(case)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = module.estimator(case).fit(*rows, **named)
            except (ValueError, RuntimeError):
                continue  # an error is judged by the trial of the same problem
            judge_twice(record, lambda arithmetic: sf.verify(model, *rows, **named, arithmetic=arithmetic))  # noqa: B023
        return record
    return record


def judge_twice(record: Record, verified_in: Callable[[str], Certificate]) -> None:
    """Ask for both certificates, and note where they differ."""
    found: list[Certificate] = []
    for arithmetic in ("double", "ball"):
        try:
            found.append(verified_in(arithmetic))
        except CertificateError as error:
            refuted = arithmetic == "ball" and found and found[0].verified
            record.add(BALLS_REFUSE if refuted else CONTRADICTED, f"in {arithmetic}: {error}")
        except Exception as error:
            record.add(CRASH, f"in {arithmetic}: {type(error).__name__}: {error}")
    if len(found) < 2:
        return
    record.answered = True
    double, ball = found
    record.verified = bool(double.verified)
    if double.verified != ball.verified:
        gaps = f"gaps {double.relative_gap:.3e} in doubles and {ball.relative_gap:.3e} in balls, tolerance {ball.tolerance:.1e}"
        record.add(BALLS_PROVE if ball.verified else BALLS_REFUSE, gaps)
    # A cost that misses its conditions by rounding, as its claim says, is no member of the class that the lower bound is about.
    slack = double.tolerance * abs(double.upper_bound) if any(words in double.claim + ball.claim for words in MISSES) else 0.0
    if double.lower_bound > ball.upper_bound + slack or ball.lower_bound > double.upper_bound + slack:
        bounds = [(each.lower_bound, each.upper_bound) for each in found]
        record.add(CONTRADICTED, f"bounds exclude each other: {bounds}")
    if (double.problem_digest, double.model_digest) != (ball.problem_digest, ball.model_digest):
        record.add(CONTRADICTED, "the two certificates are about different problems or models")
