"""Sites held out in turn: no label in a column, rivals that do what they say, figures that follow from the sites."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
needs_tables = pytest.mark.skipif(
    not (DATA / "shift").is_dir(), reason="the tables of real shifts are not beside the repository"
)


def _options(tmp_path: Path, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    importlib.import_module("bench_real_shift").add_options(parser)
    return argparse.Namespace(**vars(parser.parse_args(arguments)), quick=True, output=tmp_path)


def _sited(counts: dict[str, int]) -> Any:
    sites = np.repeat(list(counts), list(counts.values()))
    X = pd.DataFrame({"row": np.arange(len(sites), dtype=float)})
    return importlib.import_module("shifted_tables").SitedTable("drawn", "site", X, np.arange(len(sites)) % 2 == 0, sites)


@pytest.mark.parametrize(("most", "left"), [(100, (60, 7, 33)), (99, (59, 7, 33)), (50, (21, 7, 21)), (9, (3, 3, 3))])
def test_large_sites_give_rows_away_first(most: int, left: tuple[int, ...]) -> None:
    table = _sited({"a": 60, "b": 7, "c": 33}).capped(most, 0)
    assert tuple(int((table.sites == site).sum()) for site in "abc") == left
    # Rows keep their labels and their order.
    rows = table.X["row"].to_numpy()
    assert np.array_equal(table.y, rows % 2 == 0) and np.all(np.diff(rows) > 0)


def test_the_largest_sites_with_both_labels_stay() -> None:
    table = _sited({"a": 3, "b": 9, "c": 1, "d": 5})
    assert set(table.largest_sites(2).sites) == {"b", "d"}
    assert set(table.with_both_labels().sites) == {"a", "b", "d"}


@needs_tables
def test_no_column_says_the_label_or_the_site() -> None:
    tables = importlib.import_module("shifted_tables").TABLES
    compas = tables["compas"]()
    assert set(compas.X) == {
        "age",
        "juv_fel_count",
        "juv_misd_count",
        "juv_other_count",
        "priors_count",
        "sex",
        "c_charge_degree",
    }
    assert sorted(set(compas.sites)) == ["2013 Q1", "2013 Q2", "2013 Q3", "2013 Q4", "2014 Q1"]
    for name, told in {"bank": {"duration", "month"}, "acs": {"PINCP", "POVPIP", "DENSITY", "PUMA"}}.items():
        assert not told & set(tables[name]().X)
    bank = tables["bank"]()
    # The file is in the order of dates: each quarter is one run of rows.
    runs = 1 + np.flatnonzero(bank.sites[1:] != bank.sites[:-1]).size
    assert runs == len(set(bank.sites)) == 9


def test_group_dro_lowers_the_worst_group_as_far_as_possible() -> None:
    rivals = importlib.import_module("site_rivals")
    generator = np.random.default_rng(0)
    numbers, site = generator.normal(size=(300, 2)), np.repeat([0, 1], [250, 50])
    slopes = np.where(site == 0, 1.5, -0.5)
    labels = np.where(generator.logistic(size=300) < slopes * numbers[:, 0] + 0.5 * numbers[:, 1], 1.0, -1.0)
    strength = 1.0

    def worst(beta: np.ndarray) -> float:
        losses = np.logaddexp(0.0, -labels * (beta[0] + numbers @ beta[1:]))
        means = np.bincount(site, weights=losses) / np.bincount(site)
        return float(means.max() + beta[1:] @ beta[1:] / (2 * strength * len(labels)))

    beta, shares = rivals.group_dro_coefficients(numbers, labels, site, strength, rounds=400)
    best = min(
        minimize(worst, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-10}).fun
        for start in (np.zeros(3), beta)
    )
    assert worst(beta) <= best + 2e-3
    assert shares.sum() == pytest.approx(1.0) and shares[1] > 0.3
    even = minimize(lambda beta: np.logaddexp(0.0, -labels * (beta[0] + numbers @ beta[1:])).mean(), np.zeros(3)).x
    assert worst(beta) < worst(even) - 0.01


def test_a_child_chooses_the_radius_that_halves_of_sites_speak_for_and_answers_once(tmp_path: Path) -> None:
    child = importlib.import_module("site_child")
    generator = np.random.default_rng(1)
    numbers = generator.normal(size=(80, 1))
    labels = np.where(generator.logistic(size=80) < numbers[:, 0], 1.0, -1.0)
    halves = np.arange(80) % 2
    question = tmp_path / "0.npz"
    np.savez(question, numbers=numbers, labels=labels, halves=halves, radii=np.array([0.1, 0.2, 0.3]))
    fitted = []

    def fit(rows: Any, signs: Any, radius: float) -> tuple[Any, float]:
        fitted.append((len(rows), radius))
        # The slope of the truth at 0.2 alone.
        return np.array([{0.1: -5.0, 0.2: 1.0, 0.3: 9.0}[radius]]), 0.0

    found = child._answer(fit, question)
    assert (found["radius"], found["coefficients"], found["intercept"]) == (0.2, [1.0], 0.0)
    assert fitted == [(40, radius) for radius in (0.1, 0.1, 0.2, 0.2, 0.3, 0.3)] + [(80, 0.2)]
    question.with_suffix(".json").write_text(json.dumps(found), encoding="utf-8")
    # With an answer for every question nothing is fitted, so nothing needs to be installed.
    child._dro = lambda: pytest.fail
    child.main("dro", tmp_path)


@needs_tables
def test_summaries_follow_from_the_sites_and_a_run_that_was_cut_goes_on(tmp_path: Path) -> None:
    bench = importlib.import_module("bench_real_shift")
    models = [bench.REFERENCE, "gradient boosting", bench.RECOMMENDED]
    asked = ["--data", "german", "--sites", "3", "--kept", str(tmp_path / "kept"), "--dro-python", "no-such-python"]
    report = bench.run(_options(tmp_path, *asked, "--models", *models))
    summary, verdict, tables, sites = (table.rows for table in report.tables)
    assert [row["model"] for row in summary] == models and tables[0]["sites"] == 3
    for row in summary:
        own = [one for one in sites if one["model"] == row["model"]]
        plain = [one for one in sites if one["model"] == bench.REFERENCE]
        assert len({one["site"] for one in own}) == 3 and sum(one["rows"] for one in own) == tables[0]["rows"]
        gains = np.array([one["log_loss"] - other["log_loss"] for one, other in zip(own, plain, strict=True)])
        assert float(row["log loss"]) == pytest.approx(np.mean([one["log_loss"] for one in own]), abs=6e-5)
        assert float(row["to l2"]) == pytest.approx(gains.mean(), abs=6e-5)
        assert float(row["se"]) == pytest.approx(gains.std(ddof=1) / np.sqrt(3), abs=6e-5)
        assert float(row["worst"]) == pytest.approx(max(one["log_loss"] for one in own), abs=6e-5)
    (ours,) = [row for row in verdict if row["model"] == bench.RECOMMENDED]
    (figures,) = [row for row in summary if row["model"] == bench.RECOMMENDED]
    assert ours["tables"] == "confirmation" and ours["worst site better"] == int(float(figures["worst to l2"]) < 0)
    assert any(line.startswith("dro: its Python cannot be started") for line in report.not_measured)
    assert "skwdro: no Python given." in report.not_measured
    for kept in (tmp_path / "kept").glob("*.json"):
        rows = json.loads(kept.read_text(encoding="utf-8"))
        kept.write_text(json.dumps([{**row, "log_loss": 7.0} for row in rows]), encoding="utf-8")
    again = bench.run(_options(tmp_path, *asked, "--models", *models))
    assert {row["log_loss"] for row in again.tables[3].rows} == {7.0}
    late = bench.run(_options(tmp_path, *asked, "--models", *models, "group DRO", "--minutes", "-1"))
    assert {row["model"] for row in late.tables[0].rows} == set(models)
    assert "For want of time, 'group DRO' on german." in late.not_measured
