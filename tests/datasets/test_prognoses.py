"""The loader of breast cancer prognoses: counts of the published table, and errors that name the cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from surefoot.datasets.prognoses import load_prognoses
from surefoot.exceptions import InvalidTableError

TABLE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "uci"


@pytest.mark.skipif(not (TABLE / "wpbc_invopt.csv").exists(), reason="the WPBC table is not beside the repository")
def test_the_published_table_has_198_patients_of_whom_47_recurred() -> None:
    loaded = load_prognoses(TABLE / "wpbc_invopt.csv")
    assert loaded.signals.shape == (198, 32) and loaded.responses.shape == (198, 2)
    assert loaded.responses[:, 1].sum() == 47 and np.all(loaded.responses[:, 0] >= 0)
    assert loaded.feature_names[0] == "radius_mean" and loaded.feature_names[-1] == "lymph_node_status"
    # The same patients with letters for outcomes and question marks for what is not known.
    letters = load_prognoses(TABLE / "wpbc.csv", missing=0.0)
    assert letters.responses[:, 1].sum() == 47
    assert letters.signals.sum() == pytest.approx(loaded.signals.sum())


def write(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    loaded = load_prognoses(write(tmp_path, "id,size,outcome,time\n7,1.5,R,12\n8,?,N,30\n"), missing=-1)
    assert loaded.feature_names == ("size",) and len(loaded) == 2
    assert loaded.signals.tolist() == [[1.5], [-1.0]] and loaded.responses.tolist() == [[12.0, 1.0], [30.0, 0.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,time\n1,2\n", "no column 'outcome'"),
        ("size,outcome,time\n", "no rows"),
        ("size,outcome,time\n1,R\n", "row 0 has 2 cells"),
        ("size,outcome,time\n1,R,3\n?,N,4\n", "column 'size', row 1 is missing"),
        ("size,outcome,time\n1,X,3\n", "column 'outcome', row 0: 'X'"),
        ("size,outcome,time\n1,R,soon\n", "column 'time', row 0: 'soon' is no finite number"),
        ("size,outcome,time\ninf,R,1\n", "column 'size', row 0: 'inf'"),
    ],
)
def test_a_bad_cell_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidTableError, match=message):
        load_prognoses(write(tmp_path, text))
