"""Chance-constrained SVMs on the paper's synthetic sets: ellipsoid cuts against a conic solver and the paper's own method."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from machine import available_cores
from measure import GRACE_SECONDS, in_child, say
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits
from uncertain_inputs import COST, KERNEL_NAMES, PER_BATCH, QUADRATIC_OFFSET, SETS, VARIANCE, VIOLATION, uncertain_problem

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.registry import ChanceSVMSolver, make_chance_solver
from surefoot.chancesvm.solvers.chance_socp import ChanceSOCP
from surefoot.core.solve_options import SolveOptions

DESCRIPTION = "Syn_2d_20b, Syn_8d_40b, Syn_16d_100b with quadratic and RBF kernels: worst-points, socp, admm"
SOLVERS = ("worst-points", "socp", "socp-full", "admm")


@dataclass(frozen=True)
class ChanceAccount:
    """One fit: seconds of the solve (median) and of the certificate, and the certified figures.

    ``reached`` lists seconds (median) and objective of the best model known, line by line of the solver's history.
    """

    solve: float
    certify: float
    iterations: int
    status: str
    objective: float
    gap: float
    verified: bool
    reached: tuple[tuple[float, float], ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=[one.name for one in SETS], help="(default: all; quick: the first)")
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--repeats", type=int, default=5, help="runs of worst-points and admm; their median is reported")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative gap to reach and to certify")
    parser.add_argument("--time-limit", type=float, default=900.0, help="seconds until a solve is ended")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the solver")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    names = options.sets or [one.name for one in (SETS[:1] if options.quick else SETS)]
    rows: list[dict[str, Cell]] = []
    for chosen in [one for one in SETS if one.name in names]:
        for kernel in KERNEL_NAMES:
            answers: dict[str, ChanceAccount | str] = {}
            for solver in [one for one in options.solvers if _measured(chosen.n_batches, kernel, one)]:
                say(f"{chosen.name}, {kernel}, {solver}")
                answers[solver] = _answer(chosen.name, kernel, solver, options)
            own = answers.get("worst-points", "not run")
            rows += [_row(chosen.name, kernel, solver, answer, own) for solver, answer in answers.items()]
    return Report(
        name="chance_svm",
        title="Chance-constrained SVM on the paper's synthetic sets",
        tables=[Table("chance_svm", f"{PER_BATCH} samples a batch, eps = {VIOLATION:g}, C = {COST:g}", rows)],
        findings=_findings(rows),
        method=[
            "Section 4.1 of Lin, Fang, Fang and Gao (2024): normal means, the half nearest the origin against the others moved "
            f"outwards by half; {PER_BATCH} normal samples a batch, covariance {VARIANCE:g} I; seed {options.random_state}. "
            f"Quadratic kernel ({QUADRATIC_OFFSET:g} + x . z)^2; RBF bandwidth 0.25 (two columns) and 2.",
            "socp: Clarabel on explicit features, or on a root of the Gram matrix; socp-full: Clarabel on one unknown for each "
            "sample, the paper's own form. admm: the paper's Algorithm 2 with rho = 1, ended by its own thresholds of 1e-3; "
            "gap is that of the convex problem at its w.",
            f"Relative gap {options.tolerance:g}, {options.threads} threads, limit {options.time_limit:g} s. Each solver has a "
            f"process of its own; worst-points and admm run {options.repeats} times (median), the others once. Kernel matrices "
            "are part of the solve. certify: both bounds anew from the samples.",
            "own_seconds: when worst-points first knew a model at least as good as the one the solver ended with (median "
            "of the same runs); its clock, like that of all solvers, starts at the samples.",
        ],
        not_measured=[
            "socp and socp-full with an RBF kernel on Syn_16d_100b (5,000 samples); socp-full on other sets than Syn_8d_40b.",
            "Mosek, which the paper used; the estimator around the solver.",
        ],
    )


def measure_fit(
    name: str, kernel: str, solver: str, tolerance: float, n_threads: int, time_limit: float, random_state: int, repeats: int
) -> ChanceAccount:
    """Draw the samples, solve so many times and certify once in this process."""
    (chosen,) = (one for one in SETS if one.name == name)
    problem = uncertain_problem(chosen, kernel, random_state=random_state)
    made: ChanceSVMSolver = ChanceSOCP("full") if solver == "socp-full" else make_chance_solver(solver)
    with threadpool_limits(limits=n_threads):
        seconds, histories = [], []
        for _ in range(repeats):
            start = time.perf_counter()
            outcome = made.solve(problem, SolveOptions(tolerance=tolerance, time_limit=time_limit, n_threads=n_threads))
            solved = time.perf_counter()
            seconds.append(solved - start)
            histories.append(outcome.history)
        certificate = certify_chance_svm(problem, outcome.primal, outcome.dual, tolerance)
    return ChanceAccount(
        solve=statistics.median(seconds),
        certify=time.perf_counter() - solved,
        iterations=outcome.iterations,
        status=outcome.status.value,
        objective=certificate.upper_bound,
        gap=certificate.relative_gap,
        verified=certificate.verified,
        reached=tuple(
            (statistics.median(line.seconds for line in lines), lines[0].upper_bound) for lines in zip(*histories, strict=False)
        ),
    )


def _measured(n_batches: int, kernel: str, solver: str) -> bool:
    if solver == "socp-full":
        return kernel == "rbf" and n_batches == 40
    return solver != "socp" or kernel == "quadratic" or n_batches < 100


def _answer(name: str, kernel: str, solver: str, options: argparse.Namespace) -> ChanceAccount | str:
    return in_child(
        measure_fit, name, kernel, solver, options.tolerance, options.threads, options.time_limit, options.random_state,
        options.repeats if solver in ("worst-points", "admm") else 1,
        seconds=options.time_limit + 4 * GRACE_SECONDS,
    )  # fmt: skip


def _row(name: str, kernel: str, solver: str, answer: ChanceAccount | str, own: ChanceAccount | str) -> dict[str, Cell]:
    figures: dict[str, Cell] = {field: None for field in ChanceAccount.__dataclass_fields__}
    own_seconds: float | None = None
    if not isinstance(answer, str):
        figures = asdict(answer)
        if not isinstance(own, str):
            own_seconds = next((seconds for seconds, objective in own.reached if objective <= answer.objective), None)
    del figures["reached"]
    said = answer if isinstance(answer, str) else ""
    return {"set": name, "kernel": kernel, "solver": solver, **figures, "own_seconds": own_seconds, "answer": said}


def _findings(rows: Sequence[dict[str, Cell]]) -> list[str]:
    findings = []
    for row in rows:
        if row["solver"] != "worst-points" or row["answer"]:
            continue
        rivals = [
            f"{other['solver']} {other['solve']:.2f} s ({other['solve'] / row['solve']:.1f} times, gap {other['gap']:.1e}"
            + (f", reached in {other['own_seconds']:.3f} s" if other["solver"] == "admm" and other["own_seconds"] else "")
            + ")"
            for other in rows
            if (other["set"], other["kernel"]) == (row["set"], row["kernel"]) and other is not row and not other["answer"]
        ]
        findings.append(
            f"{row['set']}, {row['kernel']}: worst-points {row['solve']:.2f} s, certified gap {row['gap']:.1e}; "
            + ", ".join(rivals)
            + "."
        )
    return findings
