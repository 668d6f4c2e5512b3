"""Every way in which a solve can end has words: in warnings, in reports and in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.outcome import Status
from surefoot.exceptions import ConvergenceLimitWarning
from surefoot.reports.model_section import ProofCheck, certificate_blocks
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
    # A solver's claim to be optimal that was not confirmed is no way in which the solve stopped.
    assert (f"({status.value} after" in message) == (status is not Status.OPTIMAL)


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
