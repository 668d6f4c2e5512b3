"""Leaving sites, periods or batches out: the folds, the rules of choice, and how groups arrive."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import surefoot as sf
from surefoot.exceptions import BelowChanceWarning

RADII = [0.01, 0.03, 0.1, 0.3]
# What is tested here is the choice; that its place in a short grid is told has tests of its own, and so has a radius that
# leaves nothing, which the cold fits go through.
pytestmark = [
    pytest.mark.filterwarnings("ignore::surefoot.exceptions.GridEdgeWarning"),
    pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning"),
]


def hospitals(n_sites: int = 5, n_rows: int = 60, seed: int = 0) -> tuple[pd.DataFrame, Any, Any]:
    """Sites that differ in a marker, in how it is related to the outcome, and in how common the outcome is."""
    rng = np.random.default_rng(seed)
    parts = []
    for site in range(n_sites):
        shift, slope, base = rng.normal(0, 0.8), rng.normal(0.8, 0.6), rng.normal(0, 0.5)
        marker = rng.normal(shift, 1, n_rows)
        age = rng.normal(0, 1, n_rows)
        ward = rng.choice(["icu", "surgery", "day"], n_rows, p=rng.dirichlet([4, 4, 4]))
        score = base + slope * marker + 0.7 * age + 0.6 * (ward == "icu")
        parts.append(
            pd.DataFrame({"marker": marker, "age": age, "ward": ward, "y": rng.logistic(size=n_rows) < score, "site": site})
        )
    table = pd.concat(parts, ignore_index=True).sample(frac=1.0, random_state=seed, ignore_index=True)
    return table[["marker", "age", "ward"]], table["y"].to_numpy().astype(int), table["site"].map("site {}".format).to_numpy()


def by_hand(X: Any, y: Any, groups: Any, radii: list[float], folds: Any) -> Any:
    """Losses of cold fits, one row per radius, one column per environment in sorted order."""
    names = np.unique(groups)
    losses = np.full((len(radii), names.size), np.nan)
    for train, test in folds.split(X, y, groups):
        for at, radius in enumerate(radii):
            model = sf.RobustLogisticRegression(radius=radius, tol=1e-9).fit(X.iloc[train], y[train])
            for place in np.unique(groups[test]):
                own = test[groups[test] == place]
                losses[at, np.flatnonzero(names == place)[0]] = log_loss(
                    y[own], model.predict_proba(X.iloc[own]), labels=[0, 1]
                )
    return losses


@pytest.mark.parametrize("cv", [5, LeaveOneGroupOut(), GroupKFold(2)], ids=["number", "leave one out", "two folds"])
def test_scores_are_those_of_cold_fits_with_each_environment_held_out(cv: Any) -> None:
    X, y, groups = hospitals()
    model = sf.RobustLogisticRegressionCV(radii=RADII, cv=cv, tol=1e-9).fit(X, y, groups=groups)
    expected = by_hand(X, y, groups, RADII, LeaveOneGroupOut() if cv == 5 else cv)
    assert model.path_.environments == tuple(f"site {site}" for site in range(5))
    np.testing.assert_allclose(model.path_.scores, -expected, rtol=1e-4)
    assert model.radius_ == RADII[int(expected.mean(axis=1).argmin())]


def test_environments_held_out_one_by_one_have_the_scores_of_scikit_learn() -> None:
    X, y, groups = hospitals()
    path = sf.RobustLogisticRegressionCV(radii=[0.1], cv=LeaveOneGroupOut(), tol=1e-9).fit(X, y, groups=groups).path_
    plain = sf.RobustLogisticRegression(radius=0.1, tol=1e-9)
    scores = cross_val_score(plain, X, y, cv=LeaveOneGroupOut().split(X, y, groups), scoring="neg_log_loss")
    np.testing.assert_allclose(path.best.scores, scores, rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_every_rule_takes_the_point_that_its_definition_says(seed: int) -> None:
    X, y, groups = hospitals(n_sites=6, n_rows=40, seed=seed)
    losses = by_hand(X, y, groups, RADII, LeaveOneGroupOut())
    mean = losses.mean(axis=1)
    worst_two = np.sort(losses, axis=1)[:, -2:].mean(axis=1)  # a quarter of six, rounded up
    behind = losses - losses[mean.argmin()]
    errors = [np.std(line, ddof=1) / math.sqrt(6) for line in behind]
    near = [radius for radius, line, error in zip(RADII, behind, errors, strict=True) if line.mean() <= error + 1e-12]
    expected = {
        "mean": RADII[mean.argmin()],
        "worst": RADII[losses.max(axis=1).argmin()],
        "worst-quarter": RADII[worst_two.argmin()],
        "one-se": max(near),
    }
    for select, radius in expected.items():
        model = sf.RobustLogisticRegressionCV(radii=RADII, select=select, tol=1e-9).fit(X, y, groups=groups)
        assert model.radius_ == model.path_.best.radius == radius, select
    assert expected["one-se"] >= expected["mean"]


def test_an_environment_counts_once_however_many_rows_it_has() -> None:
    X, y, groups = hospitals(n_sites=3)
    times = np.where(groups == "site 1", 4, 1)
    heavy = sf.RobustLogisticRegressionCV(radii=[0.1], tol=1e-9).fit(X, y, sample_weight=times, groups=groups)
    weights = [log_loss_of(heavy, X, y, groups, site, times) for site in heavy.path_.environments]
    np.testing.assert_allclose(heavy.path_.best.scores, weights, rtol=1e-4)
    assert heavy.path_.best.mean_score == pytest.approx(np.mean(weights), rel=1e-4)


def log_loss_of(search: Any, X: Any, y: Any, groups: Any, site: str, times: Any) -> float:
    train, test = groups != site, groups == site
    model = sf.RobustLogisticRegression(radius=search.radius_, tol=1e-9).fit(X[train], y[train], sample_weight=times[train])
    return -log_loss(y[test], model.predict_proba(X[test]), sample_weight=times[test])


def test_neither_the_order_of_rows_nor_the_names_of_environments_matter() -> None:
    X, y, groups = hospitals()
    search = sf.RobustLogisticRegressionCV(radii=RADII, select="worst", tol=1e-9)
    first = search.fit(X, y, groups=groups).path_
    order = np.random.default_rng(1).permutation(len(X))
    renamed = {f"site {site}": 10 - site for site in range(5)}
    second = search.fit(X.iloc[order], y[order], groups=[renamed[name] for name in groups[order]]).path_
    assert second.environments == (6, 7, 8, 9, 10)
    np.testing.assert_allclose(second.scores[:, ::-1], first.scores, rtol=1e-6)
    assert second.best.radius == first.best.radius


def test_repeated_rows_count_like_weights() -> None:
    X, y, groups = hospitals(n_sites=3)
    times = 1 + np.arange(len(X)) % 3
    search = sf.RobustLogisticRegressionCV(radii=RADII, tol=1e-9)
    weighted = search.fit(X, y, sample_weight=times, groups=groups).path_
    repeated = search.fit(X.loc[X.index.repeat(times)], y.repeat(times), groups=groups.repeat(times)).path_
    np.testing.assert_allclose(weighted.scores, repeated.scores, rtol=1e-6)


def test_rows_of_weight_0_are_of_no_environment() -> None:
    X, y, groups = hospitals(n_sites=4)
    weights = (groups != "site 2").astype(float)
    search = sf.RobustLogisticRegressionCV(radii=RADII, tol=1e-9)
    weighted = search.fit(X, y, sample_weight=weights, groups=groups).path_
    kept = weights > 0
    without = search.fit(X[kept], y[kept], groups=groups[kept]).path_
    assert weighted.environments == ("site 0", "site 1", "site 3")
    np.testing.assert_allclose(weighted.scores, without.scores, rtol=1e-6)


def test_environments_that_say_nothing_lead_to_the_choice_without_groups() -> None:
    X, y, _ = hospitals(n_sites=1, n_rows=600)
    names = np.random.default_rng(3).permutation(np.arange(600) % 6)
    radii = np.geomspace(1e-3, 0.5, 10).tolist()
    grouped = sf.RobustLogisticRegressionCV(radii=radii).fit(X, y, groups=names)
    plain = sf.RobustLogisticRegressionCV(radii=radii, cv=StratifiedKFold(6, shuffle=True, random_state=0)).fit(X, y)
    assert abs(radii.index(grouped.radius_) - radii.index(plain.radius_)) <= 2
    assert grouped.path_.mean_scores.max() == pytest.approx(plain.path_.mean_scores.max(), abs=0.01)


def test_more_than_twenty_environments_are_put_into_folds_and_stay_whole() -> None:
    X, y, _ = hospitals(n_sites=3, n_rows=84)
    groups = np.arange(len(X)) % 21
    model = sf.RobustLogisticRegressionCV(radii=[0.03, 0.1], cv=3, tol=1e-9).fit(X, y, groups=groups)
    expected = by_hand(X, y, groups, [0.03, 0.1], GroupKFold(3))
    np.testing.assert_allclose(model.path_.scores, -expected, rtol=1e-4)


def test_environments_of_one_class_and_of_one_row_are_scored() -> None:
    X, y, groups = hospitals()
    y = np.where(groups == "site 3", 1, y)
    groups = groups.copy()
    groups[np.flatnonzero(groups == "site 1")[1:]] = "site 0"
    model = sf.RobustLogisticRegressionCV(radii=RADII, select="worst", tol=1e-9).fit(X, y, groups=groups)
    np.testing.assert_allclose(model.path_.scores, -by_hand(X, y, groups, RADII, LeaveOneGroupOut()), rtol=1e-4)
    undefined = sf.RobustLogisticRegressionCV(radii=RADII, scoring="roc_auc")
    message = r"NaN for radius 0\.01 in environment 'site 1'\. Of rows of one class"
    with pytest.warns(match="Only one class"), pytest.raises(ValueError, match=message):
        undefined.fit(X, y, groups=groups)


def test_other_scores_are_those_of_each_environment_too() -> None:
    X, y, groups = hospitals()
    model = sf.RobustLogisticRegressionCV(radii=[0.05], scoring="roc_auc", cv=GroupKFold(2), tol=1e-9)
    scores = model.fit(X, y, groups=groups).path_.best.scores
    for train, test in GroupKFold(2).split(X, y, groups):
        single = sf.RobustLogisticRegression(radius=0.05, tol=1e-9).fit(X.iloc[train], y[train])
        for place in np.unique(groups[test]):
            own = groups == place
            expected = sklearn.metrics.roc_auc_score(y[own], single.decision_function(X[own]))
            assert scores[model.path_.environments.index(place)] == pytest.approx(expected)


def test_an_environment_in_several_folds_has_the_loss_of_all_its_rows() -> None:
    X, y, groups = hospitals(n_sites=3)
    folds = list(KFold(4).split(X))
    model = sf.RobustLogisticRegressionCV(radii=[0.05], cv=folds, tol=1e-9).fit(X, y, groups=groups)
    probability = np.empty(len(y))
    for train, test in folds:
        single = sf.RobustLogisticRegression(radius=0.05, tol=1e-9).fit(X.iloc[train], y[train])
        probability[test] = single.predict_proba(X.iloc[test])[:, 1]
    expected = [-log_loss(y[groups == name], probability[groups == name]) for name in model.path_.environments]
    np.testing.assert_allclose(model.path_.best.scores, expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda groups: np.full(groups.size, "north"), "all rows are of one environment, 'north'"),
        (lambda groups: groups[:-1], "X has 300 rows, groups has 299 entries"),
        (lambda groups: pd.Series(groups).where(np.arange(groups.size) != 7), r"1 missing value\(s\), the first in row 7"),
        (lambda groups: np.column_stack([groups, groups]), "groups should be a 1d array"),
    ],
)
def test_groups_that_name_no_environments_are_refused(change: Any, message: str) -> None:
    X, y, groups = hospitals()
    with pytest.raises(sf.InvalidTableError, match=message):
        sf.RobustLogisticRegressionCV(radii=RADII).fit(X, y, groups=change(groups))


def test_an_environment_without_which_there_is_one_class_is_named() -> None:
    X, y, groups = hospitals()
    y = np.where(groups == "site 4", y, 0)
    with pytest.raises(
        sf.InvalidTableError, match=r"with environment 'site 4' held out, .* only one class: 0.* Put environments"
    ):
        sf.RobustLogisticRegressionCV(radii=RADII).fit(X, y, groups=groups)


def test_rules_without_meaning_are_refused() -> None:
    X, y, groups = hospitals()
    with pytest.raises(ValueError, match="select = 'median' must be one of 'mean', 'worst', 'worst-quarter', 'one-se'"):
        sf.RobustLogisticRegressionCV(select="median").fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        sf.RobustLogisticRegressionCV(cv=LeaveOneGroupOut()).fit(X, y)
    with pytest.raises(ValueError, match="cv = 1 must be at least 2"):
        sf.RobustLogisticRegressionCV(cv=1).fit(X, y, groups=groups)


def test_groups_are_routed_through_pipelines_searches_and_outer_folds() -> None:
    X, y, groups = hospitals()
    numbers = X[["marker", "age"]].to_numpy()
    search = sf.RobustLogisticRegressionCV(radii=RADII, select="worst", tol=1e-9)
    own = search.fit(StandardScaler().fit_transform(numbers), y, groups=groups)
    plain = make_pipeline(StandardScaler(), sf.RobustLogisticRegressionCV(radii=RADII, select="worst", tol=1e-9))
    plain.fit(numbers, y, robustlogisticregressioncv__groups=groups)
    np.testing.assert_allclose(plain[-1].path_.scores, own.path_.scores, rtol=1e-6)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = sf.RobustLogisticRegressionCV(radii=RADII, select="worst", tol=1e-9).set_fit_request(groups=True)
        piped = make_pipeline(StandardScaler(), asking).fit(numbers, y, groups=groups)
        assert piped[-1].path_.environments == own.path_.environments
        np.testing.assert_allclose(piped[-1].path_.scores, own.path_.scores, rtol=1e-6)
        outer = cross_validate(
            piped, numbers, y, cv=LeaveOneGroupOut(), params={"groups": groups}, return_estimator=True, scoring="neg_log_loss"
        )
        assert [fold[-1].path_.environments for fold in outer["estimator"]] == [
            tuple(name for name in own.path_.environments if name != left_out) for left_out in own.path_.environments
        ]
        first = groups != "site 0"
        again = make_pipeline(StandardScaler(), asking).fit(numbers[first], y[first], groups=groups[first])
        expected = -log_loss(y[~first], again.predict_proba(numbers[~first]))
        assert outer["test_score"][0] == pytest.approx(expected, rel=1e-6)
        grid = GridSearchCV(asking, {"select": ["mean", "worst"]}, cv=GroupKFold(2), scoring="neg_log_loss")
        assert grid.fit(numbers, y, groups=groups).best_estimator_.path_.environments == own.path_.environments


@pytest.mark.filterwarnings("error")
def test_a_choice_at_the_edge_of_its_grid_is_told_with_values_to_add() -> None:
    X, y, groups = hospitals()

    def prefer(radius: float) -> Any:
        return lambda model, X, y: -abs(math.log(model.radius_ / radius))

    for best, message in (
        (0.01, "smallest was chosen.* such as 0.0011, 0.0033"),
        (0.3, "largest was chosen.* such as 0.9, 2.7"),
    ):
        search = sf.RobustLogisticRegressionCV(radii=RADII, scoring=prefer(best))
        with pytest.warns(sf.GridEdgeWarning, match=f"of 4 values of the radius, from 0.01 to 0.3, the {message}"):
            assert search.fit(X, y, groups=groups).radius_ == best
        assert search.fit(X, y).radius_ == best  # folds of rows are no environments
    inside = sf.RobustLogisticRegressionCV(radii=RADII, scoring=prefer(0.1), label_weights=[1.0, 2.0])
    with pytest.warns(sf.GridEdgeWarning, match="values of the label weight, from 1 to 2, the smallest"):
        inside.fit(X, y, groups=groups)
    # Nothing is smaller than no caution, dearer than labels that are right, or beyond a single value.
    sf.RobustLogisticRegressionCV(radii=[0.0, 0.1, 0.2], scoring=lambda model, X, y: -model.radius_).fit(X, y, groups=groups)
    certain = sf.RobustLogisticRegressionCV(
        radii=[0.1], label_weights=[1.0, math.inf], scoring=lambda model, X, y: min(model.label_weight_, 9.0)
    )
    assert certain.fit(X, y, groups=groups).label_weight_ == math.inf


def test_the_path_names_the_environments_and_tells_how_each_fares() -> None:
    X, y, groups = hospitals()
    path = sf.RobustLogisticRegressionCV(radii=RADII, select="worst").fit(X, y, groups=groups).path_
    assert path.table["worst_score"].tolist() == path.scores.min(axis=1).tolist()
    table = path.environment_table
    assert table["environment"].tolist() == list(path.environments)
    assert table["score"].tolist() == path.best.scores.tolist()
    assert table["best_score"].tolist() == path.scores.max(axis=0).tolist()
    assert [RADII.index(radius) for radius in table["best_radius"]] == path.scores.argmax(axis=0).tolist()
    assert "worst score" in repr(path).splitlines()[0]
    with pytest.raises(ValueError, match="these scores are those of folds"):
        _ = sf.RobustLogisticRegressionCV(radii=RADII, cv=2).fit(X, y).path_.environment_table


SHIFT = sf.ShiftModel(numeric_certainty={"marker": 0.5, "age": 0.9}, categorical_certainty=0.8)


def test_certainty_scales_are_tried_with_every_radius_and_label_weight() -> None:
    X, y, groups = hospitals()
    kappas, scales = [math.inf, 1.0], [0.5, 1.0, 2.0]
    search = sf.RobustLogisticRegressionCV(
        radii=[0.02, 0.2], label_weights=kappas, certainty_scales=scales, shift=SHIFT, tol=1e-9
    )
    model = search.fit(X, y, groups=groups)
    points = [(point.radius, point.label_weight, point.certainty_scale) for point in model.path_]
    assert points == list(product([0.02, 0.2], kappas, scales))
    test = groups == "site 2"
    for point in model.path_:
        weights = SHIFT.scaled(point.certainty_scale).calibrate(X)
        single = sf.RobustLogisticRegression(
            radius=point.radius,
            label_weight=point.label_weight,
            numeric_weights=weights.numeric_weights,
            categorical_weights=weights.categorical_weights,
            tol=1e-9,
        )
        single.fit(X[~test], y[~test])
        assert point.scores[2] == pytest.approx(-log_loss(y[test], single.predict_proba(X[test])), rel=1e-4)
        assert point.certificate.verified
    best = max(model.path_, key=lambda point: point.mean_score)
    assert (model.radius_, model.label_weight_, model.certainty_scale_) == (
        best.radius,
        best.label_weight,
        best.certainty_scale,
    )
    weights = SHIFT.scaled(model.certainty_scale_).calibrate(X)
    assert model.ground_cost_.numeric_weights.tolist() == list(weights.numeric_weights.values())
    assert model.path_.table["certainty_scale"].tolist() == scales * 4
    assert sf.verify(model, X, y).verified


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"certainty_scales": [1.0]}, "shift = None has none"),
        ({"certainty_scales": [1.0, 0.0], "shift": SHIFT}, r"certainty_scales\[1\] = 0.0 must be a positive number"),
        ({"certainty_scales": [], "shift": SHIFT}, "certainty_scales is empty"),
        ({"certainty_scales": 2.0, "shift": SHIFT}, "certainty_scales = 2.0 must be None or a list"),
    ],
)
def test_certainty_scales_without_meaning_are_refused(options: Any, message: str) -> None:
    X, y, groups = hospitals()
    with pytest.raises(ValueError, match=message):
        sf.RobustLogisticRegressionCV(**options).fit(X, y, groups=groups)


def test_a_shift_model_that_doubts_labels_sets_their_price_unless_the_user_does() -> None:
    X, y, groups = hospitals()
    shift = sf.ShiftModel(0.9, None, 0.9, label_certainty=0.9)
    assert shift.calibrate(X).label_weight == pytest.approx(math.log(9))
    single = sf.RobustLogisticRegression(shift=shift).fit(X, y)
    assert single.label_weight_ == pytest.approx(math.log(9))
    assert sf.RobustLogisticRegression(shift=shift, label_weight=3.0).fit(X, y).label_weight_ == 3.0
    search = sf.RobustLogisticRegressionCV(radii=[0.05], shift=shift, certainty_scales=[1.0, 2.0]).fit(X, y, groups=groups)
    assert search.path_.label_weights.tolist() == pytest.approx([math.log(9), math.log(4)])
    listed = sf.RobustLogisticRegressionCV(radii=[0.05], shift=shift, label_weights=[math.inf]).fit(X, y, groups=groups)
    assert listed.label_weight_ == math.inf
    for model in (single, search, listed):
        assert sf.verify(model, X, y).verified


@pytest.mark.parametrize("numbered", [False, True])
def test_a_column_that_names_the_environment_is_warned_of_once(numbered: bool) -> None:
    X, y, groups = hospitals()
    sites = np.unique(groups, return_inverse=True)[1] if numbered else groups
    with pytest.warns(BelowChanceWarning, match="column 'site': no value .*Drop it") as said:
        sf.RobustLogisticRegressionCV(radii=RADII).fit(X.assign(site=sites), y, groups=sites)
    assert sum(one.category is BelowChanceWarning for one in said) == 1
    # Rows of a site are on both sides of these folds, so its levels are known.
    rows = list(KFold(3, shuffle=True, random_state=0).split(X))
    sf.RobustLogisticRegressionCV(radii=RADII, cv=rows).fit(X.assign(site=sites), y, groups=sites)


def test_the_reason_says_what_was_left_out_and_by_what_was_judged() -> None:
    X, y, groups = hospitals()
    model = sf.RobustLogisticRegressionCV(radii=RADII).fit(X, y, groups=groups)
    assert model.radius_reason_ == "the best of 4 by leaving out each of 5 environments, mean score"
    worst = sf.RobustLogisticRegressionCV(radii=RADII, cv=GroupKFold(2), select="worst").fit(X, y, groups=groups)
    assert worst.radius_reason_ == "the best of 4 by cross-validation over 5 environments, worst score"


@pytest.mark.parametrize("grouped", [False, True])
def test_folds_scores_and_groups_that_make_no_sense_are_told_in_words(grouped: bool) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.logistic(size=40) > 0
    groups = np.repeat(["A", "B"], 20) if grouped else None

    def fit(**options: Any) -> Any:
        return sf.RobustLogisticRegressionCV(radii=[0.1], **options).fit(X, y, groups=groups)

    with pytest.raises(ValueError, match=r"cv = \[\] has no folds"):
        fit(cv=[])
    with pytest.raises(ValueError, match="test of fold 1 names rows that are not there, of 40"):
        fit(cv=[(np.arange(30), [99])])
    with pytest.raises(sf.exceptions.InvalidTableError, match="Fold 1 holds out rows that it is fitted to, such as row 5"):
        fit(cv=[(np.arange(40), np.arange(5, 40))])
    with pytest.raises(ValueError, match=r"gave 'x'; a score is a number"):
        fit(scoring=lambda *rows, **weights: "x")
    with pytest.raises(ValueError, match="numeric_range"):
        fit(numeric_range={0: (-(10**400), 10**400)})
    with pytest.raises(sf.exceptions.InvalidTableError, match="groups of type set is no column"):
        sf.RobustLogisticRegressionCV(radii=[0.1]).fit(X, y, groups={"A", "B"})


def test_groups_that_had_a_part_in_the_choice_have_none_in_the_proof() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.logistic(size=40) > 0
    groups = np.repeat(["A", "B"], 20)
    model = sf.RobustLogisticRegressionCV(radii=[0.1]).fit(X, y, groups=groups)
    assert sf.verify(model, X, y, groups=groups).verified
