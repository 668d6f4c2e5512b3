"""The numeric benchmark problems are the ones whose optima and sizes are published."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.problem.problem import RobustCoefficients
from surefoot.robust.sqp.critical_radius import intercept_only
from surefoot.robust.sqp.sqp import SQP

LIBSVM = Path(__file__).resolve().parents[3] / "shared" / "data" / "libsvm"
needs_data = pytest.mark.skipif(not LIBSVM.is_dir(), reason="the LIBSVM files are not beside the repository")
# Rows and positive labels, as counted in the files.
ADULT = {
    "a1a": (1605, 395), "a2a": (2265, 572), "a3a": (3185, 773), "a4a": (4781, 1188), "a5a": (6414, 1569),
    "a6a": (11220, 2692), "a7a": (16100, 3918), "a8a": (22696, 5506), "a9a": (32561, 7841),
}  # fmt: skip


@pytest.fixture
def problems() -> ModuleType:
    return importlib.import_module("numeric_problems")


def test_the_gaussian_problem_has_the_known_optimum(problems: ModuleType) -> None:
    problem = problems.gaussian_problem(5_000, 100)
    outcome = SQP().solve(problem, SolveOptions(tolerance=1e-6))
    proof = certify_robust_logistic(problem, outcome.primal, outcome.dual, tolerance=1e-6)
    assert proof.verified
    assert proof.upper_bound == pytest.approx(problems.KNOWN_OPTIMA[5_000, 100], rel=1e-6)


def test_the_gaussian_problem_has_no_intercept_and_prices_every_unit_at_1(problems: ModuleType) -> None:
    problem = problems.gaussian_problem(50, 3, random_state=1)
    assert not problem.fit_intercept
    assert (problem.radius, problem.cost.label_weight, problem.cost.numeric_norm) == (0.1, 1.0, "l1")
    assert problem.cost.numeric_weights.tolist() == [1.0, 1.0, 1.0]
    assert not np.array_equal(problem.numeric, problems.gaussian_problem(50, 3, random_state=2).numeric)


@needs_data
@pytest.mark.parametrize("name", ADULT)
def test_a_file_of_the_adult_series_is_complete_and_stays_sparse(problems: ModuleType, name: str) -> None:
    problem = problems.adult_problem(name)
    assert (problem.n_rows, int((problem.labels > 0).sum())) == ADULT[name]
    assert problem.is_sparse and problem.n_numeric == 123
    assert set(problem.numeric.data) == {1.0}
    assert problem.fit_intercept and (problem.radius, problem.cost.label_weight) == (0.1, 1.0)


def test_a_missing_file_is_named_with_its_remedy(problems: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"a3a\.svm\.gz is not in .*set SUREFOOT_DATA"):
        problems.adult_problem("a3a")


def test_an_unknown_data_set_is_refused_with_the_known_names(problems: ModuleType) -> None:
    with pytest.raises(ValueError, match="unknown data set 'a10a'; choose one of a1a, a2a"):
        problems.adult_problem("a10a")


def test_every_row_of_a_text_has_as_many_different_columns_as_asked_for(problems: ModuleType) -> None:
    numeric = problems.text_problem(500, 60, 30).numeric
    assert np.diff(numeric.indptr).tolist() == [30] * 500
    assert all(np.unique(numeric.indices[30 * at : 30 * at + 30]).size == 30 for at in range(500))


def test_columns_of_a_text_are_as_popular_as_their_rank_says(problems: ModuleType) -> None:
    # One column a row, so that nothing is drawn again: counts follow the popularity 1 / (rank + 10) itself.
    numeric = problems.text_problem(200_000, 400, 1).numeric
    counts = np.bincount(numeric.indices, minlength=400)
    expected = 1.0 / (np.arange(400) + 10.0)
    expected *= 200_000 / expected.sum()
    assert (np.abs(counts - expected) < 6.0 * np.sqrt(expected)).all()


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_a_robustness_of_1_is_where_no_column_of_a_text_is_of_use(problems: ModuleType, norm: str) -> None:
    below, above = (
        problems.text_problem(300, 40, 5, norm=norm, label_price=math.inf, robustness=share) for share in (0.99, 1.01)
    )
    assert intercept_only(below) is None
    assert intercept_only(above) is not None


def test_a_low_label_price_bounds_the_radius_of_a_text(problems: ModuleType) -> None:
    problem = problems.text_problem(300, 40, 5, label_price=0.01, robustness=0.2)
    assert problem.radius == pytest.approx(0.2 * 0.005)
    assert problem.cost.label_weight == 0.01


def test_too_few_columns_for_a_text_are_refused(problems: ModuleType) -> None:
    with pytest.raises(ValueError, match="20 entries a row need at least 40 columns, not 39"):
        problems.text_problem(10, 39, 20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(scale=st.floats(0.01, 5.0), intercept=st.floats(-2.0, 2.0), seed=st.integers(0, 2**31))
def test_no_other_price_suits_a_rivals_coefficients_better(
    problems: ModuleType, scale: float, intercept: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    numeric, labels = generator.normal(size=(40, 3)), np.where(generator.random(40) < 0.5, 1.0, -1.0)
    problem = problems.numeric_problem(numeric, labels, fit_intercept=True)
    model = problems.with_best_price(problem, scale * generator.normal(size=3), intercept)
    best = certify_robust_logistic(problem, model, None, 1e-6).upper_bound
    least = float(np.abs(model.numeric).max())
    assert model.price >= least
    for price in np.linspace(least, least + 2.0 * model.price + 1.0, 50):
        other = RobustCoefficients(model.intercept, model.numeric, model.levels, float(price))
        assert best <= certify_robust_logistic(problem, other, None, 1e-6).upper_bound + 1e-12
