"""Other models, groups of rows, decision curves, checklists and the JSON file: figures are those of other libraries."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import surefoot as sf
from surefoot.cli.main import main
from surefoot.design.read.table import read_table
from surefoot.reports.sections.groupings import MISSING, OTHERS, read_groupings
from surefoot.reports.sections.net_benefit import benefit_for_all, net_benefit, useful_range
from surefoot.reports.shift_section import default_sets


def visits(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame({"age": draw.uniform(20, 80, rows), "ward": draw.choice(["north", "south"], rows)})
    score = 0.06 * (X["age"] - 50) + 1.0 * (X["ward"] == "north") - 0.5
    return X, np.where(draw.logistic(size=rows) < score, "ill", "well")


X, Y = visits(300, 0)
NEW, ANSWERS = visits(160, 1)


@pytest.fixture(scope="module")
def robust() -> Any:
    return sf.RobustLogisticRegression(radius=0.2).fit(X, Y)


@pytest.fixture(scope="module")
def everything(robust: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """A page with all that can be asked for, and its figures."""
    own = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()).fit(X[["ward"]].rename(columns={}), Y)
    rival = _WardOnly(own)
    path = tmp_path_factory.mktemp("report") / "all.html"
    about = {"5a": "Two wards, one winter.", "intended use": "None: an example."}
    sf.report(robust, NEW, ANSWERS, path, n_sets=40, rivals={"ward <only>": rival}, training=(X, Y), by=["ward", "age"],
              about=about, json=True)  # fmt: skip
    return path.read_text(encoding="utf-8"), json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


class _WardOnly:
    """A model of another library that looks at one column."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.classes_ = inner, inner.classes_

    def predict_proba(self, table: Any) -> Any:
        return self.inner.predict_proba(table[["ward"]])


def test_rivals_stand_beside_the_model_with_the_figures_of_another_library(everything: Any, robust: Any) -> None:
    page, record = everything
    plain = sf.RobustLogisticRegression(radius=0.0).fit(X, Y)
    happened = robust.classes_[1] == ANSWERS
    for name, model in (("this model", robust), ("plain logistic regression", plain)):
        risk = model.predict_proba(NEW)[:, 1]
        assert record["rivals"][name]["auc"] == pytest.approx(roc_auc_score(happened, risk), abs=1e-12)
        assert record["rivals"][name]["log_loss"] == pytest.approx(log_loss(happened, risk), abs=1e-9)
        assert f'<td class="number">{log_loss(happened, risk):.4f}</td>' in page
    gap = log_loss(happened, robust.predict_proba(NEW)[:, 1]) - log_loss(happened, plain.predict_proba(NEW)[:, 1])
    assert f"Beside plain logistic regression: as the rows are, the mean log loss of this model is {abs(gap):.4f}" in page
    assert set(record["stress"]["models"]) == {"this model", "plain logistic regression", "ward <only>"}
    assert "ward &lt;only&gt;" in page and "ward <only>" not in page


def test_rivals_that_cannot_be_compared_are_refused_by_name(robust: Any, tmp_path: Path) -> None:
    strange = LogisticRegression().fit(X[["age"]], np.where(Y == "ill", "yes", "no"))
    with pytest.raises(ValueError, match=r"rival 'old' \(LogisticRegression\).*\['no', 'yes'\]"):
        sf.report(robust, NEW, ANSWERS, tmp_path / "r.html", rivals={"old": strange})
    blind = LogisticRegression().fit(X[["age"]].rename(columns={"age": "years"}), Y)
    with pytest.raises(sf.InvalidTableError, match=r"rival 'old' \(LogisticRegression\) cannot read the rows"):
        sf.report(robust, NEW, ANSWERS, tmp_path / "r.html", rivals={"old": blind})
    with pytest.raises(ValueError, match="training must be a pair"):
        sf.report(robust, NEW, ANSWERS, tmp_path / "r.html", training=X)
    machine = sf.ChanceConstrainedSVC(kernel="linear", batches="rows").fit(X[["age"]][:40], Y[:40])
    with pytest.raises(ValueError, match="probability=True"):
        sf.report(machine, NEW[["age"]], ANSWERS, tmp_path / "r.html", n_sets=0, rivals={"old": robust})


def test_separable_rows_have_no_plain_regression_and_the_page_says_so(tmp_path: Path) -> None:
    rows = pd.DataFrame({"a": np.linspace(-1, 1, 40)})
    answers = np.where(rows["a"] > 0, "yes", "no")
    model = sf.RobustLogisticRegression(radius=0.3).fit(rows, answers)
    page = sf.report(model, rows, answers, tmp_path / "r.html", n_sets=0, training=(rows, answers)).read_text(encoding="utf-8")
    assert "There is no plain logistic regression to compare with" in page


def test_groups_have_the_figures_of_another_library(everything: Any, robust: Any) -> None:
    page, record = everything
    assert [group["label"] for group in record["groups"]["ward"]] == ["north", "south"]
    assert len(record["groups"]["age"]) == 4 and sum(group["rows"] for group in record["groups"]["age"]) == len(NEW)
    positive = robust.classes_[1]
    for group in record["groups"]["ward"]:
        own = (NEW["ward"] == group["label"]).to_numpy()
        told = robust.predict(NEW)[own] == positive
        (tn, fp), (fn, tp) = confusion_matrix(ANSWERS[own] == positive, told)
        assert group["found"]["value"] == pytest.approx(tp / (tp + fn))
        assert group["false_alarms"]["value"] == pytest.approx(fp / (fp + tn))
        assert group["found"]["low"] <= group["found"]["value"] <= group["found"]["high"]
        assert group["auc"] == pytest.approx(roc_auc_score(ANSWERS[own] == positive, robust.predict_proba(NEW)[own, 1]))
    assert "By ward: probabilities" in page and "Reliability where ward is north" in page


def test_groups_cover_gaps_rare_levels_and_columns_that_the_model_does_not_see() -> None:
    draw = np.random.default_rng(0)
    levels = np.array([f"l{at:02d}" for at in draw.geometric(0.2, 400)], dtype=object)
    levels[:5] = None
    data = read_table(pd.DataFrame({"a": np.zeros(400)}))
    (groups,) = read_groupings({"site": levels}, data).values()
    assert [group.label for group in groups][-2:] == [OTHERS, MISSING]
    assert np.array_equal(np.sum([group.rows for group in groups], axis=0), np.ones(400))
    with pytest.raises(sf.InvalidTableError, match="by names the column 'sex', which the table lacks; it has 'a'"):
        read_groupings("sex", data)
    with pytest.raises(sf.InvalidTableError, match="holds one value only"):
        read_groupings("a", data)
    with pytest.raises(sf.InvalidTableError, match=r"by\['b'\] has 2 values for 400 rows"):
        read_groupings({"b": [1, 2]}, data)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=30), st.floats(0.01, 0.99))
def test_net_benefit_is_what_counting_gives(rows: list[tuple[float, bool]], threshold: float) -> None:
    risk, positive = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    acted = risk >= threshold
    counted = (np.sum(acted & positive) - np.sum(acted & ~positive) * threshold / (1 - threshold)) / len(rows)
    assert net_benefit(risk, positive, np.array([threshold]))[0] == pytest.approx(counted, abs=1e-12)
    assert benefit_for_all(positive, np.array([threshold]))[0] == pytest.approx(
        net_benefit(np.ones(len(rows)), positive, np.array([threshold]))[0], abs=1e-12
    )


def test_a_model_that_says_the_same_of_all_is_useful_nowhere_and_a_perfect_one_everywhere() -> None:
    positive = np.array([True, False, False, True])
    assert useful_range(np.full(4, 0.5), positive) is None
    assert useful_range(positive.astype(float), positive) == pytest.approx((0.01, 0.99))


def test_what_people_say_and_what_is_known_fill_the_checklists(everything: Any, robust: Any, tmp_path: Path) -> None:
    page, record = everything
    assert "Two wards, one winter." in page and "None: an example." in page
    assert (
        "21 Numbers of participants and outcomes" in page
        and f"160 rows, {np.sum(ANSWERS == 'well')} with the outcome well" in page
    )
    assert "18a Funding" in page.split("For people to say")[1]
    assert record["checklists"]["5a"] == "Two wards, one winter."
    with pytest.raises(ValueError, match="about has no item '99'"):
        sf.report(robust, NEW, ANSWERS, tmp_path / "r.html", about={"99": "x"})


def test_the_json_file_says_what_the_certificate_and_the_page_say(everything: Any, robust: Any, tmp_path: Path) -> None:
    page, record = everything
    assert record["certificate"]["upper_bound"] == robust.certificate_.upper_bound
    assert record["certificate"]["verified"] is True and "witness" not in record["certificate"]
    assert record["worst_case"]["expected_loss"] == robust.worst_case(NEW, ANSWERS).expected_loss
    assert f"AUC {record['metrics']['auc']:.3f}" in page
    assert not any(isinstance(value, float) and math.isnan(value) for value in record["metrics"].values())
    taken = tmp_path / "r.json"
    taken.write_text("mine")
    with pytest.raises(FileExistsError):
        sf.report(robust, NEW, ANSWERS, tmp_path / "r.html", n_sets=0, json=True)
    assert taken.read_text() == "mine" and not (tmp_path / "r.html").exists()
    with pytest.raises(ValueError, match=r"give .* another ending"):
        sf.report(robust, NEW, ANSWERS, taken, n_sets=0, json=True, overwrite=True)


def test_the_number_of_shifted_tables_depends_on_the_table_and_not_on_the_clock() -> None:
    rows = {size: read_table(np.zeros((size, 10))) for size in (100, 1_000_000)}
    assert default_sets(rows[100]) == 1000
    assert default_sets(rows[1_000_000]) == 100


def test_the_command_line_and_reports_assume_the_same_shift(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], robust: Any
) -> None:
    NEW.assign(answer=ANSWERS, clinic=np.arange(len(NEW)) % 2).to_csv(tmp_path / "new.csv", index=False)
    sf.save(robust, tmp_path / "m.surefoot")
    words = [str(tmp_path / "m.surefoot"), str(tmp_path / "new.csv"), "--target", "answer", "--sets", "30", "--quiet"]
    assert main(["stress", *words, "--json"]) == 0
    stressed = {line["metric"]: line["mean"] for line in json.loads(capsys.readouterr().out)["results"]}
    assert main(["stress", *words]) == 0
    assumed = (
        "every number moves by at most 0.4 standard deviations with probability 90% and that every category stays the same"
    )
    assert assumed in capsys.readouterr().out
    assert main(["report", *words, "--output", str(tmp_path / "r.html"), "--with-json", "--by", "clinic"]) == 0
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["stress"]["models"]["this model"]["auc"]["mean"] == pytest.approx(stressed["auc"], abs=1e-12)
    assert assumed in record["stress"]["assumed"]
    assert [group["rows"] for group in record["groups"]["clinic"]] == [80, 80]
