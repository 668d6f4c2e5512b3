"""What other languages compute from an exported model is what the model says itself."""

from __future__ import annotations

import json
import math
import sqlite3
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surefoot as sf

NASTY = ['it\'s "here"', "Robert'); DROP TABLE people;--", "<&>\u00e9\u4e2d"]
PMML = "{http://www.dmg.org/PMML-4_4}"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            'the "age"; --': rng.normal(50, 10, 90).round(1),
            "channel": rng.choice(NASTY, 90),
            "member": rng.integers(0, 2, 90),
            "old customer": rng.random(90) > 0.5,
        }
    )
    frame.iloc[3:6, 0] = np.nan
    frame.loc[7:9, "channel"] = None
    return frame


@pytest.fixture(scope="module")
def answers(table: pd.DataFrame) -> Any:
    rng = np.random.default_rng(4)
    score = (
        (table.iloc[:, 0].fillna(50) - 50) / 8 + table["member"] + 2.0 * (table["channel"] == NASTY[1]) + rng.normal(0, 1, 90)
    )
    return np.where(score > 1, "it's so", "no")


@pytest.fixture(scope="module")
def models(table: pd.DataFrame, answers: Any) -> dict[str, tuple[Any, pd.DataFrame]]:
    """Models and the rows that they were fitted to."""
    numbers = table.iloc[:, [0, 2]].fillna(50.0)
    binary = sf.ThresholdBinarizer(missing="column", unseen="zero", max_thresholds=3)
    return {
        "robust": (
            sf.RobustLogisticRegression(missing_numeric="median", missing_categorical="level").fit(table, answers),
            table,
        ),
        "lenient": (
            sf.RobustLogisticRegression(unseen_categories="reference").fit(table.dropna(), answers[table.notna().all(axis=1)]),
            table.dropna(),
        ),
        "card": (sf.RiskScoreClassifier(max_features=2).fit(numbers, answers), numbers),
        "free card": (make_pipeline(binary, sf.RiskScoreClassifier(max_features=4, scale="free")).fit(table, answers), table),
        "robust of steps": (make_pipeline(binary, sf.RobustLogisticRegression(radius=0.01)).fit(table, answers), table),
        "svc": (
            make_pipeline(StandardScaler(), sf.ChanceConstrainedSVC(kernel="linear", probability=True, batches="rows")).fit(
                numbers, answers
            ),
            numbers,
        ),
        "svc of clusters": (
            sf.ChanceConstrainedSVC(kernel="linear", probability=True, batches="clusters", random_state=0).fit(
                numbers, answers
            ),
            numbers,
        ),
    }


KINDS = ("robust", "lenient", "card", "free card", "robust of steps", "svc", "svc of clusters")


def run_sql(query: str, frame: pd.DataFrame) -> list[Any]:
    with sqlite3.connect(":memory:") as database:
        database.create_function("EXP", 1, lambda value: None if value is None else math.exp(value))
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in frame.columns)
        database.execute(f"CREATE TABLE people ({columns})")
        rows = [[None if value != value else value for value in row] for row in frame.astype(object).to_numpy().tolist()]
        database.executemany(f"INSERT INTO people VALUES ({', '.join('?' * frame.shape[1])})", rows)
        return [row[-1] for row in database.execute(query)]


def evaluate(formula: dict[str, Any], row: dict[str, Any]) -> float | None:
    """The formula as its ``how`` says, by somebody who knows nothing else."""
    total = formula["intercept"]
    for term in formula["terms"]:
        value = row[term["feature"]]
        gap = value is None or value != value
        if term["kind"] == "linear":
            value = term["fill"] if gap else value
            part = None if value is None else term["coefficient"] * value
        elif gap:
            part = term["missing"]
        elif term["kind"] == "levels":
            part = next((worth for level, worth in term["levels"] if level == value), term["other"])
        else:
            part = sum(worth for threshold, worth in term["steps"] if value >= threshold)
        if part is None:
            return None
        total += part
    return total / formula["divisor"]


@pytest.mark.parametrize("kind", KINDS)
def test_sql_computes_the_probabilities_of_the_model(kind: str, models: Any) -> None:
    model, rows = models[kind]
    assert set(KINDS) == set(models)
    expected = model.predict_proba(rows)[:, 1]
    for query in (
        f"SELECT {sf.export.to_sql(model)} FROM people",
        sf.export.to_sql(model, table="people", name='the "risk"'),
    ):
        np.testing.assert_allclose(run_sql(query, rows), expected, rtol=1e-12)
    scores = run_sql(sf.export.to_sql(model, output="score", table="people"), rows)
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_json_computes_the_probabilities_of_the_model(kind: str, models: Any) -> None:
    model, rows = models[kind]
    formula = json.loads(sf.export.to_json(model))
    scores = np.array([evaluate(formula, row) for row in rows.astype(object).to_dict("records")], dtype=float)
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        expit(formula["slope"] * scores + formula["offset"]), model.predict_proba(rows)[:, 1], rtol=1e-10
    )
    assert formula["classes"] == ["it's so", "no"]


def evaluate_pmml(card: ET.Element, row: dict[str, Any]) -> float | None:
    """The scorecard, by the rules of PMML: of each characteristic the first attribute whose predicate holds."""
    fills = {field.get("name"): field.get("missingValueReplacement") for field in card.iter(f"{PMML}MiningField")}
    total = float(card.get("initialScore", "nan"))
    for characteristic in card.iter(f"{PMML}Characteristic"):
        for attribute in characteristic:
            predicate = attribute.find(f"{PMML}SimplePredicate")
            assert predicate is not None
            name, operator, wanted = predicate.get("field"), predicate.get("operator"), predicate.get("value")
            value = row[name or ""]
            if value is None or value != value:
                value = None if fills[name] is None else float(fills[name] or "nan")
            gap = value is None
            holds = {
                "isMissing": gap,
                "isNotMissing": not gap,
                "equal": not gap and wanted == (str(value).lower() if isinstance(value, bool) else str(value)),
                "greaterOrEqual": not gap and operator == "greaterOrEqual" and value >= float(wanted or "nan"),
                "lessThan": not gap and operator == "lessThan" and value < float(wanted or "nan"),
            }[operator or ""]
            if holds:
                worth = attribute.get("partialScore")
                factor = attribute.find(f".//{PMML}Constant")
                total += float(worth) if worth is not None else float(factor.text or "nan") * float(value)  # type: ignore[union-attr]
                break
        else:
            return None
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_the_pmml_scorecard_adds_up_to_the_score_of_the_model(kind: str, models: Any) -> None:
    model, rows = models[kind]
    root = ET.fromstring(sf.export.to_pmml(model, name="a <model>"))
    assert root.tag == f"{PMML}PMML" and root.get("version") == "4.4"
    assert [child.tag.removeprefix(PMML) for child in root] == ["Header", "DataDictionary", "Scorecard"]
    card = root[2]
    assert [child.tag.removeprefix(PMML) for child in card] == ["MiningSchema", "Output", "Characteristics"]
    assert card.get("modelName") == "a <model>"
    fields = [field.get("name") for field in root[1]]
    assert fields == [field.get("name") for field in card[0]] and int(root[1].get("numberOfFields", "0")) == len(fields)
    assert [field.get("name") for field in card[1]] == ["total", "score", "probability"]
    divisor = float(card[1][1].find(f".//{PMML}Constant").text)  # type: ignore[union-attr, arg-type]
    totals = np.array([evaluate_pmml(card, row) for row in rows.astype(object).to_dict("records")], dtype=float)
    np.testing.assert_allclose(totals / divisor, model.decision_function(rows), rtol=1e-10, atol=1e-12)


def test_rows_that_a_model_refuses_have_no_score(models: Any) -> None:
    strict = sf.RobustLogisticRegression().fit([[1.0, "a"], [2.0, "b"], [3.0, "a"], [4.0, "b"]], [0, 1, 0, 1])
    rows = pd.DataFrame({"x0": [1.0, None, 1.0, 1.0], "x1": ["b", "b", "c", None]})
    values = run_sql(f"SELECT {sf.export.to_sql(strict)} FROM people", rows)
    assert values[0] is not None and values[1:] == [None, None, None]
    formula = json.loads(sf.export.to_json(strict))
    assert [evaluate(formula, row) is None for row in rows.to_dict("records")] == [False, True, True, True]
    lenient, known = models["lenient"]
    stranger = known.head(2).assign(channel=["never seen", NASTY[0]])
    expected = lenient.predict_proba(stranger)[:, 1]
    np.testing.assert_allclose(run_sql(f"SELECT {sf.export.to_sql(lenient)} FROM people", stranger), expected, rtol=1e-12)


def test_a_query_survives_scores_that_overflow(answers: Any) -> None:
    model = sf.RobustLogisticRegression(radius=0.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    rows = pd.DataFrame({"x0": [-1e5, 0.0, 1e5]})
    values = run_sql(sf.export.to_sql(model, table="people"), rows)
    np.testing.assert_allclose(values, model.predict_proba(rows.to_numpy())[:, 1], atol=1e-300)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (sf.ChanceConstrainedSVC(batches="rows"), "no sum over columns"),
        (make_pipeline(StandardScaler(), StandardScaler(), sf.RobustLogisticRegression()), "is no linear model"),
        (StandardScaler(), "is no linear model"),
    ],
)
def test_models_without_a_formula_are_refused_by_name(model: Any, message: str) -> None:
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    for export in (sf.export.to_json, sf.export.to_sql, sf.export.to_pmml):
        with pytest.raises(ValueError, match=message):
            export(model.fit(x, y))


def test_what_a_format_cannot_hold_is_refused_by_name() -> None:
    rows = pd.DataFrame({"a\0b": [0.0, 1.0, 2.0, 3.0]})
    model = sf.RobustLogisticRegression(radius=0.05).fit(rows, [0, 1, 0, 1])
    with pytest.raises(ValueError, match="zero byte"):
        sf.export.to_sql(model)
    with pytest.raises(ValueError, match="characters that XML does not have"):
        sf.export.to_pmml(model)
    with pytest.raises(ValueError, match="output = 'risk' is not known"):
        sf.export.to_sql(model, output="risk")
    silent = sf.ChanceConstrainedSVC(kernel="linear", batches="rows").fit(rows.rename(columns={"a\0b": "a"}), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="probability=False"):
        sf.export.to_sql(silent)
    assert "EXP" not in sf.export.to_sql(silent, output="score")
