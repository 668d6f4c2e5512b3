"""Inverse problems over every forward problem: the campaign finds nothing wrong, and would find it; all can be saved."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.exceptions import SurefootError

WRONG = ("false verdict", "false claim", "false error", "crash", "overrun", "refused")


NAMES = (
    "FiniteChoice", "BinaryProgram", "MixedIntegerProgram, whole", "MixedIntegerProgram, mixed", "LinearProgram",
    "LinearProgram, unimodular", "Knapsack", "Assignment", "ShortestPath", "from_networkx, paths",
    "from_networkx, trees and matchings", "from_scipy", "from_mps", "from_cvxpy", "from_pyomo", "a solver of one's own",
)  # fmt: skip


@pytest.fixture
def forwards() -> Any:
    return importlib.import_module("verdict_forwards")


@pytest.mark.parametrize("at", range(len(NAMES) + 1))
def test_nothing_is_wrong_with_a_drawn_problem(forwards: Any, at: int) -> None:
    assert forwards.NAMED[:-1] == NAMES
    record = forwards.trial(2 * at + at % 2)
    assert record.settings[0] == forwards.NAMED[at]
    assert not set(record.found) & set(WRONG), record.found


@pytest.mark.parametrize("name", NAMES)
def test_every_forward_problem_is_saved_decides_as_before_and_is_verified_again(
    forwards: Any, name: str, tmp_path: Path
) -> None:
    kind = forwards.KINDS[name](np.random.default_rng(3), 3, set())
    costs = np.arange(1.0, 1.0 + kind.decisions[0].shape[1])
    if kind.priced is not None:
        costs = kind.priced.T @ np.arange(1.0, 1.0 + len(kind.priced))
    decided = [points[np.argmin(points @ costs)] for points in kind.decisions]
    model = sf.inverse.InverseOptimizer(kind.forward, approach="suboptimality", distance="none").fit(kind.signals, decided)
    if kind.trusted:
        with pytest.raises((SurefootError, TypeError, ValueError), match="Cheapest"):
            sf.save(model, tmp_path / "model.surefoot")
        return
    sf.save(model, tmp_path / "model.surefoot")
    again = sf.load(tmp_path / "model.surefoot")
    assert repr(again.forward) == repr(model.forward)
    assert all(np.array_equal(*pair) for pair in zip(model.predict(kind.signals), again.predict(kind.signals), strict=True))
    assert sf.verify(again, kind.signals, decided).verified == model.certificate_.verified


def test_a_certificate_that_says_too_much_is_found_out(forwards: Any) -> None:
    inverse, record_module = importlib.import_module("verdict_inverse"), importlib.import_module("verdict_record")
    random = np.random.default_rng(5)
    record: Any = record_module.Record("forwards", 0, "ordinary")
    given, judged, _ = forwards._drawn(random, record, "from_scipy", set())
    given.params |= {"approach": "asl", "distance": "l1", "kappa": 1.0, "prior": None}
    judged.params |= {name: given.params[name] for name in ("approach", "distance", "kappa", "prior")}
    model = sf.inverse.InverseOptimizer(**given.params).fit(given.signals, given.responses)
    inverse.judge_cost(record, judged, model.certificate_, model.cost_)
    assert not set(record.found) & set(WRONG) and record.verified
    larger = replace(model.certificate_, lower_bound=model.certificate_.upper_bound * 1.01)
    inverse.judge_cost(record, judged, larger, model.cost_)
    inverse.judge_cost(record, judged, model.certificate_, 2.0 * model.cost_)
    assert "above a reachable" in record.found["false verdict"] and "below the objective" in record.found["false verdict"]
