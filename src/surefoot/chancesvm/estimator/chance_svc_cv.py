"""A chance-constrained classifier whose price of slack, violation and kernel width are chosen on held-out inputs."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from surefoot.chancesvm.estimator.calibration_folds import folds_of_inputs
from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.chancesvm.estimator.class_rows import ClassRows
from surefoot.chancesvm.estimator.input_problem import pose_rows
from surefoot.chancesvm.estimator.svm_settings import SVMSettings, read_settings
from surefoot.chancesvm.inputs.gap_policy import LEFT_OUT
from surefoot.chancesvm.inputs.stacked_inputs import unstacked
from surefoot.core.arrays import AnyArray, FloatArray
from surefoot.core.certificate import Certificate
from surefoot.design.encode.row_groups import RowGroups
from surefoot.exceptions import ConvergenceLimitWarning, InvalidTableError, SingleSampleWarning, WeakModelWarning
from surefoot.sklearn_api.binary_classifier import BinaryClassifier
from surefoot.sklearn_api.training_rows import TrainingRows, flat_labels

COSTS = (0.1, 1.0, 10.0, 100.0)
VIOLATIONS = (0.1, 0.3, 0.5, 0.7, 0.95)
# Times gamma="scale".
WIDTHS = (0.25, 1.0, 4.0)
# Models that are only scored need not be better than this: a score does not tell them apart.
FOLD_TOLERANCE = 1e-3


def _has_probability(search: ChanceConstrainedSVCCV) -> bool:
    if not search.probability:
        raise AttributeError("predict_proba needs probability=True, set before fit.")
    return True


class ChanceConstrainedSVCCV(BinaryClassifier, BaseEstimator):
    """:class:`ChanceConstrainedSVC` with the price, violation and width that classify held-out inputs best.

    Folds are made of whole inputs: rows of one group are either all used in a fit or all held out, without metadata routing.
    On each fold all prices and violations are solved along one certified path. The best triple is fitted to all rows and
    certified.

    Parameters
    ----------
    costs : sequence of float, optional
        In the place of ``C``. None: 0.1, 1, 10 and 100.
    violations : sequence of float, optional
        In the place of ``violation``. None: 0.1, 0.3, 0.5, 0.7 and 0.95. Where all inputs are single rows there is nothing to
        choose, and the last one is taken.
    gammas : sequence, optional
        In the place of ``gamma``: "scale", "auto" or numbers. None: for the RBF kernel a quarter of, once and four times what
        "scale" is on all rows; "scale" for polynomials.
    cv : int, splitter, or iterable of (train, test), default=5
        A number of folds, made of whole inputs with the classes in proportion; or what scikit-learn takes, which gets the
        groups too.
    scoring : str or callable, optional
        What to maximise on held-out rows. None: the share of rows classified rightly.
    kernel, degree, coef0, batches, solver, tol, max_iter, verbose, random_state, time_limit, probability, confidence, \
    kernel_bound, n_landmarks, standardize, covariance, class_weight, multi_class, missing
        As for :class:`ChanceConstrainedSVC`. ``solver`` must be "auto" or "worst-points", and limits are for each single solve.

    Attributes
    ----------
    best_estimator_ : ChanceConstrainedSVC
        Fitted to all rows, with its certificate: what reports, files and :func:`surefoot.verify` are about.
    best_params_ : dict
        ``C``, ``violation`` and ``gamma`` of it. Of equally good ones the smallest violation, then the smallest price, then
        the first gamma.
    best_score_ : float
        Its mean score on held-out rows.
    cv_results_ : dict of arrays
        As that of scikit-learn's searches: a data frame of one row per triple, with the score of each fold, their mean and
        standard deviation, and ``certified``, the share of the fold's models that are proven optimal to 0.001.
    certificate_ : Certificate
        That of ``best_estimator_``.
    classes_, n_iter_, n_features_in_, feature_names_in_

    Warns
    -----
    ConvergenceLimitWarning
        If a limit ended solves on folds; what is not proven of the final model is told as by a fit of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import surefoot as sf
    >>> sensor = np.repeat(np.arange(20), 3)
    >>> reading = np.array([[s % 2 + 0.1 * r, s / 20] for s in range(20) for r in range(3)])
    >>> search = sf.ChanceConstrainedSVCCV(costs=[1, 10], gammas=["scale"]).fit(reading, sensor % 2, groups=sensor)
    >>> search.best_params_["C"] in (1, 10), search.certificate_.verified, len(search.cv_results_["params"])
    (True, True, 10)
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        violations: Any = None,
        gammas: Any = None,
        cv: Any = 5,
        scoring: Any = None,
        kernel: Any = "rbf",
        degree: int = 2,
        coef0: float = 1.0,
        batches: Any = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        time_limit: float | None = None,
        probability: bool = False,
        confidence: float | None = None,
        kernel_bound: float | None = None,
        n_landmarks: int | None = None,
        standardize: bool = True,
        covariance: str = "auto",
        class_weight: Any = None,
        multi_class: str = "ovo",
        missing: str = "raise",
    ) -> None:
        self.costs = costs
        self.violations = violations
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.batches = batches
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.time_limit = time_limit
        self.probability = probability
        self.confidence = confidence
        self.kernel_bound = kernel_bound
        self.n_landmarks = n_landmarks
        self.standardize = standardize
        self.covariance = covariance
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.missing = missing

    @property
    def certificate_(self) -> Certificate:
        """That of ``best_estimator_``."""
        check_is_fitted(self)
        return self.best_estimator_.certificate_

    @property
    def classes_(self) -> AnyArray:  # type: ignore[override] # of the model that was chosen
        check_is_fitted(self)
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self) -> int:  # type: ignore[override] # of the model that was chosen
        check_is_fitted(self)
        return self.best_estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> AnyArray:  # type: ignore[override] # of the model that was chosen
        check_is_fitted(self)
        return self.best_estimator_.feature_names_in_

    @property
    def n_iter_(self) -> int:
        check_is_fitted(self)
        return int(self.best_estimator_.n_iter_)

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Choose by cross-validation over inputs, and fit the choice to all rows.

        Parameters
        ----------
        X, y, groups, sample_weight
            As for :meth:`ChanceConstrainedSVC.fit`.

        Returns
        -------
        self
        """
        model = self._model()
        X, y, groups, sample_weight = unstacked(X, flat_labels(y), groups, sample_weight)
        with warnings.catch_warnings():
            # The last fit tells, once.
            warnings.filterwarnings("ignore", message=f".*{LEFT_OUT}")
            machines, several, settings, _ = model._machines(X, y, groups, sample_weight, read_settings(model))
        part = machines[0][1] if several is None else several
        rows, given = part.rows, part.given
        costs, violations = self._numbers("costs", COSTS), self._numbers("violations", VIOLATIONS)
        gammas = self._gammas(rows, given, settings)
        if given is None and settings.batches in ("auto", "rows"):
            violations = violations[-1:]
        folds = self._folds(X, y, rows, given, groups, settings, several)
        weighting: dict[str, Any] = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
        # Scorers do not know labels of the type object.
        table, told = indexable(X, np.asarray(np.asarray(y).tolist()))
        scores = np.empty((len(gammas), len(violations), len(costs), len(folds)))
        proven = np.zeros(scores.shape, dtype=np.bool_)
        for fold, (train, test) in enumerate(folds):
            parts = [_safe_indexing(part, train) for part in (table, told)]
            own = {name: _safe_indexing(part, train) for name, part in weighting.items()}
            held_out = [_safe_indexing(part, test) for part in (table, told)]
            held_weight = {name: _safe_indexing(part, test) for name, part in weighting.items()}
            own_groups = None if groups is None else _safe_indexing(groups, train)
            if settings.precomputed:
                parts[0], held_out[0] = parts[0][:, train], held_out[0][:, train]
            for at, gamma in enumerate(gammas):
                path = self._path(gamma, parts, costs, violations, own_groups, own)
                for row, column, model in path:
                    scorer = check_scoring(model, scoring=self.scoring)
                    scores[at, row, column, fold] = scorer(model, *held_out, **held_weight)
                    proven[at, row, column, fold] = model.certificate_.verified
        if np.isnan(scores).any():
            raise ValueError(f"scoring = {self.scoring!r} gave NaN on a fold.")
        results = self._results(scores, proven, gammas, violations, costs)
        best = int(np.argmax(results["mean_test_score"]))
        chosen = self._model(**results["params"][best])
        chosen.fit(X, y, groups=groups, sample_weight=sample_weight)
        # A fit that fails leaves the search as it was.
        self.best_estimator_, self.best_params_, self.cv_results_ = chosen, results["params"][best], results
        self.best_score_ = float(results["mean_test_score"][best])
        if not proven.all():
            warnings.warn(
                f"{type(self).__name__}.fit: {int((~proven).sum())} of {proven.size} models of the folds are not proven "
                f"optimal to {FOLD_TOLERANCE:g}, so that their scores are those of approximate models; cv_results_ says which. "
                "The chosen model has a certificate of its own.",
                ConvergenceLimitWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """w . phi(x) + b for each row: above 0 for the second class; of more than two classes a score for each."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_has_probability)  # type: ignore[untyped-decorator] # scikit-learn carries no types
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes; needs ``probability=True``."""
        check_is_fitted(self)
        found: FloatArray = self.best_estimator_.predict_proba(X)
        return found

    def predict(self, X: Any, groups: Any = None) -> AnyArray:
        """The class of each row, or of its input, by the chosen model; see :meth:`ChanceConstrainedSVC.predict`."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, groups)

    def promise(self, X: Any, groups: Any = None) -> Any:
        """What the chosen model says of new inputs, and how sure that is; see :meth:`ChanceConstrainedSVC.promise`."""
        check_is_fitted(self)
        return self.best_estimator_.promise(X, groups)

    def inputs(self) -> Any:
        """What the chosen model promises about each input, see :meth:`ChanceConstrainedSVC.inputs`."""
        check_is_fitted(self)
        return self.best_estimator_.inputs()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score by ``scoring``, as in the choice; larger is better."""
        check_is_fitted(self)
        weighting = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(self.best_estimator_, scoring=self.scoring)(self.best_estimator_, X, y, **weighting))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _model(self, **chosen: Any) -> ChanceConstrainedSVC:
        own = self.get_params(deep=False)
        for name in ("costs", "violations", "gammas", "cv", "scoring"):
            del own[name]
        return ChanceConstrainedSVC(**{**own, **chosen})

    def _path(
        self, gamma: Any, parts: list[Any], costs: list[float], violations: list[float], groups: Any, weighting: dict[str, Any]
    ) -> Iterator[tuple[int, int, ChanceConstrainedSVC]]:
        model = self._model(gamma=gamma, tol=max(self.tol, FOLD_TOLERANCE), probability=False)
        with warnings.catch_warnings():
            # What is wrong with a model of a fold is counted, and what is odd about the inputs is told once, by the last fit.
            for kind in (ConvergenceLimitWarning, SingleSampleWarning, WeakModelWarning):
                warnings.simplefilter("ignore", kind)
            warnings.filterwarnings("ignore", message=f".*{LEFT_OUT}")
            found = model.fit_path(*parts, costs=costs, violations=violations, groups=groups, **weighting)
        for row, line in enumerate(found):
            for column, fitted in enumerate(line):
                yield row, column, fitted

    @staticmethod
    def _results(
        scores: FloatArray, proven: NDArray[np.bool_], gammas: list[Any], violations: list[float], costs: list[float]
    ) -> dict[str, Any]:
        means = scores.mean(axis=-1)
        # In this order the first of equally good ones is the one to take.
        order = sorted(np.ndindex(means.shape), key=lambda at: (at[1], at[2], at[0]))
        params = [{"C": costs[at[2]], "violation": violations[at[1]], "gamma": gammas[at[0]]} for at in order]
        return {
            "params": params,
            **{f"param_{name}": np.array([each[name] for each in params]) for name in params[0]},
            **{f"split{fold}_test_score": np.array([scores[(*at, fold)] for at in order]) for fold in range(scores.shape[-1])},
            "mean_test_score": np.array([means[at] for at in order]),
            "std_test_score": np.array([scores[at].std() for at in order]),
            "certified": np.array([proven[at].mean() for at in order]),
        }

    def _numbers(self, name: str, default: Sequence[float]) -> list[float]:
        given = getattr(self, name)
        if given is None:
            return list(default)
        if isinstance(given, (str, numbers.Number)) or not hasattr(given, "__iter__"):
            raise ValueError(f"{name} = {given!r} must be None or a list of numbers.")
        found = list(given)
        top, limit = (np.inf, "positive and finite") if name == "costs" else (1.0, "above 0 and below 1")
        for at, value in enumerate(found):
            if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 < float(value) < top:
                raise ValueError(f"{name}[{at}] = {value!r} must be {limit}.")
        if not found:
            raise ValueError(f"{name} is empty; list at least one number.")
        return sorted(set(found))

    def _gammas(self, rows: TrainingRows, given: RowGroups | None, settings: SVMSettings) -> list[Any]:
        if self.gammas is not None:
            if isinstance(self.gammas, (str, numbers.Number)) or not hasattr(self.gammas, "__iter__") or not list(self.gammas):
                raise ValueError(f"gammas = {self.gammas!r} must be None or a list of what gamma takes.")
            return list(dict.fromkeys(self.gammas))
        if settings.kernel != "rbf":
            return ["scale"]
        scale = pose_rows(
            rows, given, replace(settings, n_landmarks=None, confidence=None), named=given is not None
        ).problem.kernel.gamma
        return [width * scale for width in WIDTHS]

    def _folds(
        self,
        X: Any,
        y: Any,
        rows: TrainingRows,
        given: RowGroups | None,
        groups: Any,
        settings: SVMSettings,
        several: ClassRows | None,
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Train and test rows of each fold, by their place in the table."""
        if isinstance(self.cv, numbers.Integral) and not isinstance(self.cv, bool):
            if self.cv < 2:
                raise ValueError(f"cv = {self.cv!r} must be at least 2.")
            fold = folds_of_inputs(rows, given, int(self.cv), settings.seed, several=several)
            return [(rows.positions[fold != at], rows.positions[fold == at]) for at in range(int(fold.max()) + 1)]
        with warnings.catch_warnings():
            # Some splitters warn that they do not look at groups; whether that matters is seen below.
            warnings.filterwarnings("ignore", message="The groups parameter is ignored")
            splits = list(check_cv(self.cv, y, classifier=True).split(X, y, groups))
        found = [(np.asarray(train), np.asarray(test)) for train, test in splits]
        if not found:
            raise ValueError(f"cv = {self.cv!r} has no folds.")
        if settings.drops_gaps:
            # Nobody can score them.
            found = [(train, test[np.isin(test, rows.positions)]) for train, test in found]
        if groups is not None:
            names = np.asarray(groups)
            for at, (train, test) in enumerate(found):
                both = np.intersect1d(names[train], names[test])
                if both.size:
                    raise InvalidTableError(
                        f"fold {at + 1} of cv has rows of group {both[0]!r} on both sides, so that the model would have seen "
                        "what it is scored on. Use a number of folds, or a splitter of groups such as GroupKFold."
                    )
        return found
