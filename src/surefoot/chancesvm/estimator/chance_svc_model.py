"""What a fitted chance-constrained classifier knows and answers: scores, classes, probabilities, and a table of its inputs."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from surefoot.chancesvm.estimator.input_promises import HeldOutMargins
from surefoot.chancesvm.estimator.input_table import input_table
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.estimator.multi_class_machines import class_probabilities, class_scores
from surefoot.chancesvm.estimator.posed_svm import PosedSVM, SolvedSVM
from surefoot.chancesvm.estimator.promised_inputs import REMEDIES, PromisedInputs
from surefoot.chancesvm.estimator.several_machines import SeveralMachines
from surefoot.chancesvm.inputs.borrowed_repeats import RepeatPool
from surefoot.chancesvm.problem.problem import KernelPlane
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.chancesvm.solvers.platt_scaling import PlattScaling
from surefoot.core.arrays import FloatArray, RowArray
from surefoot.core.certificate import Certificate
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.write.output_frame import build_frame
from surefoot.exceptions import CertificateError, RoundedInterceptWarning, WeakModelWarning
from surefoot.sklearn_api.binary_classifier import BinaryClassifier
from surefoot.sklearn_api.finite_model import require_finite_model
from surefoot.sklearn_api.number_table import dense, number_columns, read_number_table
from surefoot.sklearn_api.proven_model import CHANGED, ProvenModel
from surefoot.sklearn_api.training_rows import TrainingRows, require_columns_of_training, set_columns_of_training

# What may be missing to a margin by rounding, in units of the margin.
MARGIN_ROUNDING = 1e-9
# Kernels of pairs of rows that are computed to see how much of a proof the public numbers keep: a second or so.
MOST_PUBLIC_PRODUCTS = 100_000_000
# Ellipsoids of a third of a standard deviation: beyond this, spread is not what keeps inputs together.
MILD_VIOLATION = 0.9
# A model that gives a class less than this fraction of its share says next to nothing.
WEAK_FRACTION = 0.05
# What another machine may find differently of promises, slacks and multipliers.
INPUT_ROUNDING = 1e-6


def _wants_probability(model: ChanceSVCModel) -> bool:
    if not model.probability:
        raise AttributeError(
            f"predict_proba needs probability=True, set before fit: {type(model).__name__}(probability=True). predict and "
            "decision_function do without."
        )
    return True


class ChanceSVCModel(PromisedInputs, SeveralMachines, ProvenModel, BinaryClassifier, BaseEstimator):
    """The part of :class:`~surefoot.ChanceConstrainedSVC` that comes after the solve."""

    later_parameters: ClassVar[Mapping[str, Any]] = {
        "standardize": False,
        "covariance": "batch",
        "admm_penalty": 1.0,
        "class_weight": None,
        "multi_class": "ovo",
        "missing": "raise",
    }

    kernel: Any
    probability: bool
    groups_: list[Level]
    row_groups_: RowArray
    support_groups_: list[Level]
    certificate_: Certificate
    public_objective_: float
    outcome_: ChanceOutcome
    weakness_: str
    sigmoid_: PlattScaling | None
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

        Of more than two classes the largest score wins: with ``multi_class="ovo"`` votes, and what the scores add up to between
        equal votes, with "ovr" the scores of each class against the rest.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_classes) for more than two classes
        """
        block = self._block(X)
        if self._is_multi_class:
            return class_scores(self.multi_class_, self._machine_scores(block), self.classes_.size)
        return self._scored(block)

    @available_if(_wants_probability)  # type: ignore[untyped-decorator] # scikit-learn carries no types
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, in the order of ``classes_``; needs ``probability=True``.

        They come from Platt scaling of the scores of calibration folds, and may disagree with ``predict`` near a score of 0, as
        in scikit-learn's SVC. Of more than two classes those of the pairs are coupled ("ovo": Wu, Lin and Weng, 2004, as in
        LIBSVM), or those of the classes against the rest divided by their sum ("ovr").

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        block = self._block(X)
        if self._is_multi_class:
            positive = [machine._probabilities(block)[:, 1] for machine in self.machines_]
            return class_probabilities(self.multi_class_, np.column_stack(positive), self.classes_.size)
        return self._probabilities(block)

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
            per input, in the library of the training table. Of more than two classes one for each input of each machine, whose
            two classes ``machine`` names.
        """
        return build_frame(self.input_columns(), self._library)

    def input_columns(self) -> dict[str, Any]:
        """The columns of :meth:`inputs` as plain lists and arrays."""
        check_is_fitted(self)
        if not self._is_multi_class:
            return dict(self._inputs)
        return self._inputs_of_machines()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _block(self, X: Any) -> FloatArray:
        """The numbers of rows to be scored."""
        check_is_fitted(self)
        if self._feature_map is not None:
            return self._mapped(X)
        require_columns_of_training(self, X)
        return number_columns(read_number_table(X, REMEDIES), self.schema_)

    def _probabilities(self, block: FloatArray) -> FloatArray:
        """Those of two classes."""
        if self.sigmoid_ is None:
            raise ValueError("this model was fitted with probability=False: fit it again.")
        scores = self._scored(block)
        return np.column_stack([self.sigmoid_.complement(scores), self.sigmoid_.probability(scores)])

    def _scored(self, block: FloatArray) -> FloatArray:
        return self._scores(block[:, self._kernel_columns] if self._kernel_columns is not None else block)

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
        scores = KernelScores.of_plane(posed.problem, plane, posed.order, posed.units)
        require_finite_model(f"{type(self).__name__}.fit", scores.coefficients, scores.intercept)
        self._forget_machines()
        self._scores = scores
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
        self.weakness_ = self._weakness(solved)
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
            # Of many inputs only some are looked at, and the worst error among them is taken for that of all others.
            most = len(problem.samples) if coef is not None else MOST_PUBLIC_PRODUCTS // max(1, self._scores.coefficients.size)
            count = max(1, min(1.0, most / len(problem.samples)) * problem.n_batches)
            seen = np.isin(np.arange(problem.n_batches), np.linspace(0, problem.n_batches - 1, int(count)).astype(np.int64))
            rows, scores = np.repeat(seen, problem.sizes), solved.values + own
            try:
                scores[rows] = self._scores.by_public_numbers(problem.samples[rows], coef, intercept)
            except ValueError:
                # Without a centre the kernel is not finite.
                return np.inf
            public, proven_demands = problem.demands(scores, squared_length), demands - problem.labels * own
            worst = float(np.abs(public - proven_demands)[seen].max(initial=0.0))
            evaluated = problem.hinge(np.where(seen, public, proven_demands + worst), 0.0)
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

    def _warn_of_weakness(self, where: str) -> None:
        """Say so if the best model says next to nothing."""
        if self.weakness_:
            warnings.warn(f"{where}: {self.weakness_}", WeakModelWarning, stacklevel=3)

    def _weakness(self, solved: SolvedSVM) -> str:
        """In what the best model says next to nothing, and what to change; or nothing."""
        if not solved.certificate.verified:
            # Whoever stopped too early has been told so, and another price is not what is needed.
            return ""
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
            return (
                f"{'all' if positive in (0.0, 1.0) else 'nearly all'} rows are put into one class, "
                f"{self.classes_.tolist()[int(positive > 0.5)]!r}. At these prices no plane is better, but it is of little "
                f"use. {change}"
            )
        if self._named_groups and 2 * int(missed.sum()) > missed.size:
            middle = float(np.median(np.asarray(told["misclassified"])))
            return (
                f"{int(missed.sum())} of {missed.size} inputs may be misclassified more often than their violation "
                f"allows, half of all inputs with a probability of about {middle:.2g} or more. {change}"
            )
        return ""

    def _proven_numbers(self) -> Mapping[str, Any]:
        if self._is_multi_class:
            return self._numbers_of_machines()
        names = (
            *("dual_coef_", "intercept_", "support_", "support_vectors_", "coef_", "gamma_", "classes_", "row_groups_"),
            *("groups_", "support_groups_", "sigmoid_", "moment_radii_", "public_objective_", "_named_groups"),
            "weakness_",
        )
        found = {name: getattr(self, name) for name in names if hasattr(self, name)}
        inputs = {f"inputs.{name}": column for name, column in self._inputs.items()}
        parts = {field.name: getattr(self._scores, field.name) for field in dataclasses.fields(self._scores)}
        # Seals from before there were units are made without.
        scores = {f"scores.{name}": part for name, part in parts.items() if name != "units" or part is not None}
        if self._kernel_columns is not None:
            found["_kernel_columns"] = self._kernel_columns
        kept = {"pool": self._pool, "held_out": self._held_out}
        beside = {f"{name}.{key}": part for name, one in kept.items() if one is not None for key, part in vars(one).items()}
        return {**found, **inputs, **scores, **beside, "schema_": self.schema_.to_dict()}

    def _require_same(self, posed: PosedSVM, solved: SolvedSVM, rows: TrainingRows) -> None:
        """Raise unless the model predicts by the kernel of the problem, and :meth:`inputs` says what rows and plane say."""
        if self._scores.kernel != posed.problem.kernel:
            raise CertificateError(f"{CHANGED}: the kernel by which it predicts is not that of its parameters and these rows.")
        groups = list(posed.inputs.names)
        if posed.from_rows and (self.groups_ != groups or not _same_groups(self.row_groups_, posed, rows)):
            raise CertificateError(f"{CHANGED}: its groups are not those of the rows.")
        if not _same_pool(self._pool, posed.pool):
            raise CertificateError(f"{CHANGED}: what inputs to come borrow is not what these rows say.")
        right = input_table(posed, solved, self.classes_)
        if solved.outcome.dual is None:
            # A file without its witness cannot tell.
            right |= {name: self._inputs[name] for name in ("multiplier", "support")}
        if self.support_groups_ != [name for name, used in zip(groups, right["support"], strict=True) if used]:
            raise CertificateError(f"{CHANGED}: its support groups are not those of inputs().")
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
        if same:
            right, _ = scores.plain_intercept(self.coef_[0] if hasattr(self, "coef_") else None)
            same = self.intercept_.shape == (1,) and abs(self.intercept_[0] - right) <= 1e-9 * max(1.0, abs(right))
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
        self._require_same_reading(posed, rows)
        coefficients = np.zeros(problem.n_samples)
        coefficients[at] = scores.coefficients
        return KernelPlane(coefficients, float(scores.intercept))

    def _require_same_reading(self, posed: PosedSVM, rows: TrainingRows) -> None:
        """Raise unless the model reads rows as those of the problem were read."""
        columns = rows.positions if posed.problem.kernel.name == "precomputed" else None
        support = self._scores.support
        if posed.samples_are_rows and support.max(initial=0) < rows.positions.size:
            support = rows.positions[support]
        same = (columns is None) == (self._kernel_columns is None) and np.array_equal(support, self.support_)
        if self._kernel_columns is not None:
            same = same and columns is not None and np.array_equal(columns, self._kernel_columns)
        if not same or (posed.from_rows and self._feature_map is not None):
            raise CertificateError(f"{CHANGED}: it reads rows in another way than those of the proof.")


def _same_pool(told: RepeatPool | None, right: RepeatPool | None) -> bool:
    if told is None or right is None:
        return told is right
    pairs = [(getattr(told, field.name), getattr(right, field.name)) for field in dataclasses.fields(RepeatPool)]
    return all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=INPUT_ROUNDING, atol=INPUT_ROUNDING) for a, b in pairs)


def _same_groups(of_row: RowArray, posed: PosedSVM, rows: TrainingRows) -> bool:
    return np.array_equal(of_row, posed.groups_of_rows(rows.positions, of_row.size))


def _same_samples(shown: FloatArray, scores: KernelScores) -> bool:
    """Whether support vectors in the units of their columns are the samples by which a model predicts."""
    if scores.units is None or scores.samples.shape[1] == 0:
        return np.array_equal(shown, scores.samples)
    as_given, as_computed = scores.units.standardized(shown), scores.units.back(scores.samples)
    return np.array_equal(as_given, scores.samples) or np.array_equal(shown, as_computed)
