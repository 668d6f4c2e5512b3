"""Reports: what the file says is what the model says; nothing is loaded, nothing half-written is left, names stay text."""

from __future__ import annotations

import errno
import html
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline

import surefoot as sf
from surefoot.core import new_file
from surefoot.reports import shift_section as report_shift

HOSTILE = "<script>alert(\"1\")</script> & '$x$' \u202e</td>"


def visits(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": draw.uniform(20, 80, rows),
            "pain": draw.choice(["none", "some", "much"], rows),
            "smoker": draw.integers(0, 2, rows),
        }
    )
    score = 0.05 * (X["age"] - 50) + 1.5 * (X["pain"] == "much") + 0.8 * X["smoker"] - 0.5
    return X, np.where(draw.logistic(size=rows) < score, "ill", "well")[:, None].ravel()


X, Y = visits(240, 0)
X_NEW, Y_NEW = visits(160, 1)
SHIFT = sf.ShiftModel(numeric_certainty=0.8, categorical_certainty=0.8)


@pytest.fixture(scope="module")
def robust() -> Any:
    return sf.RobustLogisticRegression(radius=0.05, categorical_weights=0.5).fit(X, Y)


@pytest.fixture(scope="module")
def card() -> Any:
    return make_pipeline(sf.ThresholdBinarizer(max_thresholds=2), sf.RiskScoreClassifier(max_features=3)).fit(X, Y)


@pytest.fixture(scope="module")
def machine() -> Any:
    return sf.ChanceConstrainedSVC(violation=0.9, batches=8, random_state=0).fit(X[["age", "smoker"]], Y)


def read(path: Path) -> tuple[str, str]:
    """The page, and its text as a person reads it."""
    page = path.read_text(encoding="utf-8")
    body = re.sub(r"<style>.*?</style>|<title>.*?</title>", " ", page, flags=re.DOTALL)
    return page, " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_a_report_says_what_the_model_and_the_metrics_say(robust: Any, tmp_path: Path) -> None:
    path = sf.report(robust, X_NEW, Y_NEW, tmp_path / "r.html", shift=SHIFT, n_sets=30, title="Triage")
    page, text = read(path)
    assert re.findall(r"<h2><span>\d</span> ([^<]+)</h2>", page) == [
        "The model",
        "What is proven",
        "How well it does",
        "What shift would hurt most",
        "Stress test",
        "The data",
        "Model card and TRIPOD+AI",
        "Settings",
    ]
    assert "<h1>Triage</h1>" in page
    probability = robust.predict_proba(X_NEW)[:, 1]
    positive = robust.classes_[1] == Y_NEW
    assert f"AUC {roc_auc_score(positive, probability):.3f}" in text
    assert f"mean log loss is {log_loss(positive, probability):.4f}" in text
    assert robust.certificate_.claim in text
    worst = robust.worst_case(X_NEW, Y_NEW)
    assert f"from {worst.nominal_loss:.4f} to {worst.expected_loss:.4f}" in text
    moves = worst.summary()
    first = moves[moves["from"].notna()].iloc[0]
    assert f"{first['from']} becomes {first['to']} in {100 * first['mass']:.1f}% of all rows" in text
    stress = sf.stress_test(robust, X_NEW, Y_NEW, SHIFT, 30, random_state=0)
    for metric in ("auc", "ace", "log_loss"):
        assert f"{stress.of(metric).mean():.4f}" in text
    assert "The shift model that was given says that every number moves by at most 0.4 standard deviations with" in text
    assert f"{positive.sum()} ({positive.mean():.1%}) well" in text
    assert "3 levels: " in text and "radius 0.05" in text and "tol 1e-06" not in text


def test_the_worst_case_of_an_automatic_radius_is_said_to_be_about_sampling_error(robust: Any, tmp_path: Path) -> None:
    model = sf.RobustLogisticRegression().fit(X, Y)
    _, text = read(sf.report(model, X, Y, tmp_path / "auto.html", n_sets=20))
    assert f"within radius {model.radius_:.3g}, which stands for sampling error only and not for shifts" in text
    assert "is automatic" in text and "The stress test below draws shifts that the radius was not made for" in text
    _, text = read(sf.report(model, X, Y, tmp_path / "unstressed.html", n_sets=0))
    assert "is automatic" in text and "stress test below" not in text
    _, text = read(sf.report(robust, X, Y, tmp_path / "given.html", n_sets=0))
    assert "sampling error" not in text


def test_a_report_is_one_well_formed_file_that_loads_nothing(robust: Any, card: Any, tmp_path: Path) -> None:
    for at, model in enumerate((robust, card)):
        page, _ = read(sf.report(model, X_NEW, Y_NEW, tmp_path / f"{at}.html", n_sets=20))
        ET.fromstring(page.removeprefix("<!DOCTYPE html>"))
        addresses = set(re.findall(r"[a-z]+://[^\"' <]+", page))
        assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of a namespace, which nobody fetches
        assert not re.search(r"<(script|link|img|iframe|object|embed)\b|@import|url\(", page)
        assert "default-src &#x27;none&#x27;" in page


def test_rows_of_training_are_recognised(robust: Any, card: Any, tmp_path: Path) -> None:
    for at, model in enumerate((robust, card)):
        assert "which flatters it" in read(sf.report(model, X, Y, tmp_path / f"a{at}.html", n_sets=0))[1]
        assert "which flatters it" not in read(sf.report(model, X_NEW, Y_NEW, tmp_path / f"b{at}.html", n_sets=0))[1]


def test_the_report_of_a_pipeline_shows_the_card_and_shifts_the_raw_table(card: Any, tmp_path: Path) -> None:
    page, text = read(sf.report(card, X_NEW, Y_NEW, tmp_path / "r.html", n_sets=20))
    assert 'class="sf-card"' in page
    for feature in card[-1].points_:
        assert feature in text
    assert "numbers from 20" in text  # the summary is of the table as it came
    assert "Nobody said what may shift, so it is assumed that every number moves" in text
    worst = card[-1].worst_case(card[:-1].transform(X_NEW), Y_NEW, radius=0.05)
    assert f"from {worst.nominal_loss:.4f} to {worst.expected_loss:.4f}" in text


def test_machines_without_probabilities_are_judged_by_their_ranking(machine: Any, tmp_path: Path) -> None:
    table = X_NEW[["age", "smoker"]]
    page, text = read(sf.report(machine, table, Y_NEW, tmp_path / "r.html"))
    positive = machine.classes_[1] == Y_NEW
    assert f"AUC {roc_auc_score(positive, machine.decision_function(table)):.3f}" in text
    assert "Reliability needs probabilities" in text and "A stress test needs probabilities" in text
    assert f"separates {len(machine.groups_)} uncertain inputs" in text
    assert page.count("<figure>") == 1


def test_machines_with_probabilities_are_judged_like_others(tmp_path: Path) -> None:
    table, new = X[["age", "smoker"]], X_NEW[["age", "smoker"]]
    model = sf.ChanceConstrainedSVC(kernel="linear", violation=0.9, batches=8, random_state=0, probability=True).fit(table, Y)
    page, text = read(sf.report(model, new, Y_NEW, tmp_path / "r.html", n_sets=20))
    assert f"mean log loss is {log_loss(model.classes_[1] == Y_NEW, model.predict_proba(new)[:, 1]):.4f}" in text
    assert page.count("<figure>") == 6


def test_hostile_names_labels_and_levels_stay_text(tmp_path: Path) -> None:
    hostile = pd.DataFrame({HOSTILE + "1": X["age"], HOSTILE + "2": np.where(X["pain"] == "much", HOSTILE, "less")})
    labels = np.where(Y == "ill", HOSTILE, "well").astype(object)
    model = sf.RobustLogisticRegression(radius=0.1).fit(hostile, labels)
    title = HOSTILE + "\ud800"  # half of a letter, which no file can hold
    page, text = read(sf.report(model, hostile, labels, tmp_path / "r.html", title=title, n_sets=20))
    assert "<script" not in page and "\u202e" not in page
    ET.fromstring(page.removeprefix("<!DOCTYPE html>"))
    assert text.count("<script>alert(\"1\")</script> & '$x$'") > 5


@pytest.mark.parametrize(
    "convert", [pl.from_pandas, lambda frame: frame.to_numpy(dtype=object), lambda frame: frame.values.tolist()]
)
def test_other_tables_make_the_same_report(convert: Any, robust: Any, tmp_path: Path) -> None:
    model = sf.RobustLogisticRegression(radius=0.05, categorical_weights=0.5).fit(convert(X), Y)
    _, text = read(sf.report(model, convert(X_NEW), Y_NEW, tmp_path / "r.html", n_sets=20))
    expected = robust.worst_case(X_NEW, Y_NEW)
    assert f"from {expected.nominal_loss:.4f} to {expected.expected_loss:.4f}" in text


def test_the_stress_test_keeps_to_its_time(robust: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(np.arange(0.0, 1000.0, 0.5))  # every look at the clock is half a second later: two sets take that, and 20
    monkeypatch.setattr(report_shift.time, "perf_counter", lambda: next(clock))
    _, text = read(sf.report(robust, X_NEW, Y_NEW, tmp_path / "a.html", n_sets=1000, time_limit=10))
    assert "220 random shifts" in text and "1,000 in more time than 10 s" in text
    _, text = read(sf.report(robust, X_NEW, Y_NEW, tmp_path / "b.html", n_sets=1000, time_limit=2))
    assert "No stress test: one shifted table takes 0.25 s" in text


def test_a_file_that_is_there_is_kept_unless_it_is_to_be_replaced(robust: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        sf.report(robust, X_NEW, Y_NEW, path, n_sets=0)
    assert path.read_text() == "mine"
    assert sf.report(robust, X_NEW, Y_NEW, str(path), n_sets=0, overwrite=True) == path
    assert "Robust logistic regression" in path.read_text()
    assert os.listdir(tmp_path) == ["r.html"]


def test_a_full_disk_leaves_nothing_half_written(robust: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(new_file.os, "fsync", full)
    with pytest.raises(OSError, match="could not be written \\(No space left on device\\)") as caught:
        sf.report(robust, X_NEW, Y_NEW, tmp_path / "r.html", n_sets=0)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == []
    (tmp_path / "r.html").write_text("mine")
    with pytest.raises(OSError, match="could not be written"):
        sf.report(robust, X_NEW, Y_NEW, tmp_path / "r.html", n_sets=0, overwrite=True)
    assert (tmp_path / "r.html").read_text() == "mine" and os.listdir(tmp_path) == ["r.html"]


def test_places_that_cannot_be_written_are_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(IsADirectoryError, match="name the file to write"):
        sf.report(None, X, Y, tmp_path)
    with pytest.raises(FileNotFoundError, match="make it first"):
        sf.report(None, X, Y, tmp_path / "no" / "r.html")
    monkeypatch.setattr(new_file.os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="choose another one"):
        sf.report(None, X, Y, tmp_path / "r.html")


def test_other_models_tables_and_settings_are_refused_by_name(robust: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    plain = LogisticRegression().fit(X[["age"]], Y)
    with pytest.raises(ValueError, match="this is a LogisticRegression"):
        sf.report(plain, X[["age"]], Y, path)
    with pytest.raises(sf.InvalidTableError, match="only the class 'ill'"):
        sf.report(robust, X_NEW, ["ill"] * 160, path)
    with pytest.raises(sf.InvalidTableError, match="X has 160 rows, y has 159 labels"):
        sf.report(robust, X_NEW, Y_NEW[1:], path)
    with pytest.raises(ValueError, match="n_sets = -1"):
        sf.report(robust, X_NEW, Y_NEW, path, n_sets=-1)
    with pytest.raises(ValueError, match="time_limit = 0"):
        sf.report(robust, X_NEW, Y_NEW, path, time_limit=0)
    with pytest.raises(ValueError, match="must be None or a ShiftModel"):
        sf.report(robust, X_NEW, Y_NEW, path, shift="much")  # type: ignore[arg-type]
    assert not path.exists()


def test_the_accuracy_of_a_support_vector_machine_is_that_of_its_predictions(tmp_path: Path) -> None:
    """Platt's probabilities lean to the frequent class, so that the more probable class is another one near the boundary."""
    rng = np.random.default_rng(4)
    label = np.arange(120) % 6 == 0
    points = rng.normal(size=(120, 2)) + 1.0 * label[:, None]
    model = sf.ChanceConstrainedSVC(kernel="linear", batches="rows", class_weight="balanced", probability=True, random_state=0)
    model.fit(points, label)
    by_class, by_chance = np.mean(model.predict(points) == label), np.mean((model.predict_proba(points)[:, 1] > 0.5) == label)
    assert f"{by_class:.1%}" != f"{by_chance:.1%}"
    text = sf.report(model, points, label, tmp_path / "report.html", n_sets=0).read_text(encoding="utf-8")
    assert f"the predicted class is right in {by_class:.1%} of the rows" in text


def test_a_report_says_what_has_shifted_since_an_earlier_table(robust: Any, card: Any, machine: Any, tmp_path: Path) -> None:
    older = X_NEW.assign(age=X_NEW["age"] + 15)
    page, text = read(sf.report(robust, older, Y_NEW, tmp_path / "r.html", n_sets=0, compare_with=(X, Y)))
    found = sf.compare(X, older, Y, Y_NEW, robust)
    assert "<h2><span>4</span> What has shifted</h2>" in page
    assert str(found.radius) in text and "beyond chance" in text
    assert f"Mean log loss {found.decomposition.loss_a:.4f} to {found.decomposition.loss_b:.4f}" in text
    assert "Other answers to the same rows:" in text
    _, again = read(sf.report(robust, older, Y_NEW, tmp_path / "again.html", n_sets=0, compare_with=found))
    assert str(found.radius) in again
    hostile = older.rename(columns={"age": HOSTILE})
    model = sf.RobustLogisticRegression().fit(X.rename(columns={"age": HOSTILE}), Y)
    page, text = read(
        sf.report(model, hostile, Y_NEW, tmp_path / "h.html", n_sets=0, compare_with=X.rename(columns={"age": HOSTILE}))
    )
    assert "<script>" not in page and "Mean log loss" not in text
    for own, table in ((card, X_NEW), (machine, X_NEW[["age", "smoker"]])):
        earlier = X[list(table.columns)]
        _, text = read(
            sf.report(own, table, Y_NEW, tmp_path / f"{type(own).__name__}.html", n_sets=0, compare_with=(earlier, Y))
        )
        assert "What has shifted" in text
    three = sf.ChanceConstrainedSVC(batches="rows").fit(X[["age"]], np.digitize(X["age"], [40, 60]))
    with pytest.raises(ValueError, match="two classes"):
        sf.report(three, X[["age"]], np.digitize(X["age"], [40, 60]), tmp_path / "three.html", compare_with=X[["age"]])


def test_effects_are_those_of_the_training_rows_whatever_rows_a_report_is_about(robust: Any, tmp_path: Path) -> None:
    effect = robust.coefficients().set_index("feature")["coefficient"]["age"] * X["age"].std(ddof=0)
    for name, rows in (("own", X), ("wider", X.assign(age=3 * X["age"]))):
        _, text = read(sf.report(robust, rows, Y, tmp_path / f"{name}.html", n_sets=0))
        line = re.search(r"\bage \D?([\d.]+) ([\d.]+) \D?([\d.]+)", text)
        assert line is not None and float(line[2]) == pytest.approx(X["age"].std(ddof=0), rel=0.01)
        assert float(line[3]) == pytest.approx(abs(effect), rel=0.02)
        assert "one standard deviation of the training rows" in text
    priced = sf.RobustLogisticRegression(radius=0.05, numeric_weights=0.1).fit(X, Y)
    _, text = read(sf.report(priced, X, Y, tmp_path / "priced.html", n_sets=0))
    assert "one standard deviation of the rows of this report" in text


def test_levels_that_share_a_coefficient_are_called_tied(tmp_path: Path) -> None:
    town = np.array([f"town {k}" for k in range(12)])[np.arange(240) % 12]
    answer = np.where((np.arange(240) % 12 < 6) ^ (np.arange(240) % 5 == 0), "ill", "well")
    table = pd.DataFrame({"town": town})
    model = sf.RobustLogisticRegression(radius=0.1).fit(table, answer)
    shared = model.coefficients().round(6)["coefficient"].duplicated(keep=False)
    _, text = read(sf.report(model, table, answer, tmp_path / "r.html", n_sets=0))
    assert shared.sum() > 4
    assert text.count(" tied ") == shared[1:].sum()  # the first one is the reference
    assert "Tied levels have the same coefficient" in text
    plain = sf.RobustLogisticRegression(radius=0.05).fit(X, Y)
    assert "Tied levels" not in read(sf.report(plain, X, Y, tmp_path / "plain.html", n_sets=0))[1]
