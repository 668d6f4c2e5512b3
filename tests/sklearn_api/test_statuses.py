"""Every way in which a solve can end has words: in warnings, in reports and in files."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.outcome import Status, handed_over
from surefoot.exceptions import ConvergenceLimitWarning, SolveInterrupted
from surefoot.reports.model_section import ProofCheck, certificate_blocks, certificate_fact
from surefoot.sklearn_api.limit_warning import ADVICE, warn_of_limit


@pytest.fixture(scope="module")
def model() -> Any:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(40, 2))
    return sf.RobustLogisticRegression(radius=0.1).fit(X, (X[:, 0] + draw.normal(size=40) > 0).astype(int))


@pytest.mark.parametrize("status", Status)
def test_warnings_name_the_status_and_say_what_to_do(model: Any, status: Status) -> None:
    solution = SimpleNamespace(outcome=replace(model.outcome_, status=status), certificate=model.certificate_)
    with pytest.warns(ConvergenceLimitWarning) as caught:
        warn_of_limit(solution, "fit")
    (message,) = (str(warning.message) for warning in caught)
    assert ADVICE[status] in message
    assert status is not Status.STALLED or ("max_iter" not in message and "time_limit" not in message)
    # A solver's claim to be optimal that was not confirmed is no way in which the solve stopped.
    assert (f"({status.value} after" in message) == (status is not Status.OPTIMAL)


@pytest.mark.parametrize("least", [0.0, 0.03125])
def test_a_relative_gap_is_told_beside_what_it_is_relative_to(model: Any, least: float) -> None:
    """5.2e-5 above 0 is a gap as large as the objective, and 0.0017 of the 0.03125 that objectives count as at least."""
    size = max(least, 5.2e-5)
    gap = {"upper_bound": 5.2e-5, "lower_bound": 0.0, "gap": 5.2e-5, "relative_gap": np.nextafter(5.2e-5 / size, 1.0)}
    proof = replace(model.certificate_, **gap, verified=False)
    said = "relative to 0.0313, which objectives of these data count as at least"
    blocks = " ".join(certificate_blocks(model, ProofCheck(proof, "")))
    assert (said in blocks, "of the objective)" in blocks) == (least > 0, least == 0)
    assert ("0.0313" in certificate_fact(ProofCheck(proof, "")).note) == (least > 0)
    with pytest.warns(ConvergenceLimitWarning) as caught:
        warn_of_limit(SimpleNamespace(outcome=model.outcome_, certificate=proof), "fit")
    assert (said in str(caught[0].message)) == (least > 0)


@pytest.mark.parametrize("status", Status)
def test_reports_and_files_know_the_status(model: Any, status: Status, tmp_path: Path) -> None:
    ended = sf.RobustLogisticRegression(radius=0.1)
    ended.__dict__.update(model.__dict__)
    ended.outcome_ = replace(model.outcome_, status=status)
    assert any(
        f"{status.value} ({model.solver_}" in block for block in certificate_blocks(ended, ProofCheck(ended.certificate_, ""))
    )
    path = tmp_path / "model.surefoot"
    sf.save(ended, path)
    assert sf.load(path).outcome_.status is status


@pytest.mark.parametrize("bounds", [(0.60273848259, 0.60273847911), (2.0 / 3.0, 1.0 / 3.0), (1234567.89123, 1234567.89122)])
def test_bounds_are_true_as_printed(model: Any, bounds: tuple[float, float]) -> None:
    """Rounded outwards: "no model is below 0.6027385" would be false of a lower bound of 0.60273848."""
    proof = replace(model.certificate_, upper_bound=bounds[0], lower_bound=bounds[1])
    stopped = replace(model.outcome_, status=Status.INTERRUPTED, upper_bound=bounds[0], lower_bound=bounds[1])
    with pytest.warns(ConvergenceLimitWarning) as caught:
        warn_of_limit(SimpleNamespace(outcome=stopped, certificate=proof), "fit")
    with pytest.raises(SolveInterrupted) as interrupted:
        handed_over(stopped)
    texts = {
        "warning": (str(caught[0].message), "objective is at most ", "lower bound "),
        "interruption": (str(interrupted.value), "objective of ", "none is below "),
        "report": (
            re.sub(r"<[^>]+>", " ", "".join(certificate_blocks(model, ProofCheck(proof, "")))),
            "of this model, at most ",
            "no model of its class is below ",
        ),
    }
    for name, (text, upper, lower) in texts.items():
        printed = [Fraction(re.search(rf"{before}\s*([-\d.e+]*\d)", text)[1]) for before in (upper, lower)]
        assert printed[0] >= Fraction(bounds[0]) and printed[1] <= Fraction(bounds[1]), name
        assert printed[0] <= Fraction(bounds[0]) * Fraction(1.00000001), name
