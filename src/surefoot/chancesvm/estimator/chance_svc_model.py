"""What a fitted chance-constrained classifier knows and answers: scores, classes, probabilities, and a table of its inputs."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from surefoot.chancesvm.estimator.borrowed_repeats import RepeatPool, Repeats, borrowed_samples
from surefoot.chancesvm.estimator.given_moments import read_covariances
from surefoot.chancesvm.estimator.input_promises import HeldOutMargins, ScoreMoments, score_moments
from surefoot.chancesvm.estimator.input_table import input_table
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.estimator.posed_svm import PosedSVM, SolvedSVM
from surefoot.chancesvm.problem.problem import KernelPlane
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.chancesvm.solvers.platt_scaling import PlattScaling
from surefoot.core.arrays import AnyArray, FloatArray, RowArray
from surefoot.core.certificate import Certificate
from surefoot.design.encode.row_groups import RowGroups, read_row_groups
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.write.output_frame import build_frame
from surefoot.exceptions import CertificateError, RoundedInterceptWarning, WeakModelWarning
from surefoot.sklearn_api.binary_classifier import BinaryClassifier
from surefoot.sklearn_api.number_table import Remedies, dense, number_columns, read_number_table
from surefoot.sklearn_api.proven_model import CHANGED, ProvenModel
from surefoot.sklearn_api.training_rows import TrainingRows, require_columns_of_training, set_columns_of_training

REMEDIES = Remedies(
    text="Kernels compare numbers: encode text and categories first, for example with scikit-learn's OneHotEncoder.",
    gap="an imputer before this model",
)

# What may be missing to a margin by rounding, in units of the margin.
MARGIN_ROUNDING = 1e-9
# Ellipsoids of a third of a standard deviation: beyond this, spread is not what keeps inputs together.
MILD_VIOLATION = 0.9
# A model that gives a class less than this fraction of its share says next to nothing.
WEAK_FRACTION = 0.05
# What another machine may find differently of promises, slacks and multipliers.
INPUT_ROUNDING = 1e-6


def _wants_probability(model: ChanceSVCModel) -> bool:
    if not model.probability:
        raise AttributeError("predict_proba needs probability=True, set before fit.")
    return True


class ChanceSVCModel(ProvenModel, BinaryClassifier, BaseEstimator):
    """The part of :class:`~surefoot.ChanceConstrainedSVC` that comes after the solve."""

    later_parameters: ClassVar[Mapping[str, Any]] = {"standardize": False, "covariance": "batch", "admm_penalty": 1.0}

    kernel: Any
    probability: bool
    groups_: list[Level]
    row_groups_: RowArray
    support_groups_: list[Level]
    certificate_: Certificate
    public_objective_: float
    outcome_: ChanceOutcome
    sigmoid_: PlattScaling | None
    # Models from before they were there have none.
    _held_out: HeldOutMargins | None = None
    _pool: RepeatPool | None = None
    schema_: Schema

    @property
    def centre_(self) -> FloatArray | None:
        """The point of the input space that scores are counted from, or None; with standard units to rounding."""
        kernel, units = self._scores.kernel, self._scores.units
        centre = getattr(kernel, "centre", None)
        if centre is None:
            # A linear kernel of standard units sees rows from the means of their columns, if from nowhere else.
            return None if units is None or kernel.name != "linear" else units.offsets.copy()
        own = np.array(centre, dtype=np.float64)
        return own if units is None else units.back(own)

    @property
    def column_means_(self) -> FloatArray | None:
        """What is subtracted from each column before kernels compare rows, or None."""
        return None if self._scores.units is None else self._scores.units.offsets.copy()

    @property
    def column_scales_(self) -> FloatArray | None:
        """What each column is then divided by, or None."""
        return None if self._scores.units is None else self._scores.units.scales.copy()

    @property
    def centre_intercept_(self) -> FloatArray:
        """The intercept as seen from ``centre_``."""
        return np.array([self._scores.intercept])

    def decision_function(self, X: Any) -> FloatArray:
        """w . phi(x) + b for each row: above 0 for the second class.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._scores(self._block(X))

    def _block(self, X: Any) -> FloatArray:
        """The rows as numbers, or their images, or their kernels with the rows of training."""
        check_is_fitted(self)
        if self._feature_map is not None:
            return self._mapped(X)
        require_columns_of_training(self, X)
        block = number_columns(read_number_table(X, REMEDIES), self.schema_)
        return block[:, self._kernel_columns] if self._kernel_columns is not None else block

    def predict(self, X: Any, groups: Any = None) -> AnyArray:
        """The class of each row, or of the input that it is a repeat of.

        Parameters
        ----------
        X : table of rows
        groups : array-like of shape (n_rows,), optional
            The input that each row is a measurement of: all its rows get the class of the mean of its scores. None: each row
            gets the class of its own score.

        Returns
        -------
        ndarray of shape (n_rows,)
            The first class where a score is 0.
        """
        if groups is None:
            return super().predict(X)
        found, inputs = self._score_moments(X, groups)
        classes: AnyArray = self.classes_[(found.means > 0).astype(np.intp)][inputs.codes]
        return classes

    def promise(self, X: Any, groups: Any = None) -> Any:
        """What the model says of new inputs, and how sure that is.

        Parameters
        ----------
        X : table of rows
        groups : array-like of shape (n_rows,), optional
            The input that each row is a measurement of. None: each row is an input that was measured once.

        Returns
        -------
        data frame
            One row for each input, in the library of the training table:

            - ``group``, ``rows``: its name and the number of its measurements;
            - ``prediction``: the class of its mean score;
            - ``score``, ``spread``: mean of its scores, and standard deviation of that of a further measurement; inputs with
              few rows borrow from those of training, as ``covariance`` says;
            - ``flips``: a further measurement is put into the other class at most that often, whatever its distribution with
              these two moments. NaN, as the spread, where nothing is known of it: one row, with ``covariance="batch"``;
            - ``other_class``, after a fit with ``probability=True`` and groups: at most about this fraction of inputs of the
              other class look as much like the predicted one, by inputs that were held out. At 0.1 or below the other class is
              ruled out with a confidence of 90 %.
        """
        return build_frame(self.promise_columns(X, groups), self._library)

    def promise_columns(self, X: Any, groups: Any = None) -> dict[str, Any]:
        """The columns of :meth:`promise` as plain lists and arrays."""
        found, inputs = self._score_moments(X, groups)
        return self._promised(found, inputs.names, np.bincount(inputs.codes, minlength=len(inputs.names)))

    def predict_moments(self, means: Any, covariances: Any) -> AnyArray:
        """The class of inputs that are known by their moments, that of their mean; linear kernel only.

        Parameters
        ----------
        means, covariances
            As for :meth:`ChanceConstrainedSVC.fit_moments`: those of rows as the model was fitted to, or of their images under
            its ``feature_map``.

        Returns
        -------
        ndarray of shape (n_inputs,)
        """
        classes: AnyArray = self.classes_[(self._given_moments(means, covariances).means > 0).astype(np.intp)]
        return classes

    def promise_moments(self, means: Any, covariances: Any) -> Any:
        """What :meth:`promise` says, for inputs that are known by their moments; their ``rows`` are 0."""
        found = self._given_moments(means, covariances)
        count = found.means.size
        return build_frame(self._promised(found, range(count), np.zeros(count, dtype=np.int64)), self._library)

    def borrowed_covariances(self, rows: FloatArray, of_row: RowArray) -> FloatArray | None:
        """The covariances that inputs of these rows are taken to have, in the units of their columns; None if their own.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The rows of training, all of the same weight.
        of_row : ndarray of shape (n_rows,)
            The place of each row's input in ``groups_``.

        Returns
        -------
        ndarray of shape (n_inputs, n_features, n_features) or None
        """
        check_is_fitted(self)
        if self._pool is None:
            return None
        units = self._scores.units
        order = np.argsort(of_row, kind="stable")
        sizes = np.bincount(of_row, minlength=len(self.groups_))
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        own = rows[order] if units is None else units.standardized(rows[order])
        repeats = Repeats.of(own, starts, np.repeat(1.0 / sizes, sizes), np.ones(of_row.size))
        made = borrowed_samples(repeats, np.ones(of_row.size), same=self._pool.same)
        if made is None:
            return None
        found = made[0].covariances
        return found if units is None else found * np.outer(units.scales, units.scales)

    def _promised(self, found: ScoreMoments, names: Sequence[Level], sizes: RowArray) -> dict[str, Any]:
        positive = (found.means > 0).astype(np.intp)
        columns = {
            "group": list(names),
            "rows": sizes,
            "prediction": self.classes_[positive].tolist(),
            "score": found.means,
            "spread": found.spreads,
            "flips": found.flips,
        }
        if self._held_out is not None:
            columns["other_class"] = self._held_out.p_values(found.margins)[np.arange(positive.size), 1 - positive]
        return columns

    def _score_moments(self, X: Any, groups: Any) -> tuple[ScoreMoments, RowGroups]:
        block = self._block(X)
        inputs = RowGroups(tuple(range(len(block))), np.arange(len(block)), np.arange(len(block)))
        if groups is not None:
            inputs = read_row_groups(groups, len(block))
        if not len(block):
            return ScoreMoments(np.zeros(0), np.zeros(0)), inputs
        return score_moments(self._scores, block, inputs, self._pool), inputs

    def _given_moments(self, means: Any, covariances: Any) -> ScoreMoments:
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise ValueError(f"moments of inputs say nothing about their scores under kernel={self.kernel!r}: pass rows.")
        if self._feature_map is None:
            require_columns_of_training(self, means)
        block = number_columns(read_number_table(means, REMEDIES), self.schema_)
        variances = np.einsum("j,ijk,k->i", self.coef_[0], read_covariances(block, covariances), self.coef_[0])
        return ScoreMoments(self._scores(block), np.sqrt(np.maximum(variances, 0.0)))

    @available_if(_wants_probability)  # type: ignore[untyped-decorator] # scikit-learn carries no types
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the two classes, in the order of ``classes_``; needs ``probability=True``.

        They come from Platt scaling of the scores of calibration folds, and may disagree with ``predict`` near a score of 0, as
        in scikit-learn's SVC.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        check_is_fitted(self, "sigmoid_")
        scores = self.decision_function(X)
        if self.sigmoid_ is None:
            raise ValueError("this model was fitted with probability=False: fit it again.")
        return np.column_stack([self.sigmoid_.complement(scores), self.sigmoid_.probability(scores)])

    @available_if(_wants_probability)  # type: ignore[untyped-decorator] # scikit-learn carries no types
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.predict_proba(X))
        return logs

    def inputs(self) -> Any:
        """What the model promises about each input.

        Returns
        -------
        data frame
            ``group``, ``label``, ``samples``, ``violation`` (tolerated), ``misclassified`` (the largest probability of
            misclassification of any distribution with the input's moments), ``slack``, ``multiplier`` and ``support``, one row
            per input, in the library of the training table.
        """
        return build_frame(self.input_columns(), self._library)

    def input_columns(self) -> dict[str, Any]:
        """The columns of :meth:`inputs` as plain lists and arrays."""
        check_is_fitted(self)
        return dict(self._inputs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _mapped(self, X: Any) -> FloatArray:
        table = read_number_table(X, REMEDIES)
        block = np.asarray(self._feature_map(dense(table.numbers(range(len(table.names))))), dtype=np.float64)
        if block.shape != (table.n_rows, self.n_features_in_):
            raise ValueError(
                f"feature_map returned shape {block.shape} for {table.n_rows} rows, but the means have {self.n_features_in_} "
                "columns."
            )
        return block

    def _unpack(
        self,
        posed: PosedSVM,
        solved: SolvedSVM,
        rows: TrainingRows,
        library: str | None,
        feature_map: Any = None,
        row_groups: RowArray | None = None,
        calibration: tuple[PlattScaling, HeldOutMargins | None] | None = None,
        *,
        named_groups: bool,
    ) -> None:
        """Take over what predictions need. Nothing is set before a fit has succeeded, so a failed one leaves no trace."""
        schema, kernel = rows.design.schema, posed.problem.kernel
        plane = solved.outcome.primal
        self._scores = KernelScores.of_plane(posed.problem, plane, posed.order, posed.units)
        self._kernel_columns = rows.positions if kernel.name == "precomputed" else None
        self._feature_map = feature_map
        self._library = library
        self._named_groups = named_groups
        self._inputs = input_table(posed, solved, rows.classes)
        self.schema_ = schema
        self.classes_ = rows.classes
        self.groups_ = list(posed.inputs.names)
        self.support_groups_ = [name for name, used in zip(self.groups_, self._inputs["support"], strict=True) if used]
        self.support_ = rows.positions[self._scores.support] if posed.samples_are_rows else self._scores.support
        self.support_vectors_ = posed.support_rows(self._scores)
        self.dual_coef_ = self._scores.coefficients[None, :]
        coef = self.dual_coef_ @ kernel.features(self._scores.samples) if kernel.name == "linear" else None
        if coef is not None and posed.units is not None:
            coef = coef / posed.units.scales
        intercept, errors = self._scores.plain_intercept(None if coef is None else coef[0])
        self.intercept_ = np.array([intercept])
        self.public_objective_ = self._public_objective(posed, solved, None if coef is None else coef[0], intercept, errors)
        self.moment_radii_ = posed.radii
        self.sigmoid_, self._held_out = (None, None) if calibration is None else calibration
        self._pool = posed.pool
        for name, value in (
            ("coef_", coef),
            ("gamma_", kernel.gamma if kernel.name in ("rbf", "poly") else None),
            ("row_groups_", row_groups),
        ):
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)
        self.outcome_ = solved.outcome
        self.certificate_ = solved.certificate
        self.solver_ = solved.solver
        # A start that is the optimum counts too.
        self.n_iter_ = max(1, int(solved.outcome.iterations))
        set_columns_of_training(self, schema.names, named=schema.named and feature_map is None)
        self._seal_proof()
        self.warn_of_rounding(stacklevel=4)

    def _public_objective(
        self, posed: PosedSVM, solved: SolvedSVM, coef: FloatArray | None, intercept: float, errors: list[float]
    ) -> float:
        """About the objective of the public numbers, the worse of in real numbers and in doubles."""
        problem, upper = posed.problem, solved.certificate.upper_bound
        if getattr(problem.kernel, "centre", None) is None and (coef is None or posed.units is None):
            return upper
        squared_length = max(float(solved.outcome.primal.coefficients @ solved.values), 0.0)
        demands, own = problem.demands(solved.values, squared_length), float(self._scores.intercept)
        proven = problem.hinge(demands, own)
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                scores = self._scores.by_public_numbers(problem.samples, coef, intercept)
            except ValueError:
                # Without a centre the kernel is not finite.
                return np.inf
            evaluated = problem.hinge(problem.demands(scores, squared_length), 0.0)
        # Batches at the margin, or so near that nobody can tell, pay for a shift of the intercept.
        missing = demands - problem.labels * own
        added = [problem.costs @ (np.abs(error) * (missing > -4 * np.abs(error) - MARGIN_ROUNDING)) for error in errors]
        return float(upper + max(0.0, *added, evaluated - proven if np.isfinite(evaluated) else np.inf))

    def warn_of_rounding(self, stacklevel: int = 2) -> None:
        """Say so if the public numbers, which have no centre, are not as good as what was proven."""
        proof, told = self.certificate_, getattr(self, "public_objective_", 0.0)
        if proof.verified and told - proof.lower_bound > proof.tolerance * told:
            by = "coef_ . x (or dual_coef_)" if hasattr(self, "coef_") else "dual_coef_ with the kernel itself"
            seen = "coef_ . (x - centre_)" if hasattr(self, "coef_") else "dual_coef_ with the kernel as seen from centre_"
            warnings.warn(
                f"{type(self).__name__}: columns are so far from 0, or the kernel so flat, that {by} and intercept_ are too "
                f"rounded: an objective of about {told:.6g}, proven is at most {proof.upper_bound:.6g}. The proof is about "
                f"{seen} and centre_intercept_, by which the model predicts; use that, or centre the columns.",
                RoundedInterceptWarning,
                stacklevel=stacklevel,
            )

    def _warn_of_weakness(self, solved: SolvedSVM, where: str) -> None:
        """Say so if the best model says next to nothing, and what to change."""
        if not solved.certificate.verified:
            # Whoever stopped too early has been told so, and another price is not what is needed.
            return
        told = self._inputs
        missed = np.asarray(told["misclassified"]) > np.asarray(told["violation"]) + MARGIN_ROUNDING
        # Inputs that are single rows have no spread, whatever is tolerated.
        spread = bool(np.any(np.asarray(told["samples"]) != 1)) and float(np.asarray(told["violation"]).min()) < MILD_VIOLATION
        first = f"Raise violation towards {MILD_VIOLATION} first: the smaller it is, the more room inputs ask for. Then try"
        change = f"{first if spread else 'Try'} a larger C"
        change += ", or another kernel; ChanceConstrainedSVCCV tries several." if hasattr(self, "row_groups_") else "."
        positive = float(np.mean(solved.values + solved.outcome.primal.intercept > 0))
        second = list(told["label"]).count(self.classes_.tolist()[1]) / missed.size
        rare = min(second, 1.0 - second)
        if min(positive, 1.0 - positive) < WEAK_FRACTION * rare:
            warnings.warn(
                f"{where}: {'all' if positive in (0.0, 1.0) else 'nearly all'} rows are put into one class, "
                f"{self.classes_.tolist()[int(positive > 0.5)]!r}. At these prices no plane is better, but it is of little "
                f"use. {change}",
                WeakModelWarning,
                stacklevel=3,
            )
        elif self._named_groups and 2 * int(missed.sum()) > missed.size:
            middle = float(np.median(np.asarray(told["misclassified"])))
            warnings.warn(
                f"{where}: {int(missed.sum())} of {missed.size} inputs may be misclassified more often than their violation "
                f"allows, half of all inputs with a probability of about {middle:.2g} or more. {change}",
                WeakModelWarning,
                stacklevel=3,
            )

    def _proven_numbers(self) -> Mapping[str, Any]:
        names = (
            *("dual_coef_", "intercept_", "support_", "support_vectors_", "coef_", "gamma_", "classes_", "row_groups_"),
            *("groups_", "support_groups_", "sigmoid_", "moment_radii_", "public_objective_", "_named_groups"),
        )
        found = {name: getattr(self, name) for name in names if hasattr(self, name)}
        inputs = {f"inputs.{name}": column for name, column in self._inputs.items()}
        parts = {field.name: getattr(self._scores, field.name) for field in dataclasses.fields(self._scores)}
        # Seals from before there were units are made without.
        scores = {f"scores.{name}": part for name, part in parts.items() if name != "units" or part is not None}
        kept = {"pool": self._pool, "held_out": self._held_out}
        beside = {f"{name}.{key}": part for name, one in kept.items() if one is not None for key, part in vars(one).items()}
        return {**found, **inputs, **scores, **beside, "schema_": self.schema_.to_dict()}

    def _require_same(self, posed: PosedSVM, solved: SolvedSVM) -> None:
        """Raise unless the model predicts by the kernel of the problem, and :meth:`inputs` says what rows and plane say."""
        if self._scores.kernel != posed.problem.kernel:
            raise CertificateError(f"{CHANGED}: the kernel by which it predicts is not that of its parameters and these rows.")
        if not _same_pool(self._pool, posed.pool):
            raise CertificateError(f"{CHANGED}: what inputs to come borrow is not what these rows say.")
        right = input_table(posed, solved, self.classes_)
        if solved.outcome.dual is None:
            # A file without its witness cannot tell.
            right |= {name: self._inputs[name] for name in ("multiplier", "support")}
        for name, column in right.items():
            told, wanted = np.asarray(self._inputs[name]), np.asarray(column)
            if wanted.dtype.kind == "f" and told.dtype.kind == "f" and told.shape == wanted.shape:
                same = np.allclose(told, wanted, rtol=INPUT_ROUNDING, atol=INPUT_ROUNDING, equal_nan=True)
            else:
                same = told.tolist() == wanted.tolist()
            if not same:
                raise CertificateError(f"{CHANGED}: {name!r} of inputs() is not what the rows say.")

    def _answer(self, posed: PosedSVM, rows: TrainingRows) -> KernelPlane:
        """The plane by which the model predicts, with a coefficient for every sample; its public numbers must say the same."""
        scores, problem = self._scores, posed.problem
        same = np.array_equal(self.dual_coef_, scores.coefficients[None, :])
        same = same and _same_samples(self.support_vectors_, scores)
        if same and getattr(scores.kernel, "centre", None) is None and scores.units is None:
            same = np.array_equal(self.intercept_, [scores.intercept])
        if same and hasattr(self, "coef_"):
            # A product, which another machine may round in another way.
            told = self.support_vectors_ @ self.coef_[0] + self.intercept_[0]
            size = np.abs(self.support_vectors_) @ np.abs(self.coef_[0]) + np.abs(self.intercept_[0])
            same = bool(np.all(np.abs(told - scores(self.support_vectors_)) <= 1e-9 * size))
        if not same:
            raise CertificateError(f"{CHANGED}: its public numbers are not those by which it predicts.")
        row_of_sample = rows.positions[posed.order] if posed.samples_are_rows else posed.order
        sample_of_row = {row: sample for sample, row in enumerate(row_of_sample.tolist())}
        at = np.array([sample_of_row.get(row, -1) for row in self.support_.tolist()], dtype=np.intp)
        if np.any(at < 0) or (scores.samples.shape[1] and not np.array_equal(problem.samples[at], scores.samples)):
            raise CertificateError("these are not the rows of the proof: the support vectors are not among them.")
        coefficients = np.zeros(problem.n_samples)
        coefficients[at] = scores.coefficients
        return KernelPlane(coefficients, float(scores.intercept))


def _same_pool(told: RepeatPool | None, right: RepeatPool | None) -> bool:
    if told is None or right is None:
        return told is right
    pairs = [(getattr(told, field.name), getattr(right, field.name)) for field in dataclasses.fields(RepeatPool)]
    return all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=INPUT_ROUNDING, atol=INPUT_ROUNDING) for a, b in pairs)


def _same_samples(shown: FloatArray, scores: KernelScores) -> bool:
    """Whether support vectors in the units of their columns are the samples by which a model predicts."""
    if scores.units is None or scores.samples.shape[1] == 0:
        return np.array_equal(shown, scores.samples)
    as_given, as_computed = scores.units.standardized(shown), scores.units.back(scores.samples)
    return np.array_equal(as_given, scores.samples) or np.array_equal(shown, as_computed)
