"""Inputs with few repeats: what they borrow, and what that changes."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from surefoot import CertificateError, ChanceConstrainedSVC, SingleSampleWarning, WeakModelWarning
from surefoot.chancesvm.inputs.borrowed_repeats import ENOUGH, OWN_PRIOR, Repeats, borrowed_samples


def repeats_of(sizes: list[int], columns: int, seed: int, uneven: float = 0.0) -> Repeats:
    draw = np.random.default_rng(seed)
    of_input = np.repeat(np.arange(len(sizes)), sizes)
    scale = np.exp(uneven * draw.normal(size=len(sizes)))[of_input, None]
    rows = draw.normal(size=(len(sizes), columns))[of_input] * 3 + scale * draw.normal(size=(of_input.size, columns))
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Repeats.of(rows, starts, np.repeat(1.0 / np.array(sizes), sizes), np.ones(of_input.size))


def moments(samples: Any, at: int) -> tuple[np.ndarray, np.ndarray]:
    own = slice(samples.starts[at], samples.starts[at + 1])
    weights, rows = samples.weights[own], samples.samples[own]
    mean = weights @ rows
    return mean, (weights[:, None] * (rows - mean)).T @ (rows - mean)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 14), min_size=2, max_size=9), st.integers(1, 4), st.integers(0, 99), st.booleans())
def test_samples_keep_the_mean_and_have_the_covariance_that_is_stated(
    sizes: list[int], columns: int, seed: int, same: bool
) -> None:
    repeats = repeats_of(sizes, columns, seed, uneven=0.5)
    found = borrowed_samples(repeats, np.ones(len(repeats.rows)), same=same)
    if max(sizes) == 1:
        assert found is None
        return
    assert found is not None
    samples, pool = found
    assert np.all(samples.weights > 0)
    np.testing.assert_allclose(np.add.reduceat(samples.weights, samples.starts[:-1]), 1.0, rtol=1e-12)
    for at, size in enumerate(sizes):
        rows = repeats.rows[repeats.starts[at] : repeats.starts[at + 1]]
        mean, covariance = moments(samples, at)
        np.testing.assert_allclose(mean, rows.mean(axis=0), atol=1e-9)
        n_samples = samples.starts[at + 1] - samples.starts[at]
        own = np.cov(rows.T, ddof=1).reshape(columns, columns) if size > 1 else np.zeros((columns, columns))
        share = OWN_PRIOR / (OWN_PRIOR + size - 1)
        if same:
            # To the last digit but rounding the same for all, whatever their own is.
            freedom = sum(n - 1 for n in sizes)
            parts = [repeats.rows[a:b] - repeats.rows[a:b].mean(axis=0) for a, b in itertools.pairwise(repeats.starts)]
            pooled = sum(part.T @ part for part in parts) / freedom
            np.testing.assert_allclose(covariance, (1 + 1 / size) * pooled, atol=1e-9)
        elif size >= ENOUGH:
            assert n_samples == size
            np.testing.assert_allclose(covariance, (1 + 1 / size) * own, atol=1e-9)
        else:
            assert n_samples - size * (size > 1) == 2 * np.ceil((ENOUGH - size) / 2)
            # What is left of the covariance is borrowed: of rank one for each deviation, and nothing negative.
            left = covariance / (1 + 1 / size) - (1 - share) * own
            assert np.linalg.eigvalsh(left).min() > -1e-9
            assert np.trace(left) > 0
    assert pool.same == same


def test_borrowed_deviations_are_as_long_as_those_of_the_input() -> None:
    """Half of the inputs are ten times as noisy: what they borrow is, too."""
    draw = np.random.default_rng(0)
    scale = np.repeat([0.1, 1.0], 30)
    rows = (scale[:, None, None] * draw.normal(size=(60, 4, 8))).reshape(-1, 8)
    repeats = Repeats.of(rows, 4 * np.arange(61), np.full(240, 0.25), np.ones(240))
    shrunk, pooled = (borrowed_samples(repeats, np.ones(240), same=same) for same in (False, True))
    assert shrunk is not None and pooled is not None
    totals = np.array([np.trace(moments(shrunk[0], at)[1]) for at in range(60)]) / 8 / 1.25
    # Drawn towards each other a little: neither is taken to be as quiet, or as noisy, as so few repeats say.
    assert 0.01 < totals[:30].mean() < 0.04
    np.testing.assert_allclose(totals[30:].mean(), 1.0, rtol=0.3)
    alike = np.array([np.trace(moments(pooled[0], at)[1]) for at in range(60)])
    np.testing.assert_allclose(alike, alike[0], rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 99))
def test_neither_the_order_of_rows_nor_signs_of_columns_matter(seed: int) -> None:
    repeats = repeats_of([3, 5, 2, 4], 3, seed)
    draw = np.random.default_rng(seed)
    order = np.concatenate([start + draw.permutation(end - start) for start, end in itertools.pairwise(repeats.starts)])
    signs = draw.choice([-1.0, 1.0], size=3)
    turned = Repeats(repeats.rows[order] * signs, repeats.starts, repeats.weights, repeats.counts)
    found = [borrowed_samples(own, np.ones(14), same=False) for own in (repeats, turned)]
    for at in range(4):
        (mean, covariance), (other_mean, other) = (moments(own[0], at) for own in found if own is not None)
        np.testing.assert_allclose(other_mean, mean * signs, atol=1e-12)
        np.testing.assert_allclose(other, covariance * np.outer(signs, signs), atol=1e-12)


def test_neither_names_nor_who_comes_along_matter() -> None:
    rows, further, labels = measured(0, columns=4, count=12)
    model, (X, y, groups) = fitted(rows, labels, kernel="rbf")
    names = np.array([f"machine {(7 * at) % 24}" for at in range(24)])[groups]
    other = ChanceConstrainedSVC(**model.get_params()).fit(X, y, names)
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-3)
    assert other.certificate_.upper_bound == pytest.approx(model.certificate_.upper_bound, rel=3e-6)
    new = further[:, :3].reshape(-1, 4)
    together = model.promise(new, groups)
    alone = model.promise(new[33:36], groups[33:36])
    np.testing.assert_allclose(alone["spread"], together["spread"][11:12], rtol=1e-12)
    assert model.predict(new[33:36], groups[33:36]).tolist() == model.predict(new, groups)[33:36].tolist()


def measured(seed: int, repeats: int = 3, columns: int = 30, count: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Repeats of shape (inputs, repeats, columns), 300 further measurements of each input, and labels."""
    draw = np.random.default_rng(seed)
    labels = np.repeat([0, 1], count)
    means = draw.normal(size=(2 * count, columns))
    means[:, 0] += np.where(labels == 1, 2.0, -2.0)
    rows = means[:, None, :] + 0.5 * draw.normal(size=(2 * count, repeats + 300, columns))
    return rows[:, :repeats], rows[:, repeats:], labels


def fitted(rows: np.ndarray, labels: np.ndarray, **asked: Any) -> tuple[ChanceConstrainedSVC, tuple[Any, Any, Any]]:
    count, repeats, columns = rows.shape
    given_rows = rows.reshape(-1, columns), np.repeat(labels, repeats), np.repeat(np.arange(count), repeats)
    return ChanceConstrainedSVC(**{"kernel": "linear", "violation": 0.1, **asked}).fit(*given_rows), given_rows


@pytest.mark.parametrize("violation", [0.1, 0.8])
def test_inputs_of_three_repeats_keep_their_promises_only_where_they_borrow(violation: float) -> None:
    """The promise: misclassified at most a tenth of the time. Counted: promised inputs of which it is more."""
    broken = {"batch": 0, "shrunk": 0}
    promised = {"batch": 0, "shrunk": 0}
    for seed in range(4):
        rows, further, labels = measured(seed)
        for covariance in broken:
            model, _ = fitted(rows, labels, covariance=covariance, violation=violation)
            told = np.asarray(model.inputs()["misclassified"]) <= 0.1
            wrong = (model.predict(further.reshape(-1, 30)).reshape(60, 300) != labels[:, None]).mean(axis=1)
            broken[covariance] += int((wrong[told] > 0.1).sum())
            promised[covariance] += int(told.sum())
    assert promised["shrunk"] > 50
    assert broken["shrunk"] <= 0.02 * promised["shrunk"]
    assert broken["batch"] > 0.03 * promised["batch"]


@pytest.mark.parametrize("asked", [{}, {"kernel": "rbf"}, {"kernel": "poly"}, {"covariance": "pooled"}, {"n_landmarks": 30}])
def test_a_model_of_borrowed_deviations_is_verified_from_rows_and_file(asked: dict[str, Any], tmp_path: Path) -> None:
    rows, further, labels = measured(0, columns=4, count=8)
    model, given_rows = fitted(rows, labels, **asked)
    assert model.certificate_.verified and "with deviations borrowed from each other" in model.certificate_.claim
    assert model.inputs()["samples"].tolist() == [3] * 16
    sf.save(model, tmp_path / "model.json")
    again = sf.load(tmp_path / "model.json")
    X, y, groups = given_rows
    order = np.random.default_rng(0).permutation(len(X))
    assert sf.verify(again, X, y, groups=groups).verified
    assert fitted(rows, labels, **asked)[0].certificate_.problem_digest == model.certificate_.problem_digest
    shuffled = ChanceConstrainedSVC(**model.get_params()).fit(X[order], y[order], groups[order])
    assert shuffled.certificate_.upper_bound == pytest.approx(model.certificate_.upper_bound, rel=3e-6)
    new = further[:, :3].reshape(-1, 4)
    assert again.promise(new, groups).equals(model.promise(new, groups))
    again._pool.deviations[0, 0] += 1.0
    with pytest.raises(CertificateError, match="changed"):
        sf.verify(again, X, y, groups=groups)
    unsaid = ChanceConstrainedSVC(**{**model.get_params(), "covariance": "batch"}).fit(X, y, groups)
    assert "borrowed" not in unsaid.certificate_.claim


def test_a_further_measurement_is_put_elsewhere_at_most_as_often_as_promised() -> None:
    rows, _, labels = measured(0, repeats=4, columns=10)
    new, further, _ = measured(1, repeats=4, columns=10)
    for kernel in ("linear", "rbf"):
        model, _ = fitted(rows, labels, kernel=kernel, violation=0.8)
        names = np.repeat(np.arange(60), 4)
        table = model.promise(new.reshape(-1, 10), groups=names)
        assert list(table.columns) == ["group", "rows", "prediction", "score", "spread", "flips"]
        flips = (model.predict(further.reshape(-1, 10)).reshape(60, 300) != table["prediction"].to_numpy()[:, None]).mean(
            axis=1
        )
        assert (flips <= table["flips"]).mean() > 0.95
        sure = table["flips"] <= 0.1
        assert sure.sum() >= 15 and flips[sure].mean() <= 0.05
        assert np.array_equal(model.predict(new.reshape(-1, 10), groups=names), np.repeat(table["prediction"], 4))


def test_one_measurement_borrows_all_its_spread_and_without_borrowing_nothing_is_said() -> None:
    rows, further, labels = measured(0, columns=4)
    model, _ = fitted(rows, labels)
    single = model.promise(further[:, 0])
    assert (
        (single["rows"] == 1).all() and (single["spread"] > 0).all() and ((single["flips"] > 0) & (single["flips"] <= 1)).all()
    )
    np.testing.assert_allclose(single["score"], model.decision_function(further[:, 0]), rtol=1e-9)
    plain, _ = fitted(rows, labels, covariance="batch")
    assert plain.promise(further[:, 0])["flips"].isna().all()
    twice = plain.promise(further[:2, :2].reshape(-1, 4), groups=["a", "a", "b", "b"])
    scores = plain.decision_function(further[:2, :2].reshape(-1, 4)).reshape(2, 2)
    np.testing.assert_allclose(twice["score"], scores.mean(axis=1))
    np.testing.assert_allclose(twice["spread"], scores.std(axis=1))


def test_held_out_inputs_say_how_often_a_class_is_ruled_out_wrongly() -> None:
    """At 0.1, a tenth of all new inputs at most may have their true class ruled out; classes overlap, so that some do."""
    wrong, ruled_out = [], []
    for seed in range(3):
        rows, _, labels = measured(seed, columns=5, count=40)
        rows = rows.copy()
        rows[:, :, 0] -= np.where(labels == 1, 1.2, -1.2)[:, None]
        new, _, _ = measured(100 + seed, columns=5, count=40)
        new = new.copy()
        new[:, :, 0] -= np.where(labels == 1, 1.2, -1.2)[:, None]
        model, _ = fitted(rows, labels, violation=0.8, probability=True, random_state=0)
        table = model.promise(new.reshape(-1, 5), groups=np.repeat(np.arange(80), 3))
        ruled = table["other_class"].to_numpy() <= 0.1
        ruled_out.append(ruled.mean())
        wrong.append((ruled & (table["prediction"].to_numpy() != labels)).mean())
    assert 0.0 < np.mean(wrong) <= 0.12
    assert np.mean(ruled_out) > 0.3


def test_given_moments_are_promised_by_their_own_spread() -> None:
    draw = np.random.default_rng(0)
    means, labels = draw.normal(size=(20, 3)), np.repeat([0, 1], 10)
    means[:, 0] += np.where(labels == 1, 2.0, -2.0)
    model = ChanceConstrainedSVC(kernel="linear").fit_moments(means, np.full((20, 3), 0.1), labels)
    table = model.promise_moments(means, np.full((20, 3), 0.4))
    np.testing.assert_allclose(table["spread"], np.sqrt(0.4) * np.linalg.norm(model.coef_[0]))
    score = np.abs(model.decision_function(means))
    np.testing.assert_allclose(table["flips"], table["spread"] ** 2 / (table["spread"] ** 2 + score**2))
    assert model.predict_moments(means, np.full((20, 3), 0.4)).tolist() == model.predict(means).tolist()
    curved = ChanceConstrainedSVC().fit(means, labels, groups=np.arange(20) // 2)
    with pytest.raises(ValueError, match="pass rows"):
        curved.predict_moments(means, np.full((20, 3), 0.1))


def test_what_cannot_borrow_says_so_or_does_not() -> None:
    rows, _, labels = measured(0, columns=3, count=6)
    X, y, groups = rows.reshape(-1, 3), np.repeat(labels, 3), np.repeat(np.arange(12), 3)
    with pytest.raises(ValueError, match=r"covariance = 'ledoit' must be one of"):
        ChanceConstrainedSVC(covariance="ledoit").fit(X, y, groups)
    with pytest.raises(ValueError, match="covariance='batch', or confidence=None"):
        ChanceConstrainedSVC(covariance="shrunk", confidence=0.5).fit(X, y, groups)
    for kernel, word in (("precomputed", "a matrix"), (lambda one, other: one @ other.T, "a function")):
        with pytest.raises(ValueError, match=word):
            ChanceConstrainedSVC(covariance="pooled", kernel=kernel).fit(X @ X.T, y, groups)
    given_matrix = ChanceConstrainedSVC(kernel="precomputed").fit(X @ X.T, y, groups)
    assert "borrowed" not in given_matrix.certificate_.claim
    exact = ChanceConstrainedSVC().fit(np.repeat(rows[:, 0], 3, axis=0), y, groups)
    assert "borrowed" not in exact.certificate_.claim
    alone = np.concatenate((groups[:-3], [98, 99, 100]))
    with pytest.warns(SingleSampleWarning, match=r"3 of 14 groups have one row.*vary as the other inputs do"):
        ChanceConstrainedSVC().fit(X, y, alone)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChanceConstrainedSVC().fit(X, y, groups)


@pytest.mark.parametrize("covariance", ["shrunk", "pooled"])
def test_readings_in_whole_numbers_say_the_same_in_other_units(covariance: str) -> None:
    """Ties are many, and what decides between them must not be rounding."""
    for seed in range(12):
        draw = np.random.default_rng(seed)
        labels, groups = np.arange(8) % 2, np.repeat(np.arange(8), 3)
        X = draw.integers(0, 4, size=(24, 2)).astype(float) + 3.0 * labels[groups][:, None]
        bounds = []
        for rows, names in ((X, groups), (-X, groups), (X + 10.0, groups), (0.1 * X, groups), (X[::-1], groups[::-1])):
            model = ChanceConstrainedSVC(kernel="linear", covariance=covariance)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WeakModelWarning)
                proof = model.fit(rows, labels[names], names).certificate_
            assert proof.verified
            bounds.append(proof.upper_bound)
        np.testing.assert_allclose(bounds, bounds[0], rtol=3e-6)


@pytest.mark.parametrize("repeats", [3, 12])
def test_a_curved_plane_does_not_call_inputs_safe_that_it_was_bent_around(repeats: int) -> None:
    draw = np.random.default_rng(0)
    labels = np.arange(60) % 2
    means = np.where(labels, 0.9, -0.9)[:, None] * np.eye(20)[0] + 0.5 * draw.normal(size=(60, 20))
    X = np.repeat(means, repeats, axis=0) + 0.6 * draw.normal(size=(60 * repeats, 20))
    groups = np.repeat(np.arange(60), repeats)
    with pytest.warns(WeakModelWarning, match="may be misclassified more often"):
        model = ChanceConstrainedSVC(violation=0.1, C=10).fit(X, labels[groups], groups)
    further = means[:, None, :] + 0.6 * draw.normal(size=(60, 400, 20))
    rate = (model.predict(further.reshape(-1, 20)).reshape(60, 400) != labels[:, None]).mean(axis=1)
    told = np.asarray(model.inputs()["misclassified"])
    assert (rate > told + 0.02).mean() <= 0.05
    with pytest.warns(WeakModelWarning):
        promised = model.promise(X, groups)["flips"].to_numpy()
    assert (rate > promised + 0.02).mean() <= 0.1


def test_a_stack_is_predicted_input_by_input() -> None:
    rows, further, labels = measured(0, columns=4, count=10)
    model = ChanceConstrainedSVC().fit(rows, labels)
    new = further[:, :3]
    names = np.repeat(np.arange(20), 3)
    assert model.predict(new).tolist() == model.predict(new.reshape(-1, 4), groups=names)[::3].tolist()
    assert model.promise(new).equals(model.promise(new.reshape(-1, 4), groups=names))
    scores = model.decision_function(new.reshape(-1, 4)).reshape(20, 3).mean(axis=1)
    np.testing.assert_allclose(model.promise(new)["score"], scores)
