"""A chance-constrained SVM that is posed: how it is solved, judged, and seen in the units of its rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.certificate.certificate import certify_chance_svm, certify_chance_svms
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.chancesvm.inputs.borrowed_repeats import RepeatPool, Repeats
from surefoot.chancesvm.inputs.column_units import ColumnUnits
from surefoot.chancesvm.inputs.given_moments import with_directions
from surefoot.chancesvm.inputs.uncertain_inputs import (
    UncertainInputs,
)
from surefoot.chancesvm.problem.landmark_kernel import LandmarkKernel
from surefoot.chancesvm.problem.moment_radii import MomentRadii
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
from surefoot.exceptions import SolveInterrupted
from surefoot.sklearn_api.progress import progress_listener

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
