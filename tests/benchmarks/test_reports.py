"""Each benchmark of fits runs in quick mode, from the command line, and saves what it promises."""

from __future__ import annotations

import csv
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import surefoot

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data" / "libsvm"
NO_PYTHON = "no-such-python"
needs_tables = pytest.mark.skipif(
    not (DATA.parent / "riskslim").is_dir(), reason="the tables of RISKSLIM are not beside the repository"
)


def _run(output: Path, *arguments: str) -> str:
    """Run a benchmark and return its Markdown page."""
    # The child must import the surefoot under test, wherever it was imported from.
    path = os.pathsep.join([str(Path(surefoot.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), *arguments, "--quick", "--output", str(output)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": path})
    return (output / f"{arguments[0]}.md").read_text(encoding="utf-8")


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_label_shift_compares_sqp_with_whoever_is_there(tmp_path: Path) -> None:
    page = _run(tmp_path, "label_shift", "--sizes", "300x4", "--repeats", "1", "--dro-python", NO_PYTHON)
    (fit,) = _rows(tmp_path / "label_shift.csv")
    assert (fit["N"], fit["n"], fit["verified"], fit["known_optimum"]) == ("300", "4", "True", "")
    assert float(fit["gap"]) <= 1e-6
    rivals = {row["rival"]: row for row in _rows(tmp_path / "label_shift_rivals.csv")}
    assert "dro" not in rivals and "- dro: the Python of --dro-python cannot be started" in page
    assert float(rivals["lp-admm"]["excess"]) <= 1e-6
    for row in rivals.values():
        assert float(row["ratio"]) == pytest.approx(float(row["seconds"]) / float(fit["sqp"]))
    accuracies = _rows(tmp_path / "label_shift_accuracy.csv")
    assert [float(row["accuracy"]) for row in accuracies] == [1e-2, 1e-3, 1e-4, 1e-5, 1e-6]
    # A proof comes no earlier than what it proves, and a finer one no earlier than a coarser one.
    assert all(float(row["lp_admm_reached"]) <= float(row["lp_admm_proven"]) for row in accuracies)
    proven = [float(row["lp_admm_proven"]) for row in accuracies]
    assert proven == sorted(proven)
    # A path of this machine is no part of the command that repeats the run.
    assert "`python benchmarks/run.py label_shift --sizes 300x4 --repeats 1 --quick`" in page


@pytest.mark.skipif(not DATA.is_dir(), reason="the LIBSVM files are not beside the repository")
def test_adult_series_sets_our_seconds_beside_the_posters(tmp_path: Path) -> None:
    page = _run(tmp_path, "adult_series", "--data", "a1a", "--repeats", "1")
    (fit,) = _rows(tmp_path / "adult_series.csv")
    assert (fit["data"], fit["N"], fit["entries"]) == ("a1a", "1605", "22249")
    assert (fit["verified"], fit["poster_yalmip"], fit["poster_lp_admm"]) == ("True", "25.63", "2.93")
    assert "certified to 1e-06: 1 of 1 data sets" in page


def test_the_beta_subproblem_is_solved_by_every_method_and_its_rate_holds(tmp_path: Path) -> None:
    page = _run(tmp_path, "beta_subproblem", "--data", "200x5", "--seconds", "0.5")
    curves = {row["method"]: row for row in _rows(tmp_path / "beta_subproblem.csv")}
    (optimum,) = _rows(tmp_path / "beta_subproblem_optima.csv")
    assert float(optimum["gap"]) <= 1e-10 and float(optimum["optimum"]) < np.log(2)
    # No iterate in the box is better than the proven optimum, and the methods that converge come near it.
    assert all(float(row["best gap"]) >= 0 for row in curves.values())
    for method in ("LP-ADMM", "SADMM", "adaptive LP-ADMM", "lp-admm"):
        assert float(curves[method]["best gap"]) < 1e-5, method
    assert len({row["coefficient step"] for row in _rows(tmp_path / "beta_subproblem_steps.csv")}) == 4
    assert all(float(row["gap"]) < 1e-4 for row in _rows(tmp_path / "beta_subproblem_steps.csv"))
    (rate,) = _rows(tmp_path / "beta_subproblem_rate.csv")
    assert float(rate["share of the bound"]) <= 1
    # The mean pair leaves mu = Z b by what its start weighs in the mean, which is 1 / K.
    assert float(rate["mean: slope"]) == pytest.approx(-1.0, abs=0.1)
    assert "<= C / K holds from K = 1 to 300" in page
    assert (tmp_path / "beta_subproblem.png").stat().st_size > 1000


@pytest.mark.skipif(not (DATA.parent / "uci").is_dir(), reason="the UCI files are not beside the repository")
def test_the_solvers_of_table_1_agree_with_ours_within_their_limit(tmp_path: Path) -> None:
    page = _run(tmp_path, "mixed_table_1", "--limit", "20")
    fits = _rows(tmp_path / "mixed_table_1_fits.csv")
    ours = {row["weights"]: row for row in fits if row["solver"] == "sqp"}
    assert list(ours) == ["1", "integer", "one decimal", "real"]
    timed = [(row["weights"], row["solver"]) for row in fits if row["solver"] != "sqp"]
    # The method for equal weights is timed there only, and nobody but ours takes weights as they are.
    assert sorted(timed) == sorted(
        [("1", "cutting"), *((weights, name) for weights in list(ours)[:3] for name in ("graph", "DP", "all rows"))]
    )
    for row in fits:
        assert row["end"] == "optimal" and float(row["gap"]) <= 1e-6
        assert float(row["objective"]) == pytest.approx(float(ours[row["weights"]]["objective"]), rel=2e-6)
    # One cut a round takes more rounds than one for every row.
    rounds = {(row["weights"], row["solver"]): int(row["rounds"]) for row in fits}
    assert all(rounds[weights, "DP"] > rounds[weights, "all rows"] for weights in list(ours)[:3])
    assert "8394.99 / 20.57 = 408.12" in page


def test_the_headline_figures_are_read_from_the_instances(tmp_path: Path) -> None:
    instances = tmp_path / "instances.csv"
    # One data set, two means; equal weights are constant at the first: AUC 0.5, or 0 where ties are lost.
    lines = ["data,mean,model,theta,average ACE,worst ACE,average AUC,worst AUC,date,commit"]
    for mean, theirs in (("0.6", "0.2,0.4,0.5,0.5"), ("0.7", "0.2,0.4,0.7,0.5")):
        for model in ("lasso", "equal weights by log loss", "lasso by log loss"):
            lines.append(f"a,{mean},{model},nan,0.2,0.4,0.8,0.5,2026-01-01,abc")
        lines.append(f"a,{mean},equal weights,nan,{theirs},2026-01-01,abc")
        for theta, average in (("0.5", "0.1"), ("0.9", "0.15")):
            lines += [
                f"a,{mean},{rounding},{theta},{average},0.3,0.8,0.6,2026-01-01,abc" for rounding in ("integer", "one decimal")
            ]
    instances.write_text("\n".join(lines) + "\n", encoding="utf-8")
    page = _run(tmp_path, "mixed_headlines", "--instances", str(instances))
    rows = {(row["against"], row["ties"], row["reading"]): row for row in _rows(tmp_path / "mixed_headlines.csv")}
    half, lost = (rows["equal weights", ties, "change of the mean, %"] for ties in ("half", "lost"))
    assert [float(half[name]) for name in ("average ACE", "worst ACE", "average AUC", "worst AUC")] == [50.0, 25.0, 33.33, 20.0]
    assert [float(lost[name]) for name in ("average AUC", "worst AUC")] == [128.57, 140.0]
    assert float(rows["lasso", "half", "mean difference, points"]["worst AUC"]) == 10.0
    assert ("lasso", "lost", "change of the mean, %") not in rows
    assert "same score for everybody on 1 of 2 instances (a)" in page and "commit abc" in page


@pytest.mark.skipif(not (DATA.parent / "uci").is_dir(), reason="the UCI files are not beside the repository")
def test_stress_times_both_paths_and_finds_them_equal(tmp_path: Path) -> None:
    page = _run(tmp_path, "stress", "--threads", "1")
    fast, predicted = _rows(tmp_path / "stress.csv")
    assert (fast["path"], fast["sets"], fast["rows"], fast["models"]) == ("shifts alone", "50", "12330", "3")
    assert predicted["path"] == "predictions" and float(predicted["ms_per_set"]) > 0
    assert len(_rows(tmp_path / "stress_values.csv")) == 9
    apart = float(page.split("Both ways agree to ")[1].split(" in every")[0])
    assert apart < 1e-12


@pytest.mark.skipif(not (DATA.parent / "uci").is_dir(), reason="the UCI files are not beside the repository")
def test_shift_evaluation_measures_every_model_and_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = ["--thetas", "0.9", "0.99", "--sets", "5", "--threads", "1", "--kept", str(tmp_path / "kept")]
    page = _run(tmp_path / "first", "shift_evaluation", "--data", "hayes-roth", *asked)
    rows = _rows(tmp_path / "first" / "shift_evaluation_instances.csv")
    assert len(rows) == 4 + 3 * 2 and {row["data"] for row in rows} == {"hayes-roth"}
    for row in rows:
        assert float(row["average ACE"]) <= float(row["worst ACE"]) and float(row["average AUC"]) >= float(row["worst AUC"])
    assert page.count("Claim 'better than") == 8 and "(shift_evaluation_figure_5.png)" in page
    assert (tmp_path / "first" / "shift_evaluation_figure_2.png").read_bytes().startswith(b"\x89PNG")
    cut = _run(tmp_path / "second", "shift_evaluation", "--data", "hayes-roth", "hepatitis", *asked, "--minutes", "-1")
    assert "For want of time: hepatitis at mean 0.8." in cut and "For want of time" not in page and "--kept" not in cut
    kept = _rows(tmp_path / "second" / "shift_evaluation_instances.csv")
    assert [row["worst AUC"] for row in kept] == [row["worst AUC"] for row in rows]


@pytest.mark.skipif(not (DATA.parent / "uci").is_dir(), reason="the UCI files are not beside the repository")
def test_the_lasso_of_the_evaluation_is_that_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    instances = importlib.import_module("shift_instances")
    parts = instances.split("hepatitis", 0)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    like = surefoot.RobustLogisticRegression(unseen_categories="reference").fit(parts.X_train, parts.y_train)
    design, penalty, rows = instances._encoded(parts), 0.01, len(parts.y_train)
    monkeypatch.setattr(instances, "PENALTIES", (penalty,))
    # This solver counts the intercept among the penalised coefficients.
    own = LogisticRegression(C=1 / (penalty * rows), l1_ratio=1.0, solver="liblinear", max_iter=2000, tol=1e-9, random_state=0)
    own.fit(design, parts.y_train)
    for model in instances.lassos(parts, folds, like).values():
        assert model.coef_ == pytest.approx(own.coef_, abs=2e-3) and np.abs(model.coef_).max() > 0.1
        assert model.intercept_ == pytest.approx(own.intercept_, abs=2e-3)
        assert model.predict_proba(parts.X_train) == pytest.approx(own.predict_proba(design), abs=1e-3)


def test_dense_rows_grows_rows_and_columns_apart(tmp_path: Path) -> None:
    page = _run(tmp_path, "dense_rows", "--rows", "200", "400", "--columns", "2", "4", "--fixed-rows", "300")
    fits = _rows(tmp_path / "dense_rows.csv")
    sizes = [("N", "200", "20"), ("N", "400", "20"), ("n", "300", "2"), ("n", "300", "4")]
    assert [(fit["growing"], fit["N"], fit["n"]) for fit in fits] == sizes
    assert all(fit["verified"] == "True" and float(fit["peak_gb"]) >= float(fit["table_gb"]) > 0 for fit in fits)
    assert [row["growing"] for row in _rows(tmp_path / "dense_rows_growth.csv")] == ["N", "n"]
    assert "Certified: 4 of 4 fits." in page


def test_slopes_are_exponents() -> None:
    dense, measure = importlib.import_module("bench_dense_rows"), importlib.import_module("measure")

    def fit(growing: str, rows: int, columns: int) -> object:
        seconds = 1e-6 * rows * columns**2
        figures = measure.Account(seconds, 3.0, seconds, 1, "optimal", 0.5, 0.0, True, 1.0, 0.1 * rows**0.5)
        return dense.DenseFit(growing, rows, columns, figures)

    lost = dense.DenseFit("N", 10**6, 10, None, "out of memory")
    fits = [fit("N", 100, 10), fit("N", 1000, 10), lost, fit("n", 100, 5), fit("n", 100, 50)]
    (over_rows,), (over_columns,) = dense._slopes("N", fits), dense._slopes("n", fits)
    assert (over_rows["smallest"], over_rows["largest"]) == (100, 1000)
    assert [over_rows[stage] for stage in ("solve", "certify", "peak_gb")] == pytest.approx([1.0, 0.0, 0.5])
    assert over_columns["solve"] == pytest.approx(2.0)
    assert dense._slopes("N", [fit("N", 100, 10), lost]) == []


def test_wide_says_what_it_cannot_measure_or_certifies_it(tmp_path: Path) -> None:
    page = _run(tmp_path, "wide", "--size", "400", "100", "5")
    if not (tmp_path / "wide.csv").exists():
        assert "this version has no solver 'wide'" in page
        return
    (fit,) = _rows(tmp_path / "wide.csv")
    assert (fit["norm"], fit["label_price"], fit["verified"], fit["answer"]) == ("l1", "1.0", "True", "")
    assert float(fit["gap"]) <= 1e-4


def test_a_wide_table_is_solved_and_certified_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = importlib.import_module("bench_wide")
    monkeypatch.setattr(wide, "SOLVER", "sqp")
    radius, figures = wide.measure_fit((300, 40, 5), "l2", 1.0, 0.1, 1e-4, 1, 60.0, 0)
    assert 0 < radius <= 0.05
    assert figures.verified and figures.gap <= 1e-4
    assert figures.total == pytest.approx(figures.solve + figures.certify)


def test_streamed_reads_a_file_in_a_process_of_its_own(tmp_path: Path) -> None:
    page = _run(tmp_path, "streamed", "--rows", "3000", "--label-weights", "1", "inf", "--threads", "1")
    fits = _rows(tmp_path / "streamed.csv")
    assert [(fit["N"], fit["kappa"], fit["verified"]) for fit in fits] == [("3000", "1.0", "True"), ("3000", "inf", "True")]
    for fit in fits:
        assert int(fit["passes"]) > 4 and 0 < float(fit["reading"]) < 1
        assert float(fit["peak_gb"]) >= float(fit["base_gb"]) > 0
    assert "3000 rows, label weight inf:" in page


def test_a_child_answers_or_leaves_a_sentence() -> None:
    in_child = importlib.import_module("measure").in_child
    assert in_child(divmod, 7, 2) == (3, 1)
    assert in_child(divmod, 7, 0).startswith("ZeroDivisionError: ")
    assert in_child(os._exit, 3) == "died with exit code 3, out of memory perhaps"
    start = time.perf_counter()
    assert in_child(time.sleep, 600, seconds=1.0) == "stopped after 1 s"
    assert time.perf_counter() - start < 60


def test_dask_counts_what_a_question_costs_and_what_travels(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra dask: pip install 'surefoot[dask]'")
    _run(tmp_path, "dask", "--rows", "1000", "--partitions", "2", "--categories", "1")
    (fit,) = _rows(tmp_path / "dask.csv")
    assert (fit["N"], fit["partitions"], fit["verified"]) == ("1000", "2", "True")
    assert 0 < int(fit["solver_questions"]) < int(fit["questions"])
    assert float(fit["overhead_ms_per_question"]) > 0
    assert float(fit["kilobytes_per_step"]) > 0
    assert float(fit["largest_difference"]) < 1e-3


@needs_tables
def test_risk_scores_proves_a_card_and_compares_whoever_is_there(tmp_path: Path) -> None:
    page = _run(tmp_path, "risk_scores", "--sets", "mammo", "--methods", "exact")
    (card,) = _rows(tmp_path / "risk_scores.csv")
    assert (card["method"], card["loss"], card["bound"], card["ended"]) == ("exact", "0.468554", "0.468554", "optimal")
    (free,) = _rows(tmp_path / "risk_scores_free.csv")
    # The best loss at a free scale with a real intercept.
    assert (free["loss"], free["imodels_loss"], free["no_worse"]) == ("0.462605", "", "")
    assert "- FasterRisk and imodels: no Python given." in page


@needs_tables
def test_risk_rows_tells_the_parts_of_the_time_apart(tmp_path: Path) -> None:
    page = _run(tmp_path, "risk_rows", "--rows", "300", "600", "--columns", "9")
    drawn = _rows(tmp_path / "risk_rows.csv")
    assert [(row["columns"], row["rows"], row["ended"]) for row in drawn] == [("9", "300", "optimal"), ("9", "600", "optimal")]
    for row in drawn:
        assert float(row["bound"]) <= float(row["loss"]) + 1e-6
        parts = [float(row[part]) for part in ("merging", "heuristic", "search")]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(float(row["seconds"]))
    assert "9 columns: CPU seconds grow as rows^" in page


@needs_tables
def test_risk_table_sets_our_figures_beside_the_published(tmp_path: Path) -> None:
    page = _run(tmp_path, "risk_table")
    found = {row["metric"]: row for row in _rows(tmp_path / "risk_table.csv")}
    assert (found["loss value"]["published"], found["loss value"]["found"]) == ("0.469", "0.468554")
    assert (found["optimality gap"]["found"], found["model size"]["found"]) == ("0.0%", "5")
    assert abs(float(found["test auc"]["found"]) - float(found["test auc"]["published"])) < 0.02
    assert len(_rows(tmp_path / "risk_table_folds.csv")) == 6
    assert "Fits proven optimal: 6 of 6." in page


@pytest.mark.skipif(not (DATA.parent / "uci").is_dir(), reason="the UCI files are not beside the repository")
def test_uncertain_accuracy_sets_our_figures_beside_those_of_scikit_learn_and_the_paper(tmp_path: Path) -> None:
    page = _run(tmp_path, "uncertain_accuracy", "--sets", "wisconsin", "--jobs", "1")
    (found,) = _rows(tmp_path / "uncertain_accuracy.csv")
    assert (found["rows"], found["paper_rows"], found["columns"]) == ("683", "666", "9")
    assert (found["paper_svc_rbf"], found["paper_chance_rbf"]) == ("95.97", "96.70")
    # The larger class has 65 % of the rows.
    assert all(90 <= float(found[name]) <= 99 for name in ("svc_quad", "svc_rbf", "chance_quad", "chance_rbf"))
    assert [row["model"] for row in _rows(tmp_path / "uncertain_accuracy_seconds.csv")] == [
        "svc quad", "svc rbf", "chance quad", "chance rbf",
    ]  # fmt: skip
    proven = [row for row in _rows(tmp_path / "uncertain_accuracy_seconds.csv") if row["model"].startswith("chance")]
    assert [(row["grid_fits"], row["grid_proven"]) for row in proven] == [("40", "40")] * 2
    # A path ends where the fit of its best point alone does.
    for row in proven:
        assert float(row["accuracy_alone"]) == pytest.approx(float(found[row["model"].replace(" ", "_")]), abs=1.0)
    assert "cod-rna: the file is not in the collection" in page
    page = _run(tmp_path, "uncertain_accuracy", "--sets", "sonar", "--jobs", "1")
    assert "Measured by an earlier run with the same grid" in page
    first, again = _rows(tmp_path / "uncertain_accuracy.csv")
    assert (first["data"], again) == ("sonar", found)
    assert [row["data"] for row in _rows(tmp_path / "uncertain_accuracy_seconds.csv")] == ["sonar"] * 4 + ["wisconsin"] * 4


def test_calibration_error_compares_risks_with_shares_bin_by_bin() -> None:
    error = importlib.import_module("bench_risk_table").calibration_error
    # Score 0: risk 0.5, observed 0.75; score log 3: risk 0.75, observed 0.75.
    scores = np.array([0.0] * 4 + [np.log(3)] * 4)
    labels = np.array([1.0, 1.0, 1.0, -1.0] * 2)
    assert error(scores, labels) == pytest.approx(0.5 * 0.25)
    assert error(scores, labels, 2) == pytest.approx(np.sqrt(0.5 * 0.25**2))
    # All of these fall into the bin from 0.5 to 0.6, whose observed share is 1/2.
    many = np.linspace(0.01, 0.3, 40)
    assert error(many, np.array([1.0, -1.0] * 20)) == pytest.approx(np.mean(1 / (1 + np.exp(-many))) - 0.5)


@needs_tables
def test_calibration_error_of_the_printed_cards_is_the_printed_one() -> None:
    cards = importlib.import_module("bench_risk_table")._printed_cards(["adult", "bank"])
    for card in cards:
        assert f"{float(card['cal'].rstrip('%')):.1f}%" == card["published_cal"]
        assert float(card["auc"]) == pytest.approx(float(card["published_auc"]), abs=6e-4)


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "benchmarks").glob("bench_*.py")))
def test_every_benchmark_can_be_imported(name: str) -> None:
    assert importlib.import_module(name).DESCRIPTION


@pytest.mark.skipif(
    not (DATA.parent / "uci" / "online_shoppers.csv.gz").exists(), reason="the UCI tables are not beside the repository"
)
def test_ranges_are_measured_beside_the_fit_without(tmp_path: Path) -> None:
    page = _run(tmp_path, "ranges")
    rows = _rows(tmp_path / "ranges.csv")
    assert [row["numeric_range"] for row in rows] == ["none", "observed", "observed +- 10 %"]
    assert {row["data"] for row in rows} == {"online-shopper"}
    assert float(rows[0]["over_unbounded"]) == 1.0
    # More room to move is a worse worst case.
    none, observed, wider = (float(row["worst_case_loss"]) for row in rows)
    assert observed < wider < none
    assert "All fits are proven" in page


@pytest.mark.skipif(not (DATA.parent / "riskslim").is_dir(), reason="the tables of score cards are not beside the repository")
def test_verify_cost_sets_the_certificate_beside_the_search(tmp_path: Path) -> None:
    page = _run(tmp_path, "verify_cost")
    (row,) = _rows(tmp_path / "verify_cost.csv")
    assert (row["data"], row["rows"], row["columns"]) == ("mammo", "961", "14")
    assert int(row["claims"]) > 100 and int(row["witness_bytes"]) > 1000
    assert all(float(row[name]) > 0 for name in ("search_s", "certificate_s", "verify_s"))
    assert "All claims of all proofs were recomputed" in page


@pytest.mark.skipif(not (DATA.parent / "uci").is_dir(), reason="the UCI tables are not beside the repository")
def test_default_radius_compares_with_the_cross_validated_rival(tmp_path: Path) -> None:
    page = _run(tmp_path, "default_radius", "--data", "hepatitis")
    (row,) = _rows(tmp_path / "default_radius_tables.csv")
    assert (row["data"], row["part"], row["rows"], row["splits"]) == ("hepatitis", "confirmed", "50", "2")
    apart = float(row["loss auto"]) - float(row["loss LogisticRegressionCV"])
    assert float(row["difference auto"]) == pytest.approx(apart, abs=2e-4)
    # The share of the second class is what a model without columns says.
    assert float(row["loss auto"]) < float(row["loss class share"])
    (mean,) = _rows(tmp_path / "default_radius.csv")
    assert mean["mean auto"] == row["difference auto"]
    assert "2 of 2 fits with the automatic radius are proven optimal." in page
