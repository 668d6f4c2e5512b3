"""Approaches and solvers by name: each is there, and none is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from surefoot.inverse.mirror.mirror_run import MirrorSwitches
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.registry import EXACT_SOLVERS, SOLVERS

INCENTER = """
import sys
import numpy as np
from surefoot.inverse import InverseOptimizer, forward

def loaded():
    solvers = ("surefoot.inverse.exact.", "surefoot.inverse.mirror.mirror_descent")
    return {name for name in sys.modules if name.startswith(solvers)}

assert not loaded(), loaded()
signal = (-np.ones((1, 3)), np.array([-2.0]))
InverseOptimizer(forward.BinaryProgram(), approach="incenter", prior="nonnegative").fit([signal], [[1, 1, 0]])
others = {"circumcenter", "ellipsoidal_master", "predictability_search", "quadratic_cost", "mirror_descent", "augmented_loss"}
assert not others & {name.rpartition(".")[2] for name in loaded()}, loaded()
"""


@pytest.mark.parametrize("approach", APPROACHES)
def test_every_approach_has_an_exact_solver_of_its_name(approach: str) -> None:
    solver = EXACT_SOLVERS.make(approach, Separation())
    assert solver.name == approach
    assert callable(solver.solve) and callable(solver.refuses)
    assert SOLVERS.make("auto", approach, Separation()).name == "exact"


def test_names_are_those_of_the_tables() -> None:
    assert set(EXACT_SOLVERS.names) == set(APPROACHES)
    assert SOLVERS.names == ("auto", "exact", "samd")
    assert SOLVERS.make("samd", MirrorSwitches()).name == "samd"
    with pytest.raises(ValueError, match=r"solver='best' is not known. Choose one of 'auto', 'exact', 'samd'."):
        SOLVERS.require_known("best")


def test_a_fit_imports_what_it_runs_and_no_other_solver() -> None:
    done = subprocess.run([sys.executable, "-c", INCENTER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
