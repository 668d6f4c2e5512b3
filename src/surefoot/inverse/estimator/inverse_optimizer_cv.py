"""An inverse optimizer whose kappa, distance and regularizer are chosen by decisions that were held out."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome
from surefoot.core.solve_options import SolveOptions
from surefoot.design.encode.row_groups import read_row_groups
from surefoot.exceptions import ConvergenceLimitWarning, InvalidObservationError
from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer
from surefoot.inverse.estimator.proven_fit import proven_fit
from surefoot.inverse.forward.programs import ForwardProblem
from surefoot.inverse.measures.decision_scores import decision_measure
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.problem import InverseProblem, Regularizer
from surefoot.sklearn_api.left_out_groups import left_out_whole
from surefoot.sklearn_api.parameter_checks import is_number, require_gap
from surefoot.sklearn_api.path_choice import chosen_point, require_select, warn_of_edge

# Costs that are only scored need not be better than this: whether they decide alike does not show in further digits.
FOLD_TOLERANCE = 1e-4
# How many values the automatic grid has, in ratios of 10.
DECADES = 7
# Approaches whose objective has kappa in it.
WEIGHED = ("asl", "suboptimality", "ellipsoidal-asl")


class _GridPoint(NamedTuple):
    kappa: float
    distance: Any
    regularizer: str


class InverseOptimizerCV(BaseEstimator):
    """:class:`InverseOptimizer` with the weight, distance and regularizer that predict held-out decisions best.

    On each fold every point of the grid is fitted and certified, each fit starting with the decisions that others with the same
    distance have met. The point that ``select`` takes is fitted to all observations, from the start, and certified.

    Parameters
    ----------
    forward : ForwardProblem
    kappas : array-like of floats, optional
        In the place of ``kappa``. None: seven values in ratios of 10, from the one at which regularizer and losses weigh about
        the same downwards; it is found from the decisions that are worst at the centre, and so does not depend on units. For
        approaches without ``kappa`` there is nothing to choose.
    distances, regularizers : sequence, optional
        In the places of ``distance`` and ``regularizer``. None: those alone.
    select : {"mean", "worst", "worst-quarter", "one-se"}, default="mean"
        What is to be best: the mean score over the folds or groups, the worst of them, or the mean over the worst quarter.
        "one-se": the largest kappa whose mean score is within a standard error of the best.
    cv : int, splitter, or iterable of (train, test), default=5
        A number of consecutive folds. With groups every group is left out in turn; only if there are more than 20, they are
        put into that many folds. A splitter gets the groups too.
    metric : {"decision error", "unpredicted share"} or callable, default="decision error"
        What is least, on average over held-out observations; see :meth:`InverseOptimizer.score`.
    kappa, distance, regularizer
        What counts where there is no grid.
    approach, features, center, prior, infeasible, solver, tol, max_iter, time_limit, verbose, update, batch_size, sampling, \
    oracle_time_limit, step, step_scale, average, cost_bound, start, random_state
        As for :class:`InverseOptimizer`; limits are for each single fit.

    Attributes
    ----------
    best_estimator_ : InverseOptimizer
        Fitted to all observations, with its certificate: what files and :func:`surefoot.verify` are about.
    best_params_ : dict
        ``kappa``, ``distance`` and ``regularizer`` of it. Of equally good ones the largest kappa, then what was listed first.
    best_score_ : float
        Its mean score over the folds.
    cv_results_ : dict of arrays
        As that of scikit-learn's searches: a data frame of one row per point, with the score of each fold, their mean and
        standard deviation, and ``certified``, the share of the folds whose fit is proven optimal to ``tol`` or 0.0001.
    cost_, certificate_, outcome_, n_iter_
        Those of ``best_estimator_``.

    Warns
    -----
    GridEdgeWarning
        If the largest or the smallest kappa of a grid was chosen.
    ConvergenceLimitWarning
        If fits on folds are not proven, which ``cv_results_`` tells; the final fit warns for itself.

    Notes
    -----
    A cost of 0 prices all decisions alike. What a solver then happens to decide says nothing, and its score is minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> import surefoot as sf
    >>> draw = np.random.default_rng(0)
    >>> offers = [draw.uniform(0, 1, (5, 3)) for _ in range(40)]
    >>> chosen = [int(np.argmin(offer @ [1.0, 2.0, 3.0] + draw.normal(0, 0.1, 5))) for offer in offers]
    >>> search = sf.inverse.InverseOptimizerCV(sf.inverse.forward.FiniteChoice(), cv=4).fit(offers, chosen)
    >>> search.best_params_["kappa"] in search.cv_results_["param_kappa"], search.certificate_.verified
    (True, True)
    """

    def __init__(
        self,
        forward: ForwardProblem,
        *,
        kappas: Any = None,
        distances: Any = None,
        regularizers: Any = None,
        select: str = "mean",
        cv: Any = 5,
        metric: str | Callable[[FloatArray, FloatArray], float] = "decision error",
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
    ) -> None:
        self.forward = forward
        self.kappas = kappas
        self.distances = distances
        self.regularizers = regularizers
        self.select = select
        self.cv = cv
        self.metric = metric
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

    @property
    def cost_(self) -> FloatArray:
        """That of ``best_estimator_``."""
        check_is_fitted(self)
        return self.best_estimator_.cost_

    @property
    def certificate_(self) -> Certificate:
        """That of ``best_estimator_``."""
        check_is_fitted(self)
        return self.best_estimator_.certificate_

    @property
    def outcome_(self) -> SolveOutcome[Any, Any]:
        """That of ``best_estimator_``."""
        check_is_fitted(self)
        return self.best_estimator_.outcome_

    @property
    def n_iter_(self) -> int:
        check_is_fitted(self)
        return int(self.best_estimator_.n_iter_)

    def fit(self, signals: Sequence[Any], responses: Sequence[Any], groups: Any = None) -> Self:
        """Choose by held-out decisions, and fit the choice to all observations.

        Parameters
        ----------
        signals, responses
            As for :meth:`InverseOptimizer.fit`.
        groups : array-like, optional
            Whose decision, or of which day, each observation is: observations of a group are held out together.

        Returns
        -------
        self
        """
        require_select(self.select)
        require_gap(self.tol)
        measure = decision_measure(self.metric)
        distances = _listed("distances", self.distances, self.distance)
        # Distances that are functions have values of their own for every decision.
        posed = {distance: self._model(distance=distance)._pose(signals, responses) for distance in distances}
        folds = self._folds(len(posed[distances[0]].examples), groups)
        separation = Separation(retains_cuts=True)
        grid = self._grid(posed, separation)
        scores, proven = np.empty((len(grid), len(folds))), np.zeros((len(grid), len(folds)), dtype=np.bool_)
        for fold, (train, test) in enumerate(folds):
            parts = {name: replace(each, examples=tuple(each.examples[i] for i in train)) for name, each in posed.items()}
            for at, point in enumerate(grid):
                cost, proven[at, fold] = self._cost(parts[point.distance], point, separation)
                held_out = [posed[point.distance].examples[i] for i in test]
                if not np.any(cost):
                    scores[at, fold] = -np.inf
                    continue
                decided = [separation.oracle.decide(example.instance, cost).point for example in held_out]
                pairs = zip(held_out, decided, strict=True)
                scores[at, fold] = -float(np.mean([measure(example.response, own) for example, own in pairs]))
        if np.isinf(scores.max(axis=0)).any():
            raise InvalidObservationError(
                f"on fold {int(np.argmax(np.isinf(scores.max(axis=0)))) + 1} every point of the grid gives a cost of 0, which "
                "prices all decisions alike. Add smaller values to kappas, or exclude 0 with prior='simplex'."
            )
        at = chosen_point(np.maximum(scores, -1e300), self.select)
        chosen = self._model(**grid[at]._asdict())
        chosen.fit(signals, responses)
        # A fit that fails leaves the search as it was.
        self.best_estimator_, self.best_params_ = chosen, grid[at]._asdict()
        self.best_score_, self.cv_results_ = float(scores[at].mean()), _results(grid, scores, proven)
        who, kappas = f"{type(self).__name__}.fit", [point.kappa for point in grid]
        if not proven.all():
            warnings.warn(
                f"{who}: {int((~proven).sum())} of {proven.size} fits on folds are not proven optimal to "
                f"{max(self.tol, FOLD_TOLERANCE):g}, so that their scores are those of approximate costs; cv_results_ says "
                "which. The chosen cost has a certificate of its own.",
                ConvergenceLimitWarning,
                stacklevel=2,
            )
        warn_of_edge("kappa", kappas, grid[at].kappa, "kappas", who)
        return self

    def predict(self, signals: Sequence[Any]) -> list[FloatArray]:
        """What would be decided at signals, with the chosen cost."""
        check_is_fitted(self)
        return self.best_estimator_.predict(signals)

    def score(self, signals: Sequence[Any], responses: Sequence[Any]) -> float:
        """The negative mean of ``metric``, as in the choice; 0 is best."""
        check_is_fitted(self)
        return self.best_estimator_.score(signals, responses)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def _model(self, **chosen: Any) -> InverseOptimizer:
        own = self.get_params(deep=False)
        for name in ("kappas", "distances", "regularizers", "select", "cv"):
            del own[name]
        return InverseOptimizer(**{**own, **chosen})

    def _cost(self, part: InverseProblem, point: _GridPoint, separation: Separation) -> tuple[FloatArray, bool]:
        """The cost that a point of the grid gives on a fold, and whether it is proven."""
        problem = self._at(part, point)
        tolerance = max(self.tol, FOLD_TOLERANCE)
        options = SolveOptions(tolerance=tolerance, max_iter=self.max_iter, time_limit=self.time_limit)
        found = proven_fit(self._model(**point._asdict()), separation, problem, options)
        return found.cost, bool(found.certificate.verified or found.certificate.trust)

    @staticmethod
    def _at(problem: InverseProblem, point: _GridPoint) -> InverseProblem:
        regularizer = Regularizer(point.regularizer, problem.regularizer.center)  # type: ignore[arg-type]
        return replace(problem, kappa=point.kappa, regularizer=regularizer)

    def _grid(self, posed: Mapping[Any, InverseProblem], separation: Separation) -> list[_GridPoint]:
        """All points, by rising kappa; of one kappa what was listed first comes last: it is taken where scores agree."""
        regularizers = _listed("regularizers", self.regularizers, self.regularizer)
        found = []
        for distance, regularizer in product(posed, regularizers):
            start = self._at(posed[distance], _GridPoint(float(self.kappa), distance, regularizer))
            found += [_GridPoint(kappa, distance, regularizer) for kappa in self._kappas(start, separation)]
        return sorted(reversed(found), key=lambda point: point.kappa)

    def _kappas(self, problem: InverseProblem, separation: Separation) -> list[float]:
        if self.approach not in WEIGHED:
            if self.kappas is not None:
                raise ValueError(f"approach={self.approach!r} has no kappa; leave kappas away, or choose approach='asl'.")
            return [float(self.kappa)]
        if self.kappas is None:
            largest = _largest_kappa(problem, separation)
            return [float(f"{largest / 10.0**k:.1e}") for k in range(DECADES)]
        given = self.kappas
        if isinstance(given, (str, Mapping, numbers.Number)) or not hasattr(given, "__iter__"):
            raise ValueError(f"kappas = {given!r} must be None or a list of numbers; a single one is kappa.")
        found = list(given)
        for at, kappa in enumerate(found):
            if not (is_number(kappa) and 0 <= kappa < np.inf):
                raise ValueError(f"kappas[{at}] = {kappa!r} must be a finite number at or above 0.")
        if not found:
            raise ValueError("kappas is empty; list at least one number.")
        return sorted({float(kappa) for kappa in found})

    def _folds(self, count: int, groups: Any) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        plain = self.cv is None or (isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool))
        number = 5 if self.cv is None else self.cv
        named = None if groups is None else read_row_groups(groups, count)
        if named is not None and len(named.names) < 2:
            raise InvalidObservationError(
                f"all observations are of one group, {named.names[0]!r}: there is no other one to hold out. Leave groups away."
            )
        if plain and named is not None:
            return left_out_whole(int(number), named)
        if plain and not 2 <= number <= count:
            raise ValueError(f"cv = {self.cv!r} must be at least 2, and at most {count}, the number of observations.")
        rows = np.zeros((count, 1))
        splits = check_cv(number).split(rows, None, None if groups is None else np.asarray(groups))
        found = [(np.asarray(train), np.asarray(test)) for train, test in splits]
        if not found or any(part.size == 0 for pair in found for part in pair):
            raise ValueError(f"cv = {self.cv!r} has no folds, or one without observations to learn from or to score.")
        return found


def _listed(name: str, given: Any, single: Any) -> list[Any]:
    """The values of a grid; a pair of distances is one value."""
    if given is None:
        return [single]
    if isinstance(given, (str, tuple)) or not hasattr(given, "__iter__") or not list(given):
        raise ValueError(f"{name} = {given!r} must be None or a list of what {name[:-1]} takes.")
    return list(dict.fromkeys(given))


def _largest_kappa(problem: InverseProblem, separation: Separation) -> float:
    """The kappa at which regularizer and losses weigh about the same.

    At the centre the mean loss has a subgradient g, a mean of slopes, and the value d. With the l1 norm no cost but the centre
    is best from max |g| on; halved squares have gained as much as d where kappa is ||g||^2 / d.
    """
    center = problem.regularizer.center
    pool = CutPool(problem)
    losses, _ = separation.losses(problem, center, pool)
    cuts = pool.cuts()
    gains = cuts.slopes @ center + cuts.offsets
    last = dict(zip(cuts.owners.tolist(), range(cuts.size), strict=True))
    used = np.array(list(last.values()), dtype=np.intp)
    slope, value = cuts.slopes[used].sum(axis=0) / problem.n_examples, float(np.maximum(gains[used], 0.0).sum())
    value = min(value / problem.n_examples, float(losses.mean()))
    found = float(np.abs(slope).max(initial=0.0))
    if problem.regularizer.kind == "l2":
        found = float(slope @ slope) / value if value > 0 else 0.0
    return found if 0 < found < np.inf else 1.0


def _results(grid: list[_GridPoint], scores: FloatArray, proven: NDArray[np.bool_]) -> dict[str, Any]:
    def column(name: str) -> NDArray[Any]:
        values = [getattr(point, name) for point in grid]
        held = np.empty(len(values), dtype=object)
        held[:] = values
        return np.array(values) if name == "kappa" else held

    with np.errstate(invalid="ignore"):
        spread = scores.std(axis=1)
    return {
        "params": [point._asdict() for point in grid],
        **{f"param_{name}": column(name) for name in _GridPoint._fields},
        **{f"split{fold}_test_score": scores[:, fold].copy() for fold in range(scores.shape[1])},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": spread,
        "certified": proven.mean(axis=1),
    }
