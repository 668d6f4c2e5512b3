"""Rivals solve the same problem as we do, or say why they do not."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.sqp.sqp import SQP

STUB = """
class WassersteinDRO:
    def __init__(self, input_dim, model_type, fit_intercept, solver):
        self.described = (input_dim, model_type, fit_intercept, solver)
    def update(self, settings):
        self.settings = settings
    def fit(self, numeric, labels):
        if self.described != (2, "logistic", True, "CLARABEL") or self.settings != {"eps": 0.1, "kappa": 1.0, "p": 1}:
            raise RuntimeError(f"asked for {self.described} with {self.settings}")
        self.theta, self.b = labels @ numeric / 100, labels.mean()
"""


def _problem(*, fit_intercept: bool = True, rows: int = 60, columns: int = 2) -> RobustLogisticProblem:
    generator = np.random.default_rng(5)
    numeric = generator.normal(size=(rows, columns))
    labels = np.where(numeric[:, 0] + generator.normal(size=rows) > 0.3, 1.0, -1.0)
    problem = importlib.import_module("numeric_problems").numeric_problem(numeric, labels, fit_intercept=fit_intercept)
    assert isinstance(problem, RobustLogisticProblem)
    return problem


def _stub_dro(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    package = folder / "dro" / "linear_model"
    package.mkdir(parents=True)
    (package / "wasserstein_dro.py").write_text(source)
    for name in ("dro", "cvxpy", "clarabel"):
        (folder / f"{name}-7.dist-info").mkdir()
        (folder / f"{name}-7.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 7\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_margin_model_has_our_optimum(fit_intercept: bool) -> None:
    pytest.importorskip("cvxpy")
    pytest.importorskip("clarabel")
    problem = _problem(fit_intercept=fit_intercept)
    rival = importlib.import_module("rivals").MarginModel()
    theirs = rival.solve(problem, SolveOptions(tolerance=1e-8))
    ours = SQP().solve(problem, SolveOptions(tolerance=1e-8))
    assert theirs.upper_bound == pytest.approx(ours.upper_bound, rel=1e-7)
    # Its coefficients at their best price are as good as what it says about them.
    assert certify_robust_logistic(problem, theirs.primal, None, 1e-6).upper_bound == pytest.approx(ours.upper_bound, rel=1e-7)


def test_the_margin_model_refuses_what_it_is_not_written_for() -> None:
    pytest.importorskip("cvxpy")
    rivals, problems = (importlib.import_module(name) for name in ("rivals", "numeric_problems"))
    given = _problem()
    for changed, reason in (({"norm": "l2"}, "written for 'l1'"), ({"label_price": math.inf}, "labels never flip")):
        problem = problems.numeric_problem(given.numeric, given.labels, fit_intercept=True, **changed)
        assert reason in rivals.MarginModel().refuses(problem)
    assert rivals.MarginModel().refuses(given) is None


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = importlib.import_module("rivals")
    monkeypatch.setattr(rivals.importlib.util, "find_spec", lambda name: None if name == "clarabel" else object())
    answer = rivals.fit_cvxpy(_problem(), tolerance=1e-6, n_threads=1, time_limit=5.0)
    assert answer == rivals.Absence("clarabel not installed")


def test_dro_gets_the_problem_and_its_coefficients_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stub_dro(tmp_path, monkeypatch, STUB)
    problem = _problem()
    answer = importlib.import_module("rivals").fit_dro(problem, python=sys.executable, n_threads=1, time_limit=60.0)
    assert answer.model.numeric == pytest.approx(problem.labels @ problem.numeric / 100)
    assert answer.model.intercept == pytest.approx(problem.labels.mean())
    assert answer.versions == "dro 7, cvxpy 7, clarabel 7"


def test_an_error_of_dro_becomes_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stub_dro(tmp_path, monkeypatch, STUB)
    problem = _problem(columns=3)
    answer = importlib.import_module("rivals").fit_dro(problem, python=sys.executable, n_threads=1, time_limit=60.0)
    assert answer.startswith("ended with exit code 1 and no answer: RuntimeError: asked for (3, 'logistic'")


def test_a_python_without_dro_and_no_python_at_all_are_absences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rivals = importlib.import_module("rivals")
    _stub_dro(tmp_path, monkeypatch, "raise ImportError('no dro here')")
    without = rivals.fit_dro(_problem(), python=sys.executable, n_threads=1, time_limit=60.0)
    assert without == rivals.Absence("dro cannot be imported (no dro here)")
    nothing = rivals.fit_dro(_problem(), python=str(tmp_path / "python"), n_threads=1, time_limit=60.0)
    assert nothing == rivals.Absence("the Python of --dro-python cannot be started (No such file or directory)")
