"""Gaussian data with label flips: the certified fit against cvxpy with Clarabel, the package dro, and LP-ADMM."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from machine import available_cores
from measure import certified, repeated_fit, say, timed_fit
from numeric_problems import KNOWN_OPTIMA, LABEL_PRICE, RADIUS, gaussian_problem
from rivals import Absence, RivalFit, fit_cvxpy, fit_dro
from tables import Report, Table

from surefoot.core.outcome import Progress
from surefoot.robust.certificate.certificate import certify_robust_logistic
from surefoot.robust.first_order.lp_admm import LpAdmm
from surefoot.robust.first_order.parameters import PublishedLpAdmm
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.sqp.sqp import SQP

DESCRIPTION = "solver 'sqp' on Gaussian data with label price 1 against cvxpy + Clarabel, dro and LP-ADMM"
SIZES = ("5000x100", "10000x10", "10000x100")
QUICK_SIZES = ("400x10", "800x5")
ACCURACIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
TOLERANCE = 1e-6
# The optimum that rivals are measured from is known this well.
REFERENCE_TOLERANCE = 1e-8
# Table 1 of the poster: seconds of YALMIP and of its LP-ADMM.
POSTER = {(5_000, 100): (287.67, 0.64), (10_000, 10): (283.25, 0.50), (10_000, 100): (1165.40, 1.37)}

# The poster names penalty and growth, and no stopping rules; these are common ones.
COMMON_RULES = PublishedLpAdmm(coefficient_step="exact", residual=1e-6, max_steps=500, bracket_width=1e-3)


@dataclass(frozen=True)
class CertifiedFit:
    """What sqp did on one problem; ``off_known`` is relative, None where no optimum is known."""

    N: int
    n: int
    sqp: float
    sqp_1_thread: float
    iterations: int
    objective: float
    gap: float
    verified: bool
    known_optimum: float | None
    off_known: float | None
    poster_yalmip: float | None
    poster_lp_admm: float | None


@dataclass(frozen=True)
class RivalRow:
    """One rival on one problem; ``excess`` is how far its objective lies above the optimum, relatively."""

    N: int
    n: int
    rival: str
    seconds: float | None
    ratio: float | None
    ratio_1_thread: float | None
    excess: float | None
    status: str


@dataclass(frozen=True)
class AccuracyRow:
    """Seconds to one accuracy; None where it was not reached."""

    N: int
    n: int
    accuracy: float
    sqp_proven: float
    sqp_reached: float
    lp_admm_proven: float | None
    lp_admm_reached: float | None
    published_reached: float | None
    ratio_proven: float | None
    ratio_reached: float | None


@dataclass(frozen=True)
class Comparison:
    """Everything about one problem."""

    fit: CertifiedFit
    rivals: list[RivalRow]
    accuracies: list[AccuracyRow]
    absences: list[str]
    versions: list[str]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", nargs="+", metavar="NxD", help=f"rows x columns (default: {' '.join(SIZES)})")
    parser.add_argument("--repeats", type=int, default=5, help="sqp runs per problem; their median is reported")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds that each rival may take per problem")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to everybody")
    parser.add_argument("--dro-python", default=sys.executable, metavar="PATH", help="a Python that can import dro")


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    comparisons = []
    for size in options.sizes or (QUICK_SIZES if options.quick else SIZES):
        rows, columns = map(int, size.split("x"))
        comparisons.append(_compare(rows, columns, options))
    fits = [comparison.fit for comparison in comparisons]
    rivals = [row for comparison in comparisons for row in comparison.rivals]
    accuracies = [row for comparison in comparisons for row in comparison.accuracies]
    absences = dict.fromkeys(line for comparison in comparisons for line in comparison.absences)
    versions = dict.fromkeys(line for comparison in comparisons for line in comparison.versions)
    return Report(
        name="label_shift",
        title="Robust logistic regression with label flips on Gaussian data",
        tables=[
            Table("label_shift", "Solver sqp", [asdict(fit) for fit in fits]),
            Table("label_shift_rivals", "Rivals, seconds over those of sqp", [asdict(row) for row in rivals]),
            Table("label_shift_accuracy", "Seconds to an accuracy, sqp and LP-ADMM", [asdict(row) for row in accuracies]),
        ],
        findings=_findings(fits, rivals, accuracies),
        method=[
            "numpy's default_rng(0) draws standard normal columns, then w = 2 N(0, I) / sqrt(n), then uniform numbers for the "
            f"labels; no intercept, radius {RADIUS:g}, label price {LABEL_PRICE:g}, l1 metric in raw units. Same arrays and "
            f"{options.threads} threads for everybody; limit {options.time_limit:g} s per rival.",
            f"sqp: median of {options.repeats} cold fits to relative gap {TOLERANCE:g}, clock around solve(problem, options). "
            "gap and objective: certified from the raw arrays. poster_*: Table 1 of Li, Huang and So (NeurIPS 2019), on its "
            "authors' machine and data, whose radius and label price it does not name.",
            "ratio = seconds / sqp; ratio_1_thread = seconds / sqp_1_thread. excess = (objective - optimum) / objective, with "
            "the objective of the rival's model at its best price, recomputed from the raw arrays, and the lower bound that "
            f"an sqp fit to {REFERENCE_TOLERANCE:g} proves.",
            f"cvxpy: margins as a variable, Clarabel with relative and absolute gap {TOLERANCE:g}; its seconds contain "
            "building the model, canonicalisation and the solver; 'Clarabel alone' is the solver's own clock in the same run. "
            "dro: WassersteinDRO(model_type='logistic') with its default solver, clock around fit. Each once, in a process of "
            f"its own; imports are outside the clocks. Versions: {'; '.join(versions) or 'none measured'}.",
            "lp-admm: our solver of that name, which tunes itself; 'published' keeps the published settings, with common "
            "stopping rules, because the poster names none. Both once, in this process.",
            "Seconds to an accuracy. proven: sqp is solved afresh to each relative gap; for lp-admm, when the gap that it "
            "proves itself was that small. reached: when the objective was that close to the optimum, which nobody could have "
            "known; "
            f"from histories of runs to {TOLERANCE:g}, the median of {options.repeats} for sqp, one for each lp-admm.",
        ],
        not_measured=[
            *(f"{line}." for line in absences),
            "YALMIP, and the poster's own program; commercial solvers behind cvxpy.",
            "Variation of the rivals between runs; memory; other seeds.",
        ],
    )


def _compare(rows: int, columns: int, options: argparse.Namespace) -> Comparison:
    problem = gaussian_problem(rows, columns)
    say(f"{rows} x {columns}: sqp")
    fit = _certified_fit(problem, options)
    exact = certified(
        problem,
        timed_fit(SQP(), problem, tolerance=REFERENCE_TOLERANCE, n_threads=options.threads).outcome,
        REFERENCE_TOLERANCE,
    )
    optimum = exact.lower_bound
    absences, versions, rivals = [], [], []
    calls: dict[str, Callable[[], RivalFit | Absence | str]] = {
        "cvxpy + Clarabel": lambda: fit_cvxpy(
            problem, tolerance=TOLERANCE, n_threads=options.threads, time_limit=options.time_limit
        ),
        "dro": lambda: fit_dro(problem, python=options.dro_python, n_threads=options.threads, time_limit=options.time_limit),
    }
    for name, call in calls.items():
        say(f"{rows} x {columns}: {name}")
        answer = call()
        if isinstance(answer, Absence):
            absences.append(f"{name}: {answer.reason}")
        elif isinstance(answer, str):
            rivals.append(_rival(fit, name, None, None, answer))
        else:
            excess = _excess(certify_robust_logistic(problem, answer.model, None, 1e-6).upper_bound, optimum)
            versions.append(f"{name} with {answer.versions}")
            rivals.append(_rival(fit, name, answer.seconds, excess, answer.status))
            if answer.solver_seconds is not None:
                rivals.append(_rival(fit, "Clarabel alone", answer.solver_seconds, excess, answer.status))
    histories = {}
    for name, solver in (("lp-admm", LpAdmm()), ("lp-admm published", LpAdmm(COMMON_RULES))):
        say(f"{rows} x {columns}: {name}")
        ended = timed_fit(solver, problem, tolerance=TOLERANCE, n_threads=options.threads, time_limit=options.time_limit)
        objective = certified(problem, ended.outcome, TOLERANCE).upper_bound
        rivals.append(_rival(fit, name, ended.seconds, _excess(objective, optimum), ended.outcome.status.value))
        histories[name] = ended.outcome.history
    walks = [
        timed_fit(SQP(), problem, tolerance=TOLERANCE, n_threads=options.threads, polish=False).outcome.history
        for _ in range(options.repeats)
    ]
    accuracies = [
        _accuracy(problem, fit, accuracy, optimum, walks, histories["lp-admm"], histories["lp-admm published"], options)
        for accuracy in ACCURACIES
    ]
    return Comparison(fit, rivals, accuracies, absences, versions)


def _certified_fit(problem: RobustLogisticProblem, options: argparse.Namespace) -> CertifiedFit:
    size = (problem.n_rows, problem.n_numeric)
    fit, single = (
        repeated_fit(SQP, problem, tolerance=TOLERANCE, n_threads=threads, repeats=options.repeats)
        for threads in (options.threads, 1)
    )
    proof, known = certified(problem, fit.outcome, TOLERANCE), KNOWN_OPTIMA.get(size)
    return CertifiedFit(
        N=size[0],
        n=size[1],
        sqp=fit.seconds,
        sqp_1_thread=single.seconds,
        iterations=fit.outcome.iterations,
        objective=proof.upper_bound,
        gap=proof.relative_gap,
        verified=proof.verified,
        known_optimum=known,
        off_known=None if known is None else abs(proof.upper_bound - known) / known,
        poster_yalmip=POSTER[size][0] if size in POSTER else None,
        poster_lp_admm=POSTER[size][1] if size in POSTER else None,
    )


def _rival(fit: CertifiedFit, name: str, seconds: float | None, excess: float | None, status: str) -> RivalRow:
    ratio = None if seconds is None else seconds / fit.sqp
    ratio_1_thread = None if seconds is None else seconds / fit.sqp_1_thread
    return RivalRow(fit.N, fit.n, name, seconds, ratio, ratio_1_thread, excess, status)


def _excess(objective: float, optimum: float) -> float:
    return (objective - optimum) / abs(objective)


def _accuracy(
    problem: RobustLogisticProblem,
    fit: CertifiedFit,
    accuracy: float,
    optimum: float,
    walks: Sequence[Sequence[Progress]],
    own: Sequence[Progress],
    published: Sequence[Progress],
    options: argparse.Namespace,
) -> AccuracyRow:
    sqp = repeated_fit(SQP, problem, tolerance=accuracy, n_threads=options.threads, repeats=options.repeats).seconds
    proven = _first(own, lambda line: line.gap <= accuracy * abs(line.upper_bound))
    reached, published_reached, *sqp_reached = (
        _first(history, lambda line: _excess(line.upper_bound, optimum) <= accuracy) for history in (own, published, *walks)
    )
    usual = statistics.median(seconds for seconds in sqp_reached if seconds is not None)
    return AccuracyRow(
        N=fit.N,
        n=fit.n,
        accuracy=accuracy,
        sqp_proven=sqp,
        sqp_reached=usual,
        lp_admm_proven=proven,
        lp_admm_reached=reached,
        published_reached=published_reached,
        ratio_proven=None if proven is None else proven / sqp,
        ratio_reached=None if reached is None else reached / usual,
    )


def _first(history: Sequence[Progress], good: Callable[[Progress], bool]) -> float | None:
    """Seconds at the first line of a history that is good."""
    return next((line.seconds for line in history if good(line)), None)


def _findings(fits: Sequence[CertifiedFit], rivals: Sequence[RivalRow], accuracies: Sequence[AccuracyRow]) -> list[str]:
    findings = [
        f"sqp certified to {TOLERANCE:g}: {sum(fit.verified for fit in fits)} of {len(fits)} problems, largest gap "
        f"{max(fit.gap for fit in fits):.1e}.",
    ]
    for fit in fits:
        if fit.known_optimum is not None and fit.off_known is not None:
            verdict = "within" if fit.off_known <= TOLERANCE else "NOT within"
            findings.append(
                f"{fit.N} x {fit.n}: objective {fit.objective:.8f}, known optimum {fit.known_optimum:.8f}, {verdict} a "
                f"relative difference of {TOLERANCE:g}."
            )
    for name in dict.fromkeys(row.rival for row in rivals):
        rows = [row for row in rivals if row.rival == name]
        ratios = [row.ratio for row in rows if row.ratio is not None]
        excess = [row.excess for row in rows if row.excess is not None]
        unanswered = [f"{row.N} x {row.n}: {row.status}" for row in rows if row.ratio is None]
        said = (
            f"{min(ratios):.1f} to {max(ratios):.1f} times the seconds of sqp, ends up to {max(excess):.1e} above the optimum"
            if ratios
            else "no answer"
        )
        findings.append(f"{name}: {said}{'; '.join(['', *unanswered])}.")
    for verb, values in (
        ("proves", [row.ratio_proven for row in accuracies]),
        ("reaches", [row.ratio_reached for row in accuracies]),
    ):
        found = [value for value in values if value is not None]
        slower = sum(value is None or value > 1 for value in values)
        findings.append(
            f"lp-admm {verb} an accuracy later than sqp {verb} it in {slower} of {len(values)} cases"
            + (f"; smallest ratio {min(found):.2f}." if found else ".")
        )
    return findings
