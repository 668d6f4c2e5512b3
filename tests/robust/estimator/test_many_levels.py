"""Categorical columns with very many levels are fitted and proven in seconds, whatever their levels hold."""

from __future__ import annotations

import numpy as np
import pytest

import surefoot as sf
from surefoot.robust.scaling import merged_levels


def crowded(levels: int, rows: int, seed: int = 0) -> tuple[list[list[str | float]], np.ndarray]:
    draw = np.random.default_rng(seed)
    codes, numbers = draw.integers(0, levels, size=(rows, 2)), draw.normal(size=rows)
    score = draw.normal(size=levels)[codes].sum(axis=1) * 0.7 + numbers
    table = [[f"a{first:04d}", f"b{second:04d}", number] for (first, second), number in zip(codes, numbers, strict=True)]
    return table, (score + draw.logistic(size=rows) > 0).astype(int)


@pytest.mark.parametrize("setting", [{"radius": 0.05}, {}, {"radius": 0.02, "label_weight": 1.0}, {"fit_intercept": False}])
def test_hundreds_of_levels_with_few_rows_are_proven_by_verify_too(setting: dict[str, float]) -> None:
    X, y = crowded(250, 500)
    model = sf.RobustLogisticRegression(**setting).fit(X, y)
    assert model.certificate_.verified, model.certificate_.claim
    assert sf.verify(model, X, y).verified


def test_what_is_merged_changes_nothing_but_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = crowded(180, 400, seed=1)
    merged = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    monkeypatch.setattr(merged_levels, "LEAST_SAVED", 10**9)
    whole = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    assert merged.certificate_.upper_bound == pytest.approx(whole.certificate_.upper_bound, rel=2e-6)
    np.testing.assert_allclose(merged.coef_[0, -1], whole.coef_[0, -1], atol=1e-4)
    np.testing.assert_allclose(merged.dual_price_, whole.dual_price_, rtol=1e-3)
    # The same certificate holds for the same model, whoever found it.
    assert sf.verify(merged, X, y).problem_digest == whole.certificate_.problem_digest
