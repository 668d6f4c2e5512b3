"""The harness of the paper's tables computes what it says: problems, accuracies, distances, moments and files."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf


def _options(**changed: object) -> argparse.Namespace:
    asked = {"grid": "quick", "jobs": 1, "tol": 1e-6, "time_limit": 60.0, "train": 40, "random_state": 0, "cod_rna": None}
    return argparse.Namespace(**{**asked, "most_rows": 900, **changed})


def test_laws_have_the_moments_of_the_paper() -> None:
    inputs = importlib.import_module("uncertain_inputs")
    rng = np.random.default_rng(0)
    for law, variance in (("normal", 0.05), ("uniform", 0.75**2 / 3)):
        noise = inputs.syn_noise(law, (20_000, 2), rng)
        np.testing.assert_allclose(np.cov(noise.T), variance * np.eye(2), atol=0.03 * variance)
    # The fourth moment of the t law is infinite, so its quartiles are looked at: 0.7649 times the scale for three degrees.
    noise = inputs.syn_noise("t", (20_000, 2), rng)
    np.testing.assert_allclose(np.quantile(noise, 0.75, axis=0), 0.7649 * np.sqrt(0.6 / 3), rtol=0.05)
    # One denominator for a sample: lengths of the columns go together.
    assert np.corrcoef(np.abs(noise.T))[0, 1] > 0.1


def test_synthetic_sets_are_as_the_paper_describes_them() -> None:
    synthetic, inputs = importlib.import_module("chance_synthetic"), importlib.import_module("uncertain_inputs")
    for chosen, shape in zip(inputs.SETS, ((20, 2), (40, 8), (100, 16)), strict=True):
        problem = synthetic.Draw.of(chosen, "normal", 50, 0).problem("rbf")
        assert (problem.n_batches, problem.samples.shape[1]) == shape
        assert problem.labels.sum() == 0 and set(problem.sizes) == {50} and set(problem.costs) == {1024.0}
        means = np.add.reduceat(problem.samples, problem.starts[:-1]) / 50
        assert np.var(problem.samples - np.repeat(means, 50, axis=0)) == pytest.approx(0.05, rel=0.1)


def test_exchanged_batches_are_on_the_side_of_the_other_class() -> None:
    inputs = importlib.import_module("uncertain_inputs")
    for exchanged in (0, 1, 3):
        means, labels = inputs.syn_means(inputs.SETS[1], np.random.default_rng(0), 3.0, exchanged)
        outside = np.linalg.norm(means, axis=1) > np.sort(np.linalg.norm(means, axis=1))[19]
        assert labels.sum() == 0
        assert np.sum(outside & (labels > 0)) == np.sum(~outside & (labels < 0)) == exchanged


@pytest.mark.parametrize("kernel", ["quadratic", "rbf"])
def test_problems_and_accuracies_are_those_of_the_estimator(kernel: str) -> None:
    synthetic, inputs = importlib.import_module("chance_synthetic"), importlib.import_module("uncertain_inputs")
    draw = synthetic.Draw.of(inputs.SETS[0], "normal", 10, 3)
    problem = draw.problem(kernel)
    solved = synthetic.solve(problem, synthetic.EllipsoidCuts())
    shape = {"kernel": "rbf", "gamma": 8.0} if kernel == "rbf" else {"kernel": "poly", "gamma": 1.0, "coef0": 4.0}
    model = sf.ChanceConstrainedSVC(C=1024 / 10, violation=0.2, standardize=False, covariance="batch", **shape)
    model.fit(draw.samples, np.repeat(draw.labels, 10), groups=np.repeat(np.arange(20), 10))
    assert solved.proven and model.certificate_.upper_bound == pytest.approx(solved.objective, rel=3e-6)
    right = model.predict(draw.tests) == np.repeat(draw.labels, 100)
    (accuracies,) = draw.accuracies(problem, [solved.plane])
    # The j-th samples of all batches are one test set; near the plane 1e-6 of the objective may decide about a point.
    np.testing.assert_allclose(accuracies, 100 * right.reshape(20, 100).mean(axis=0), atol=5.1)
    assert accuracies.mean() == pytest.approx(100 * right.mean(), abs=0.3)


def test_a_plane_of_one_class_is_right_about_that_class() -> None:
    synthetic, inputs = importlib.import_module("chance_synthetic"), importlib.import_module("uncertain_inputs")
    draw = synthetic.Draw.of(inputs.SETS[0], "t", 5, 0)
    problem = draw.problem("rbf")
    nothing = synthetic.KernelPlane(np.zeros(100), 0.0)
    found = synthetic.Measured()
    found.add(draw.accuracies(problem, [nothing])[0], 1.0, nothing)
    assert (found.accuracy, found.std, found.flat, found.std_repeats) == (50.0, 0.0, 1, None)


def test_tables_2_to_4_stand_beside_the_printed_figures() -> None:
    synthetic, inputs = importlib.import_module("chance_synthetic"), importlib.import_module("uncertain_inputs")
    second = synthetic.table_2(inputs.SETS[0], 1, per_batch=5)
    assert len(second) == 18 and all(row["proven"] == row["repeats"] == 1 for row in second)
    (cell,) = (row for row in second if (row["kernel"], row["law"], row["eps"]) == ("rbf", "uniform", 0.1))
    assert (cell["paper"], cell["paper_std"]) == ("91.85", "5.73")
    third, fourth = synthetic.table_3_and_4(inputs.SETS[0], 2, 2, per_batch=(5,))
    assert [(row["kernel"], row["paper"], row["paper_cpu"]) for row in third] == [
        ("quadratic", "84.20", 0.99),
        ("rbf", "90.40", 0.82),
    ]
    for kernel in inputs.KERNEL_NAMES:
        rows = {str(row["method"]): row for row in fourth if row["kernel"] == kernel}
        assert list(rows)[:2] == ["socp", "worst-points"] and len(rows) == 2 + len(synthetic.PENALTIES)
        for penalty in synthetic.PENALTIES:
            split = rows[f"admm, penalty {penalty:g}"]
            assert float(split["objective_over_optimum"]) > 1.0 and split["proven"] == 0
        # The cone programme has the optimum of the first repetition.
        draw = synthetic.Draw.of(inputs.SETS[0], "normal", 5, 0)
        best = synthetic.solve(draw.problem(kernel), synthetic.EllipsoidCuts())
        accuracy = draw.accuracies(draw.problem(kernel), [best.plane]).mean()
        assert float(rows["socp"]["accuracy"]) == pytest.approx(accuracy, abs=0.3)


def test_moments_of_example_1_are_those_of_its_mapped_inputs() -> None:
    figures = importlib.import_module("chance_figures")
    means, covariances = figures.mapped_moments()
    rng = np.random.default_rng(0)
    for at in range(3):
        rows = figures.with_product(figures.CENTRES[at] + np.sqrt(figures.VARIANCES[at]) * rng.normal(size=(200_000, 2)))
        np.testing.assert_allclose(rows.mean(axis=0), means[at], atol=0.03)
        np.testing.assert_allclose(np.cov(rows.T), covariances[at], atol=0.06)
    model = figures.example_model()
    assert model.certificate_.verified
    reach = np.sqrt((1 - figures.EXAMPLE_VIOLATION) / figures.EXAMPLE_VIOLATION)
    margins = figures.LABELS * (means @ model.coef_[0] + model.intercept_[0])
    spreads = np.sqrt(np.einsum("j,ijk,k->i", model.coef_[0], covariances, model.coef_[0]))
    assert np.all(margins - reach * spreads >= 1 - 1e-5)


def test_figures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figures, inputs = importlib.import_module("chance_figures"), importlib.import_module("uncertain_inputs")
    figures.draw_figure_1b(tmp_path / "1b.png")
    figures.draw_figure_2(inputs.SETS[0], 5, tmp_path / "2.png")
    for name in ("1b.png", "2.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_cod_rna_is_read_from_a_copy_and_simulated_without_one(tmp_path: Path) -> None:
    cod_rna = importlib.import_module("cod_rna")
    path = tmp_path / "cod-rna"
    path.write_text("-1 1:2.5 8:1\n1 3:-4\n-1 2:7 8:0.5\n")
    X, y = cod_rna.load_cod_rna(path, 0, 10)
    np.testing.assert_array_equal(X[:, [0, 1, 2, 7]], [[2.5, 0, 0, 1], [0, 0, -4, 0], [0, 7, 0, 0.5]])
    assert y.tolist() == [False, True, False]
    path.write_text("-1 1:2.5 9:1\n1 3:-4\n")
    with pytest.raises(ValueError, match="cod-rna has 9 columns; cod-rna has 8"):
        cod_rna.load_cod_rna(path, 0, 10)
    path.write_text("0 1:2.5 8:1\n1 3:-4\n")
    with pytest.raises(ValueError, match=r"labels \[0.0, 1.0\]"):
        cod_rna.load_cod_rna(path, 0, 10)
    X, y = cod_rna.load_cod_rna(None, 0, 500)
    assert X.shape == (500, 8) and 0.25 < y.mean() < 0.42


def test_tables_without_a_file_are_named_and_others_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path))
    tables = importlib.import_module("chance_paper_tables")
    names = ["sonar", "cod-rna"]
    measured = tables.Benchmarked.of(names, [tables.search_table(name, _options()) for name in names])
    (absent,) = measured.absent
    assert absent.startswith("sonar: ") and "sonar.csv" in absent and str(tmp_path) not in absent
    seventh = {str(row["model"]): row for row in tables.table_7(measured)}
    assert set(seventh) == set(tables.ALL_MODELS)
    assert seventh["admm rbf"]["paper"] == seventh["chance rbf"]["paper"] == "86.07"
    assert seventh["chance quad"]["fits"] == seventh["chance quad"]["proven_or_ended"] == 40
    assert all(float(str(row["accuracy"])) > 80 for row in seventh.values())
    assert [row["paper_cpu"] for row in tables.table_8(measured)] == [7.80, 3.04, 7.07, 13.64, 7.07, 13.64]
    assert tables.table_5(measured) == [] and tables.table_6(measured)[0]["paper_rows"] == 59_535


def test_the_splitting_of_a_search_is_that_of_the_estimator() -> None:
    search = importlib.import_module("uncertain_search")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2 == 0
    X = rng.normal(size=(60, 3)) + y[:, None]
    fold = next(search.folds_of(X, y, _options()))
    split = search.Split.fit("rbf", 2.0, 8.0, 0.3, fold)
    price = 8.0 * search.inputs_over_rows(fold)
    model = sf.ChanceConstrainedSVC(C=price, violation=0.3, gamma=1 / 8, standardize=False, covariance="batch", solver="admm")
    with search.silenced():
        model.fit(fold.X, fold.y, groups=fold.clusters)
    products = split.problem.kernel.products(fold.X_test, split.problem.samples)
    scores = products @ split.plane.coefficients + split.plane.intercept
    np.testing.assert_allclose(model.decision_function(fold.X_test), scores, rtol=1e-6, atol=1e-6)
    assert split.score(fold.X_test, fold.y_test) == model.score(fold.X_test, fold.y_test)
