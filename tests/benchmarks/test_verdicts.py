"""The campaign that puts verdicts on trial: its references are right, and it notices what it is there to notice."""

from __future__ import annotations

import csv
import importlib
import signal
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.certificate import Statement, verdict
from surefoot.exceptions import CertificateError

FAMILIES = ("robust", "cards", "svm", "inverse")


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


def _certificate(upper: float, lower: float, tolerance: float = 1e-6) -> Any:
    statement = Statement(models="model", quantity="loss")
    return verdict(statement, upper=upper, lower=lower, tolerance=tolerance, witness=None, problem_digest="", model_digest="")


def _judged(certificate: Any, objective: str, best: str | None) -> dict[str, str]:
    records = _module("verdict_record")
    record = records.Record("robust", 0, "ordinary")
    records.judge(record, certificate, Decimal(objective), None if best is None else Decimal(best))
    return dict(record.found)


def test_a_true_certificate_has_nothing_against_it() -> None:
    assert _judged(_certificate(0.5000001, 0.5), "0.50000005", "0.50000004") == {}


@pytest.mark.parametrize(
    ("upper", "lower", "objective", "best", "said"),
    [
        (0.5000001, 0.5, "0.50000015", "0.5000001", "upper bound 0.5000001 below the objective"),
        (0.5000001, 0.5, "0.5000001", "0.4999999", "lower bound 0.5 above a reachable"),
        (0.5000001, 0.5, "0.5000001", "0.4", "verified at 0.5000001 where 0.4 is reachable"),
    ],
)
def test_a_false_certificate_is_noticed(upper: float, lower: float, objective: str, best: str, said: str) -> None:
    found = _judged(_certificate(upper, lower), objective, best)
    assert said in found["false verdict"]


def test_numbers_of_a_claim_are_read_as_printed() -> None:
    certificate = _certificate(0.5000001, 0.5)
    rounded = replace(certificate, claim="No model has a loss below 0.51; this one has at most 0.49, so it is optimal.")
    found = _judged(rounded, "0.5", "0.5")["false claim"]
    assert "'below 0.51' where 0.5 is reachable" in found and "'has at most 0.49'" in found
    assert "whatsoever" in _judged(replace(certificate, claim="No model whatsoever."), "0.5", "0.5")["false claim"]


def test_a_right_model_without_a_proof_is_refused_and_a_wrong_one_unverified() -> None:
    assert list(_judged(_certificate(0.5, 0.1), "0.5", "0.4999999")) == ["refused"]
    assert list(_judged(_certificate(0.5, 0.1), "0.5", "0.4")) == ["unverified"]
    assert list(_judged(_certificate(0.5, 0.1), "0.5", None)) == ["no reference", "unverified"]


def test_sixty_digits_of_softplus_and_of_doubles() -> None:
    numbers = _module("verdict_numbers")
    softplus = numbers.exactly(numbers.softplus)
    assert float(softplus(Decimal(0))) == np.log(2.0)
    assert float(softplus(Decimal(100)) - 100) == pytest.approx(np.exp(-100.0))
    assert 0 < softplus(Decimal(-1000)) < Decimal("1e-434")
    # The double nearest to 0.1, and not the decimal 0.1.
    assert 0 < numbers.exact([[0.1]])[0, 0] - Decimal("0.1") < Decimal("1e-17")


def test_the_robust_reference_is_the_optimum_of_a_problem_worked_by_hand() -> None:
    """Two rows at -1 and 1 with their labels, no intercept: the loss falls in beta, and |beta| <= gamma lambda."""
    robust = _module("verdict_robust")
    rows = robust.Rows(
        numeric=np.array([[-1.0], [1.0]]), codes=np.zeros((2, 0), dtype=int), n_levels=[], labels=np.array([-1.0, 1.0]),
        weights=np.array([0.5, 0.5]), gamma=np.array([2.0]), delta=np.zeros(0), kappa=np.inf, radius=0.5, norm="l1",
        intercept=False,
    )  # fmt: skip
    # min over beta of radius beta / gamma + log(1 + exp(-beta)): beta = log(3).
    optimum = 0.25 * np.log(3.0) + np.log(4.0 / 3.0)
    found = robust.best_known(rows, None)
    assert float(found) == pytest.approx(optimum, rel=1e-9) and float(found) >= optimum * (1 - 1e-15)


def test_a_worst_case_counts_every_vector_of_categories() -> None:
    robust = _module("verdict_robust")
    rows = robust.Rows(
        numeric=np.zeros((1, 0)), codes=np.array([[0, 0]]), n_levels=[2, 2], labels=np.array([1.0]), weights=np.array([1.0]),
        gamma=np.zeros(0), delta=np.array([1.0, 1.0]), kappa=np.inf, radius=0.75, norm="l1", intercept=True,
    )  # fmt: skip
    levels = [np.array([Decimal(0), Decimal(-2)], dtype=object), np.array([Decimal(0), Decimal(-1)], dtype=object)]
    _, least = robust.objectives(rows, robust.Model(Decimal(1), np.array([], dtype=object), levels, Decimal(0)))
    loss = [np.logaddexp(0.0, -score) for score in (1.0, -1.0, 0.0, -2.0)]
    # Mass 0.75 at distance 1, or 0.375 at distance 2.
    assert float(least) == pytest.approx(max(0.25 * loss[0] + 0.75 * loss[1], 0.625 * loss[0] + 0.375 * loss[3]))


def test_levels_that_no_row_holds_are_places_to_move_to() -> None:
    robust = _module("verdict_robust")
    prices = {"categorical_weights": None, "numeric_weights": None, "label_weight": np.inf}
    params = {"radius": 0.5, "norm": "l1", "fit_intercept": True, "category_levels": {0: [-1.0, 0.0, 1.0, 4.0]}, **prices}
    case = robust.Case(np.array([[0.0], [1.0], [1.0]]), np.array([0, 1, 1]), None, 0, params)
    rows = robust.read(case, SimpleNamespace(ground_cost_=sf.GroundCost(np.zeros(0), np.ones(1))))
    assert rows.n_levels == [4] and rows.codes[:, 0].tolist() == [1, 2, 2]
    assert [move[0] for move in rows.moves(0)] == [(1,), (0,), (2,), (3,)]


def test_a_worst_case_goes_to_an_end_of_a_range_or_stays() -> None:
    """One row at 1 within [-1, 4], slope 1: the far end of the range costs 1, and nothing bounds the price of a shift."""
    robust = _module("verdict_robust")
    rows = robust.Rows(
        numeric=np.array([[1.0]]), codes=np.zeros((1, 0), dtype=int), n_levels=[], labels=np.array([1.0]),
        weights=np.array([1.0]), gamma=np.array([0.5]), delta=np.zeros(0), kappa=np.inf, radius=0.25, norm="l1",
        intercept=False, ranges=np.array([[-1.0, 4.0]]),
    )  # fmt: skip
    one = np.array([Decimal(1)], dtype=object)
    at_price, least = robust.objectives(rows, robust.Model(Decimal(0), one, [], Decimal(0)))
    stays, moved = np.logaddexp(0.0, -1.0), np.logaddexp(0.0, 1.0)
    # A quarter of the mass goes to -1, since its move costs 1; without a price all of it would.
    assert float(least) == pytest.approx(0.75 * stays + 0.25 * moved) and float(at_price) == pytest.approx(moved)
    assert rows.moves(0) == [((), 1.0, (1.0,), 0.0), ((), 1.0, (-1.0,), 1.0), ((), 1.0, (4.0,), 1.5)]
    # The best slope: none above sees less than the least of its worst cases.
    assert float(robust.best_known(rows, None)) <= min(
        float(robust.objectives(rows, robust.Model(Decimal(0), one * Decimal(k) / 10, [], Decimal(0)))[1]) for k in range(20)
    )


def test_the_svm_reference_separates_two_points_at_the_known_margin() -> None:
    svm = _module("verdict_svm")
    one = np.array([Decimal(1)], dtype=object)
    inputs = svm.Inputs(
        X=np.array([[100.0], [102.0]]), members=[np.array([0]), np.array([1])], labels=[-1, 1], shares=[one, one],
        rounded=[one, one], tau=[Decimal(3)] * 2, costs=[Decimal(10)] * 2, kernel="linear", gamma=Decimal(1), degree=1,
        coef0=Decimal(0),
    )  # fmt: skip
    assert float(svm.reference(inputs, svm.gram(inputs))) == pytest.approx(0.5, rel=1e-8)


def test_the_svm_reference_keeps_to_landmarks_and_widens_by_radii() -> None:
    svm = _module("verdict_svm")
    one = np.array([Decimal(1)], dtype=object)
    common = {"kernel": "linear", "gamma": Decimal(1), "degree": 1, "coef0": Decimal(0)}
    three = svm.Inputs(
        X=np.array([[0.0, 0.0], [2.0, 2.0], [2.0, 0.0]]), members=[np.array([k]) for k in range(3)], labels=[-1, 1, 1],
        shares=[one] * 3, rounded=[one] * 3, tau=[Decimal(3)] * 3, costs=[Decimal(10)] * 3, **common,
    )  # fmt: skip
    # w = (1, 0) separates at a margin of 1; along the second sample alone w = (1, 1) is needed.
    assert float(svm.reference(three, svm.gram(three))) == pytest.approx(0.5, rel=1e-8)
    along = replace(three, landmarks=np.array([1]))
    assert float(svm.reference(along, svm.gram(along))) == pytest.approx(1.0, rel=1e-8)
    # Half the distance is 1, of which the radius and 3 times the root of the other one take a quarter each: w = 2.
    wide = svm.Inputs(
        X=np.array([[0.0], [2.0]]), members=[np.array([0]), np.array([1])], labels=[-1, 1], shares=[one] * 2,
        rounded=[one] * 2, tau=[Decimal(3)] * 2, mean_radius=[Decimal("0.25")] * 2,
        covariance_radius=[Decimal(1) / Decimal(144)] * 2, costs=[Decimal(10)] * 2, **common,
    )  # fmt: skip
    assert float(svm.reference(wide, svm.gram(wide))) == pytest.approx(2.0, rel=1e-7)


def test_the_svm_campaign_draws_every_kind() -> None:
    kinds, record = _module("verdict_svm_kinds"), _module("verdict_record")
    drawn = set()
    for seed in range(60):
        rng, note = np.random.default_rng(seed), record.Record("svm", seed, "ordinary")
        kinds.varied(_module("verdict_svm").draw(rng, note), rng, note)
        drawn.update(note.settings)
    assert drawn >= {"landmarks", "confidence", "function", "moments", "rows as inputs", "clusters"}
    # w = 3 and w . x - 1, read off the values at points: the moments are those given, whatever the points have.
    points, moves = kinds._with_axes(np.array([[-1.0], [1.0]]))
    given = ([np.array([Decimal(2)])], [np.array([[Decimal(4)]])])
    inputs = SimpleNamespace(X=points, moves=moves, moments=given)
    values = np.array([3 * Decimal(float(point)) - 1 for point in points[:, 0]], dtype=object)
    assert kinds.moments_along(inputs, values) == [(Decimal(5), Decimal(36))]


def test_a_card_is_the_best_of_all_and_rules_are_kept() -> None:
    cards, rules = _module("verdict_cards"), _module("verdict_card_rules")
    X, y = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3), np.array([1, 1, 0, 0, 0, 0])
    limits = {"max_points": 2, "max_features": 1, "intercept_bound": 3, "sparsity_penalty": 0.0, "scale": "unit", "radius": 0.0}
    case = cards.Case(X, y, None, limits)
    best, _ = cards.reference(case)
    # Scores of 0 for the first three, of whom two are ill, and -2 for the others: any other whole scores lose more.
    assert {(*card.points.tolist(), card.intercept) for card in best[:2]} == {(0, -2, 0), (2, 0, -2)}
    case.rules = [rules.Rule(None, lambda points: (points[:, 0] == 0) & (points[:, 1] == 0))]
    assert all(not card.points.any() for card in cards.reference(case)[0])
    assert not cards.obeys(case, best[0])


def test_rules_about_groups_budgets_and_shares_mean_what_they_say() -> None:
    rules = _module("verdict_card_rules")
    X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    table = rules.Table(X, np.full(4, 0.25), 2, free=False)
    drawn = [rules.draw_rules(np.random.default_rng(seed), table, scores=True) for seed in range(300)]
    found = {type(rule.given).__name__: rule for few in drawn for rule in few}
    assert {"FairRates", "CostBudget", "ForbiddenTogether", "MinShare"} < set(found)
    y, flagged = np.array([1.0, 1.0, 1.0, -1.0]), 40.0 * np.array([[1, -1, 1, 1], [1, 1, 1, -1]])
    for rule in (rule for few in drawn for rule in few if type(rule.given).__name__ == "FairRates"):
        given = rule.given
        if tuple(given.column) != (0,):
            continue
        # Of the first two rows, both positive, one is flagged or both; of the last two all, or the positive one.
        apart = {"tpr": (0.5, 0.0), "fpr": (0.0, 0.0), "selection": (0.5, 0.5)}
        # Mean risks of 0.5 and 1, or of 1 and 0.5, less the shares of the positive, which are 1 and 0.5.
        apart |= {"calibration": (1.0, 0.0), "positive balance": (0.5, 0.0), "negative balance": (0.0, 0.0)}
        assert rule.scores(flagged, None, y).tolist() == [d <= given.max_difference for d in apart[given.metric]]
    both, one = np.array([[1, 2]]), np.array([[1, 0]])
    assert not found["ForbiddenTogether"].points(both)[0] and found["ForbiddenTogether"].points(one)[0]
    for rule in (rule for few in drawn for rule in few if type(rule.given).__name__ == "CostBudget"):
        costs = {(int(key[1]),) if isinstance(key, str) else key: cost for key, cost in rule.given.costs.items()}
        paid = sum(cost for columns, cost in costs.items() if 0 in columns)
        assert rule.points(one)[0] == (paid <= rule.given.most + 1e-9)
    for rule in (rule for few in drawn for rule in few if type(rule.given).__name__ == "MinShare"):
        # Half of the rows answer the first question with yes, three of four the second.
        asked = rule.given.columns is None or 1 in rule.given.columns
        assert rule.points(both)[0] == (rule.given.share <= 0.25 or not asked) and rule.points(one)[0]


def test_cards_from_elsewhere_are_judged_and_false_words_about_them_noticed() -> None:
    cards, judged, record = _module("verdict_cards"), _module("verdict_judged"), _module("verdict_record")
    drawn = []
    for seed in range(0, 24, 2):
        rng, note = np.random.default_rng(seed), record.Record("cards", seed, "ordinary")
        judged.judge_drawn(note, cards.draw(rng, note), rng)
        drawn.append(note)
    assert any(note.verified for note in drawn) and any(note.answered and not note.verified for note in drawn)
    assert all(not {"false verdict", "false claim", "false error", "crash"} & set(note.found) for note in drawn)
    note = record.Record("cards", 0, "ordinary")
    said = "This card has a log loss of 0.69 on 6 rows; of the cards the best one found has 0.5, and none is below 0.61."
    words = SimpleNamespace(excess=(0.3, 0.1), best_loss=0.5, verdict=said)
    judged._check_words(note, words, Decimal("0.6931"), Decimal("0.6"))
    for wrong in (
        "at least 0.3 above",
        "at most 0.1 above",
        "a loss of 0.5 is",
        "'none is below 0.61'",
        "'a log loss of 0.69'",
    ):
        assert wrong in note.found["false claim"], wrong


def test_the_cost_of_least_loss_is_found_by_all_decisions() -> None:
    """One choice between (1, 0) and (0, 1) on the simplex: the first was taken, so its price is the smaller one."""
    inverse, decisions = _module("verdict_inverse"), _module("verdict_decisions")
    points = np.array([[1.0, 0.0], [0.0, 1.0]])
    params = {
        "approach": "asl", "features": None, "distance": "l1", "prior": "simplex", "center": None, "regularizer": "l2",
        "kappa": 0.0, "infeasible": "error",
    }  # fmt: skip
    case = inverse.Case([points], [points], [points[0]], 2, params)
    facts = inverse.read(case)
    # loss = max(0, theta_0 - theta_1 + 2) is 1 at (0, 1).
    assert float(decisions.reference(facts, hard=False)) == pytest.approx(1.0, abs=1e-8)
    assert decisions.consistent_exists(facts)
    # Features that are three times the decisions are sqrt(18) apart, and a function says how far what it says.
    params |= {"features": lambda signal, x: 3.0 * np.asarray(x), "distance": "features"}
    assert float(inverse.read(case).distances[0][1]) == pytest.approx(18.0**0.5)
    params |= {"approach": "incenter", "distance": "auto"}
    assert float(inverse.read(case).distances[0][1]) == pytest.approx(18.0**0.5)
    params["distance"] = lambda signal, seen, other: 7.0 * float(np.sum(seen != other)) * signal[0, 0]
    assert inverse.read(case).distances[0].tolist() == [0, 14]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_few_problems_of_every_family_are_judged(family: str) -> None:
    trial = _module(f"verdict_{family}").trial
    records = [trial(seed) for seed in (2, 4, 6)]
    assert [record.stratum for record in records] == ["ordinary"] * 3
    assert any(record.answered for record in records)
    assert not any("crash" in record.found for record in records)
    again = trial(4)
    assert again.found == records[1].found and again.settings == records[1].settings


@pytest.mark.parametrize("family", FAMILIES)
def test_tampered_answers_are_judged_and_untouched_ones_stay_verified(family: str) -> None:
    tampered = getattr(_module("verdict_tampering"), f"tampered_{family}")
    records = [tampered(seed) for seed in range(0, 40, 2)]
    untouched = [record for record in records if record.tampered == "nothing"]
    assert untouched and all(record.verified and "refused" not in record.found for record in untouched)
    assert any(not record.verified for record in records) and not any("crash" in record.found for record in records)


@pytest.mark.parametrize("family", FAMILIES)
def test_certificates_in_doubles_and_in_balls_agree(family: str) -> None:
    pytest.importorskip("flint", reason="balls need python-flint, the extra 'proof'")
    records = [_module("verdict_balls").compared(family, seed) for seed in range(6)]
    assert sum(record.answered for record in records) >= 5 and any(record.verified for record in records)
    assert [record.found for record in records] == [{}] * 6


@pytest.mark.parametrize(
    ("double", "ball", "kinds"),
    [
        ((0.5000001, 0.5), (0.5000001, 0.5), []),
        ((0.5000001, 0.5), (0.5, 0.1), ["balls refuse what doubles verified"]),
        ((0.5000001, 0.5), (0.4, 0.3999999), ["doubles and balls contradict each other"]),
        ((0.5000001, 0.5), None, ["balls refuse what doubles verified"]),
        ((0.5, 0.1), None, ["doubles and balls contradict each other"]),
        (None, (0.5, 0.1), ["doubles and balls contradict each other"]),
        ((0.5, 0.1), (0.5, 0.4999999), ["balls prove what doubles leave open"]),
    ],
)
def test_what_balls_refute_is_told_from_what_they_prove_beyond_doubles(double: Any, ball: Any, kinds: list[str]) -> None:
    records, balls, bench = (_module(name) for name in ("verdict_record", "verdict_balls", "bench_verdicts"))
    record = records.Record("svm", 1, "extreme", settings=["huge C"], balls=True)

    def verified_in(arithmetic: str) -> Any:
        told = {"double": double, "ball": ball}[arithmetic]
        if told is None:
            raise CertificateError("the proof does not hold")
        return _certificate(*told)

    balls.judge_twice(record, verified_in)
    assert list(record.found) == kinds
    agreed = records.Record("svm", 2, "ordinary", verified=True, answered=True, balls=True)
    written = bench.report([record, agreed], ["svm"])
    rows = {row["setting"]: row for row in written.tables[0].rows}
    for kind in ("balls refuse what doubles verified", "balls prove what doubles leave open"):
        assert (rows["extreme"][kind], rows["ordinary"][kind]) == (int(kind in kinds), 0)
    beyond = int("balls prove what doubles leave open" in kinds)
    text = " ".join(written.findings)
    assert f"Balls prove what doubles leave open: ordinary 0, extreme {beyond}{', with huge C' * beyond}." in text
    assert f"balls refuse what doubles verified {int(kinds[:1] == ['balls refuse what doubles verified'])}" in text


def test_an_abort_is_a_finding_and_not_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    children = _module("verdict_children")
    # The child imports the family by name: this one kills its own process at one seed.
    (tmp_path / "verdict_fatal.py").write_text(
        "import os, signal\nfrom verdict_record import Record\n\n\ndef trial(seed):\n"
        "    if seed == 1:\n        os.kill(os.getpid(), signal.SIGABRT)\n    return Record('fatal', seed, 'ordinary')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    jobs = [children.Job("fatal", "trial", seed) for seed in range(3)]
    records = {record.seed: record for record in children.run_jobs(jobs, 1, tmp_path / "kept.jsonl", lambda record: None)}
    assert sorted(records) == [0, 1, 2]
    assert records[1].found == {"crash": f"the process died with exit code {-signal.SIGABRT}"}
    kept = children.kept_records(tmp_path / "kept.jsonl")
    assert kept["fatal", "trial", 1].found == records[1].found and len(kept) == 3


def test_the_quick_campaign_writes_its_tables_and_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    run = _module("run").main
    asked = ["verdicts", "--quick", "--family", "cards", "--problems", "4", "--tampered", "2", "--balls", "1", "--jobs", "1"]
    run([*asked, "--output", str(tmp_path)])
    with (tmp_path / "verdicts.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    counted = [(row["family"], row["setting"], row["problems"]) for row in rows]
    assert counted == [("cards", "ordinary", "2"), ("cards", "extreme", "2")]
    assert all(row["crash"] == "0" and row["surefoot"] for row in rows)
    assert "4 random problems: false verdict" in (tmp_path / "verdicts.md").read_text(encoding="utf-8")
    before = (tmp_path / "verdicts.jsonl").read_text(encoding="utf-8")
    run([*asked, "--resume", "--output", str(tmp_path)])
    assert (tmp_path / "verdicts.jsonl").read_text(encoding="utf-8") == before


def test_the_command_of_a_finding_repeats_it() -> None:
    bench = _module("bench_verdicts")
    assert bench.command("svm", "trial", 25) == (
        "python benchmarks/run.py verdicts --quick --family svm --problems 1 --tampered 0 --balls 0 --seed 25"
    )
    record = replace(_module("verdict_record").Record("svm", 25, "extreme"), found={"crash": "it\ndied"}, tampered="plane")
    failure = bench._failure(record, "crash", "it\ndied")
    assert failure["detail"] == "it died" and failure["command"].endswith("--problems 0 --tampered 1 --balls 0 --seed 25")


def test_cones_on_a_sphere_are_told_to_hold_nothing_where_entries_differ_by_1e15() -> None:
    # The linear programmes of the reference took a row with an entry of 1e-15 for met.
    record = _module("verdict_inverse").trial(11002199)
    assert record.found == {} and not record.answered


@pytest.mark.parametrize("seed", [1005135, 1009973])
def test_rounding_of_large_entries_has_room_in_the_gap_that_is_asked_for(seed: int) -> None:
    """Columns of 1e7 at a gap of 1e-6: the certificate was refused by a hundredth of it."""
    record = _module("verdict_cards").trial(seed)
    assert record.verified
    assert not record.found
