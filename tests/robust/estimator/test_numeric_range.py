"""``numeric_range``: ranges by column name, in memory, in batches and on Dask, in worst cases, proofs and files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import surefoot as sf
from surefoot.exceptions import CertificateError, InvalidTableError, UnsupportedProblemError
from surefoot.proofs.program import main

RANGES = {"age": (18, 100), "pressure": "observed +- 10 %"}


@pytest.fixture(scope="module")
def patients():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": draw.integers(18, 90, 300).astype(float),
            "pressure": np.round(draw.normal(130, 15, 300)),
            "smoker": draw.choice(["no", "yes"], 300),
        }
    )
    risk = 0.06 * (X["age"] - 50) + 0.03 * (X["pressure"] - 130) + (X["smoker"] == "yes") - 0.3
    return X, np.where(risk + draw.logistic(size=300) > 0, "ill", "well")


@pytest.fixture(scope="module")
def fitted(patients):
    return sf.RobustLogisticRegression(radius=0.05, numeric_range=RANGES).fit(*patients)


def test_the_ends_are_those_that_were_said_or_seen(patients, fitted):
    pressure = patients[0]["pressure"]
    wider = 0.1 * (pressure.max() - pressure.min())
    expected = [[18.0, 100.0], [pressure.min() - wider, pressure.max() + wider]]
    assert fitted.ground_cost_.numeric_ranges == pytest.approx(np.array(expected), rel=1e-12)
    assert fitted.certificate_.verified
    assert "2 of the columns within their ranges" in fitted.certificate_.claim


@pytest.mark.parametrize("said", ["observed+-10%", "observed ± 10 %", " observed +/- 10.0 % "])
def test_shares_may_be_written_in_several_ways(patients, fitted, said):
    other = sf.RobustLogisticRegression(radius=0.05, numeric_range={**RANGES, "pressure": said}).fit(*patients)
    assert np.array_equal(other.ground_cost_.numeric_ranges, fitted.ground_cost_.numeric_ranges)


def test_widened_ends_are_round_and_flags_and_shares_stay_within_0_and_1():
    rows = pd.DataFrame({"days": [1.0, 5.0, 40.2, 95.0] * 10, "smoker": [0, 1, 1, 0] * 10, "tiny": [1e9, 1e9 + 2e-7] * 20})
    ends = (
        sf.ShiftModel(numeric_certainty=0.9, numeric_range="observed +- 10 %", categorical_features=[])
        .calibrate(rows)
        .numeric_ranges
    )
    assert ends["days"] == (-8.4, 104.4)
    assert ends["smoker"] == (0.0, 1.0)
    assert ends["tiny"][0] <= 1e9 and ends["tiny"][1] >= 1e9 + 2e-7
    said = sf.RobustLogisticRegression(radius=0.1, numeric_range="observed +- 10 %")
    told = str(said.fit(rows[["days", "smoker"]], [0, 0, 1, 1] * 10).worst_case(rows[["days", "smoker"]], [0, 0, 1, 1] * 10))
    assert "999" not in told and "-0.1" not in told


def test_words_are_for_all_columns_and_columns_left_out_have_no_range(patients):
    X, y = patients
    everywhere = sf.RobustLogisticRegression(numeric_range="observed").fit(X, y).ground_cost_.numeric_ranges
    assert everywhere.tolist() == [[X[name].min(), X[name].max()] for name in ("age", "pressure")]
    one = sf.RobustLogisticRegression(numeric_range={"pressure": (0, 300), "age": None}).fit(X, y)
    assert one.ground_cost_.numeric_ranges.tolist() == [[-np.inf, np.inf], [0.0, 300.0]]
    none = sf.RobustLogisticRegression(numeric_range={}).fit(X, y)
    assert none.ground_cost_.numeric_ranges is None


def test_columns_of_arrays_are_named_by_position_and_rows_of_no_weight_do_not_count(patients):
    X, y = patients
    table = X[["age", "pressure"]].to_numpy().copy()
    weights = np.ones(len(y))
    weights[5] = 0.0
    table[5] = [1000.0, 1000.0]
    model = sf.RobustLogisticRegression(numeric_range={0: (18, 100), 1: "observed"}).fit(table, y, sample_weight=weights)
    rest = np.delete(table, 5, axis=0)
    assert model.ground_cost_.numeric_ranges.tolist() == [[18.0, 100.0], [rest[:, 1].min(), rest[:, 1].max()]]
    assert sf.verify(model, table, y, sample_weight=weights).verified


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"age": (18, 80)}, InvalidTableError, r"numeric_range of column 'age' is from 18 to 80, but row \d+ holds 8\d\."),
        ({"smoker": "observed"}, ValueError, "names column 'smoker', which is categorical"),
        ({"height": "observed"}, ValueError, "names column 'height', but the columns are 'age', 'pressure', 'smoker'"),
        ({"age": (18,)}, ValueError, r"numeric_range of column 'age' = \(18,\) is not understood"),
        ({"age": (18, np.inf)}, ValueError, "Both ends are finite"),
        ({"age": (18, "old")}, ValueError, "is not understood"),
        ({"age": (100, 18)}, ValueError, "ends before it begins"),
        ({"age": 18}, ValueError, "is not understood"),
        ("all", ValueError, "is not understood: use two numbers"),
        ((18, 100), ValueError, r"must be None, \"observed\".*or a mapping"),
    ],
)
def test_what_is_no_range_is_refused_by_name(patients, given, error, message):
    with pytest.raises(error, match=message):
        sf.RobustLogisticRegression(numeric_range=given).fit(*patients)


def test_the_row_of_a_number_outside_its_range_is_that_of_the_table(patients):
    X, y = patients
    X = X.assign(age=np.where(np.arange(300) == 123, 111.0, X["age"]))
    weights = np.where(np.arange(300) < 100, 0.0, 1.0)
    with pytest.raises(InvalidTableError, match="row 123 holds 111"):
        sf.RobustLogisticRegression(numeric_range=RANGES).fit(X, y, sample_weight=weights)


def test_other_norms_other_solvers_and_sparse_tables_say_why_not(patients):
    X, y = patients
    with pytest.raises(ValueError, match=r"numeric_range needs norm='l1', not 'l2'.*depends on the moves along the others"):
        sf.RobustLogisticRegression(numeric_range="observed", norm="l2").fit(X, y)
    with pytest.raises(UnsupportedProblemError, match=r"solver='conic'.*has a range.*Use solver='auto'"):
        sf.RobustLogisticRegression(numeric_range="observed", solver="conic").fit(X, y)
    import scipy.sparse

    with pytest.raises(InvalidTableError, match=r"numeric_range needs a dense table.*X\.toarray"):
        sf.RobustLogisticRegression(numeric_range="observed").fit(scipy.sparse.csr_array(np.eye(4)), [0, 1, 0, 1])


def test_worst_cases_go_to_the_ends_and_cost_the_way(patients, fitted):
    X, y = patients
    worst = fitted.worst_case(X, y)
    table = worst.table[worst.table["feature"].isin(list(RANGES))]
    ends = dict(zip(("age", "pressure"), fitted.ground_cost_.numeric_ranges.tolist(), strict=True))
    assert len(table)
    for _, line in table.iterrows():
        assert line["from"] == X[line["feature"]][line["row"]]
        assert line["to"] in ends[line["feature"]]
    prices = dict(zip(("age", "pressure"), fitted.ground_cost_.numeric_weights, strict=True))
    spent = sum(line["mass"] * prices[line["feature"]] * abs(line["to"] - line["from"]) for _, line in table.iterrows())
    spent += worst.table.loc[worst.table["feature"] == "smoker", "mass"].sum()
    assert spent <= 0.05 * (1 + 1e-9)
    assert worst.numeric_budget == 0.0
    assert worst.expected_loss == pytest.approx(fitted.certificate_.upper_bound, rel=1e-6)


def test_the_listed_distribution_has_the_loss_that_is_claimed(patients, fitted):
    """The table is taken at its word: rows are moved as it says, and the model scores them."""
    X, y = patients
    worst = fitted.worst_case(X, y)
    signs, loss, left = np.where(y == "well", 1.0, -1.0), 0.0, np.full(300, 1 / 300)
    for _, lines in worst.table.assign(shift=worst.shift).groupby("shift"):
        row, mass = int(lines["row"].iloc[0]), float(lines["mass"].iloc[0])
        moved = X.iloc[[row]].copy()
        for _, line in lines.iterrows():
            moved[line["feature"]] = line["to"]
        loss += mass * np.logaddexp(0.0, -signs[row] * fitted.decision_function(moved)[0])
        left[row] -= mass
    loss += float(left @ np.logaddexp(0.0, -signs * fitted.decision_function(X)))
    assert left.min() > -1e-12
    assert loss == pytest.approx(worst.expected_loss, rel=1e-9)


def test_printed_worst_cases_name_real_numbers(patients, fitted):
    X, y = patients
    summed = fitted.worst_case(X, y).summed()
    at = summed["feature"].index("age")
    low, high = map(float, summed["from"][at].split(" to "))
    assert 18 <= low < high <= 89
    assert summed["to"][at] in (18, 100)
    text = str(fitted.worst_case(X, y))
    assert f"{low:g} to {high:g}" in text and "far away" not in text
    endless = str(sf.RobustLogisticRegression().fit(X, y).worst_case(X, y))
    assert "(far away)" in endless and "no numeric_range says how far" in endless


def test_another_table_widens_the_ranges_of_its_worst_case(patients, fitted):
    X, y = patients
    older = X.assign(age=np.where(np.arange(300) == 7, 111.0, X["age"]))
    targets = fitted.worst_case(older, y).table.query("feature == 'age'")["to"]
    assert set(targets) <= {18.0, 111.0}
    assert 111.0 in set(targets)


def test_an_observed_range_without_width_is_a_column_that_never_shifts(patients):
    X, y = patients
    X = X.assign(year=2020.0)
    model = sf.RobustLogisticRegression(numeric_range="observed").fit(X, y)
    assert model.certificate_.verified
    assert "year" not in set(model.worst_case(X, y).table["feature"])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_summaries_leave_in_the_library_of_the_table(patients, library):
    pytest.importorskip(library)
    X, y = patients
    table = X if library == "pandas" else __import__(library).from_pandas(X) if library == "polars" else _arrow(X)
    worst = sf.RobustLogisticRegression(numeric_range=RANGES).fit(table, y).worst_case(table, y)
    assert type(worst.summary()).__module__.startswith(library)


def _arrow(X):
    import pyarrow

    return pyarrow.Table.from_pandas(X)


def test_batches_find_the_same_model_with_the_same_proof(patients, fitted):
    X, y = patients
    parts = [(X[at::4], y[at::4]) for at in range(4)]
    model = sf.RobustLogisticRegression(radius=0.05, numeric_range=RANGES).fit(parts)
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(fitted.certificate_.upper_bound, rel=1e-6)
    assert model.ground_cost_.numeric_ranges == pytest.approx(fitted.ground_cost_.numeric_ranges, rel=1e-12)
    assert sf.verify(model, parts).verified
    assert sf.verify(model, pd.concat([part for part, _ in parts]), np.concatenate([labels for _, labels in parts])).verified


def test_batches_name_the_column_and_the_number_outside_its_range(patients):
    X, y = patients
    with pytest.raises(
        InvalidTableError, match="numeric_range of column 'age' is from 18 to 50, but the training rows hold 89"
    ):
        sf.RobustLogisticRegression(numeric_range={"age": (18, 50)}).fit([(X, y)])


def test_dask_finds_the_same_model_with_the_same_proof(patients, fitted):
    dask = pytest.importorskip("dask.dataframe")
    X, y = patients
    table = dask.from_pandas(X.assign(label=y), npartitions=3)
    model = sf.RobustLogisticRegression(radius=0.05, numeric_range=RANGES).fit(table, "label")
    assert model.certificate_.verified
    assert model.certificate_.upper_bound == pytest.approx(fitted.certificate_.upper_bound, rel=1e-6)
    assert sf.verify(model, table, "label").verified


def test_files_and_proofs_keep_ranges(patients, fitted, tmp_path):
    X, y = patients
    sf.save(fitted, tmp_path / "model.surefoot")
    again = sf.load(tmp_path / "model.surefoot")
    assert again.numeric_range == RANGES
    assert np.array_equal(again.ground_cost_.numeric_ranges, fitted.ground_cost_.numeric_ranges)
    assert sf.verify(again, X, y).verified
    sf.export_proof(fitted, X, y, tmp_path / "proof.npz")
    assert main([str(tmp_path / "proof.npz")]) == 0


def test_verdicts_in_ball_arithmetic_agree(patients, fitted):
    pytest.importorskip("flint")
    assert sf.verify(fitted, *patients, arithmetic="ball").verified


@pytest.mark.parametrize("later", [{**RANGES, "age": (18, 101)}, {**RANGES, "pressure": "observed +- 20 %"}, None, "observed"])
def test_a_range_set_after_the_fit_is_noticed(patients, later):
    model = sf.RobustLogisticRegression(radius=0.05, numeric_range=RANGES).fit(*patients)
    model.set_params(numeric_range=later)
    with pytest.raises(CertificateError, match="its parameter numeric_range is not that of the fit"):
        sf.verify(model, *patients)


@pytest.mark.parametrize("later", [{**RANGES, "age": (18, 101)}, {**RANGES, "pressure": "observed +- 20 %"}, None])
def test_proven_settings_are_those_of_the_parameters_even_without_a_seal(patients, later):
    """Who forges the seal too is told by the ranges themselves, once the rows are there."""
    from surefoot.sklearn_api.training_rows import reread_training_rows

    model = sf.RobustLogisticRegression(radius=0.05, numeric_range=RANGES).fit(*patients)
    model.set_params(numeric_range=later)

    def check():
        model._require_proven_settings()
        model._require_usual_prices(reread_training_rows(model, *patients, None))

    with pytest.raises(CertificateError, match=r"by its parameters column '(age|pressure)' has the range"):
        check()


def test_cross_validation_observes_the_training_rows_of_each_fold(patients):
    X, y = patients
    model = sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=3, numeric_range="observed").fit(X, y)
    assert model.certificate_.verified
    assert model.ground_cost_.numeric_ranges.tolist() == [[X[name].min(), X[name].max()] for name in ("age", "pressure")]
    assert sf.verify(model, X, y).verified


def test_the_parameter_is_one_like_others():
    model = sf.RobustLogisticRegression(numeric_range=RANGES)
    assert clone(model).get_params()["numeric_range"] == RANGES
    assert sf.RobustLogisticRegression().get_params()["numeric_range"] is None


def test_a_range_beyond_the_reach_of_doubles_leaves_no_model_of_nan_and_is_named() -> None:
    rng = np.random.default_rng(0)
    far = pd.DataFrame({"a": rng.integers(18, 90, 80).astype(float), "b": np.round(rng.normal(130, 15, 80))})
    far["c"] = rng.choice(list("xyz"), 80)
    score = 0.04 * (far["a"] - 50) + 0.02 * (far["b"] - 130) + (far["c"] == "x")
    labels = np.where(score + rng.logistic(size=80) > 0, "p", "q")
    model = sf.RobustLogisticRegression(radius=0.05).fit(far, labels)
    before = model.coef_.copy()
    model.set_params(numeric_range={"a": (-1e50, 1e50)})
    with pytest.raises(sf.exceptions.UnsupportedProblemError, match="numeric_range of column 'a'"):
        model.fit(far, labels)
    np.testing.assert_array_equal(model.coef_, before)
    model.set_params(numeric_range={"a": (-1e15, 1e15)})
    with pytest.warns(sf.exceptions.ConvergenceLimitWarning, match="numeric_range of column 'a'"):
        model.fit(far, labels)
    assert np.all(np.isfinite(model.coef_))
