"""``missing``: rows with gaps are refused, or left out as if they had not been measured."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold

import surefoot as sf
from surefoot import ChanceConstrainedSVC, ChanceConstrainedSVCCV, InvalidTableError


def measured(kinds: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twelve inputs of five rows, some of them with gaps."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(12), 5)
    X = rng.normal(size=(12, 2))[groups] + 3.0 * (groups % kinds)[:, None] + 0.3 * rng.normal(size=(60, 2))
    X[[3, 17, 41], [0, 1, 1]] = np.nan
    return X, groups % kinds, groups


LEFT = "3 of 60 rows have gaps and are left out, as missing='drop' says; most, 2, are in column"


@pytest.mark.parametrize("kinds", [2, 3])
def test_rows_with_gaps_are_as_if_they_were_not_there(kinds: int, tmp_path: Path) -> None:
    X, y, groups = measured(kinds)
    whole = ~np.isnan(X).any(axis=1)
    same = ChanceConstrainedSVC().fit(X[whole], y[whole], groups=groups[whole])
    weights = np.full(60, 2.0)
    with pytest.warns(UserWarning, match=LEFT):
        model = ChanceConstrainedSVC(missing="drop").fit(X, y, groups=groups)
    np.testing.assert_allclose(model.decision_function(X[whole]), same.decision_function(X[whole]), atol=1e-12)
    assert model.row_groups_[3] == -1 and model.row_groups_[4] == 0
    sf.save(model, tmp_path / "model.surefoot")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sf.verify(model, X, y).verified
        assert sf.verify(sf.load(tmp_path / "model.surefoot"), X, y, groups=groups).verified
    with pytest.warns(UserWarning, match=LEFT):
        weighted = ChanceConstrainedSVC(missing="drop").fit(X, y, groups=groups, sample_weight=weights)
    assert sf.verify(weighted, X, y, sample_weight=weights).verified


def test_names_of_columns_stay_and_gaps_of_frames_are_named() -> None:
    X, y, groups = measured()
    frame = pd.DataFrame(X, columns=["heat", "noise"])
    with pytest.warns(UserWarning, match=r"most, 2, are in .*'noise'"):
        model = ChanceConstrainedSVC(missing="drop").fit(frame, y, groups=groups)
    assert model.feature_names_in_.tolist() == ["heat", "noise"] and sf.verify(model, frame, y).verified


def test_rows_that_are_inputs_and_stacks() -> None:
    X, y, _ = measured()
    with pytest.warns(UserWarning, match="are left out"):
        model = ChanceConstrainedSVC(missing="drop", batches="rows").fit(X, y)
    assert len(model.groups_) == 57 and sf.verify(model, X, y).verified
    stacked = X.reshape(12, 5, 2)
    with pytest.warns(UserWarning, match="are left out"):
        model = ChanceConstrainedSVC(missing="drop").fit(stacked, np.arange(12) % 2)
    assert model.input_columns()["samples"][0] == 4 and sf.verify(model, stacked, np.arange(12) % 2).verified


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_searches_leave_them_out_and_tell_once(cv: object) -> None:
    X, y, groups = measured()
    search = ChanceConstrainedSVCCV(costs=[1.0], violations=[0.8], gammas=["scale"], cv=cv, random_state=0, missing="drop")
    with pytest.warns(UserWarning, match=LEFT) as told:
        search.fit(X, y, groups=groups)
    assert len(told) == 1 and sf.verify(search, X, y, groups=groups).verified


def test_an_input_of_which_nothing_is_left_is_named() -> None:
    X, y, groups = measured()
    X[groups == 7, 0] = np.nan
    with pytest.raises(
        InvalidTableError, match="all rows of group 7 have gaps, so that missing='drop' leaves nothing of 1 of 12"
    ):
        ChanceConstrainedSVC(missing="drop").fit(X, y, groups=groups)


def test_the_default_and_predictions_refuse_gaps() -> None:
    X, y, groups = measured()
    with pytest.raises(InvalidTableError, match="NaN"):
        ChanceConstrainedSVC().fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match=LEFT):
        model = ChanceConstrainedSVC(missing="drop").fit(X, y, groups=groups)
    with pytest.raises(InvalidTableError, match=r"row 3.*NaN|NaN.*row 3"):
        model.predict(X)
    with pytest.raises(ValueError, match="missing = 'fill' must be 'raise' or 'drop'"):
        ChanceConstrainedSVC(missing="fill").fit(X, y, groups=groups)
    gram = np.nan_to_num(X) @ np.nan_to_num(X).T
    gram[2, 3] = np.nan
    with pytest.raises(InvalidTableError, match="NaN"):
        ChanceConstrainedSVC(kernel="precomputed", missing="drop").fit(gram, y, groups=groups)


def test_without_gaps_the_policy_changes_nothing() -> None:
    X, y, groups = measured()
    X = np.nan_to_num(X)
    first, second = (ChanceConstrainedSVC(missing=missing).fit(X, y, groups=groups) for missing in ("raise", "drop"))
    assert first.certificate_.problem_digest == second.certificate_.problem_digest


def test_the_error_about_gaps_says_that_they_can_be_left_out() -> None:
    rows = np.arange(20.0).reshape(10, 2)
    rows[3, 0] = np.nan
    with pytest.raises(InvalidTableError, match=r"first in row 3. .* missing='drop', which leaves them out, or an imputer"):
        ChanceConstrainedSVC().fit(rows, np.arange(10) % 2)
