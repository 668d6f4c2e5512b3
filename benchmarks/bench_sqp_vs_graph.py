"""The quadratic steps against the paper's longest-path formulation, on the same problems with integer weights."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from machine import available_cores
from measure import certified, say, timed_fit, timed_fit_in_child
from problems import MEANS, NAMES, THETAS, MixedTable, calibrate, load, pose
from tables import Report, Table, geometric_mean

from surefoot.core.outcome import Status
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.sqp.sqp import SQP

DESCRIPTION = "seconds of solver 'sqp' and solver 'graph' on the 13 data sets of Table 1, integer weights"
QUICK_DATA = ("hayes-roth", "balance-scale", "hepatitis")
OBJECTIVE_TOLERANCE = 1e-6
GRAPH = "surefoot.robust.conic.graph:Graph"


@dataclass(frozen=True)
class Comparison:
    """One row of the table; None where graph gave no answer."""

    data: str
    theta: float
    mean: float
    N: int
    n: int
    m: int
    c: int
    sqp: float
    sqp_1_thread: float
    sqp_settled: float
    iterations: int
    gap: float
    verified: bool
    graph: float | None
    graph_status: str
    graph_gap: float | None
    ratio: float | None
    ratio_1_thread: float | None
    difference: float | None

    @property
    def ended(self) -> bool:
        return self.graph_status == Status.OPTIMAL.value


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", choices=NAMES, help="data sets (default: all 13)")
    parser.add_argument("--thetas", nargs="+", type=float, default=[0.9], help=f"levels of robustness (the paper's: {THETAS})")
    parser.add_argument("--means", nargs="+", type=float, default=[0.8], help=f"means of the certainty (the paper's: {MEANS})")
    parser.add_argument("--repeats", type=int, default=5, help="sqp runs per problem; their median is reported")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds that graph may take per problem")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative gap asked of both solvers")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to both solvers")
    parser.add_argument("--units", choices=("standard", "raw"), default="standard", help="units of the numeric columns")
    parser.add_argument("--outside", choices=("redraw", "clip"), default="redraw", help="draws outside the range of certainty")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    comparisons = []
    for name in options.data or (QUICK_DATA if options.quick else NAMES):
        table = load(name)
        table = table.standardized() if options.units == "standard" else table
        for mean in options.means:
            cost = calibrate(table, mean=mean, random_state=options.random_state, decimals=0, outside=options.outside)
            for theta in options.thetas:
                say(f"{name}: theta {theta}, mean certainty {mean}")
                comparisons.append(_compare(table, pose(table, cost, theta), theta, mean, options))
    return Report(
        name="sqp_vs_graph",
        title="Solver sqp against solver graph, weights rounded to integers",
        tables=[Table("sqp_vs_graph", "Seconds per fit on Table 1's data sets", [asdict(row) for row in comparisons])],
        findings=_findings(comparisons),
        method=[
            f"Both solvers get the same problem object, tolerance {options.tolerance:g} and {options.threads} threads; one "
            "clock runs around solve(problem, options) of each, without reading, encoding or certificate. sqp_1_thread repeats "
            "sqp with one thread. Both stop as soon as their gap is closed; sqp_settled goes on until the coefficients stand "
            "still, as the estimators do.",
            f"sqp: median of {options.repeats} cold fits. graph: one fit in a process of its own, limit "
            f"{options.time_limit:g} s.",
            "ratio = graph seconds / sqp seconds. difference = (objective of graph's model - objective of sqp's model) / "
            "objective of sqp's model; both objectives are recomputed from the raw arrays by the certificate's code. gap "
            "and graph_gap: certified relative gaps of sqp and of graph.",
            "Weights: the paper's calibration, categorical prices rounded to integers, those that round to 0 raised to 1; "
            f"numeric prices real. Numeric columns in {options.units} units. Certainties outside their range: "
            f"{options.outside}. Seed {options.random_state}.",
        ],
        not_measured=[
            "graph on MOSEK, which the paper used; its formulation runs on Clarabel here, so the ratios are not the paper's.",
            "The 80 % training parts on which the authors' program fits: all rows are used.",
            "Memory; the time of the certificate (see real_weights); weights rounded to one decimal.",
        ],
    )


def _compare(
    table: MixedTable, problem: RobustLogisticProblem, theta: float, mean: float, options: argparse.Namespace
) -> Comparison:
    fits = {
        (threads, polish): [
            timed_fit(SQP(), problem, tolerance=options.tolerance, n_threads=threads, polish=polish)
            for _ in range(options.repeats)
        ]
        for threads, polish in {(options.threads, False), (1, False), (options.threads, True)}
    }
    medians = {key: statistics.median(fit.seconds for fit in runs) for key, runs in fits.items()}
    seconds = {threads: medians[threads, False] for threads in {options.threads, 1}}
    best = fits[options.threads, False][0].outcome
    proof = certified(problem, best, OBJECTIVE_TOLERANCE)
    answer = timed_fit_in_child(
        GRAPH, problem, tolerance=options.tolerance, n_threads=options.threads, time_limit=options.time_limit
    )
    graph = graph_gap = ratio = ratio_1_thread = difference = None
    if isinstance(answer, str):
        graph_status = answer
    else:
        rival = certified(problem, answer.outcome, OBJECTIVE_TOLERANCE)
        graph, graph_status, graph_gap = answer.seconds, answer.outcome.status.value, rival.relative_gap
        ratio, ratio_1_thread = graph / seconds[options.threads], graph / seconds[1]
        difference = (rival.upper_bound - proof.upper_bound) / abs(proof.upper_bound)
    return Comparison(
        data=table.name,
        theta=theta,
        mean=mean,
        N=table.shape.rows,
        n=table.shape.numeric,
        m=table.shape.categorical,
        c=table.shape.encoded,
        sqp=seconds[options.threads],
        sqp_1_thread=seconds[1],
        sqp_settled=medians[options.threads, True],
        iterations=best.iterations,
        gap=proof.relative_gap,
        verified=proof.verified,
        graph=graph,
        graph_status=graph_status,
        graph_gap=graph_gap,
        ratio=ratio,
        ratio_1_thread=ratio_1_thread,
        difference=difference,
    )


def _findings(comparisons: Sequence[Comparison]) -> list[str]:
    ended = [row for row in comparisons if row.ended]
    stalled = [row for row in comparisons if row.graph_status == Status.STALLED.value]
    others = [f"{row.data} at theta {row.theta}: {row.graph_status}" for row in comparisons if not row.ended]
    ratio, with_stalled = (
        geometric_mean([row.ratio for row in rows if row.ratio is not None]) for rows in (ended, [*ended, *stalled])
    )
    ratio_1_thread = geometric_mean([row.ratio_1_thread for row in ended if row.ratio_1_thread is not None])
    furthest = max((abs(row.difference) for row in ended if row.difference is not None), default=float("nan"))
    verdict = "within" if furthest <= OBJECTIVE_TOLERANCE else "NOT within"
    findings = [
        f"graph ended on {len(ended)} of {len(comparisons)} problems; geometric mean of the ratios there: {ratio:.0f} "
        f"({ratio_1_thread:.0f} with one thread).",
        f"Largest relative difference of the objectives there: {furthest:.1e}, {verdict} {OBJECTIVE_TOLERANCE:g}.",
        f"sqp certified to {OBJECTIVE_TOLERANCE:g}: {sum(row.verified for row in comparisons)} of {len(comparisons)} problems.",
    ]
    if stalled:
        findings.append(f"With the problems where graph's conic solver stalled, the geometric mean is {with_stalled:.0f}.")
    if others:
        findings.append(f"graph without an optimal end: {'; '.join(others)}.")
    return findings
