"""Forward problems in a file are what they claim to be, array by array, or are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.exceptions import ModelFileError
from surefoot.files.forward_problems import FORWARDS, fixed_size, forward_fields, make_forward
from surefoot.inverse import forward


def fields(problem: Any) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in forward_fields(type(problem))}


def programme(tmp_path: Path) -> Any:
    (tmp_path / "a.lp").write_text("minimize\n c: x + y\nsubject to\n r: x + y >= 1\nbounds\n x <= 4\nend\n")
    return forward.from_mps(tmp_path / "a.lp")


def graph() -> Any:
    return forward.GraphPath([("a", "b"), ("b", "c", 0)], attributes=np.ones((1, 2)), attribute_names=["km"])


def arrays() -> Any:
    return forward.from_scipy([[1.0, 2.0]], [3.0], names=["x", "y"])


def test_what_is_data_comes_back(tmp_path: Path) -> None:
    for problem in (programme(tmp_path), graph(), arrays()):
        again = make_forward(type(problem).__name__, fields(problem))
        assert repr(again) == repr(problem)
    assert fixed_size(graph()) == 1
    assert {"ParametricProgram", "ArrayProgram", "GraphPath", "GraphFlow", "GraphMatching", "SpanningTree"} <= set(FORWARDS)
    assert "SolverProblem" not in FORWARDS
    assert "ModelProblem" not in FORWARDS


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        ("programme", {"base": np.array([np.nan])}, "base of a ParametricProgram"),
        ("programme", {"base": np.zeros(3)}, "is not sound: its arrays do not fit together"),
        ("programme", {"entries": np.array([[0, 9], [0, 0]])}, "do not fit together"),
        ("programme", {"entries": np.array([[0, -1], [0, 0]])}, "do not fit together"),
        ("programme", {"slope_at": np.array([[99], [0]]), "slopes": np.ones(1)}, "do not fit together"),
        ("programme", {"slope_at": np.zeros((3, 1), dtype=np.int64), "slopes": np.ones(1)}, "do not fit together"),
        ("programme", {"blocks": [("x", (1 << 40,))]}, "blocks of a ParametricProgram"),
        ("programme", {"n_rows": 1 << 60}, "n_rows of a ParametricProgram"),
        ("programme", {"whole": np.zeros(2)}, "whole of a ParametricProgram"),
        ("graph", {"edges": [("a",)]}, "edges of a GraphPath"),
        ("graph", {"edges": []}, "edges of a GraphPath"),
        ("graph", {"attributes": np.full((1, 2), np.nan)}, "attributes of a GraphPath"),
        ("graph", {"directed": "yes"}, "directed of a GraphPath"),
        ("arrays", {"A_ub": "all"}, "A_ub of a ArrayProgram"),
        ("arrays", {"names": [print, "y"]}, "names of a ArrayProgram"),
    ],
)
def test_what_makes_no_sense_is_refused(kind: str, wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    problem = {"programme": lambda: programme(tmp_path), "graph": graph, "arrays": arrays}[kind]()
    with pytest.raises(ModelFileError, match=message):
        make_forward(type(problem).__name__, {**fields(problem), **wrong})
