"""The same certificate in ball arithmetic: the same verdict, from bounds that lie inside those of doubles."""

from __future__ import annotations

import pytest
from problem_bank import WHOLE_BANK
from reference.enumerated_model import solve_enumerated

from surefoot.core.enclosure import computing_in
from surefoot.robust.certificate.certificate import certify_robust_logistic

FlintEnclosure = pytest.importorskip("surefoot.core.flint_enclosure").FlintEnclosure


@pytest.mark.parametrize("name", WHOLE_BANK)
def test_ball_and_double_verdicts_agree(name: str) -> None:
    problem = WHOLE_BANK[name]()
    best = solve_enumerated(problem)
    doubles = certify_robust_logistic(problem, best.coefficients, best.plan, 1e-6)
    with computing_in(FlintEnclosure):
        balls = certify_robust_logistic(problem, best.coefficients, best.plan, 1e-6)
    assert balls.verified == doubles.verified
    assert balls.lower_bound <= doubles.upper_bound
    assert doubles.lower_bound <= balls.upper_bound <= doubles.upper_bound
    assert balls.relative_gap <= doubles.relative_gap * (1 + 1e-6) + 1e-15
    assert (balls.problem_digest, balls.model_digest) == (doubles.problem_digest, doubles.model_digest)
