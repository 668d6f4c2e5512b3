"""A fit pays for the packages it runs: foreign solvers, pictures and readers of tables are imported when they are needed.

Every family is a program of its own, since a package that one test has imported stays for all others. scikit-learn imports
pandas where it is installed, and pandas pyarrow, so these programs do without pandas.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

OPTIONAL = {"clarabel", "highspy", "pyscipopt", "matplotlib", "dask", "distributed", "pyarrow", "polars"}
START = """
import sys

class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("this program does without pandas")

sys.meta_path.insert(0, NoPandas())
import numpy as np
import surefoot as sf
from surefoot.inverse import InverseOptimizer, forward

draw = np.random.default_rng(0)
X = draw.normal(size=(60, 3))
B = 1.0 * (X > 0)
y = (X[:, 0] + draw.normal(size=60) > 0).astype(int)
signals, responses = [(np.array([[-1.0, -1.0]]), np.array([-1.0]))], [np.array([1.0, 0.0])]
"""
# Steps of each program, and what has been imported by the end of each.
PROGRAMS: dict[str, list[tuple[str, set[str]]]] = {
    "robust": [
        ("import surefoot", set()),
        ("sf.RobustLogisticRegression(radius=0.05).fit(X, y).predict_proba(X)", set()),
        ("sf.RobustLogisticRegressionCV(radii=[0.01, 0.1], cv=2).fit(X, y).predict(X)", set()),
        ("sf.RobustLogisticRegression(radius=0.05, solver='graph').fit(X, y)", {"clarabel"}),
    ],
    "risk score": [
        ("sf.ThresholdBinarizer().fit_transform(X)", set()),
        ("sf.RiskScoreClassifier(max_features=2).fit(B, y).predict_proba(B)", set()),
        ("sf.RiskScoreClassifier(max_features=2, solver='cpa').fit(B, y)", {"highspy"}),
    ],
    "support vectors": [
        ("sf.ChanceConstrainedSVC(probability=True).fit(X, y).predict_proba(X)", set()),
        ("sf.ChanceConstrainedSVC(solver='socp').fit(X, y)", {"clarabel"}),
    ],
    "inverse": [
        (
            "InverseOptimizer(forward.BinaryProgram(), distance='l1', prior='nonnegative', kappa=0.05, solver='samd', "
            "tol=0.5, random_state=0).fit(signals, responses)",
            set(),
        ),
        # The default is exact, and its master a cone programme.
        ("InverseOptimizer(forward.BinaryProgram(), kappa=0.1).fit(signals, responses)", {"clarabel"}),
    ],
}


@pytest.mark.parametrize("family", PROGRAMS)
def test_a_program_imports_what_it_runs_and_nothing_else(family: str) -> None:
    steps = PROGRAMS[family]
    text = START + "".join(f"{code}\nprint('imported', *{OPTIONAL!r} & set(sys.modules))\n" for code, _ in steps)
    program = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=False)
    assert program.returncode == 0, program.stderr[-2000:]
    found = [set(line.split()[1:]) for line in program.stdout.splitlines() if line.startswith("imported")]
    assert found == [expected for _, expected in steps]
