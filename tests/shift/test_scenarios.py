"""The seven unexpected scenarios."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.shift.scenarios import EXPECTED, UNEXPECTED, Scenario, named_scenarios

SEED = np.random.SeedSequence(0)


def test_three_scenarios_move_all_certainties_and_stay_within_what_is_possible() -> None:
    rho, lowest = np.array([0.1, 0.6, 0.95, 0.4, 0.7]), np.array([0.0, 0.0, 0.0, 0.25, 0.5])
    down, less, up = (scenario.certainties(rho, lowest, SEED) for scenario in UNEXPECTED[:3])
    assert down == pytest.approx([0.001, 0.4, 0.75, 0.25, 0.5])
    assert less == pytest.approx([0.001, 0.5, 0.85, 0.3, 0.6])
    assert up == pytest.approx([0.2, 0.7, 1.0, 0.5, 0.8])


@pytest.mark.parametrize(("scenario", "reach"), list(zip(UNEXPECTED[3:], (0.05, 0.1, 0.15, 0.2), strict=True)))
def test_four_scenarios_draw_certainties_uniformly_around_what_they_were(scenario: Scenario, reach: float) -> None:
    rho = np.full(4000, 0.5)
    moved = scenario.certainties(rho, np.zeros(4000), SEED) - rho
    assert np.abs(moved).max() <= reach and np.abs(moved).max() > 0.99 * reach
    assert np.abs(moved).mean() == pytest.approx(reach / 2, rel=0.05) and abs(moved.mean()) < 0.05 * reach


def test_scenarios_are_chosen_by_name_or_as_a_group() -> None:
    assert named_scenarios("expected") == (EXPECTED,)
    assert len(named_scenarios("unexpected")) == 7 and named_scenarios("all") == (EXPECTED, *UNEXPECTED)
    assert [scenario.name for scenario in named_scenarios(["certainty +0.1", "expected"])] == ["certainty +0.1", "expected"]
    for wrong in ("worse", [], ["expected", "expected"], 3):
        with pytest.raises(ValueError, match="is not understood; use 'expected', 'unexpected', 'all'"):
            named_scenarios(wrong)


def test_less_certainty_means_more_noise_and_columns_without_certainty_stay() -> None:
    X = pd.DataFrame({"x": np.arange(2000.0), "z": ["a", "b"] * 1000, "still": 2.0})
    model = sf.ShiftModel({"x": 0.8}, 1.0, 0.9)
    shift = model.on(X, None, lambda rho, lowest: UNEXPECTED[0].certainties(rho, lowest, SEED))
    moved = shift.write(shift.draw([SEED]))
    assert np.mean(np.abs(moved["x"] - X["x"]) <= 1.0) == pytest.approx(0.6, abs=0.04)
    assert np.mean(moved["z"] == X["z"]) == pytest.approx(0.7, abs=0.04)
    assert moved["still"].equals(X["still"])
