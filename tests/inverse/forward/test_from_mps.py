"""Models in MPS and LP files learn what the same arrays learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surefoot as sf
from surefoot.inverse import InverseOptimizer, forward

LP = """minimize
 total: 2 oats + 3 milk + open
subject to
 energy: 2 oats + milk >= 4
 gate: oats - 5 open <= 0
 balance: milk + extra = 3
bounds
 oats <= 5
 milk <= 5
 extra <= 7
generals
 extra
binaries
 open
end
"""


@pytest.fixture
def diet(tmp_path: Path) -> Path:
    (tmp_path / "diet.lp").write_text(LP)
    return tmp_path / "diet.lp"


SIGNALS: list[dict[str, Any]] = [{"energy": 6.0}, {"energy": 9.0, "balance": 2.0}, {"energy": 3.0, "oats": 1.0}]
DECIDED = [
    {"oats": 3.0, "milk": 0.0, "open": 1.0, "extra": 3.0},
    {"oats": 4.5, "milk": 0.0, "open": 1.0, "extra": 2.0},
    {"oats": 1.0, "milk": 1.0, "open": 1.0, "extra": 2.0},
]
OPTIONS: dict[str, Any] = {"prior": "nonnegative", "kappa": 0.05, "distance": ("linf", "none")}


def test_a_file_learns_what_its_arrays_learn(diet: Path, tmp_path: Path) -> None:
    program = forward.from_mps(diet)
    assert repr(program) == (
        "ParametricProgram(diet.lp: 4 unknowns, 2 of them whole, 3 rows, parameters energy, gate, balance, oats, "
        "milk and 2 more)"
    )
    ours = InverseOptimizer(program, **OPTIONS).fit(SIGNALS, pd.DataFrame(DECIDED))
    assert program.unknowns == ["oats", "milk", "open", "extra"]
    data = []
    for energy, balance, oats in [(6.0, 3.0, None), (9.0, 2.0, None), (3.0, 3.0, 1.0)]:
        # A fixed unknown is two rows here.
        first = [[-2.0, -1], [1, 0], [0, 1], [0, -1]]
        second = [[0.0, 0], [-5, 0], [0, 1], [0, -1]]
        side = [-energy, 0, balance, -balance]
        if oats is not None:
            first, second, side = [*first, [1, 0], [-1, 0]], [*second, [0, 0], [0, 0]], [*side, oats, -oats]
        data.append((np.array(first), np.array(second), np.array(side, dtype=float)))
    plain = InverseOptimizer(forward.MixedIntegerProgram(continuous_bounds=(0, 5), integer_bounds=(0, [1, 7])), **OPTIONS)
    plain.fit(data, [list(each.values()) for each in DECIDED])
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)
    assert ours.certificate_.verified
    sf.save(ours, tmp_path / "model")
    again = sf.load(tmp_path / "model")
    assert np.array_equal(again.predict(SIGNALS), ours.predict(SIGNALS))
    assert sf.verify(again, SIGNALS, DECIDED).verified


def test_a_file_that_maximises_learns_values(tmp_path: Path) -> None:
    (tmp_path / "pack.lp").write_text(
        "maximize\n v: 3 a + 2 b + 2 c\nsubject to\n room: 3 a + 2 b + 2 c <= 4\nbinaries\n a b c\nend\n"
    )
    program = forward.from_mps(tmp_path / "pack.lp", ["room"])
    model = InverseOptimizer(program, approach="incenter").fit([4.0, 3.0], [[0, 1, 1], [1, 0, 0]])
    assert np.all(model.cost_ > 0)
    assert list(program.priced) == ["a", "b", "c"]


def test_costs_may_be_those_of_some_columns_or_of_sums(diet: Path) -> None:
    some = forward.from_mps(diet, ["energy"], cost=["milk"])
    assert list(some.priced) == ["milk", "the rest of the objective"]
    assert some.priced_parts({})[0].tolist() == [[0, 1, 0, 0], [2, 0, 1, 0]]
    sums = forward.from_mps(diet, cost={"food": {"oats": 1.0, "milk": 2.0}, "other": {"open": 1.0}})
    assert sums.priced_parts({})[0].tolist() == [[1, 2, 0, 0], [0, 0, 1, 0]]
    with pytest.raises(ValueError, match="no column 'tea'"):
        forward.from_mps(diet, cost=["tea"])
    with pytest.raises(ValueError, match="no row or column 'tea'"):
        forward.from_mps(diet, ["tea"])


RANGE = """NAME r
ROWS
 N c
 G span
 N other
COLUMNS
 x c 1.0 span 1.0
 x other 2.0
RHS
 RHS span 1.0
RANGES
 RNG span 4.0
BOUNDS
 UP BND x 9.0
ENDATA
"""


def test_rows_with_two_sides_take_pairs_and_names_are_checked(tmp_path: Path) -> None:
    (tmp_path / "range.mps").write_text(RANGE)
    program = forward.from_mps(tmp_path / "range.mps")
    known, wide = program.decisions(None), program.decisions({"span": (2.0, 3.0), "x": (0.5, 4.0)})
    assert (known.low[0], known.high[0], known.upper[0]) == (1.0, 5.0, 9.0)
    assert (wide.low[0], wide.high[0], wide.lower[0], wide.upper[0]) == (2.0, 3.0, 0.5, 4.0)
    with pytest.raises(ValueError, match="the signal has 'spn', which is no parameter"):
        program.decisions({"spn": 1.0})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_file_that_pulp_has_written_is_read(tmp_path: Path) -> None:
    pulp = pytest.importorskip("pulp", reason="pulp is not installed")
    task = pulp.LpProblem("shifts", pulp.LpMinimize)
    shift = [pulp.LpVariable(f"shift_{k}", cat="Binary") for k in range(3)]
    task += 1.0 * shift[0] + 2.0 * shift[1] + 1.5 * shift[2]
    task += (pulp.lpSum(shift) >= 2, "cover")
    task.writeMPS(str(tmp_path / "shifts.mps"))
    program = forward.from_mps(tmp_path / "shifts.mps", ["cover"])
    taken = [{"shift_0": 1, "shift_1": 0, "shift_2": 1}, {"shift_0": 1, "shift_1": 0, "shift_2": 0}]
    ours = InverseOptimizer(program, approach="incenter").fit([2, 1], taken)
    plain = InverseOptimizer(forward.BinaryProgram(), approach="incenter")
    plain.fit([(-np.ones((1, 3)), [-2.0]), (-np.ones((1, 3)), [-1.0])], [list(each.values()) for each in taken])
    assert np.allclose(ours.cost_, plain.cost_, rtol=0, atol=1e-8)


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        forward.from_mps(tmp_path / "none.mps")
    (tmp_path / "bad.mps").write_text("nonsense")
    with pytest.raises(ValueError, match="cannot be read as a model"):
        forward.from_mps(tmp_path / "bad.mps")
    (tmp_path / "semi.lp").write_text("minimize\n c: x\nsubject to\n r: x >= 0\nbounds\n x <= 4\nsemi-continuous\n x\nend\n")
    with pytest.raises(ValueError, match="column 'x' is semi-continuous"):
        forward.from_mps(tmp_path / "semi.lp")
