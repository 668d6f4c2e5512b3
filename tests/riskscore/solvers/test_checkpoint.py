"""Checkpoints: a search goes on where another was stopped, and nothing that happens to the file can spoil it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from reference.drawn_score import binary_table, draw_problem
from reference.enumerated_score import best_card

from surefoot import _native
from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import CheckpointWarning
from surefoot.riskscore.problem.card_rules import RateRule
from surefoot.riskscore.problem.problem import RiskScoreProblem
from surefoot.riskscore.search import checkpoint
from surefoot.riskscore.search.exact_score import ExactScore, ScoreOutcome


def solve(problem: RiskScoreProblem, path: Path, interval: float = 0.05, **options: object) -> ScoreOutcome:
    solver = ExactScore(checkpoint=path, checkpoint_interval=interval)
    return solver.solve(problem, SolveOptions(**{"tolerance": 0.0, **options}))


def n_finished(path: Path, problem: RiskScoreProblem) -> int:
    return len(checkpoint.read_checkpoint(path, problem, 0.0).finished)


def test_a_search_in_many_short_pieces_finds_what_one_long_search_finds(tmp_path: Path):
    problem = binary_table(n=300, d=40, size=6)
    path = tmp_path / "search.npz"
    whole = ExactScore().solve(problem, SolveOptions(tolerance=0.0))
    finished = [0]
    # A little longer every time, so that the largest part is finished some day on any machine.
    for piece in range(1, 100):
        outcome = solve(problem, path, time_limit=0.05 * piece, n_threads=2)
        finished.append(n_finished(path, problem))
        assert outcome.lower_bound <= whole.upper_bound <= outcome.upper_bound
        if outcome.status is Status.OPTIMAL:
            break
    assert outcome.status is Status.OPTIMAL
    assert piece > 2
    assert finished == sorted(finished)
    assert outcome.upper_bound == whole.upper_bound
    assert outcome.primal.intercept == whole.primal.intercept
    np.testing.assert_array_equal(outcome.primal.points, whole.primal.points)


def test_what_is_finished_is_not_done_again(tmp_path: Path):
    problem = binary_table(n=800, d=24, size=5)
    path = tmp_path / "search.npz"
    first = solve(problem, path)
    again = solve(problem, path)
    assert n_finished(path, problem) > 20
    assert again.status is Status.OPTIMAL
    assert again.upper_bound == first.upper_bound
    assert again.dual.supports_fitted < 0.5 * first.dual.supports_fitted


def test_a_finished_part_is_believed(tmp_path: Path):
    """The one thing a checkpoint can do wrong: this shows that it is used, and why its digest is checked."""
    problem = binary_table(n=300, d=8, size=3)
    path = tmp_path / "search.npz"
    honest = solve(problem, path)
    assert honest.primal.size == 3
    state = checkpoint.read_checkpoint(path, problem, 0.0)
    pairs = np.array([(a, b) for a in range(8) for b in range(8) if a != b], dtype=np.int32)
    dataclasses.replace(state, finished=pairs, card=None).write(path, problem.digest())
    solver = ExactScore(checkpoint=path)
    assert solver.solve(problem, SolveOptions(tolerance=0.0)).iterations < honest.iterations


@pytest.mark.parametrize("kind", ["binary", "integer", "mixed"])
@pytest.mark.parametrize("seed", range(6))
def test_small_searches_with_and_after_a_checkpoint_equal_complete_enumeration(tmp_path: Path, kind: str, seed: int):
    problem = draw_problem(seed, kind, twins=seed % 2 == 0)
    best, _ = best_card(problem)
    for _ in range(2):
        assert solve(problem, tmp_path / "search.npz").upper_bound == pytest.approx(best, abs=1e-12)
    hurried = solve(problem, tmp_path / "search.npz", time_limit=0.0)
    assert hurried.upper_bound == pytest.approx(best, abs=1e-12)


def test_a_search_without_time_keeps_an_earlier_checkpoint(tmp_path: Path):
    problem = binary_table(n=800, d=24, size=5)
    path = tmp_path / "search.npz"
    solve(problem, path)
    before = n_finished(path, problem)
    solve(problem, path, time_limit=0.0)
    assert n_finished(path, problem) == before > 0


def test_parts_left_at_a_wider_gap_are_searched_again(tmp_path: Path):
    problem = binary_table(n=800, d=20, size=4, seed=2)
    path = tmp_path / "search.npz"
    solve(problem, path, tolerance=0.2)
    assert n_finished(path, problem) == 0
    assert solve(problem, path).upper_bound == ExactScore().solve(problem, SolveOptions(tolerance=0.0)).upper_bound


def test_a_checkpoint_of_other_data_is_refused_by_name(tmp_path: Path):
    problem = binary_table(n=300, d=8, size=3)
    path = tmp_path / "search.npz"
    solve(problem, path)
    for other in (
        dataclasses.replace(problem, labels=-problem.labels),
        dataclasses.replace(problem, max_features=4),
        dataclasses.replace(problem, penalty=0.01),
    ):
        with pytest.raises(ValueError, match=r"search\.npz is the checkpoint of a search on other data"):
            solve(other, path)


def test_a_checkpoint_of_an_earlier_version_is_refused_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its fingerprint was another one: "other data" would be false."""
    path, problem = tmp_path / "search.npz", binary_table(n=60, d=5, size=2)
    monkeypatch.setattr(checkpoint, "FORMAT", checkpoint.EARLIER_FORMATS[0])
    ExactScore(checkpoint=path).solve(problem, SolveOptions())
    monkeypatch.undo()
    with pytest.raises(ValueError, match="earlier version of surefoot") as refusal:
        ExactScore(checkpoint=path).solve(problem, SolveOptions())
    assert "other data" not in str(refusal.value)


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 broken"])
def test_a_damaged_checkpoint_is_refused_by_name(tmp_path: Path, content: bytes):
    path = tmp_path / "search.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"search\.npz is not a checkpoint"):
        solve(binary_table(n=100, d=5, size=2), path)
    assert path.read_bytes() == content


def test_a_pickle_is_not_opened(tmp_path: Path):
    path = tmp_path / "search.npz"
    with path.open("wb") as file:
        np.savez(file, about=np.array([{"format": checkpoint.FORMAT}], dtype=object))
    with pytest.raises(ValueError, match="not a checkpoint"):
        solve(binary_table(n=100, d=5, size=2), path)


def test_a_folder_that_is_missing_is_told_before_the_search(tmp_path: Path):
    with pytest.raises(ValueError, match="no folder"):
        solve(binary_table(), tmp_path / "nowhere" / "search.npz")
    with pytest.raises(ValueError, match="checkpoint_interval"):
        ExactScore(checkpoint=tmp_path / "search.npz", checkpoint_interval=0.0)


def test_a_full_disk_does_not_cost_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    problem = binary_table(n=800, d=24, size=5)
    path = tmp_path / "search.npz"
    solve(problem, path, time_limit=0.0)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.np, "savez_compressed", full)
    with pytest.warns(CheckpointWarning, match="No space left"):
        outcome = solve(problem, path)
    assert outcome.status is Status.OPTIMAL
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_may_not_be_written_does_not_cost_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("surefoot.core.new_file.open", forbidden, raising=False)
    path = tmp_path / "search.npz"
    with pytest.warns(CheckpointWarning, match="Permission denied"):
        outcome = solve(binary_table(n=300, d=40, size=5), path)
    assert outcome.status is Status.OPTIMAL
    assert not path.exists()


def test_a_full_disk_that_has_room_again_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    problem = binary_table(n=100, d=5, size=3)
    file = checkpoint.CheckpointFile(tmp_path / "search.npz", problem, 0.0)
    whole = np.arange(5, dtype=np.int32)
    state = _native.SearchSnapshot(order=whole, finished=np.zeros((0, 2), dtype=np.int32), intercept=1, points=0 * whole)
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        assert file.save(state)
        assert "No space left" in str(file.error)
    assert file.save(state)
    assert file.error is None
    assert checkpoint.read_checkpoint(file.path, problem, 0.0).card.intercept == 1


def test_a_search_of_free_scale_under_a_rule_about_risks_goes_on_from_its_checkpoint(tmp_path: Path):
    """A checkpoint holds points alone, and they obey such a rule at some multipliers only: 1 need not be one of them."""
    problem = dataclasses.replace(
        binary_table(n=300, d=8, size=3), rules=(RateRule(1.0, lower=0.95, threshold=-0.5),), scale="free"
    )
    path = tmp_path / "search.npz"
    whole = solve(problem, path)
    assert not problem.admits(dataclasses.replace(whole.primal, multiplier=1.0))
    again = solve(problem, path)
    assert again.upper_bound == whole.upper_bound
    assert again.primal.multiplier == whole.primal.multiplier
    assert again.dual.supports_fitted < whole.dual.supports_fitted
