"""The scikit-learn face of inverse optimization."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import FloatArray
from surefoot.core.outcome import SolveOutcome
from surefoot.core.solve_options import SolveOptions
from surefoot.design.read.observation_rows import rows_of
from surefoot.exceptions import (
    ForwardSolveError,
    InconsistentDataError,
    InvalidObservationError,
    UnsupportedProblemError,
)
from surefoot.inverse.certificate.certificate import problem_digest
from surefoot.inverse.estimator.cost_fit import begin_online, observe_all, require_members
from surefoot.inverse.estimator.fit_warnings import unit_advice, warn_of_fit
from surefoot.inverse.estimator.judged_cost import CERTIFY, certified, proof_arguments
from surefoot.inverse.estimator.posed_distance import posed_distance
from surefoot.inverse.estimator.proven_fit import proof_seconds, proven_fit
from surefoot.inverse.forward.models.called_model import as_forward
from surefoot.inverse.forward.programs import ForwardProblem
from surefoot.inverse.measures.decision_scores import decision_measure
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.problem.approaches import APPROACHES
from surefoot.inverse.problem.decision_set import LinearSet
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.problem import Example, InverseProblem, Regularizer
from surefoot.inverse.problem.ray_proof import RayProof
from surefoot.inverse.registry import SOLVERS
from surefoot.sklearn_api.finite_model import require_finite_model
from surefoot.sklearn_api.parameter_checks import require_gap
from surefoot.sklearn_api.progress import progress_listener
from surefoot.sklearn_api.proven_model import ProofParts, ProvenModel
from surefoot.sklearn_api.training_rows import refuse_groups

# Approaches to which a cost that is no cost, such as x1 x2 - x2 x1, would be an answer.
UNREGULARIZED = ("feasibility", "suboptimality", "predictability", "circumcenter", "ellipsoidal-circumcenter")


class InverseOptimizer(ProvenModel, BaseEstimator):
    """Learn the cost behind observed decisions.

    Minimises kappa R(theta) + (1/N) sum_i loss_i(theta) over cost vectors theta; see :mod:`surefoot.inverse.problem.problem`.

    Parameters
    ----------
    forward : ForwardProblem or object
        What is decided at a signal: one of :mod:`surefoot.inverse.forward`, or an object of your own with
        ``solve(cost, signal)``. Such a solver is checked as far as the observed decisions allow: its decision must never be
        worse than the observed one, and it must react to the cost.
    approach : str, default="asl"
        What a cost is to achieve:

        - "asl": least augmented suboptimality loss; without ``kappa``, on data that some cost explains, the incenter
        - "suboptimality": least suboptimality among costs of one norm: 1, or less where a prior set has narrower bounds
        - "predictability": decisions nearest to the observed ones, among the same costs; NP-hard, for few observations
        - "ellipsoidal-asl": least augmented suboptimality loss with an ellipsoid of costs; needs ``kappa``
        - "feasibility": any cost that explains all observations
        - "incenter": the consistent cost farthest from the boundary of the cone of consistent costs
        - "circumcenter": the one whose angle to all others is least
        - "ellipsoidal-incenter", "ellipsoidal-circumcenter": the same with ellipsoids
        - "cutting-plane": the one nearest to ``center`` (equal costs by default) in the l1 norm; if there is none, as
          "suboptimality"

        The approaches from "feasibility" to "ellipsoidal-circumcenter" raise ``InconsistentDataError`` where no cost of the
        prior set but 0 explains all observations; "incenter" also where bounds leave no cost that prices the other decisions
        higher by their distance. Ellipsoids (but for the circumcenter), and predictability where no cost explains all
        observations, need decisions that can be listed: alternatives, at most 16 unknowns that are all 0/1, or as few other
        whole ones. The circumcenter is proven where the consistent costs have few extreme rays; otherwise, without negative
        costs, it is that of the rays a search found, and the certificate says so. Quadratic costs have neither circumcenters
        nor ellipsoids, and an incenter by the distance of whole unknowns alone.
    features : callable, optional
        ``features(signal, decision)`` returns the vector that the cost vector prices; the decision itself by default.
    distance : str, pair of str, or callable, default="auto"
        Distance of a decision from the observed one: "l1", "l2", "linf", "squared-l2", "zero-one" or "none". Continuous
        unknowns are measured by "linf"; a pair (continuous, integer) can leave them out: ("none", "l2"). "features" is the
        Euclidean distance of their features, a callable ``distance(signal, observed, decision)`` what it returns, 0 for the
        observed decision itself; both need alternatives, at most 16 unknowns that are all 0/1, or as few other whole ones
        ("features" also takes your own solver with ``augmented``). Whole unknowns beyond 0 and 1 need to be as few for names
        but "linf" and "none". "auto" means "l2", but for an incenter with ``features`` and without continuous unknowns
        "features", which is the incenter of Definition 3.3 of the paper.
    regularizer : {"l2", "l1"}, default="l2"
    center : array, optional
        What the regularizer measures from; 0 by default.
    kappa : float, default=0.0
    prior : None, "nonnegative", "simplex", pair of bounds, or dict, default=None
        The set of cost vectors; a dict with "A" and "b" means A theta <= b. Without a distance only directions matter: of a set
        that holds 0 all of them are searched, by costs whose largest entry, without its sign, is 1, or, where bounds or rows do
        not leave that to all of them, a smaller power of 2 that they do. The claim names it.
    infeasible : {"error", "clamp"}, default="error"
        What to do about responses that are no decisions: refuse them, or let losses below 0 count as 0.
    solver : {"auto", "exact", "samd"}, default="auto"
        "exact" (which "auto" means) generates decisions until the gap is closed; "samd" is stochastic approximate mirror
        descent, for more observations than that can take. The parameters from ``update`` to ``random_state`` are its switches.
    tol : float, default=1e-6
        Relative gap at which a solve ends.
    max_iter : int, optional
        With "samd" the number of steps; by default as many as make 100 passes over the observations.
    time_limit : float, optional
        Seconds from the call of ``fit``, after which it ends, whatever the approach and the forward problem. The search leaves
        a tenth of them to the proofs of losses. A call of your own solver that is under way, reading the observations, and the
        check of the certificate are not cut short: for 300 choices among 40 offers these two took 0.2 s, and 0.5 s of
        approaches that prove one facet of the costs after the other ("suboptimality", "feasibility").
    verbose : int, default=0
        Whether to write progress to standard error.
    update : {"auto", "euclidean", "exponentiated"}, default="auto"
        "exponentiated" multiplies costs, for costs without signs, or of a bounded sum; "auto" means so on a simplex.
    batch_size : int or None, default=1
        Observations per step, drawn at random; None takes all of them.
    sampling : {"passes", "uniform"}, default="passes"
        Whether each observation is drawn once before any is drawn again, or each step draws among all of them.
    oracle_time_limit : float, optional
        Seconds for one forward problem in a step, whose best decision until then is taken; by default it is solved to the end.
    step : {"auto", "adaptive", "normalized", "sqrt", "strong", "constant"} or callable, default="auto"
        See :mod:`surefoot.inverse.mirror.mirror_run`; a callable is given t = 1, 2, ... and returns the size of the step.
    step_scale : float, default=1.0
    average : {"auto", "last", "uniform", "linear"}, default="auto"
        Which of the costs met is returned, or how they are averaged.
    cost_bound : float, optional
        Bound on the sum of absolute values of the cost, for "exponentiated"; by default one that ``kappa`` implies.
    start : array, optional
        Where to begin.
    random_state : int, numpy.random.Generator or None, default=None
    metric : {"decision error", "unpredicted share"} or callable, default="decision error"
        What :meth:`score` is the negative of: the mean Euclidean distance between observed and predicted decisions, the share
        of decisions that are not predicted, which does not depend on units, or the mean of ``metric(observed, predicted)``.

    Attributes
    ----------
    cost_ : ndarray
        The cost vector.
    certificate_ : Certificate
        Not after ``partial_fit``.
    outcome_ : SolveOutcome
    regret_ : float
        After ``partial_fit``: an upper bound on the objectives incurred beyond those of the best fixed cost in hindsight,
        summed over all observations so far.
    paid_ : float
        After ``partial_fit``: the sum of objectives incurred, each before its observation was learned from.
    n_seen_ : int
        After ``partial_fit``: observations so far.

    Examples
    --------
    Someone buys at least three of four goods each week, the cheapest ones in their eyes; what they think the goods cost:

    >>> import numpy as np
    >>> import surefoot as sf
    >>> three = (-np.ones((1, 4)), np.array([-3.0]))
    >>> no_tea = (np.array([[1.0, 0, 0, 0], [-1, -1, -1, -1]]), np.array([0.0, -2.0]))
    >>> bought = [[1, 1, 1, 0], [0, 1, 1, 0]]
    >>> model = sf.inverse.InverseOptimizer(sf.inverse.forward.BinaryProgram(), approach="incenter")
    >>> model.fit([three, no_tea], bought).certificate_.verified
    True
    >>> model.predict([(-np.ones((1, 4)), np.array([-2.0]))])[0].tolist()
    [1.0, 1.0, 1.0, 0.0]
    """

    later_parameters: ClassVar[Mapping[str, Any]] = {"metric": "decision error"}

    def __init__(
        self,
        forward: ForwardProblem,
        *,
        approach: str = "asl",
        features: Callable[[Any, FloatArray], Any] | None = None,
        distance: Any = "auto",
        regularizer: str = "l2",
        center: Any = None,
        kappa: float = 0.0,
        prior: Any = None,
        infeasible: str = "error",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
        update: str = "auto",
        batch_size: int | None = 1,
        sampling: str = "passes",
        oracle_time_limit: float | None = None,
        step: str | Callable[[int], float] = "auto",
        step_scale: float = 1.0,
        average: str = "auto",
        cost_bound: float | None = None,
        start: Any = None,
        random_state: Any = None,
        metric: str | Callable[[FloatArray, FloatArray], float] = "decision error",
    ) -> None:
        self.forward = forward
        self.approach = approach
        self.features = features
        self.distance = distance
        self.regularizer = regularizer
        self.center = center
        self.kappa = kappa
        self.prior = prior
        self.infeasible = infeasible
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.verbose = verbose
        self.update = update
        self.batch_size = batch_size
        self.sampling = sampling
        self.oracle_time_limit = oracle_time_limit
        self.step = step
        self.step_scale = step_scale
        self.average = average
        self.cost_bound = cost_bound
        self.start = start
        self.random_state = random_state
        self.metric = metric

    def fit(self, signals: Sequence[Any], responses: Sequence[Any]) -> InverseOptimizer:
        """Learn the cost from signals and what was decided at them; either may be a data frame, with a row for each."""
        SOLVERS.require_known(self.solver)
        require_gap(self.tol)
        started = time.perf_counter()
        problem = self._pose(signals, responses)
        listener = progress_listener(f"inverse optimizer, {len(signals)} observations") if self.verbose else None
        options = SolveOptions(
            tolerance=self.tol, max_iter=self.max_iter, time_limit=self.time_limit, on_progress=listener, started=started
        )
        separation = Separation()
        try:
            problem, outcome, cost, certificate = proven_fit(self, separation, problem, options)
        except InconsistentDataError as flaw:
            if isinstance(flaw.problem, InverseProblem) and isinstance(flaw.outcome, SolveOutcome):
                tried = flaw.outcome
                flaw.certificate = certified(flaw.problem, tried.primal, tried.dual, self.tol, proof_seconds(self, options))
                if not flaw.certificate.lower_bound > 0:
                    unproven = (
                        "no cost vector was found that explains all observations, and it is not proven that there is none. "
                        + unit_advice(flaw.problem)
                    )
                    raise InconsistentDataError(unproven.strip(), flaw.problem, tried) from flaw
            raise
        except ForwardSolveError as flaw:
            if isinstance(flaw.outcome, SolveOutcome):
                # What was found until then stays, without anything that an earlier fit has left.
                self._forget_fit()
                self.outcome_, self.cost_ = flaw.outcome, np.array(flaw.outcome.primal, dtype=np.float64)
            raise
        require_finite_model("InverseOptimizer.fit", cost)
        self._forget_fit()
        self.cost_, self.certificate_, self.outcome_, self.n_iter_ = cost, certificate, outcome, outcome.iterations
        self._seal_proof()
        warn_of_fit(self, problem, separation, options)
        return self

    def partial_fit(self, signals: Sequence[Any], responses: Sequence[Any]) -> InverseOptimizer:
        """Learn online, by one step of mirror descent per observation, in the order given; calls go on from each other.

        Each observation is evaluated at the cost known before it: ``regret_`` is what that adds to the best fixed cost vector.
        After ``fit`` the learned cost is where the steps begin.
        """
        problem = self._pose(signals, responses)
        online = getattr(self, "_online", None)
        if online is None:
            online = begin_online(self, problem, getattr(self, "cost_", None))
            self._forget_fit()
            self._online = online
        try:
            observe_all(online, problem.examples)
        finally:
            self.cost_, self.n_seen_ = online.answer, online.n_seen
            self.paid_, self.regret_ = online.incurred, online.regret
        return self

    def predict(self, signals: Sequence[Any]) -> list[FloatArray]:
        """What would be decided at signals, with the learned cost."""
        check_is_fitted(self)
        oracle = ForwardOracle()
        found = []
        forward = as_forward(self.forward)
        for index, signal in enumerate(rows_of(signals)):
            instance = forward.instance(index, signal, self.features)
            if instance.features.n_features != self.cost_.size:
                raise InvalidObservationError(
                    f"observation {index}: features have {instance.features.n_features} entries, but the learned cost prices "
                    f"{self.cost_.size}."
                )
            found.append(oracle.decide(instance, self.cost_).point)
        return found

    def score(self, signals: Sequence[Any], responses: Sequence[Any]) -> float:
        """The negative mean of ``metric`` between responses and what :meth:`predict` decides; 0 is best.

        Parameters
        ----------
        signals, responses
            As for :meth:`fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        measure = decision_measure(self.metric)
        signals, responses = observed_pairs(signals, responses)
        forward = as_forward(self.forward)
        pairs = enumerate(zip(signals, responses, strict=True))
        observed = [forward.example(i, signal, response, self.features).response for i, (signal, response) in pairs]
        return -float(np.mean([measure(*pair) for pair in zip(observed, self.predict(signals), strict=True)]))

    def _forget_fit(self) -> None:
        """Nothing that an earlier fit has left is to stand beside the numbers of this one."""
        names = ("cost_", "certificate_", "outcome_", "n_iter_", "n_seen_", "paid_", "regret_", "_online")
        for name in (*names, "_proof_seal", "_parameter_marks"):
            self.__dict__.pop(name, None)

    def _proven_numbers(self) -> Mapping[str, Any]:
        # The ellipsoid around a cost is part of the answer, and stands in the outcome alone.
        primal = self.outcome_.primal
        return {"cost_": self.cost_, "shape": getattr(primal, "shape", None) if hasattr(primal, "theta") else None}

    def _proof_parts(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ProofParts:
        refuse_groups(groups)
        if sample_weight is not None:
            raise ValueError("observations of an InverseOptimizer have no weights.")
        if y is None:
            raise ValueError("an InverseOptimizer is verified from signals and responses, and there are no responses.")
        problem, approach = self._pose(X, y), APPROACHES[self.approach]
        tasks = [approach.pose(problem)]
        if approach.otherwise is not None:
            tasks.append(APPROACHES[approach.otherwise].pose(replace(problem, kappa=0.0)))
        witness = self.outcome_.dual
        known = () if isinstance(getattr(witness, "bound", None), RayProof) else getattr(witness, "losses", ())
        if known and len(known) != problem.n_examples:
            raise InvalidObservationError(f"there are {problem.n_examples} of them, and the proof is about {len(known)}.")
        given = self.outcome_.primal
        answer = replace(given, theta=self.cost_) if isinstance(given, EllipsoidalCost) else self.cost_
        outcome = replace(self.outcome_, primal=answer)

        # Where no cost explains all observations the fit has gone over to another problem; the digest says so.
        task = next((each for each in tasks if problem_digest(each) == self.certificate_.problem_digest), tasks[-1])
        kind, arguments = proof_arguments(self.approach, task, outcome, self.tol)
        return ProofParts(kind, arguments, lambda: CERTIFY[kind](**arguments))

    def _pose(self, signals: Sequence[Any], responses: Sequence[Any]) -> InverseProblem:
        if self.approach not in APPROACHES:
            raise ValueError(f"approach={self.approach!r} is not known. Choose one of {', '.join(map(repr, APPROACHES))}.")
        if self.infeasible not in ("error", "clamp"):
            raise ValueError(f"infeasible={self.infeasible!r} must be 'error' or 'clamp'.")
        examples = self._examples(signals, responses)
        p = examples[0].instance.features.n_features
        examples, distance = posed_distance(examples, signals, self.distance, self.approach, self.features)
        center = np.zeros(p) if self.center is None else np.asarray(self.center, dtype=np.float64).ravel()
        if center.size != p or not np.isfinite(center).all():
            raise ValueError(f"center has {center.size} entries, or some that are not finite; features have {p}.")
        quadratic: Any = examples[0].instance.features
        # Over an ellipsoid costs need not be convex.
        learned = isinstance(quadratic, QuadraticFeatures) and isinstance(examples[0].instance.decisions, LinearSet)
        curved = learned or (isinstance(quadratic, QuadraticFeatures) and quadratic.n_continuous > 1)
        if curved and ("circumcenter" in self.approach or (learned and self.approach.startswith("ellipsoidal"))):
            raise UnsupportedProblemError(
                f"approach={self.approach!r} does not learn quadratic costs, whose consistent cones have curved sides; choose "
                "'asl', 'suboptimality', 'feasibility', 'cutting-plane', 'incenter', or, if a cost explains everything, "
                "'predictability'."
            )
        prior = PriorSet.of(self.prior, p, quadratic.n_continuous if learned else 0)
        require_members(prior)
        if isinstance(quadratic, QuadraticFeatures) and not learned and self.approach in UNREGULARIZED:
            prior = prior.symmetric(quadratic.n_continuous)
        clamp = self.infeasible == "clamp"
        return InverseProblem(examples, distance, Regularizer(self.regularizer, center), float(self.kappa), prior, clamp)  # type: ignore[arg-type]

    def _examples(self, signals: Sequence[Any], responses: Sequence[Any]) -> tuple[Example, ...]:
        signals, responses = observed_pairs(signals, responses)
        pairs = enumerate(zip(signals, responses, strict=True))
        forward = as_forward(self.forward)
        examples = tuple(forward.example(i, signal, response, self.features) for i, (signal, response) in pairs)
        if not any(_varies(example) for example in examples):
            raise InvalidObservationError(
                "features are 0, or the same for all decisions, in every observation: no cost vector can tell decisions apart."
            )
        for example in examples:
            if example.instance.features.n_features != examples[0].instance.features.n_features:
                raise InvalidObservationError(
                    f"observation {example.index}: features have {example.instance.features.n_features} entries, those of "
                    f"observation 0 have {examples[0].instance.features.n_features}."
                )
            if not example.inside and self.infeasible != "clamp":
                raise InvalidObservationError(
                    f"observation {example.index}: the response is no decision of this signal. infeasible='clamp' keeps such "
                    "observations and counts losses below 0 as 0."
                )
        return examples


def observed_pairs(signals: Sequence[Any], responses: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Both one by one, also from tables; an error unless there are observations, each with a response."""
    signals, responses = rows_of(signals), rows_of(responses)
    if len(signals) != len(responses):
        raise InvalidObservationError(f"there are {len(signals)} signals, but {len(responses)} responses.")
    if len(signals) == 0:
        raise InvalidObservationError("there are no observations.")
    return signals, responses


def _varies(example: Example) -> bool:
    """Whether features can differ between decisions, as far as their arrays tell."""
    features = example.instance.features
    return not isinstance(features, LinearFeatures) or bool(np.any(features.matrix))
