"""The adult series a1a to a9a, sparse: the certified fit beside LP-ADMM and beside the poster's own figures."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from machine import available_cores
from measure import certified, repeated_fit, say, timed_fit
from numeric_problems import ADULT, LABEL_PRICE, RADIUS, adult_problem
from scipy.sparse import csr_array
from tables import Report, Table

from surefoot.core.outcome import Status
from surefoot.robust.first_order.lp_admm import LpAdmm
from surefoot.robust.sqp.sqp import SQP

DESCRIPTION = "a1a ... a9a (sparse, 123 columns, label price 1): solver 'sqp', solver 'lp-admm' and the poster's seconds"
QUICK_DATA = ("a1a", "a2a")
# Table 1 of the poster: seconds of YALMIP and of its LP-ADMM.
POSTER = {
    "a1a": (25.63, 2.93), "a2a": (39.20, 3.53), "a3a": (57.79, 4.26), "a4a": (105.32, 4.56), "a5a": (155.42, 4.39),
    "a6a": (413.65, 4.68), "a7a": (738.12, 5.41), "a8a": (1396.45, 5.81), "a9a": (2993.30, 7.08),
}  # fmt: skip


@dataclass(frozen=True)
class AdultFit:
    """One data set; seconds unless the name says otherwise."""

    data: str
    N: int
    n: int
    entries: int
    sqp: float
    sqp_1_thread: float
    iterations: int
    objective: float
    gap: float
    verified: bool
    lp_admm: float
    lp_admm_status: str
    lp_admm_gap: float
    ratio: float
    poster_yalmip: float
    poster_lp_admm: float


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", choices=ADULT, help="data sets (default: all 9)")
    parser.add_argument("--repeats", type=int, default=5, help="sqp runs per problem; their median is reported")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds that lp-admm may take per problem")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="relative gap asked of both solvers, and certified")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="threads allowed to both solvers")


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    fits = []
    for name in options.data or (QUICK_DATA if options.quick else ADULT):
        say(name)
        fits.append(_fit(name, options))
    return Report(
        name="adult_series",
        title="Robust logistic regression with label flips on the adult series",
        tables=[Table("adult_series", "Seconds per fit, here and on the poster", [asdict(fit) for fit in fits])],
        findings=_findings(fits, options.tolerance),
        method=[
            f"LIBSVM files as sparse rows, all columns numeric in raw units, l1 metric, radius {RADIUS:g}, label price "
            f"{LABEL_PRICE:g}, with intercept; relative gap {options.tolerance:g}, {options.threads} threads.",
            f"sqp: median of {options.repeats} cold fits; sqp_1_thread the same with one thread. lp_admm: one fit of solver "
            f"lp-admm, limit {options.time_limit:g} s. One clock around solve(problem, options) of each.",
            "gap, verified, lp_admm_gap: certified from the raw arrays. ratio = lp_admm / sqp. entries: stored numbers.",
            "poster_yalmip, poster_lp_admm: Table 1 of Li, Huang and So (NeurIPS 2019), on its authors' machine.",
        ],
        not_measured=[
            "YALMIP, and the poster's program; the poster names neither radius nor label price nor accuracy, so its seconds "
            "stand beside ours for orientation only.",
            "Reading the files; memory; the certificate; the estimator around the solver.",
        ],
    )


def _fit(name: str, options: argparse.Namespace) -> AdultFit:
    problem = adult_problem(name)
    fit, single = (
        repeated_fit(SQP, problem, tolerance=options.tolerance, n_threads=threads, repeats=options.repeats)
        for threads in (options.threads, 1)
    )
    rival = timed_fit(LpAdmm(), problem, tolerance=options.tolerance, n_threads=options.threads, time_limit=options.time_limit)
    proof, rival_proof = (certified(problem, outcome, options.tolerance) for outcome in (fit.outcome, rival.outcome))
    return AdultFit(
        data=name,
        N=problem.n_rows,
        n=problem.n_numeric,
        entries=int(csr_array(problem.numeric).nnz),
        sqp=fit.seconds,
        sqp_1_thread=single.seconds,
        iterations=fit.outcome.iterations,
        objective=proof.upper_bound,
        gap=proof.relative_gap,
        verified=proof.verified,
        lp_admm=rival.seconds,
        lp_admm_status=rival.outcome.status.value,
        lp_admm_gap=rival_proof.relative_gap,
        ratio=rival.seconds / fit.seconds,
        poster_yalmip=POSTER[name][0],
        poster_lp_admm=POSTER[name][1],
    )


def _findings(fits: Sequence[AdultFit], tolerance: float) -> list[str]:
    largest = max(fits, key=lambda fit: fit.N)
    ratios = [fit.ratio for fit in fits]
    optimal = sum(fit.lp_admm_status == Status.OPTIMAL.value for fit in fits)
    return [
        f"sqp certified to {tolerance:g}: {sum(fit.verified for fit in fits)} of {len(fits)} data sets, largest gap "
        f"{max(fit.gap for fit in fits):.1e}, {math.fsum(fit.sqp for fit in fits):.2f} s in all.",
        f"{largest.data} ({largest.N} x {largest.n}, sparse): {largest.sqp:.2f} s, {largest.sqp_1_thread:.2f} s with one "
        f"thread; the poster reports {largest.poster_yalmip:g} s for YALMIP and {largest.poster_lp_admm:g} s for LP-ADMM.",
        f"lp-admm takes {min(ratios):.1f} to {max(ratios):.1f} times as long as sqp, and ends optimal on {optimal} of "
        f"{len(fits)}{'; where it does not, the ratio counts its seconds until then' if optimal < len(fits) else ''}.",
    ]
