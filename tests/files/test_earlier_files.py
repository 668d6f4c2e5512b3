"""Model files that were written before the folders became families still load, and answer as they did.

The files and ``answers.json`` were made at the last commit whose folders were roles, from the models of ``conftest.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf

FILES = Path(__file__).resolve().parent / "before_families"
ANSWERS: dict[str, Any] = json.loads((FILES / "answers.json").read_text(encoding="utf-8"))
# The only support vector machine among them that does not answer the same everywhere, and where it was asked.
CURVED, PLACES = "curved_svc", np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_a_file_from_before_loads_and_answers_as_it_did(name: str, fitted: Any) -> None:
    method, expected = ANSWERS[name]
    model = sf.load(FILES / f"{name}.surefoot")
    rows = PLACES if name == CURVED else fitted[name.replace("_", " ")].rows
    answers = np.asarray(getattr(model, method)(rows))[: len(expected)]
    np.testing.assert_allclose(answers, expected, rtol=1e-12, atol=1e-12)
    if hasattr(model, "certificate_"):
        assert model.certificate_.upper_bound >= model.certificate_.lower_bound - 1e-9
        assert model.outcome_.status.value in {"optimal", "stalled", "time limit", "iteration limit"}


def test_every_kind_of_model_has_a_file_from_before(fitted: Any) -> None:
    assert {name.replace(" ", "_") for name in fitted} | {CURVED} == set(ANSWERS)
    assert {path.stem for path in FILES.glob("*.surefoot")} == set(ANSWERS)


@pytest.mark.parametrize("name", ["linear_svc", "rbf_svc", "poly_svc"])
def test_a_proof_that_cannot_be_recomputed_is_refused_with_the_reason(name: str, fitted: Any, people: Any) -> None:
    rows = fitted[name.replace("_", " ")].rows
    with pytest.raises(
        sf.CertificateError, match="or the proof is of an earlier version, whose digests were others: fit again"
    ):
        sf.verify(sf.load(FILES / f"{name}.surefoot"), rows, people[1])
