"""Score cards: the best small whole points, searched for and proven."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.core.certificate import Certificate, rounded_down
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.deciding_columns import warn_of_deciding_columns
from surefoot.design.encode.doubtful_columns import warn_of_doubtful_design
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.write.output_frame import frame_library
from surefoot.exceptions import ConvergenceLimitWarning, InfeasibleProblemError, SolveInterrupted
from surefoot.riskscore.automatic import AutomaticScore
from surefoot.riskscore.baselines.tangent_bound import TangentProof
from surefoot.riskscore.certificate.certificate import certify_risk_score
from surefoot.riskscore.estimator.card_limits import read_limits
from surefoot.riskscore.estimator.card_shift import score_shift
from surefoot.riskscore.estimator.group_rates import group_rates
from surefoot.riskscore.estimator.parameters import FIT_PARAMETERS
from surefoot.riskscore.estimator.posed_card import PosedCard, binary_columns, pose_card
from surefoot.riskscore.estimator.positive_class import is_first_class, warn_of_denied_class
from surefoot.riskscore.estimator.risk_score_model import REMEDIES, RiskScoreModel
from surefoot.riskscore.problem.problem import RiskScore
from surefoot.riskscore.registry import RiskScoreSolver, make_score_solver, require_score_acceptance
from surefoot.riskscore.search.exact_score import MOST_FEATURES, ExactScore, SearchTally
from surefoot.sklearn_api.number_table import dense, read_number_table
from surefoot.sklearn_api.parameter_checks import is_number
from surefoot.sklearn_api.progress import progress_listener
from surefoot.sklearn_api.proven_model import ProofParts
from surefoot.sklearn_api.training_rows import (
    TrainingRows,
    read_training_rows,
    refuse_groups,
    require_columns_of_training,
    require_same_classes,
)

# What a search believes beyond its certificate is told if it is more than this, over the objective: less is rounding.
BELIEVED = 1e-6


class RiskScoreClassifier(RiskScoreModel):
    """The score card with the least log loss among all cards with few, small, whole points.

    The card is the solution of ::

        min over a whole intercept b and whole points p of
            sum_i w_i log(1 + exp(-y_i s_i)) + sparsity_penalty * (number of columns with points),   s_i = b + p . x_i,

    with at most ``max_features`` columns, points up to ``max_points`` and an intercept up to ``intercept_bound`` in size, and
    all ``constraints`` obeyed. The predicted risk is 1 / (1 + exp(-s)): what the printed table says. With ``scale="free"`` the
    risk is 1 / (1 + exp(-s / m)), and the multiplier m > 0 is chosen together with the points.

    Parameters
    ----------
    max_features : int, default=5
        Most columns with points; None for no limit.
    max_points : int, default=5
        Largest points, up or down. Rules may speak of larger ones for single columns.
    intercept_bound : int, default=100
        Largest intercept, up or down.
    sparsity_penalty : float, default=1e-8
        Price of a column, in units of the loss. The default decides between cards of equal loss.
    constraints : list of rules from :mod:`surefoot.constraints`, default=()
    radius : float, default=0.0
        Above 0 the loss is the worst one over all shifts of the rows at a mean cost of up to ``radius`` per row, as in
        :class:`~surefoot.RobustLogisticRegression`: flipping a 0/1 column costs 1, moving another by one standard deviation 1.
    shift : ShiftModel, optional
        A shift model, or anything whose ``calibrate(X)`` returns ``numeric_weights`` and ``categorical_weights``
        (mappings by column name) and ``radius``, which then replace these prices; ``radius`` beside it is an error.
    solver : {"auto", "exact", "heuristic", "lcpa", "cpa", "rd", "rsrd", "seqrd", "rd*", "rsrd*", "seqrd*"}, default="auto"
        "auto" is "exact" wherever that will finish in the time given. "exact" is branch and bound over columns and points, and
        "heuristic" only what it begins with. "lcpa" and "cpa" are the published cutting-plane methods, which
        find the same optimum. The others are baselines without proof: penalised logistic regression, rounded, rescaled and
        rounded, or rounded one by one, and with a star polished. ``solver_`` names the one that "auto" has chosen.
    gap : float, default=0.0
        Relative gap between the objective of the card and a proven lower bound at which the search may stop. With 0 it goes on
        to the end; the certificate, which computes in doubles, then confirms a relative gap of 1e-9.
    time_limit : float, optional
        Most seconds to spend; the best card found by then is returned, with a bound that holds. What is left of them after
        the search is for recomputing its proof; a proof that takes longer can be checked later, by ``surefoot.verify``. A fit
        ends within a tenth of the limit and 0.1 s after it, and on large tables 0.2 s more for every million numbers: for
        reading the table, and the proof, once. If no card that obeys the rules was found by then, that is an error.
    near_optimal : float, optional
        Collect every card whose objective is at most (1 + near_optimal) times the best, in ``near_optimal_``; 0.01 for one
        percent. Needs the exact search, which then closes its gap entirely.
    verbose : int, default=0
        Above 0: lines with the best card's objective, the bound and their gap on standard error.
    n_jobs : int, optional
        Threads. None means 1 unless joblib's ``parallel_config`` says otherwise, -1 all cores. The card does not depend on it.
    class_weight : None, "balanced", or mapping from classes to weights, default=None
        Multiplies the weights of the rows; with "balanced" both classes weigh the same, sample weights counted.
    checkpoint : path, optional
        A file that keeps the state of a long search. If it is there, the search goes on from it; a file of other data or limits
        is refused.
    random_state : object, optional
        The card does not depend on chance; accepted because other estimators take it.
    pos_label : object, optional
        The class whose risk the card gives. None means the second in sorted order, scikit-learn's rule: of "CHD" and "no CHD"
        that would be "no CHD", and such a pair is warned of.
    scale : {"unit", "free"}, default="unit"
        Whether a point stands for one unit of log odds, or for as many as fit best, the same for all points. Points of unit
        scale are fixed by the log odds they stand for, so few of them fit a weak effect; at a free scale small points have fine
        steps. Rules about risks, ``radius`` and ``shift`` go with either scale. A free scale goes with the exact search and the
        heuristic.

    Attributes
    ----------
    points_ : dict
        Points by column, for the columns that have any, in the order of the table.
    intercept_ : int
    multiplier_ : float
        Points per unit of log odds: 1.0 unless ``scale="free"``, then from ``max_points / 5``, or 1 if that is less, to 20.
    coef_ : ndarray of shape (1, n_features)
        The points of all columns, for the risk of ``pos_label_``.
    classes_ : ndarray of shape (2,)
        In sorted order.
    pos_label_ : object
        The class whose risk the card gives.
    certificate_ : Certificate
        Objective of the card, a lower bound for all cards that obey the rules, and whether they agree to ``gap`` or 1e-9;
        recomputed from the raw data, claim by claim, by code that knows no solver. Cards of solvers other than the exact
        search come with weaker bounds.
    outcome_ : SolveOutcome
        How the search went: status, bounds, history. After Ctrl-C the model keeps the best card found until then.
    near_optimal_ : NearOptimalSet or None
        With ``near_optimal``, all cards near the best: iterate over it, or call its ``table()``.
    solver_ : str
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the table had names.
    schema_ : Schema

    Raises
    ------
    InvalidTableError
        If the table, labels or sample weights cannot be used; the message names column, row and value.
    InfeasibleProblemError
        If no card obeys the rules; the message names a smallest set of rules that contradict each other.

    Warns
    -----
    ConvergenceLimitWarning
        If a limit ended the search, or the solver proves nothing; the card is there, with a bound that holds.
    DoubtfulColumnWarning
        If columns are most likely identifiers; it names them and what to do.

    Notes
    -----
    The problem is that of Ustun and Rudin, "Learning Optimized Risk Scores" (JMLR 2019). The free scale is that of Liu, Zhong,
    Li, Seltzer and Rudin, "FasterRisk" (NeurIPS 2022), who look for good cards of this form; here the best one is found.

    Examples
    --------
    >>> import surefoot as sf
    >>> answers = [[1, 0], [1, 1], [0, 1], [0, 0], [1, 1], [0, 0], [1, 0], [0, 1]]
    >>> ill = ["yes", "yes", "no", "no", "yes", "no", "no", "no"]
    >>> model = sf.RiskScoreClassifier(max_features=1).fit(answers, ill)
    >>> model.points_, model.intercept_
    ({'x0': 5}, -4)
    >>> model.certificate_.verified
    True
    """

    def __init__(
        self,
        *,
        max_features: int | None = 5,
        max_points: int = 5,
        intercept_bound: int = 100,
        sparsity_penalty: float = 1e-8,
        constraints: Any = (),
        radius: float = 0.0,
        shift: Any = None,
        solver: str = "auto",
        gap: float = 0.0,
        time_limit: float | None = None,
        near_optimal: float | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        class_weight: Any = None,
        checkpoint: str | Path | None = None,
        scale: str = "unit",
        pos_label: Any = None,
    ) -> None:
        self.max_features = max_features
        self.max_points = max_points
        self.intercept_bound = intercept_bound
        self.sparsity_penalty = sparsity_penalty
        self.constraints = constraints
        self.radius = radius
        self.shift = shift
        self.solver = solver
        self.gap = gap
        self.time_limit = time_limit
        self.near_optimal = near_optimal
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.class_weight = class_weight
        self.checkpoint = checkpoint
        self.scale = scale
        self.pos_label = pos_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the best card and certify it.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix
            Numbers; columns of 0 and 1 are searched fastest and read best. Yes/no columns count as 1 and 0.
        y : array-like of shape (n_rows,)
            Labels: any two values.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts. Rows of weight 0 do not count at all.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        read_limits(self)
        solver = self._named_solver()
        if self.shift is not None and self.radius != 0:
            raise ValueError(
                f"radius = {self.radius!r:.80} beside shift would count for nothing: a shift model names the radius. Leave one "
                "of the two out."
            )
        rows, posed = self._pose(X, y, sample_weight)
        warn_of_doubtful_design(f"{type(self).__name__}.fit", rows.design)
        warn_of_deciding_columns(f"{type(self).__name__}.fit", rows.design, rows.labels)
        block = posed.problem.columns
        if self.pos_label is None:
            warn_of_denied_class(rows.classes, f"{type(self).__name__}.fit")
        require_score_acceptance(solver, posed.problem)
        try:
            outcome = self._solve(solver, posed, started)
        except SolveInterrupted as stop:
            # The program goes on as after any Ctrl-C, but the best card until then is not lost.
            if isinstance(stop.outcome, SolveOutcome):
                certificate = self._certify(posed, stop.outcome)
                self._unpack(
                    rows,
                    block,
                    stop.outcome,
                    certificate,
                    solver.name,
                    frame_library(X),
                    **self._told(rows, posed, stop.outcome),
                )
            raise
        left = math.inf if self.time_limit is None else max(float(self.time_limit) - (time.perf_counter() - started), 0.0)
        try:
            certificate = self._certify(posed, outcome, left)
        except KeyboardInterrupt:
            # The card is there; its certificate then says that its proof was not recomputed.
            self._unpack(
                rows,
                block,
                outcome,
                self._certify(posed, outcome, 0.0),
                solver.name,
                frame_library(X),
                **self._told(rows, posed, outcome),
            )
            raise
        self._unpack(rows, block, outcome, certificate, solver.name, frame_library(X), **self._told(rows, posed, outcome))
        if outcome.status is not Status.OPTIMAL or not certificate.verified:
            refused = ExactScore().refuses(posed.problem) is not None
            _warn_of_gap(outcome, certificate, f"{type(self).__name__}.fit", searchable=not refused)
        return self

    def _pose(self, X: Any, y: Any, sample_weight: Any) -> tuple[TrainingRows, PosedCard]:
        """The rows that count and the problem that they pose, for a fit and for every check of its proof."""
        rows = read_training_rows(TableEncoder(categorical_features=None), read_number_table(X, REMEDIES), y, sample_weight)
        block, weights = dense(rows.design.numeric), self._class_weighted(rows)
        labels = -rows.labels if self._turns(rows.classes) else rows.labels
        shift = score_shift(rows.design, weights, binary_columns(block), radius=self.radius, model=self.shift, table=X)
        schema = rows.design.schema
        return rows, pose_card(block, schema, labels, weights, self.constraints, read_limits(self), shift)

    def _proof_parts(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ProofParts:
        refuse_groups(groups)
        require_columns_of_training(self, X)
        rows, posed = self._pose(X, y, sample_weight)
        require_same_classes(self, rows)
        outcome = replace(self.outcome_, primal=self._answer())

        def judge() -> Certificate:
            found = self._certify(posed, outcome)
            if found.problem_digest == self.certificate_.problem_digest:  # of other rows the printed card says nothing
                self._require_printed_rows(posed.problem.columns)
                self._require_told_rates(group_rates(posed.problem, outcome.primal, rows.design.schema.names))
            return found

        return ProofParts("riskscore", self._proof_arguments(posed, outcome), judge)

    def _named_solver(self) -> RiskScoreSolver:
        if not isinstance(self.solver, str):
            raise ValueError(f"solver = {self.solver!r} must be the name of a solver, such as 'auto'.")
        solver = make_score_solver(self.solver)
        near = self.near_optimal
        if near is not None and not (is_number(near) and 0 <= near < math.inf):
            raise ValueError(f"near_optimal = {near!r} must be None or a finite number at or above 0.")
        for name in ("near_optimal", "checkpoint"):
            if getattr(self, name) is not None and self.solver not in ("auto", "exact"):
                raise ValueError(f"{name} needs solver='exact' or 'auto': {self.solver!r} does not go through all cards.")
        if near is None and self.checkpoint is None and not isinstance(solver, ExactScore):
            return (
                AutomaticScore(proof_limit=FIT_PARAMETERS.most_proof_numbers) if isinstance(solver, AutomaticScore) else solver
            )
        return ExactScore(
            near_optimal=None if near is None else float(near),
            proof_limit=FIT_PARAMETERS.most_proof_numbers,
            checkpoint=self.checkpoint,
        )

    def _turns(self, classes: AnyArray) -> bool:
        """Whether the card gives the risk of the first class in sorted order."""
        return self.pos_label is not None and is_first_class(self.pos_label, classes)

    def _told(self, rows: TrainingRows, posed: PosedCard, outcome: SolveOutcome[RiskScore, Any]) -> dict[str, Any]:
        """What the fitted model tells beside its card: whose risk it is, and rates of groups."""
        rates = group_rates(posed.problem, outcome.primal, rows.design.schema.names)
        return {"turned": self._turns(rows.classes), "rates": rates}

    def _class_weighted(self, rows: TrainingRows) -> FloatArray:
        if self.class_weight is None:
            return rows.weights
        labels = rows.classes[(rows.labels > 0).astype(np.intp)]
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            # Balanced are the weights of the classes and not the numbers of their rows: a weight of 2 stands for two rows.
            of_class = np.where(rows.labels > 0, *(float(rows.weights[rows.labels == sign].sum()) for sign in (1.0, -1.0)))
            factors = 0.5 / of_class
        else:
            factors = compute_sample_weight(self.class_weight, labels)
        weights: FloatArray = rows.weights * factors
        if not (np.all(np.isfinite(weights)) and np.all(weights >= 0) and weights.sum() > 0):
            raise ValueError(f"class_weight = {self.class_weight!r} must hold finite weights at or above 0, and not only 0.")
        scaled: FloatArray = weights / weights.sum()
        return scaled

    def _solve(self, solver: RiskScoreSolver, posed: PosedCard, started: float) -> SolveOutcome[RiskScore, Any]:
        limit = None if self.time_limit is None else float(self.time_limit)
        title = f"{type(self).__name__}, up to {posed.problem.max_features} of {posed.problem.n_columns} columns"
        options = SolveOptions(
            tolerance=FIT_PARAMETERS.search_gap(float(self.gap)),
            time_limit=None if limit is None else FIT_PARAMETERS.search_limit(limit, posed.problem.columns.size),
            n_threads=joblib.effective_n_jobs(self.n_jobs),
            on_progress=progress_listener(title) if self.verbose else None,
            started=started,
        )
        posed.require_consistent(options.seconds_left)
        try:
            return solver.solve(posed.problem, options)
        except InfeasibleProblemError as error:
            posed.explain(options.seconds_left)
            rules = "".join(f"\n- {rule!r}" for rule in posed.constraints)
            raise InfeasibleProblemError(f"{error} The rules are:{rules}") from error

    def _certify(self, posed: PosedCard, outcome: SolveOutcome[RiskScore, Any], max_seconds: float = math.inf) -> Certificate:
        # The bounds rest on NumPy's matrix products, whose threads know nothing of n_jobs and fight over shared machines.
        with threadpool_limits(limits=joblib.effective_n_jobs(self.n_jobs), user_api="blas"):
            return certify_risk_score(**self._proof_arguments(posed, outcome), max_seconds=max_seconds)

    def _proof_arguments(self, posed: PosedCard, outcome: SolveOutcome[RiskScore, Any]) -> dict[str, Any]:
        """What the certificate judges, by name."""
        proof = getattr(outcome.dual, "proof", None)
        # Beside a proof that no time is left for, or that is too long to be kept, a point proves something in a moment.
        tangent = outcome.dual.point if isinstance(outcome.dual, TangentProof) else getattr(outcome.dual, "relaxed_point", None)
        if proof is None and tangent is None:
            # The card's own coefficients prove little, but something.
            tangent = np.append(outcome.primal.intercept, outcome.primal.points) / outcome.primal.multiplier
        return {
            "problem": posed.problem,
            "card": outcome.primal,
            "proof": proof,
            "tolerance": max(float(self.gap), FIT_PARAMETERS.proven_gap),
            "tangent": tangent,
            "price": posed.problem.price(outcome.primal),
        }


def _warn_of_gap(outcome: SolveOutcome[RiskScore, Any], certificate: Certificate, where: str, *, searchable: bool) -> None:
    """Warn once that a card is not proven best: what is proven, what the solver only believes, and what to do about it."""
    dual: Any = outcome.dual
    stopped = outcome.status is not Status.OPTIMAL
    found = "took its card for the best, but the certificate does not confirm it."
    if outcome.status is Status.STALLED:
        found = "has a card, and does not know whether it is the best."
    elif stopped:
        found = f"stopped before its gap was closed ({outcome.status.value})."
    believed = ""
    if stopped and outcome.lower_bound > certificate.lower_bound + BELIEVED * abs(certificate.upper_bound):
        believed = f" The search itself had reached a bound of {rounded_down(outcome.lower_bound, 9)}, which has no proof."
    unproven = not isinstance(dual, SearchTally) or dual.supports_fitted == 0
    if outcome.status is Status.STALLED or (unproven and not stopped):
        exact = "solver='exact' does" if searchable else f"the exact search does, with max_features up to {MOST_FEATURES}"
        advice = f" This solver leaves no proof; {exact}."
    elif stopped:
        fewer = "" if searchable else f" up to {MOST_FEATURES}, which the exact search handles"
        advice = f" Allow more with time_limit, or ask for less with gap or max_features{fewer}."
    elif dual.proof is None:
        most = FIT_PARAMETERS.most_proof_numbers
        advice = (
            f" Its proof was not kept: time_limit came before it was written down, or it has more than {most:,} numbers. Allow "
            "more with time_limit, or ask for less with gap or max_features."
        )
    else:
        more = "without a time limit, and with arithmetic='ball' to more digits"
        advice = "" if certificate.witness is None else f" surefoot.verify recomputes the whole proof, {more}."
    warnings.warn(f"{where} {found} {certificate.claim}{believed}{advice}", ConvergenceLimitWarning, stacklevel=3)
