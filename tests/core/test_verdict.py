"""One verdict for all families: rounding widens the gap, trust forbids, and the sentence is true as printed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.core.certificate import Certificate, Statement, digest, rounded_down, rounded_up, verdict
from surefoot.exceptions import CertificateError

WORDS = Statement("linear logistic model", "log loss", "on these rows")


def judged(upper: float, lower: float, tolerance: float = 1e-6, words: Statement = WORDS, floor: float = 0.0) -> Certificate:
    return verdict(
        words, upper=upper, lower=lower, tolerance=tolerance, witness=None, problem_digest="p", model_digest="m", floor=floor
    )


@given(st.floats(1e-12, 1e12), st.floats(0, 1e-3), st.floats(0, 1e-3))
def test_verified_means_that_the_exact_gap_is_within_the_exact_tolerance(upper: float, share: float, tolerance: float) -> None:
    lower = upper * (1 - share)
    found = judged(upper, lower, tolerance)
    exact = Fraction(upper) - Fraction(lower)
    assert Fraction(found.gap) >= exact
    assert Fraction(found.relative_gap) * Fraction(upper) >= exact
    assert found.verified == (found.relative_gap <= tolerance)
    if found.verified:
        assert exact <= Fraction(tolerance) * Fraction(upper)
    # And the other way round but for the last digits.
    if exact <= Fraction(tolerance) * Fraction(upper) * Fraction(999999, 1000000) - Fraction(upper) / 2**50:
        assert found.verified


@given(st.floats(-1e12, 1e12), st.floats(0, 1e12), st.sampled_from([0.0, 1e-9, 0.5, 1e6]))
def test_gaps_are_rounded_upwards_twice(lower: float, room: float, floor: float) -> None:
    upper = lower + room
    found = judged(upper, lower, floor=floor)
    assert Fraction(found.gap) >= Fraction(upper) - Fraction(lower)
    if np.isfinite(found.relative_gap):
        assert Fraction(found.relative_gap) * Fraction(max(abs(upper), floor)) >= Fraction(found.gap)


def test_ten_times_the_tolerance_is_not_the_tolerance() -> None:
    assert judged(1.0, 1.0 - 0.99e-6).verified
    assert not judged(1.0, 1.0 - 1.01e-6).verified
    assert not judged(1.0, 1.0 - 9e-6).verified


@pytest.mark.parametrize(("upper", "lower"), [(np.inf, 0.0), (1.0, -np.inf), (np.nan, 0.0), (1.0, np.nan), (np.inf, np.inf)])
def test_what_is_not_known_is_not_verified(upper: float, lower: float) -> None:
    found = judged(upper, lower, 10.0)
    assert not found.verified
    assert found.gap == found.relative_gap == np.inf
    assert "not proven optimal: ." not in found.claim.lower()
    assert "nan" not in found.claim
    assert "inf" not in found.claim


def test_bounds_that_contradict_each_other_prove_nothing() -> None:
    found = judged(1.0, 1.0 + 1e-12)
    assert not found.verified
    assert found.upper_bound >= found.lower_bound
    assert "contradict" in found.claim


def test_what_is_taken_on_trust_is_said_and_not_verified() -> None:
    found = judged(1.0, 1.0, words=Statement("cost vector", "loss", trust="the forward solver is right about observation 3"))
    assert not found.verified
    assert found.claim.startswith(
        "Provided that the forward solver is right about observation 3, which was not recomputed: no cost"
    )


def test_a_flaw_is_the_reason_and_not_verified() -> None:
    found = judged(1.0, 1.0, words=Statement("card", "loss", flaw="the card breaks limits or rules"))
    assert not found.verified
    assert found.claim.endswith("the card breaks limits or rules.")


def test_a_floor_measures_gaps_of_objectives_that_are_0() -> None:
    assert not judged(1e-9, 0.0).verified
    assert judged(1e-9, 0.0, floor=1e-2).verified
    assert not judged(1.0, 1.0 - 1.5e-6, floor=1.0).verified
    assert judged(0.0, 0.0, 0.0).verified


def test_the_gap_of_an_objective_of_0_without_a_floor_is_closed_only_if_it_is_0() -> None:
    assert not judged(0.0, -5e-324, 1e300).verified
    assert not judged(5e-324, 0.0, 0.999).verified
    assert not judged(1e308, -1e308, 1.9).verified


@pytest.mark.parametrize("floor", [-1.0, np.inf, np.nan])
def test_a_floor_that_would_excuse_every_gap_is_refused(floor: float) -> None:
    with pytest.raises(CertificateError, match="floor"):
        judged(1.0, 0.0, floor=floor)


def test_both_bounds_hold_as_printed() -> None:
    claim = judged(1.00000000004, 1.00000000002).claim
    assert claim.startswith("No linear logistic model has a log loss below 1 on these rows; this one has at most 1.000000001, ")


def test_an_open_gap_is_printed_above_the_tolerance_that_it_misses() -> None:
    assert judged(1.0, 1.0 - 1.01e-6).claim.endswith("the relative gap 0.00000101 is above the tolerance 1.0e-06.")


@pytest.mark.parametrize("upper", [0.1, 0.3, 0.6931471805599453, 7.0, 3.025e-300])
def test_a_gap_that_is_all_of_the_objective_is_one(upper: float) -> None:
    found = judged(upper, 0.0)
    assert found.gap == upper and found.relative_gap == 1.0
    assert found.claim.endswith("the relative gap 1 is above the tolerance 1.0e-06.")
    # Next to it no more than a per cent is lost in print.
    assert judged(upper, -1e-3 * upper).claim.endswith("the relative gap 1.01 is above the tolerance 1.0e-06.")


def test_zero_has_no_sign_in_print() -> None:
    assert rounded_down(-0.0) == rounded_up(-0.0) == "0"


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 17))
def test_printed_bounds_stay_on_their_side(value: float, digits: int) -> None:
    assert Fraction(rounded_down(value, digits)) <= Fraction(value) <= Fraction(rounded_up(value, digits))


def test_the_sentence_names_the_class_the_bounds_and_the_gap() -> None:
    assert judged(2.0, 2.0 - 1e-6).claim == (
        "No linear logistic model has a log loss below 1.999999 on these rows; this one has at most 2, so it is optimal to a "
        "relative gap of 5.0e-7 (asked for: 1.0e-06)."
    )


@pytest.mark.parametrize(("quantity", "printed"), [("objective", "an objective"), ("log loss", "a log loss")])
def test_the_article_suits_the_quantity(quantity: str, printed: str) -> None:
    assert f"has {printed} below" in judged(1.0, 1.0, words=Statement("plane", quantity)).claim


@pytest.mark.parametrize("tolerance", [-1e-9, np.nan, np.inf])
def test_a_tolerance_that_means_nothing_is_refused(tolerance: float) -> None:
    with pytest.raises(CertificateError, match="tolerance"):
        judged(1.0, 1.0, tolerance)


@pytest.mark.parametrize("tolerance", [1.0, 5.0, 1e308])
def test_a_tolerance_that_excuses_every_gap_verifies_nothing(tolerance: float) -> None:
    for found in (judged(1.0, 0.2, tolerance), judged(1.0, 1.0, tolerance)):
        assert not found.verified
        assert found.claim.startswith("Not proven optimal")
        assert found.claim.endswith(f"a relative gap of {tolerance!r} says nothing: tolerances are below 1.")
    assert judged(1.0, 0.2, 0.9).verified


def test_a_digest_tells_every_part_from_every_other() -> None:
    base = {"a": np.array([1.0, 2.0]), "b": np.array([3]), "text": "x"}
    assert digest("k", base) == digest("k", {"a": [1.0, 2.0], "b": np.array([3], dtype=np.int32), "text": "x"})
    others = [
        {**base, "a": np.array([1.0, 2.0 + 1e-15])},
        {**base, "b": np.array([3.0])},
        {**base, "a": np.array([[1.0, 2.0]])},
        {**base, "text": "y"},
        {"b": base["b"], "a": base["a"], "text": "x"},
    ]
    marks = {digest("k", base), digest("other", base), *(digest("k", other) for other in others)}
    assert len(marks) == len(others) + 2


def test_a_digest_does_not_depend_on_how_things_are_stored() -> None:
    from scipy import sparse

    names = np.array(["one", "three"])
    table = sparse.csr_array(np.eye(3))
    base = {"x": np.array([[1.0, 0.0], [2.0, 3.0]]), "n": 3, "yes": True, "names": names, "table": table, "none": None}
    same = {
        "x": np.asfortranarray(np.array([[1.0, -0.0], [2.0, 3.0]]).astype(">f8")),
        "n": np.uint8(3),
        "yes": np.array(True),
        "names": ["one", "three"],
        "table": table.copy(),
        "none": None,
    }
    assert digest("k", base) == digest("k", same)
    assert (
        digest("k", base)
        == digest("k", {**base, "names": names.astype(object)})
        == digest("k", {**base, "names": names.astype("U9")})
    )
    others = [
        {**base, "n": [3]},
        {**base, "yes": 1},
        {**base, "names": ["onet", "hree"]},
        {**base, "names": ["one", None]},
        {**base, "names": "one three"},
        {**base, "table": sparse.csr_array(np.eye(3)[[1, 0, 2]])},
        {**base, "table": sparse.csc_array(np.eye(3))},
        {**base, "table": 2 * table},
        {**base, "table": sparse.csr_array(np.eye(3, 4))},
        {**base, "none": ""},
        {**base, "none": "None"},
        {**base, "x": base["x"].T},
    ]
    assert len({digest("k", base), *(digest("k", other) for other in others)}) == len(others) + 1
    assert digest("k", {"a": "1", "b": ""}) != digest("k", {"a text () 1\n1b": ""})


def test_a_sparse_array_is_not_made_dense_for_its_digest() -> None:
    from scipy import sparse

    class Wide(sparse.csr_array):
        def __array__(self, *arguments: object, **options: object) -> np.ndarray:
            raise MemoryError("a sparse table was made dense")

    assert digest("k", {"table": Wide(np.eye(3))}) == digest("k", {"table": sparse.csr_array(np.eye(3))})


@pytest.mark.parametrize("part", [object(), {"a": 1}, {1, 2}, 1j, [object()], 2**70, b"bytes"])
def test_what_has_no_bytes_of_its_own_has_no_digest(part: object) -> None:
    with pytest.raises(CertificateError, match="no fingerprint"):
        digest("k", {"part": part})


def test_a_digest_is_the_same_in_every_run() -> None:
    assert digest("k", {"a": [1.5, -2.0], "b": ["x", None], "c": 7}) == (
        "fc0faf57d680acf659116d5e7b113b71770a6b2e5460e48f0fe4e99f0fb8505f"
    )


def test_whole_numbers_that_wrap_have_no_fingerprint() -> None:
    assert digest("k", {"a": np.array([3], dtype=np.uint64)}) == digest("k", {"a": np.array([3])})
    with pytest.raises(CertificateError, match="beyond 2"):
        digest("k", {"a": np.array([2**64 - 1], dtype=np.uint64)})
