"""The codes that the native search writes and the ones that Python reads are the same, by name and by number."""

from __future__ import annotations

import enum

import pytest

from surefoot import _native
from surefoot.core.outcome import Status
from surefoot.riskscore.problem.score_proof import BoxCode, CandidateMark
from surefoot.riskscore.search import exact_score, heuristic_score


def codes(kind: type[enum.Enum]) -> dict[str, int]:
    return {code.name: int(code.value) for code in kind}


@pytest.mark.parametrize(("read", "written"), [(CandidateMark, _native.CandidateMark), (BoxCode, _native.BoxCode)])
def test_a_proof_is_read_as_it_is_written(read: type[enum.Enum], written: type[enum.Enum]):
    assert codes(read) == codes(written)
    assert len(codes(read)) > 3


def test_every_end_of_a_search_has_a_status():
    for status in (exact_score.STATUS, heuristic_score.STATUS):
        assert set(status) == set(_native.SearchEnd)
        assert status[_native.SearchEnd.TIME_LIMIT] is Status.TIME_LIMIT
        assert status[_native.SearchEnd.INTERRUPTED] is Status.INTERRUPTED
    assert exact_score.STATUS[_native.SearchEnd.COMPLETE] is Status.OPTIMAL
    assert heuristic_score.STATUS[_native.SearchEnd.COMPLETE] is Status.STALLED
