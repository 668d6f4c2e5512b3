"""Sparse columns: the same verdicts as dense ones, without ever making a wide table dense."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from problem_bank import SPARSE_BANK
from reference.certificate_parts import posed
from reference.enumerated_model import solve_enumerated

from surefoot.exceptions import CertificateError
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.polished_plan import polished_plan
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem, ShiftPlan


@pytest.mark.parametrize("name", SPARSE_BANK)
def test_sparse_and_dense_columns_get_the_same_verdict(name):
    problem = SPARSE_BANK[name]()
    dense = replace(problem, numeric=problem.numeric.toarray())
    best = solve_enumerated(problem)
    plan = polished_plan(problem, best.plan)
    here = certify_robust_logistic(problem, best.coefficients, plan, 1e-5)
    there = certify_robust_logistic(dense, best.coefficients, plan, 1e-5)
    assert here.verified and there.verified
    assert here.upper_bound == pytest.approx(there.upper_bound, rel=1e-14)
    assert here.lower_bound == pytest.approx(there.lower_bound, rel=2e-5)
    assert here.problem_digest != there.problem_digest


def test_sparse_columns_are_not_centred():
    problem = SPARSE_BANK["sparse_l1"]()
    assert not posed(problem).centre.any()
    assert posed(replace(problem, numeric=problem.numeric.toarray())).centre.all()


def wide_problem(norm: str, radius: float) -> RobustLogisticProblem:
    """5,000 rows and 30,000 columns with ten entries a row: dense, that would be 1.2 GB."""
    draw = np.random.default_rng(81)
    rows, columns, entries = 5000, 30_000, 10
    numeric = scipy.sparse.csr_array(
        (draw.normal(size=rows * entries), draw.integers(0, columns, size=rows * entries), np.arange(rows + 1) * entries),
        shape=(rows, columns),
    )
    return RobustLogisticProblem(
        numeric=numeric,
        codes=np.zeros((rows, 0)),
        n_levels=np.zeros(0),
        labels=np.where(draw.random(rows) < 0.3, 1.0, -1.0),
        weights=np.full(rows, 1.0 / rows),
        cost=GroundCost(draw.uniform(0.5, 2.0, size=columns), np.zeros(0), numeric_norm=norm),
        radius=radius,
    )


def intercept_only(problem: RobustLogisticProblem) -> tuple[RobustCoefficients, ShiftPlan]:
    """The best model without columns, and the plan that moves nothing and has the slopes of its losses."""
    share = float(problem.weights[problem.labels > 0].sum())
    model = RobustCoefficients(float(np.log(share / (1 - share))), np.zeros(problem.n_numeric), np.zeros(0), 0.0)
    rows = problem.n_rows
    plan = ShiftPlan(
        row=np.arange(rows),
        moved=np.zeros((rows, 0), dtype=bool),
        flipped=np.zeros(rows, dtype=bool),
        mass=problem.weights,
        slope=np.where(problem.labels > 0, 1 - share, share),
        lowest=np.zeros(0),
        highest=np.zeros(0),
    )
    return model, plan


@pytest.fixture
def no_dense_tables(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise MemoryError("a sparse table was made dense")

    for name in ("toarray", "todense", "__array__"):
        monkeypatch.setattr(scipy.sparse.csr_array, name, refuse, raising=False)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.usefixtures("no_dense_tables")
def test_a_wide_table_is_certified_as_it_is_and_the_norm_decides(norm):
    problem = wide_problem(norm, 0.0)
    model, plan = intercept_only(problem)
    # The smallest radius from which the intercept alone is optimal is what the gradient of the columns spends.
    pull = -problem.labels * plan.mass * plan.slope
    threshold = problem.cost.numeric_price(pull @ problem.numeric)
    share = float(problem.weights[problem.labels > 0].sum())
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    beyond = certify_robust_logistic(replace(problem, radius=threshold * (1 + 1e-9)), model, plan, 1e-8)
    assert beyond.verified, beyond.claim
    assert beyond.upper_bound == pytest.approx(entropy, rel=1e-12)
    # Below it the plan overspends; the local bound would need a Hessian of 30,000 x 30,000, and is left out.
    below = certify_robust_logistic(replace(problem, radius=0.9 * threshold), model, plan, 1e-8)
    assert not below.verified
    assert below.upper_bound == pytest.approx(entropy, rel=1e-12)
    assert 0.0 <= below.lower_bound < entropy * (1 - 1e-3)


@pytest.mark.parametrize("part", ["data", "indices"])
def test_sparse_arrays_that_break_the_conventions_are_an_error(part):
    problem = SPARSE_BANK["sparse_l1"]()
    best = solve_enumerated(problem)
    if part == "data":
        problem.numeric.data[3] = np.nan
    else:
        problem.numeric.indices[3] = problem.n_numeric
    with pytest.raises(CertificateError, match="conventions"):
        certify_robust_logistic(problem, best.coefficients, best.plan, 1e-5)
