"""From rows and groups to a posed, solved and judged chance-constrained SVM."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.certificate.certificate import certify_chance_svm, certify_chance_svms
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.estimator.svm_kernel import make_kernel
from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.chancesvm.inputs.borrowed_repeats import RepeatPool, Repeats, RepeatSamples, borrowed_samples
from surefoot.chancesvm.inputs.class_clusters import class_clusters, kernel_coordinates
from surefoot.chancesvm.inputs.class_prices import class_prices
from surefoot.chancesvm.inputs.column_units import ColumnUnits, standard_units
from surefoot.chancesvm.inputs.given_moments import MomentSamples, moment_samples, read_covariances, with_directions
from surefoot.chancesvm.inputs.uncertain_inputs import (
    UncertainInputs,
    gather_inputs,
    read_violation,
    require_enough_samples,
    violation_of,
)
from surefoot.chancesvm.problem.kernel_matrix import mended
from surefoot.chancesvm.problem.kernels import Kernel, centred
from surefoot.chancesvm.problem.landmark_kernel import LandmarkKernel, on_landmarks
from surefoot.chancesvm.problem.moment_radii import MomentRadii, least_samples, moment_radii
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.chancesvm.registry import ChanceOutcome, require_chance_acceptance
from surefoot.chancesvm.solvers.chance_socp import ChanceSOCP
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts
from surefoot.chancesvm.solvers.mix_polish import polished_mix
from surefoot.chancesvm.solvers.parameters import PlaneScaleParameters
from surefoot.chancesvm.solvers.plane_run import PlaneRun
from surefoot.chancesvm.solvers.price_path import solve_price_path
from surefoot.chancesvm.solvers.short_coefficients import adding_up_to_0, short_coefficients
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.core.blas_threads import blas_threads
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import Status, handed_over
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.row_groups import RowGroups, read_row_groups
from surefoot.design.encode.schema import Level
from surefoot.exceptions import CertificateError, SolveInterrupted
from surefoot.sklearn_api.number_table import dense
from surefoot.sklearn_api.progress import progress_listener
from surefoot.sklearn_api.training_rows import TrainingRows

PUBLISHED_ADVICE = (
    "The published method ends where its own test says, which need not be near the optimum. solver='auto' finds that; "
    "admm_penalty changes where the method ends."
)
# Samples up to which "auto" solves a cone programme where nothing else could be proven: a second or so.
MOST_CONE_SAMPLES = 300
# By which fraction of the tolerance margins are exceeded: as solvers do, and where rounding makes their certificate a wide one.
RESERVE, WIDE_RESERVE = PlaneScaleParameters.reserve, 0.2
# Which fraction of the tolerance a mix gives up when it is polished.
POLISH_FRACTION = 0.1


@dataclass(frozen=True, eq=False)
class SolvedSVM:
    """An answer, the verdict on it, the name of the solver that gave it, and the values of its w at the samples."""

    outcome: ChanceOutcome
    certificate: Certificate
    solver: str
    values: FloatArray

    @property
    def is_settled(self) -> bool:
        """Whether the solver ended at its tolerance and the certificate agrees: otherwise somebody has to be told."""
        return self.certificate.verified and self.outcome.status is Status.OPTIMAL

    @property
    def advice(self) -> str:
        """What to do about a model that is not proven optimal, where that is not a matter of limits."""
        return PUBLISHED_ADVICE if self.solver == "admm" and self.outcome.status is Status.STALLED else ""


@dataclass(frozen=True, eq=False)
class PosedSVM:
    """A problem, and the inputs behind its batches; ``from_rows`` is False if they were given by their moments.

    ``solved`` is what is solved in its place: the problem itself, or its restriction to landmarks. Its samples are in
    ``units``, the rows of training as they came are in ``rows``. With a ``pool`` its samples are no rows, but what inputs that
    borrow from each other are taken to be.
    """

    problem: ChanceSVMProblem
    solved: ChanceSVMProblem
    inputs: UncertainInputs
    radii: MomentRadii | None
    from_rows: bool = True
    units: ColumnUnits | None = None
    rows: FloatArray | None = None
    pool: RepeatPool | None = None
    repeats: Repeats | None = None

    @property
    def samples_are_rows(self) -> bool:
        return self.from_rows and self.pool is None

    @property
    def order(self) -> NDArray[np.intp]:
        """The row of training that each sample of the problem is, or its own number where samples are no rows."""
        return self.inputs.order if self.samples_are_rows else np.arange(self.problem.n_samples)

    def support_rows(self, scores: KernelScores) -> FloatArray:
        """The support vectors in the units of their columns."""
        if self.units is None:
            return scores.samples
        known = self.rows is not None and self.samples_are_rows
        return self.rows[scores.support] if known else self.units.back(scores.samples)  # type: ignore[index]

    def solve(self, settings: SVMSettings, started: float, title: str | None = None) -> SolvedSVM:
        """Solve and certify; with a title, progress goes to standard error."""
        require_chance_acceptance(settings.solver, self.solved)
        options = _options(settings, started, title)
        if settings.as_published:
            return self._as_published(settings, options)
        found = self.judge(handed_over(settings.solver.solve(self.solved, options)), settings)
        found = self._proven_better(found, settings, options)
        cones = ChanceSOCP()
        small = self.solved.n_samples <= MOST_CONE_SAMPLES and cones.refuses(self.solved) is None
        if settings.automatic and small and not found.certificate.verified and not options.out_of_time:
            found = self._better(found, self.judge(handed_over(cones.solve(self.solved, options)), settings), settings)
            found = self._proven_better(found, settings, options)
        return found

    def _as_published(self, settings: SVMSettings, options: SolveOptions) -> SolvedSVM:
        """The iterate of the published method, and how far it is from the optimum, of which the method itself knows little."""
        outcome = settings.solver.solve(self.solved, options)
        if outcome.status not in (Status.OPTIMAL, Status.INTERRUPTED) and not options.out_of_time:
            # Iterations that were asked for are those of the method; the clock is one for both.
            usual = replace(settings, solver=EllipsoidCuts(), automatic=True, max_iter=None)
            try:
                best = self.solve(usual, options.started).outcome
            except SolveInterrupted:
                outcome = replace(outcome, status=Status.INTERRUPTED)
            else:
                if best.lower_bound > outcome.lower_bound:
                    outcome = replace(outcome, dual=best.dual, lower_bound=best.lower_bound)
        found = self.judge(handed_over(outcome), settings)
        if found.certificate.verified and outcome.status is Status.STALLED:
            # It has arrived, and did not know.
            return replace(found, outcome=replace(found.outcome, status=Status.OPTIMAL))
        return found

    def _proven_better(self, found: SolvedSVM, settings: SVMSettings, options: SolveOptions) -> SolvedSVM:
        """The same answer in other numbers, until it is proven: a polished mix, shorter coefficients, wider margins."""
        stalled = found.outcome.status is Status.STALLED and not found.certificate.verified
        for short, reserve in ((None, 0.0), (True, RESERVE), (False, WIDE_RESERVE), (True, WIDE_RESERVE), (None, 0.0)):
            if found.certificate.verified or options.out_of_time:
                break
            if short is None:
                found = self._polished(found, settings)
            else:
                found = self._rephrased(found, settings, reserve, short=short)
        if stalled and found.certificate.verified:
            # The gap is closed after all.
            return replace(found, outcome=replace(found.outcome, status=Status.OPTIMAL))
        return found

    def _polished(self, found: SolvedSVM, settings: SVMSettings) -> SolvedSVM:
        """The same answer, or one with a mix whose point is w to all digits if that proves more."""
        outcome = found.outcome
        if outcome.dual is None or self.solved.has_radii:
            return found
        polished = polished_mix(self.solved, outcome.dual, outcome.primal.coefficients, POLISH_FRACTION * settings.tolerance)
        if polished is None:
            return found
        mix, lower = polished
        return self._better(found, self.judge(replace(outcome, dual=mix, lower_bound=lower), settings, in_place=True), settings)

    def _rephrased(self, found: SolvedSVM, settings: SVMSettings, reserve: float, *, short: bool) -> SolvedSVM:
        """The same answer, or its plane by shorter coefficients or with wider margins if more can be proven of that."""
        coefficients: FloatArray | None = found.outcome.primal.coefficients
        if short:
            coefficients = short_coefficients(self.problem, found.outcome.primal.coefficients)
        if coefficients is None:
            return found
        run = PlaneRun(self.problem, _options(settings, 0.0, None), PlaneScaleParameters(reserve=reserve))
        values = self.problem.values(coefficients)
        run.improve_along(coefficients, values, max(float(coefficients @ values), 0.0))
        outcome = replace(found.outcome, primal=run.primal, upper_bound=run.upper_bound)
        return self._better(found, self.judge(outcome, settings, in_place=True), settings)

    def _better(self, first: SolvedSVM, second: SolvedSVM, settings: SVMSettings) -> SolvedSVM:
        """The second answer, with what the first one has that proves more; the first if nothing of the second does."""
        before, after = first.certificate, second.certificate
        if after.upper_bound >= before.upper_bound and after.lower_bound <= before.lower_bound:
            return first
        outcome = second.outcome
        if before.lower_bound > after.lower_bound:
            outcome = replace(outcome, dual=first.outcome.dual, lower_bound=first.outcome.lower_bound)
        if before.upper_bound < after.upper_bound:
            outcome = replace(outcome, primal=first.outcome.primal, upper_bound=first.outcome.upper_bound)
        return second if outcome is second.outcome else self.judge(outcome, settings, in_place=True)

    def solve_path(
        self, settings: SVMSettings, costs: Sequence[float], violations: Sequence[FloatArray], title: str | None = None
    ) -> Iterator[tuple[int, int, PosedSVM, SolvedSVM]]:
        """Solve and certify for all pairs of violations and costs, this problem being that of a cost of 1."""
        if not isinstance(settings.solver, EllipsoidCuts):
            raise ValueError(
                f"a path needs solver='worst-points', not {settings.solver.name!r}: no other one has a use for what its "
                "neighbours found."
            )
        options = _options(settings, time.perf_counter(), title)
        places, posed, outcomes = list[tuple[int, int]](), list[PosedSVM](), list[ChanceOutcome]()
        for row, column, solved, outcome in solve_price_path(settings.solver, self.solved, costs, violations, options):
            problem = solved
            if self.solved is not self.problem:
                problem = replace(self.problem, costs=solved.costs, violation=solved.violation)
            places.append((row, column))
            posed.append(replace(self, problem=problem, solved=solved))
            outcomes.append(posed[-1].in_place(handed_over(outcome)))
        answers = [(own.solved, outcome.primal, outcome.dual) for own, outcome in zip(posed, outcomes, strict=True)]
        with blas_threads(1):
            certificates = certify_chance_svms(answers, settings.tolerance)
        planes = self.problem.values(np.stack([outcome.primal.coefficients for outcome in outcomes], axis=1)).T
        for place, own, outcome, certificate, values in zip(places, posed, outcomes, certificates, planes, strict=True):
            yield *place, own, SolvedSVM(outcome, certificate, settings.solver.name, values)

    def groups_of_rows(self, positions: RowArray, n_rows: int) -> RowArray:
        """For each of so many rows the place of its input, or -1; those of training stand at ``positions``."""
        of_row = np.full(n_rows, -1, dtype=np.int64)
        of_row[positions[self.inputs.order]] = np.repeat(np.arange(len(self.inputs.names)), self.inputs.sizes)
        return of_row

    def judge(self, outcome: ChanceOutcome, settings: SVMSettings, *, in_place: bool = False) -> SolvedSVM:
        """The certificate of an answer, which is one for the problem itself too; ``in_place`` if its plane is so already."""
        outcome = outcome if in_place and self.problem.kernel.centre is None else self.in_place(outcome)
        # Its products are narrow: starting a second thread for each takes longer, on a busy machine by far.
        with blas_threads(1):
            certificate = certify_chance_svm(**self.proof_arguments(outcome, settings))
        return SolvedSVM(outcome, certificate, settings.solver.name, self.problem.values(outcome.primal.coefficients))

    def proof_arguments(self, outcome: ChanceOutcome, settings: SVMSettings) -> dict[str, Any]:
        """What the certificate judges, by name; the plane is one of the problem itself already."""
        mix = outcome.dual
        if mix is not None and self.problem.means is not None:
            mix = with_directions(self.problem, mix)
        return {"problem": self.solved, "plane": outcome.primal, "mix": mix, "tolerance": settings.tolerance}

    def has_landmarks_of(self, support: RowArray, certificate: Certificate) -> bool:
        """Whether landmarks, if there are any, are those of a fit with these support rows and this certificate."""
        if not isinstance(self.solved.kernel, LandmarkKernel):
            return True
        places = self.order[self.solved.kernel.places]
        if support.size == places.size or not np.isin(support, places).all():
            return bool(np.isin(support, places).all())
        # Landmarks whose coefficient is 0 are no support rows: then the fingerprint knows.
        nothing = KernelPlane(np.zeros(self.solved.n_samples), 0.0)
        return certify_chance_svm(self.solved, nothing, None, 1.0).problem_digest == certificate.problem_digest

    def in_place(self, outcome: ChanceOutcome) -> ChanceOutcome:
        """The answer with a plane that has the same scores in the problem itself."""
        if isinstance(self.solved.kernel, LandmarkKernel):
            return replace(outcome, primal=self.solved.kernel.on_landmarks(self.solved, outcome.primal))
        return outcome if self.problem.kernel.centre is None else _balanced(outcome)


def _balanced(outcome: ChanceOutcome) -> ChanceOutcome:
    """The answer with a plane whose coefficients add up to 0, so that it is the same seen from any centre."""
    return replace(outcome, primal=replace(outcome.primal, coefficients=adding_up_to_0(outcome.primal.coefficients)))


def _options(settings: SVMSettings, started: float, title: str | None) -> SolveOptions:
    return SolveOptions(
        # The certificate counts rounding against the model; a pass of a solver closes much more than half of a gap.
        tolerance=0.5 * settings.tolerance,
        max_iter=settings.max_iter,
        time_limit=settings.time_limit,
        on_progress=None if title is None else progress_listener(title),
        started=started,
    )


def read_groups(groups: Any, n_rows: int, rows: TrainingRows, settings: SVMSettings) -> RowGroups | None:
    """The groups of the rows that count, or None if nobody named any."""
    if groups is None:
        if settings.confidence is not None:
            raise ValueError(
                "confidence needs groups: neither single rows nor clusters are independent samples of one input. Pass groups "
                "to fit, or confidence=None."
            )
        return None
    return read_row_groups(groups, n_rows).take(rows.positions)


def pose_rows(
    rows: TrainingRows,
    given: RowGroups | None,
    settings: SVMSettings,
    units: ColumnUnits | None = None,
    *,
    named: bool | None,
) -> PosedSVM:
    """The problem of rows, in given groups, in clusters or one by one; in the units of a fit, or in those of the settings.

    ``named`` says whether it was the user who named the groups; None for a model from before that made a difference, when every
    input cost C.

    Raises
    ------
    CertificateError
        If the units of a fit are not the standard ones of these rows.
    """
    block = raw = settings.block(rows.design, rows)
    if settings.has_units:
        units = _own_units(units, standard_units(raw, rows.weights), raw)
        block = units.standardized(raw)
    kernel = make_kernel(settings.kernel, settings.gamma, settings.degree, settings.coef0, block, rows.weights)
    groups = _own_groups(block, rows, settings) if given is None else given
    inputs = gather_inputs(groups, rows.labels, rows.classes, rows.weights)
    violation = read_violation(settings.violation, None if given is None else groups.names)
    order = inputs.order
    if np.array_equal(order, np.arange(order.size)):
        samples = np.ascontiguousarray(block)
    else:
        samples = block[np.ix_(order, order)] if settings.precomputed else block[order]
    with np.errstate(over="ignore", under="ignore"):
        prices = _prices(rows.counts[order], inputs.starts, named)
        costs = settings.cost * prices * _class_factors(settings, rows, order[inputs.starts[:-1]], inputs.labels, prices)
    _require_prices(costs, settings)
    borrowed = repeats = None
    if named and settings.borrows:
        repeats = Repeats.of(samples, inputs.starts, inputs.weights, rows.counts[order])
        borrowed = borrowed_samples(repeats, rows.counts[order], same=settings.covariance == "pooled")
    made = None if borrowed is None else borrowed[0]
    posed = _pose(samples, inputs, violation_of(violation, inputs.names), costs, kernel, settings, made=made)
    pool = None if borrowed is None else borrowed[1]
    return replace(posed, units=units, rows=raw if settings.has_units else None, pool=pool, repeats=repeats)


def _own_units(known: ColumnUnits | None, found: ColumnUnits, rows: FloatArray) -> ColumnUnits:
    """The units of a fit, to the last digit, if these are its rows; or those that were found."""
    if known is None:
        return found
    if not known.fit(found, rows):
        raise CertificateError(
            "these are not the rows of the proof, or not with its weights: the model has its columns in other units than "
            "theirs."
        )
    return known


def _class_factors(
    settings: SVMSettings, rows: TrainingRows, first: RowArray, labels: FloatArray, counts: FloatArray
) -> FloatArray:
    """By what the classes of inputs multiply their prices; ``first`` is a row of each."""
    if settings.row_prices is not None:
        return settings.row_prices[rows.positions[first]]
    return class_prices(settings.class_weight, rows.classes, (labels > 0).astype(np.intp), counts)


def _require_prices(costs: FloatArray, settings: SVMSettings) -> None:
    if not (costs.min() > 0 and np.isfinite(costs.sum())):
        weighted = "" if settings.class_weight is None else " times class_weight"
        raise ValueError(
            f"C times sample_weight{weighted} is no price of slack: it must be a finite number above 0 for every input."
        )


def _prices(counts: FloatArray, starts: RowArray, named: bool | None) -> FloatArray:
    """What the slack of each input costs at C = 1: all together as much as the rows would if each were an input."""
    if named is None:
        return np.ones(starts.size - 1)
    # Batches that nobody named stand for their rows; inputs that somebody did are as important as each other.
    if named:
        return np.full(starts.size - 1, counts.sum() / (starts.size - 1))
    return np.add.reduceat(counts, starts[:-1])


def pose_moments(rows: TrainingRows, covariances: Any, settings: SVMSettings, units: ColumnUnits | None = None) -> PosedSVM:
    """The problem of inputs that are known by their moments; in given units, or in those of the settings."""
    means = dense(rows.design.numeric)
    matrices = read_covariances(means, covariances)
    if settings.has_units:
        variances = np.diagonal(matrices, axis1=1, axis2=2)
        units = _own_units(units, standard_units(means, rows.weights, variances), np.vstack((means, np.sqrt(variances))))
        means, matrices = units.standardized(means), units.covariances(matrices)
    moments = moment_samples(means, matrices)
    names: tuple[Level, ...] = tuple(rows.positions.tolist())
    sizes = np.diff(moments.starts)
    inputs = UncertainInputs(
        names=names,
        labels=rows.labels,
        order=np.arange(len(moments.samples)),
        starts=moments.starts,
        weights=np.repeat(1.0 / sizes, sizes),
        equal_weights=True,
    )
    violation = violation_of(read_violation(settings.violation, names), names)
    with np.errstate(over="ignore", under="ignore"):
        every = np.arange(len(names))
        costs = settings.cost * _class_factors(settings, rows, every, rows.labels, np.ones(len(names)))
    _require_prices(costs, settings)
    posed = _pose(moments.samples, inputs, violation, costs, Kernel("linear"), settings, moments)
    return replace(posed, units=units)


def _pose(
    samples: FloatArray,
    inputs: UncertainInputs,
    violation: FloatArray,
    costs: FloatArray,
    kernel: Kernel,
    settings: SVMSettings,
    moments: MomentSamples | None = None,
    made: RepeatSamples | None = None,
) -> PosedSVM:
    radii = _radii(inputs, settings)
    starts, weights = inputs.starts, inputs.weights
    if made is not None:
        samples, starts, weights = made.samples, made.starts, made.weights
    problem = ChanceSVMProblem(
        samples=samples,
        starts=starts,
        labels=inputs.labels,
        costs=costs,
        violation=violation,
        kernel=kernel,
        weights=weights,
        # Checked and mended below.
        gram=samples if kernel.name == "precomputed" and settings.n_landmarks is None else None,
        mean_radius=None if radii is None else radii.mean,  # type: ignore[arg-type]
        covariance_radius=None if radii is None else radii.covariance,  # type: ignore[arg-type]
        means=None if moments is None else moments.means,
        covariances=None if moments is None else moments.covariances,
        widening=0.0 if moments is None else moments.widening,
        standardized=settings.has_units,
        borrowed=made is not None,
    )
    solved = on_landmarks(problem, settings.n_landmarks, settings.landmark_candidates)
    if solved is problem:
        # Combinations of landmarks need not add up to 0, so they would be other planes seen from a centre.
        problem = solved = mended(replace(problem, kernel=centred(kernel, samples)))
    return PosedSVM(problem, solved, inputs, radii, from_rows=moments is None)


def _radii(inputs: UncertainInputs, settings: SVMSettings) -> MomentRadii | None:
    if settings.confidence is None or settings.kernel_bound is None:
        return None
    if not inputs.equal_weights:
        raise ValueError("confidence needs rows of equal weight: it counts independent samples. Leave sample_weight out.")
    require_enough_samples(inputs, least_samples(settings.confidence), settings.confidence)
    return moment_radii(inputs.sizes, settings.confidence, settings.kernel_bound)


def _own_groups(block: FloatArray, rows: TrainingRows, settings: SVMSettings) -> RowGroups:
    """Where nobody named groups: every row on its own, or clusters."""
    if settings.batches in ("auto", "rows"):
        return RowGroups(tuple(range(len(block))), np.arange(len(block)), rows.positions)
    count = None if isinstance(settings.batches, str) else settings.batches
    points = kernel_coordinates(block, rows.labels) if settings.precomputed else block
    codes = class_clusters(points, rows.labels, rows.weights, count, settings.seed)
    names: Sequence[Level] = range(int(codes.max()) + 1)
    return RowGroups(tuple(names), codes, rows.positions)
