"""What one would use instead: a cvxpy model solved by Clarabel, and the package ``dro``. Neither is a dependency.

    min over beta, lambda, m of   lambda radius + sum_i w_i (log(1 + exp(-m_i)) + max(m_i - lambda kappa, 0))
    subject to   m_i = y_i (beta_0 + x_i . beta),   |beta_j| <= gamma_j lambda.

The margins m are variables because both terms of the loss need them: written as expressions, the rows would stand in the conic
program twice, and Clarabel would take several times as long. ``dro`` writes them twice.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import GRACE_SECONDS, timed_fit_in_child
from numeric_problems import with_best_price

from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.numeric_columns import as_dense
from surefoot.robust.problem.problem import RobustCoefficients, RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome

DRO_CHILD = Path(__file__).resolve().parent / "dro_child.py"


@dataclass(frozen=True)
class RivalFit:
    """A model of somebody else's and how long it took.

    ``seconds`` is the whole call, ``solver_seconds`` what the conic solver inside says it needed, None if it does not say.
    """

    model: RobustCoefficients
    seconds: float
    solver_seconds: float | None
    status: str
    versions: str


@dataclass(frozen=True)
class Absence:
    """Why a rival cannot be measured at all."""

    reason: str


class MarginModel:
    """The model of the module docstring as a solver; ``seconds`` of its outcome is Clarabel's own clock."""

    name = "cvxpy"

    def __init__(self) -> None:
        # Optional, so imported where it is used, and here, because a solver is made before the clock starts.
        self.cvxpy: Any = importlib.import_module("cvxpy")

    def refuses(self, problem: RobustLogisticProblem) -> str | None:
        if problem.n_categorical:
            return f"it has {problem.n_categorical} categorical columns, and the model is for numeric ones."
        if problem.cost.numeric_norm != "l1":
            return f"its norm is {problem.cost.numeric_norm!r}, and the model is written for 'l1'."
        return None if np.isfinite(problem.cost.label_weight) else "labels never flip, and the model is written for flips."

    def solve(
        self, problem: RobustLogisticProblem, options: SolveOptions, warm_start: RobustCoefficients | None = None
    ) -> RobustOutcome:
        """Build the model, let cvxpy canonicalise it and Clarabel solve it to the gap asked for; no warm start."""
        cp = self.cvxpy
        beta, margins, price = cp.Variable(problem.n_numeric), cp.Variable(problem.n_rows), cp.Variable()
        intercept = cp.Variable() if problem.fit_intercept else cp.Constant(0.0)
        loss = cp.logistic(-margins) + cp.pos(margins - price * problem.cost.label_weight)
        model = cp.Problem(
            cp.Minimize(price * problem.radius + problem.weights @ loss),
            [
                margins == cp.multiply(problem.labels, problem.numeric @ beta + intercept),
                cp.abs(beta) <= problem.cost.numeric_weights * price,
            ],
        )
        limit = {} if options.time_limit is None else {"time_limit": options.time_limit}
        model.solve(solver=cp.CLARABEL, tol_gap_rel=options.tolerance, tol_gap_abs=options.tolerance, **limit)
        if beta.value is None:
            raise RuntimeError(f"cvxpy ended with status {model.status!r} and no model.")
        statuses = {cp.OPTIMAL: Status.OPTIMAL, cp.USER_LIMIT: Status.TIME_LIMIT}
        return SolveOutcome(
            status=statuses.get(model.status, Status.STALLED),
            primal=with_best_price(problem, beta.value, float(intercept.value)),
            dual=None,
            upper_bound=float(model.value),
            lower_bound=np.nan,
            iterations=int(model.solver_stats.num_iters),
            seconds=float(model.solver_stats.solve_time),
        )


def fit_cvxpy(
    problem: RobustLogisticProblem, *, tolerance: float, n_threads: int, time_limit: float
) -> RivalFit | Absence | str:
    """The margin model in a process of its own; a sentence where it gave no answer."""
    missing = [package for package in ("cvxpy", "clarabel") if importlib.util.find_spec(package) is None]
    if missing:
        return Absence(f"{' and '.join(missing)} not installed")
    answer = timed_fit_in_child("rivals:MarginModel", problem, tolerance=tolerance, n_threads=n_threads, time_limit=time_limit)
    if isinstance(answer, str):
        return answer
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in ("cvxpy", "clarabel"))
    return RivalFit(answer.outcome.primal, answer.seconds, answer.outcome.seconds, answer.outcome.status.value, versions)


def fit_dro(problem: RobustLogisticProblem, *, python: str, n_threads: int, time_limit: float) -> RivalFit | Absence | str:
    """``WassersteinDRO`` of the package dro, run by another Python, which needs dro and not surefoot.

    Parameters
    ----------
    problem : RobustLogisticProblem
        All weights 1 and the l1 metric; dro has nothing else that is comparable.
    python : str
        Interpreter that can import dro.
    n_threads, time_limit
        Asked of it by environment variables, and enforced by ending the process.
    """
    threads = {f"{library}_NUM_THREADS": str(n_threads) for library in ("OMP", "OPENBLAS", "MKL", "RAYON")}
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder) / "question.npz", Path(folder) / "answer.json"
        np.savez(
            question,
            numeric=as_dense(problem.numeric),
            labels=problem.labels,
            radius=problem.radius,
            label_price=problem.cost.label_weight,
            fit_intercept=problem.fit_intercept,
        )
        command = [python, str(DRO_CHILD), str(question), str(answer)]
        try:
            ended = subprocess.run(
                command, env={**os.environ, **threads}, timeout=time_limit + GRACE_SECONDS, capture_output=True, check=False
            )
        except subprocess.TimeoutExpired:
            return f"stopped after {time_limit + GRACE_SECONDS:.0f} s"
        except OSError as error:
            return Absence(f"the Python of --dro-python cannot be started ({error.strerror})")
        if not answer.exists():
            last_words = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            return f"ended with exit code {ended.returncode} and no answer: {last_words}"
        found = json.loads(answer.read_text(encoding="utf-8"))
    if "absent" in found:
        return Absence(str(found["absent"]))
    model = with_best_price(problem, np.array(found["coefficients"]), float(found["intercept"]))
    return RivalFit(model, float(found["seconds"]), None, "optimal, it says", str(found["versions"]))
