"""Every form of the loss, every kind of column and every kind of rule, each with each: the search against complete enumeration.

Four forms (unit scale, robust, free scale, robust at a free scale), four kinds of columns and eight choices of rules (none,
each kind alone, several at once) make 128 combinations, each drawn three times, one of them with weights: 384 problems. Where
cutting planes take the problem they must agree as well.
"""

from __future__ import annotations

import numpy as np
import pytest
from reference.drawn_score import draw_columns
from reference.enumerated_robust_score import best_robust_card
from reference.enumerated_scaled_robust_score import best_scaled_robust_card
from reference.enumerated_scaled_score import best_scaled_card
from reference.enumerated_score import best_card

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import InfeasibleProblemError
from surefoot.riskscore.lattice.cpa import CPA
from surefoot.riskscore.lattice.cut_run import RESOLUTION
from surefoot.riskscore.lattice.lcpa import LCPA
from surefoot.riskscore.problem.card_rules import (
    CardRule,
    GroupRule,
    ImplicationRule,
    LinearRule,
    PointSetRule,
    RateRule,
    SignRule,
)
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem
from surefoot.riskscore.problem.score_shift import ScoreShift
from surefoot.riskscore.search.exact_score import ExactScore

FORMS = ("unit", "robust", "free", "robust free")
KINDS = ("binary", "integer", "real", "mixed")
RULES = ("none", "group", "implication", "points", "sign", "linear", "rate", "several")
# The references search for prices and multipliers by values alone, to about this much of the loss.
ROUNDING = 1e-11
D = 3


def draw_rules(rng: np.random.Generator, name: str, X: np.ndarray) -> tuple[CardRule, ...]:
    person = X[int(rng.integers(len(X)))].copy()
    kinds: dict[str, CardRule] = {
        "group": GroupRule((0, 2), least=int(rng.integers(2)), most=1),
        "implication": ImplicationRule((0, 1), (2,)),
        "points": PointSetRule(int(rng.integers(D)), ((-2, 1), (0, 2), (-1, 0, 1))[int(rng.integers(3))]),
        "sign": SignRule((0, 1, 2)),
        "linear": LinearRule(person, lower=float(rng.choice([-1.5, 0.0, 0.8])), upper=float(rng.choice([1.1, 2.5]))),
        "rate": RateRule(
            float(rng.choice([-1.0, 1.0])),
            *((0.6, 1.0), (0.0, 0.3))[int(rng.integers(2))],
            threshold=float(rng.choice([-0.7, 0.0, 0.4])),
        ),
    }
    if name == "several":
        return tuple(rule for rule in kinds.values() if rng.random() < 0.5)
    return () if name == "none" else (kinds[name],)


def draw_problem(form: str, kind: str, name: str, seed: int) -> RiskScoreProblem:
    rng = np.random.default_rng([seed, FORMS.index(form), KINDS.index(kind), RULES.index(name)])
    n = int(rng.integers(8, 18))
    X = draw_columns(rng, kind, (n, D))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-(X @ rng.normal(size=D) * 2 + rng.normal()))), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.exponential(size=n) if seed == 0 else np.ones(n)
    shift = None
    if "robust" in form:
        flips = np.all((X == 0) | (X == 1), axis=0)
        prices = rng.choice([0.5, 1.0, 1.7, np.inf], D)
        shift = ScoreShift(float(rng.choice([0.02, 0.1])), prices, flips, float(rng.choice([1.5, np.inf])))
    return RiskScoreProblem(
        X,
        y,
        weights / weights.sum(),
        np.full(D, -2),
        np.full(D, 2),
        -3,
        3,
        int(rng.integers(1, D + 1)),
        float(rng.choice([0, 1e-8, 0.02])),
        draw_rules(rng, name, X),
        shift,
        "free" if "free" in form else "unit",
        (0.4, 6.0),
    )


def enumerated(problem: RiskScoreProblem) -> tuple[float, RiskScore | None]:
    if problem.shift is not None:
        return (best_scaled_robust_card if problem.scale == "free" else best_robust_card)(problem)
    return (best_scaled_card if problem.scale == "free" else best_card)(problem)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_the_search_and_cutting_planes_equal_complete_enumeration(form: str, kind: str, name: str, seed: int):
    problem = draw_problem(form, kind, name, seed)
    value, card = enumerated(problem)
    cutting = [solver for solver in (CPA(), LCPA(tree="own")) if solver.refuses(problem) is None]
    for solver in (ExactScore(), *cutting):
        if card is None:
            with pytest.raises(InfeasibleProblemError, match="rules"):
                solver.solve(problem, SolveOptions(tolerance=0.0))
            continue
        outcome = solver.solve(problem, SolveOptions(tolerance=0.0))
        assert outcome.status is Status.OPTIMAL
        assert problem.admits(outcome.primal)
        assert outcome.upper_bound == pytest.approx(problem.objective(outcome.primal), abs=1e-12)
        assert outcome.upper_bound == pytest.approx(value, abs=ROUNDING if solver.name == "exact" else 2 * RESOLUTION)
        assert outcome.lower_bound <= value + ROUNDING


def test_the_combinations_are_as_many_as_claimed_and_most_of_them_have_a_card():
    drawn = [draw_problem(form, kind, name, 1) for form in FORMS for kind in KINDS for name in RULES]
    assert 3 * len(drawn) == 384
    kinds = {type(rule) for problem in drawn for rule in problem.rules}
    assert kinds == {GroupRule, ImplicationRule, PointSetRule, SignRule, LinearRule, RateRule}
    plain = [problem for problem in drawn if problem.shift is None and problem.scale == "unit"]
    assert np.mean([best_card(problem)[1] is not None for problem in plain]) > 0.8
    # Both cutting-plane methods take all of them but the rates of real-valued scores.
    assert np.mean([CPA().refuses(problem) is None for problem in plain]) > 0.9
