"""The beta-subproblem of Li, Huang and So (NeurIPS 2019): their comparison of methods, their coefficient steps, their rate."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from beta_methods import METHODS, BetaProblem, Iterate, splitting
from measure import say
from numeric_problems import LABEL_PRICE, adult_problem, numeric_problem
from scipy.special import expit
from tables import Cell, Picture, Report, Row, Table
from threadpoolctl import threadpool_limits

from surefoot.core.arrays import FloatArray
from surefoot.robust.first_order.admm_splitting import Splitting
from surefoot.robust.first_order.parameters import PublishedLpAdmm
from surefoot.robust.first_order.signed_rows import SignedRows
from surefoot.robust.first_order.value_minorants import minorant_of
from surefoot.robust.problem.numeric_columns import as_dense
from surefoot.robust.problem.problem import RobustLogisticProblem

DESCRIPTION = "beta-subproblem of LP-ADMM: six methods, four coefficient steps, and the slope of the gap against iterations"
DATA = ("1000x50", "10000x100", "a1a")
QUICK_DATA = ("300x10",)
PRICE = 0.1
ACCURACIES = (1e-2, 1e-4, 1e-6, 1e-8)
# The optimum is known this well, relatively.
EXACT = 1e-11
OURS = "lp-admm"
COEFFICIENT_STEPS = ("conjugate-gradient", "projected-gradient", "coordinate", "exact")
# The paper's rate is for penalties above (sqrt(3) + 1) L, with L = 1 / (4 N) the curvature of the mean loss.
RATE_PENALTY = 4.0
FITTED_FROM = 30


@dataclass(frozen=True)
class Known:
    """A subproblem with its optimum, proven to a relative ``gap``."""

    name: str
    beta: BetaProblem
    problem: RobustLogisticProblem
    optimum: float
    gap: float
    margins: FloatArray


@dataclass(frozen=True)
class Curve:
    """Relative gaps of one method by iteration, and the CPU seconds until each."""

    data: str
    method: str
    gaps: FloatArray
    seconds: FloatArray

    def reached(self, accuracy: float) -> tuple[float, int] | None:
        """CPU seconds and iterations until the best gap so far is this small."""
        near = np.flatnonzero(self.gaps <= accuracy)
        return (float(self.seconds[near[0]]), int(near[0]) + 1) if near.size else None


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", nargs="+", metavar="NxD or a1a ... a9a", help=f"subproblems (default: {' '.join(DATA)})")
    parser.add_argument("--seconds", type=float, default=3.0, help="CPU seconds that each method may take per subproblem")
    parser.add_argument("--iterations", type=int, default=3000, help="iterations of the rate measurement, and most of a method")
    parser.add_argument("--random-state", type=int, default=10)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    iterations = min(options.iterations, 300) if options.quick else options.iterations
    curves: list[Curve] = []
    steps: list[Row] = []
    rates: list[Row] = []
    optima: list[Row] = []
    with threadpool_limits(limits=1):
        for name in options.data or (QUICK_DATA if options.quick else DATA):
            known = _known(name, options.random_state)
            say(f"{name}: optimum {known.optimum:.8g}, gap {known.gap:.1e}")
            optima.append(
                {"data": name, "N": known.beta.size, "d": known.beta.width, "optimum": known.optimum, "gap": known.gap}
            )
            for method, make in METHODS.items():
                curves.append(_curve(known, method, make(known.beta), options.seconds, iterations))
                say(f"{name}: {method} {curves[-1].gaps.min():.1e} after {curves[-1].seconds[-1]:.2g} s")
            curves.append(_curve(known, OURS, _ours(known), options.seconds, iterations))
            steps += [_coefficient_step(known, step, options.seconds) for step in COEFFICIENT_STEPS]
            rates.append(_rate(known, iterations))
    return Report(
        name="beta_subproblem",
        title="The beta-subproblem of Li, Huang and So: methods, coefficient steps, rate",
        tables=[
            Table("beta_subproblem", "CPU seconds and iterations to a relative gap", [_curve_row(curve) for curve in curves]),
            Table("beta_subproblem_steps", "Adaptive LP-ADMM by coefficient step", steps),
            Table("beta_subproblem_rate", "The gap against the number K of iterations, constant penalty 1 / N", rates),
            Table("beta_subproblem_optima", "The subproblems", optima),
        ],
        findings=_findings(curves, steps, rates),
        method=[
            f"lambda = {PRICE:g}, kappa = {LABEL_PRICE:g}, no intercept, columns as they are. NxD: the paper's Gaussian data "
            f"(standard normal columns, a truth of length 1, seed {options.random_state} of numpy's default_rng); a1a: LIBSVM.",
            "gap = (objective of the iterate in the box - optimum) / optimum; the optimum is proven by our splitting and its "
            f"dual bound to a relative {max(row['gap'] for row in optima):.0e}. Of every method the best gap so far counts.",
            "Settings: those of the authors' program for this experiment. Adaptive LP-ADMM: first penalty 0.001, growth 1.01 "
            "(the paper's own default is 1.05: two more rows); LP-ADMM: 0.01; LADMM: 0.1 and curvature 1/4; SADMM: 10 / N; "
            "PDHG: steps 0.3 and 0.3; subgradient: 0.1 times 0.999^k, projected. All start at ones unless a row says "
            "otherwise; the ADMMs share the exact coefficient step. lp-admm: the splitting of solver 'lp-admm' at this price, "
            "from 0.",
            f"CPU seconds of one thread around the iterations, objectives outside the clock; at most {options.seconds:g} s and "
            f"{iterations} iterations per method. The machine was busy with other work.",
            "Coefficient steps: adaptive LP-ADMM (0.001, 1.05, from 0) until no margin is farther than 1e-5 from its score; "
            "steps counts those of the coefficient step, which end at a change of 1e-5.",
            "Rate: Theorem 4.2 is about the mean iterates, F(mean b, mean mu) - F* <= C / K for a constant penalty above "
            "(sqrt(3) + 1) / (4 N); here 1 / N, from 0. slope: least squares of log gap on log K from K = "
            f"{FITTED_FROM} on; a rate of 1 / K is a slope of -1. mean: F(mean b, mean mu) - F*, which may be negative, as the "
            "pair need not meet mu = Z b; its slope is that of its size. box: the objective of mean b at its own scores. last: "
            "of the last iterate. share of the bound: the largest (F(mean b, mean mu) - F*) K / C, at most 1 by the theorem.",
        ],
        not_measured=[
            "The authors' program (MATLAB): the methods are written anew. Its SADMM splits the hinge off as a third variable, "
            "and its subgradient method does not project.",
            "Other prices than 0.1, other seeds; MNIST.",
        ],
        pictures=[Picture("beta_subproblem", "Relative gap against CPU seconds", partial(_draw, curves))],
    )


def _known(name: str, random_state: int) -> Known:
    if "x" in name:
        size, width = map(int, name.split("x"))
        generator = np.random.default_rng(random_state)
        truth = generator.normal(size=width)
        numeric = generator.normal(size=(size, width))
        labels = np.where(generator.uniform(size=size) < expit(numeric @ (truth / np.linalg.norm(truth))), 1.0, -1.0)
        problem = numeric_problem(numeric, labels, fit_intercept=False)
    else:
        adult = adult_problem(name)
        problem = numeric_problem(as_dense(adult.numeric), adult.labels, fit_intercept=False)
    rows = SignedRows(problem)
    ours = Splitting(rows)
    ours.penalty = ours.natural_penalty(PRICE)
    upper, lower, margins = math.inf, -math.inf, ours.margins
    for step in range(1, 40_001):
        ours.step(PRICE)
        if step % 10 == 0:
            value = rows.value(ours.scores, PRICE)
            upper, margins = (value, ours.scores) if value < upper else (upper, margins)
            for slopes in (ours.slopes, -ours.multipliers):
                lower = max(lower, minorant_of(rows, slopes, PRICE, ours.coefficients).at(PRICE))
            if upper - lower <= EXACT * upper:
                break
            ours.balance_residuals(10)
    charge = PRICE * problem.radius
    beta = BetaProblem(rows.rows, PRICE, LABEL_PRICE)
    return Known(name, beta, problem, upper - charge, (upper - lower) / (upper - charge), margins)


def _ours(known: Known) -> Iterator[Iterate]:
    """The splitting of solver lp-admm at this price."""
    splitting = Splitting(SignedRows(known.problem))
    splitting.penalty = splitting.natural_penalty(PRICE)
    step = 0
    while True:
        splitting.step(PRICE)
        step += 1
        if step % 10 == 0:
            splitting.balance_residuals(10)
        yield Iterate(splitting.coefficients, splitting.scores, splitting.margins)


def _curve(known: Known, method: str, iterates: Iterator[Iterate], limit: float, most: int) -> Curve:
    gaps: list[float] = []
    seconds: list[float] = []
    clock = 0.0
    while clock < limit and len(gaps) < most:
        start = time.process_time()
        iterate = next(iterates)
        clock += time.process_time() - start
        gaps.append(max(known.beta.objective(iterate.scores) - known.optimum, 0.0) / known.optimum)
        seconds.append(clock)
    return Curve(known.name, method, np.minimum.accumulate(gaps), np.array(seconds))


def _curve_row(curve: Curve) -> Row:
    row: dict[str, Cell] = {"data": curve.data, "method": curve.method}
    for accuracy in ACCURACIES:
        found = curve.reached(accuracy)
        row[f"s to {accuracy:g}"] = None if found is None else found[0]
        row[f"iterations to {accuracy:g}"] = None if found is None else found[1]
    return row | {"best gap": float(curve.gaps[-1]), "s": float(curve.seconds[-1]), "iterations": len(curve.gaps)}


def _coefficient_step(known: Known, step: str, limit: float) -> Row:
    published = PublishedLpAdmm(coefficient_step=step)  # type: ignore[arg-type]
    start = time.process_time()
    method = Splitting(SignedRows(known.problem), published=published)
    method.published_start(published)
    iterations, residual = 0, math.inf
    while residual > published.residual and time.process_time() - start < 3 * limit:
        method.published_step(PRICE, published)
        residual = float(np.abs(method.margins - method.scores).max())
        iterations += 1
    seconds = time.process_time() - start
    inner = getattr(method.least_squares, "steps", None)
    return {
        "data": known.name,
        "coefficient step": step,
        "s": seconds,
        "iterations": iterations,
        "steps per iteration": None if inner is None else inner / iterations,
        "gap": (known.beta.objective(method.scores) - known.optimum) / known.optimum,
    }


def _rate(known: Known, most: int) -> Row:
    """Theorem 4.2 on one subproblem."""
    beta = known.beta
    curvature, rho = 0.25 / beta.size, RATE_PENALTY * 0.25 / beta.size
    method = splitting(beta, penalty=rho, start=0.0)
    mean_scores, mean_margins = np.zeros(beta.size), np.zeros(beta.size)
    found = np.empty((most, 3))
    constant = 0.0
    for k in range(most):
        iterate = next(method)
        if k == 0:
            # w and mu start at 0; mu* are the margins of the optimum.
            moved = float(iterate.margins @ iterate.margins)
            constant = 0.5 * rho * float(known.margins @ known.margins) + (rho - 2.0 * curvature) / 4.0 * moved
        mean_scores += (iterate.scores - mean_scores) / (k + 1)
        mean_margins += (iterate.margins - mean_margins) / (k + 1)
        found[k] = [beta.objective(values) - known.optimum for values in (mean_margins, mean_scores, iterate.scores)]
    count = np.arange(1, most + 1)
    mean, box, last = (np.abs(column) for column in found.T)
    return {
        "data": known.name,
        "K": most,
        "C": constant,
        "mean: gap at K": float(found[-1, 0]),
        "mean: slope": _slope(count, mean),
        "share of the bound": float((found[:, 0] * count / constant).max()),
        "box: gap at K": float(found[-1, 1]),
        "box: slope": _slope(count, box),
        "last: gap at K": float(found[-1, 2]),
        "last: slope": _slope(count, last),
    }


def _slope(count: FloatArray | np.ndarray[tuple[int], np.dtype[np.int64]], gap: FloatArray) -> float:
    # What is below the accuracy of the optimum says nothing.
    used = (count >= FITTED_FROM) & (gap > 1e-10)
    if np.count_nonzero(used) < 10:
        return math.nan
    return float(np.polyfit(np.log(count[used]), np.log(gap[used]), 1)[0])


def _findings(curves: Sequence[Curve], steps: Sequence[Row], rates: Sequence[Row]) -> list[str]:
    lines = _settings_told(curves)
    for data in dict.fromkeys(curve.data for curve in curves):
        part = [curve for curve in curves if curve.data == data]
        for accuracy in (1e-4, 1e-6):
            ends = {curve.method: found for curve in part if (found := curve.reached(accuracy)) is not None}
            ranked = sorted(ends, key=lambda method: ends[method][0])
            others = [curve.method for curve in part if curve.method not in ends]
            told = ", ".join(f"{method} {ends[method][0]:.2g} s" for method in ranked) or "nobody"
            lines.append(f"{data}, gap {accuracy:g}: {told}{'; not reached by ' + ', '.join(others) if others else ''}.")
    for row in rates:
        below = float(row["mean: gap at K"] or 0.0) < 0
        share = (
            "is negative at the end, as mean b and mean mu do not meet mu = Z b, so that an upper bound says little there"
            if below
            else f"uses at most {row['share of the bound']:.2g} of the bound"
        )
        holds = "holds" if float(row["share of the bound"] or 0.0) <= 1 else "FAILS"
        lines.append(
            f"{row['data']}: F(mean b, mean mu) - F* <= C / K {holds} "
            f"from K = 1 to {row['K']}; it {share}. Slopes in K: its size {row['mean: slope']:.2f}, mean b in the box "
            f"{row['box: slope']:.2f}, the last iterate {row['last: slope']:.2f}."
        )
    for data in dict.fromkeys(row["data"] for row in steps):
        part_steps = sorted((row for row in steps if row["data"] == data), key=lambda row: float(row["s"] or 0.0))
        lines.append(
            f"{data}, coefficient steps: "
            + ", ".join(f"{row['coefficient step']} {row['s']:.2g} s (gap {row['gap']:.1e})" for row in part_steps)
            + "."
        )
    return lines


def _settings_told(curves: Sequence[Curve]) -> list[str]:
    """What of the comparison is the method, and what its settings."""
    best = {(curve.data, curve.method): float(curve.gaps[-1]) for curve in curves}
    names = list(dict.fromkeys(curve.data for curve in curves))

    def told(method: str) -> str:
        return ", ".join(f"{best[data, method]:.1e} on {data}" for data in names)

    adaptive = "adaptive LP-ADMM"
    return [
        f"Growing penalties freeze: with growth 1.05 the gap ends at {told(f'{adaptive}, growth 1.05')}; from 0 instead of "
        f"ones at {told(f'{adaptive}, growth 1.05, from 0')}; with growth 1.01 at {told(adaptive)}; with a constant penalty at "
        f"{told('LP-ADMM')}.",
        "LADMM is as good as LP-ADMM where its curvature is that of the mean loss: "
        f"{told('LADMM, curvature 1 / (4 N)')}; with the N times larger one of the authors' program {told('LADMM')}.",
    ]


def _draw(curves: Sequence[Curve], path: Path) -> None:
    # Imported here: only a picture needs it, and the tables should not.
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(curve.data for curve in curves))
    figure = Figure(figsize=(5.2 * len(names), 4.4), layout="constrained")
    for axes, data in zip(np.atleast_1d(figure.subplots(1, len(names))).tolist(), names, strict=True):
        for curve in curves:
            if curve.data == data:
                axes.loglog(curve.seconds, np.maximum(curve.gaps, 1e-12), label=curve.method, linewidth=1.2)
        axes.set_title(data)
        axes.set_xlabel("CPU seconds")
        axes.set_ylabel("relative gap")
        axes.grid(visible=True, linewidth=0.3)
    axes.legend(fontsize=7)
    figure.savefig(path, dpi=100)
