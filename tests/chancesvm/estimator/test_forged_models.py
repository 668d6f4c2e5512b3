"""Models whose numbers were changed and sealed again: what rows and parameters do not bear out is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surefoot import ChanceConstrainedSVC, verify
from surefoot.exceptions import CertificateError


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_a_model_that_predicts_by_another_kernel_is_refused_though_its_seal_fits(kernel: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    model = ChanceConstrainedSVC(kernel=kernel, batches="rows").fit(X, y)
    assert verify(model, X, y).verified
    model._scores = replace(model._scores, kernel=replace(model._scores.kernel, gamma=50.0))
    model._seal_proof()
    with pytest.raises(CertificateError, match="the kernel by which it predicts"):
        verify(model, X, y)


@pytest.mark.parametrize("column", ["misclassified", "violation", "slack", "multiplier", "label", "support"])
def test_promises_that_the_rows_do_not_bear_out_are_refused_though_their_seal_fits(column: str) -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 4)
    X, y = rng.normal(size=(40, 2)) + groups[:, None] % 2, groups % 2
    model = ChanceConstrainedSVC(violation=0.7).fit(X, y, groups=groups)
    assert verify(model, X, y).verified
    told = np.asarray(model._inputs[column])
    model._inputs[column] = (1 - told if column in ("label", "support") else told + 0.001).tolist()
    if column not in ("label", "support"):
        model._inputs[column] = np.array(model._inputs[column])
    model._seal_proof()
    with pytest.raises(CertificateError, match=rf"{column!r} of inputs\(\) is not what the rows say"):
        verify(model, X, y)
