"""Real-valued weights, as calibrated: every data set, every level of robustness, cold and along a warm-started path."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from machine import available_cores
from measure import certified, say, timed_fit
from problems import MEANS, NAMES, THETAS, calibrate, load, pose
from tables import Cell, Report, Table

from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.registry import RobustOutcome
from surefoot.robust.sqp.sqp import SQP
from surefoot.robust.sqp.warm_path import solve_path

DESCRIPTION = "cold fits and radius paths of solver 'sqp' with real-valued weights, 13 data sets x 9 levels of robustness"
QUICK_DATA = ("hayes-roth", "tic-tac-toe", "hepatitis")
QUICK_MEANS = (0.8,)
# Fits of a few milliseconds scatter: they are repeated until their rounds have taken so long, or are so many.
ROUNDS_SECONDS, MOST_ROUNDS = 3.0, 15


@dataclass(frozen=True)
class ColdFit:
    """One fit without a starting point; ``solve`` is the median of its repetitions."""

    data: str
    mean: float
    theta: float
    N: int
    n: int
    m: int
    solve: float
    solve_slowest: float
    certify: float
    iterations: int
    status: str
    objective: float
    gap: float
    verified: bool


@dataclass(frozen=True)
class Path:
    """All thetas in a row, each from the coefficients of the one before, against the cold fits of the same problems."""

    data: str
    mean: float
    points: int
    path: float
    path_settled: float
    fit_median: float
    fit_slowest: float
    path_per_median_fit: float
    path_per_slowest_fit: float
    path_per_settled_fit: float
    cold_sum_per_path: float
    path_iterations: int
    cold_iterations: int
    path_gap: float
    path_verified: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", choices=NAMES, help="data sets (default: all 13)")
    parser.add_argument("--thetas", nargs="+", type=float, default=list(THETAS), help="levels of robustness")
    parser.add_argument("--means", nargs="+", type=float, help=f"means of the certainty (default: {MEANS})")
    parser.add_argument("--repeats", type=int, default=3, help="runs per cold fit, and fewest rounds per path; medians count")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative gap to reach and to certify")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to the solver")
    parser.add_argument("--units", choices=("raw", "standard"), default="raw", help="units of the numeric columns")
    parser.add_argument("--outside", choices=("redraw", "clip"), default="redraw", help="draws outside the range of certainty")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    fits: list[ColdFit] = []
    paths: list[Path] = []
    # Theta ascending is radius descending: the most robust model, the one nearest to a constant, comes first.
    thetas = sorted(options.thetas)
    for name in options.data or (QUICK_DATA if options.quick else NAMES):
        table = load(name)
        table = table.standardized() if options.units == "standard" else table
        for mean in options.means or (QUICK_MEANS if options.quick else MEANS):
            say(f"{name}: mean certainty {mean}")
            cost = calibrate(table, mean=mean, random_state=options.random_state, outside=options.outside)
            problems = [pose(table, cost, theta) for theta in thetas]
            singles = [_cold_fit(name, mean, theta, problem, options) for theta, problem in zip(thetas, problems, strict=True)]
            fits += singles
            paths.append(_path(problems, singles, options))
    return Report(
        name="real_weights",
        title="Robust logistic regression with real-valued weights",
        tables=[
            Table("real_weights_summary", "Cold fits by data set, in seconds", _summaries(fits)),
            Table("real_weights_paths", "Warm-started path over all thetas, in seconds", [asdict(path) for path in paths]),
            Table("real_weights_fits", "Every cold fit", [asdict(fit) for fit in fits], on_page=False),
        ],
        findings=_findings(fits, paths, options.tolerance),
        method=[
            f"Solver sqp, {options.threads} threads, relative gap {options.tolerance:g}; numeric columns in {options.units} "
            "units; weights of the paper's calibration, not rounded, the same for all thetas of a data set and mean. "
            f"Certainties outside their range: {options.outside}. Seed {options.random_state}.",
            f"solve: cold fit, median of {options.repeats}; the clock runs around solve(problem, options). certify: "
            "recomputing both bounds from the raw arrays, timed once and not part of solve. gap: certified relative gap.",
            "path: solve_path as in cross-validation: each theta starts from the coefficients of the one before, in two halves "
            "side by side where the table is large enough; without certificates, and without settling coefficients. It is "
            "compared with cold fits that do not polish theirs either: a round is a fit of every theta and a walk, and the "
            f"medians over the rounds are compared, at least {options.repeats} of them, and more (at most {MOST_ROUNDS}) while "
            f"they take less than {ROUNDS_SECONDS:g} s together. path_settled and path_per_settled_fit: the same with settling "
            "on both sides. Every fit of a first walk is certified; path_gap is the largest gap among them.",
        ],
        not_measured=[
            "Reading and encoding the tables; memory; the estimator around the solver.",
            "Out-of-sample quality; the 80 % training parts on which the authors' program fits (all rows are used).",
        ],
    )


def _cold_fit(name: str, mean: float, theta: float, problem: RobustLogisticProblem, options: argparse.Namespace) -> ColdFit:
    runs = [timed_fit(SQP(), problem, tolerance=options.tolerance, n_threads=options.threads) for _ in range(options.repeats)]
    outcome = runs[0].outcome
    start = time.perf_counter()
    proof = certified(problem, outcome, options.tolerance)
    certify = time.perf_counter() - start
    return ColdFit(
        data=name,
        mean=mean,
        theta=theta,
        N=problem.n_rows,
        n=problem.n_numeric,
        m=problem.n_categorical,
        solve=statistics.median(fit.seconds for fit in runs),
        solve_slowest=max(fit.seconds for fit in runs),
        certify=certify,
        iterations=outcome.iterations,
        status=outcome.status.value,
        objective=proof.upper_bound,
        gap=proof.relative_gap,
        verified=proof.verified,
    )


@dataclass(frozen=True)
class _Rounds:
    """Medians over rounds of one cold fit for every theta and one walk along all of them, and what the first walk found."""

    fits: list[float]
    path: float
    iterations: int
    gap: float
    verified: bool


def _rounds(problems: Sequence[RobustLogisticProblem], options: argparse.Namespace, *, polish: bool) -> _Rounds:
    asked = SolveOptions(tolerance=options.tolerance, n_threads=options.threads, polish=polish)
    fits: list[list[float]] = [[] for _ in problems]
    walks: list[float] = []
    first: list[tuple[int, int, RobustOutcome]] = []
    began = time.perf_counter()
    while len(walks) < options.repeats or (len(walks) < MOST_ROUNDS and time.perf_counter() - began < ROUNDS_SECONDS):
        for seconds, problem in zip(fits, problems, strict=True):
            fit = timed_fit(SQP(), problem, tolerance=options.tolerance, n_threads=options.threads, polish=polish)
            seconds.append(fit.seconds)
        start = time.perf_counter()
        found = list(solve_path([problems], SQP(), SQP, lambda _: asked))
        walks.append(time.perf_counter() - start)
        first = first or found
    proofs = [certified(problems[place], outcome, options.tolerance) for _, place, outcome in first]
    return _Rounds(
        fits=[statistics.median(seconds) for seconds in fits],
        path=statistics.median(walks),
        iterations=sum(outcome.iterations for _, _, outcome in first),
        gap=max(proof.relative_gap for proof in proofs),
        verified=all(proof.verified for proof in proofs),
    )


def _path(problems: Sequence[RobustLogisticProblem], singles: Sequence[ColdFit], options: argparse.Namespace) -> Path:
    # Like with like: what settles its coefficients is compared with what settles them, and what does not with what does not.
    plain, settled = (_rounds(problems, options, polish=polish) for polish in (False, True))
    median, slowest = statistics.median(plain.fits), max(plain.fits)
    return Path(
        data=singles[0].data,
        mean=singles[0].mean,
        points=len(problems),
        path=plain.path,
        path_settled=settled.path,
        fit_median=median,
        fit_slowest=slowest,
        path_per_median_fit=plain.path / median,
        path_per_slowest_fit=plain.path / slowest,
        path_per_settled_fit=settled.path / max(settled.fits),
        cold_sum_per_path=sum(plain.fits) / plain.path,
        path_iterations=plain.iterations,
        cold_iterations=sum(fit.iterations for fit in singles),
        path_gap=max(plain.gap, settled.gap),
        path_verified=plain.verified and settled.verified,
    )


def _summaries(fits: Sequence[ColdFit]) -> list[dict[str, Cell]]:
    by_data: dict[str, list[ColdFit]] = {}
    for fit in fits:
        by_data.setdefault(fit.data, []).append(fit)
    return [
        {
            "data": name,
            "N": group[0].N,
            "n": group[0].n,
            "m": group[0].m,
            "fits": len(group),
            "solve_median": statistics.median(fit.solve for fit in group),
            "solve_slowest": max(fit.solve for fit in group),
            "certify_slowest": max(fit.certify for fit in group),
            "iterations_median": statistics.median(fit.iterations for fit in group),
            "iterations_most": max(fit.iterations for fit in group),
            "gap_largest": max(fit.gap for fit in group),
            "verified": sum(fit.verified for fit in group),
        }
        for name, group in by_data.items()
    ]


def _findings(fits: Sequence[ColdFit], paths: Sequence[Path], tolerance: float) -> list[str]:
    slowest = max(fits, key=lambda fit: fit.solve)
    longest = max(paths, key=lambda path: path.path_per_median_fit)
    against_slowest = max(paths, key=lambda path: path.path_per_slowest_fit)
    against_settled = max(paths, key=lambda path: path.path_per_settled_fit)
    usual, usual_slowest = (
        statistics.median(getattr(path, ratio) for path in paths) for ratio in ("path_per_median_fit", "path_per_slowest_fit")
    )
    return [
        f"Certified to {tolerance:g}: {sum(fit.verified for fit in fits)} of {len(fits)} cold fits, "
        f"{sum(path.path_verified for path in paths)} of {len(paths)} paths (every fit); largest gap "
        f"{max(fit.gap for fit in fits):.1e} cold, {max(path.path_gap for path in paths):.1e} on a path.",
        f"Slowest cold fit: {slowest.solve:.3f} s ({slowest.data}, theta {slowest.theta}, mean certainty {slowest.mean}, "
        f"{slowest.iterations} iterations); slowest certificate: {max(fit.certify for fit in fits):.3f} s.",
        f"Path against the median single fit of the same problems: at most {longest.path_per_median_fit:.2f} "
        f"({longest.data}, mean certainty {longest.mean}), median {usual:.2f}.",
        f"Path against the slowest single fit: at most {against_slowest.path_per_slowest_fit:.2f} ({against_slowest.data}), "
        f"median {usual_slowest:.2f}; with settled coefficients on both sides: at most "
        f"{against_settled.path_per_settled_fit:.2f} ({against_settled.data}).",
        f"Steps, of which every point of a path needs one at least: {against_slowest.data} takes "
        f"{against_slowest.path_iterations} for its {against_slowest.points} points, {against_slowest.cold_iterations} cold.",
    ]
