"""The parameters of a chance-constrained classifier, read and checked."""

from __future__ import annotations

import numbers
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from surefoot.chancesvm.estimator.multi_class_machines import require_multi_class
from surefoot.chancesvm.inputs.class_clusters import require_batches
from surefoot.chancesvm.inputs.class_prices import require_class_weight
from surefoot.chancesvm.inputs.gap_policy import require_missing
from surefoot.chancesvm.inputs.uncertain_inputs import read_violation
from surefoot.chancesvm.problem.landmark_kernel import LandmarkParameters
from surefoot.chancesvm.registry import ChanceSVMSolver, make_chance_solver
from surefoot.chancesvm.solvers.parameters import ChanceAdmmParameters
from surefoot.core.arrays import FloatArray
from surefoot.design.encode.mixed_design import MixedDesign
from surefoot.sklearn_api.number_table import dense
from surefoot.sklearn_api.parameter_checks import require_gap
from surefoot.sklearn_api.training_rows import TrainingRows

COVARIANCES = ("auto", "shrunk", "pooled", "batch")


@dataclass(frozen=True)
class SVMSettings:
    """The parameters of ``ChanceConstrainedSVC``, checked as much as that goes without a table."""

    cost: float
    violation: Any
    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    batches: str | int
    solver: ChanceSVMSolver
    tolerance: float
    max_iter: int | None
    time_limit: float | None
    seed: int
    confidence: float | None
    kernel_bound: float | None
    n_landmarks: int | None
    automatic: bool
    standardize: bool
    covariance: str
    class_weight: Any
    multi_class: str
    missing: str
    # Where there are more than two classes, what that of each row of the table multiplies its price by.
    row_prices: FloatArray | None = None
    landmark_candidates: int = LandmarkParameters.candidates

    @property
    def as_published(self) -> bool:
        """Whether the last iterate of the published method is asked for, good or not."""
        return self.solver.name == "admm"

    @property
    def precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def drops_gaps(self) -> bool:
        """Whether rows with gaps are left out; a matrix of kernels has no rows that could be."""
        return self.missing == "drop" and not self.precomputed

    @property
    def has_units(self) -> bool:
        """Whether columns are put into standard units: not those of a matrix, nor what a user's function is to see."""
        return self.standardize and isinstance(self.kernel, str) and not self.precomputed

    @property
    def borrows(self) -> bool:
        """Whether inputs borrow deviations from each other: those of a matrix, or before a user's function, cannot."""
        if self.covariance == "auto":
            return self.confidence is None and isinstance(self.kernel, str) and not self.precomputed
        return self.covariance != "batch"

    def block(self, design: MixedDesign, against: TrainingRows) -> FloatArray:
        """The numbers of some rows; those of a precomputed kernel are its products with other rows."""
        block = dense(design.numeric)
        return block[:, against.positions] if self.precomputed else block


def read_settings(model: Any) -> SVMSettings:
    """Read the parameters of an estimator, and raise on those that no table could make sense of."""
    for name in ("C", "tol", "admm_penalty"):
        _require_positive(name, getattr(model, name))
    require_gap(model.tol)
    for name in ("time_limit", "kernel_bound"):
        if getattr(model, name) is not None:
            _require_positive(name, getattr(model, name), "None or ")
    for name in ("max_iter", "n_landmarks"):
        value = getattr(model, name)
        if value is not None and not (isinstance(value, numbers.Integral) and int(value) >= 1):
            raise ValueError(f"{name} = {value!r} must be None or a whole number of at least 1.")
    if model.confidence is not None and not (_is_number(model.confidence) and 0 < model.confidence < 1):
        raise ValueError(f"confidence = {model.confidence!r} must be None or a number above 0 and below 1, such as 0.95.")
    if model.confidence is not None and model.kernel_bound is None and not _is_rbf(model.kernel):
        raise ValueError(
            "confidence needs a bound on the length of samples in feature space, which is known for kernel='rbf' only, not "
            f"for {model.kernel!r}. Say with kernel_bound which length no sample can exceed."
        )
    if not isinstance(model.solver, str):
        raise ValueError(f"solver = {model.solver!r} must be the name of a solver, such as 'auto'.")
    if isinstance(model.violation, numbers.Real):
        read_violation(model.violation, None)
    require_class_weight(model.class_weight)
    return SVMSettings(
        cost=float(model.C),
        violation=model.violation,
        kernel=model.kernel,
        gamma=model.gamma,
        degree=model.degree,
        coef0=model.coef0,
        batches=require_batches(model.batches),
        solver=make_chance_solver(model.solver, *_context(model)),
        tolerance=float(model.tol),
        max_iter=None if model.max_iter is None else int(model.max_iter),
        time_limit=None if model.time_limit is None else float(model.time_limit),
        # Drawn once, so that clusters and folds of one fit are those of the next with the same random_state.
        seed=int(check_random_state(model.random_state).randint(np.iinfo(np.int32).max)),
        confidence=None if model.confidence is None else float(model.confidence),
        kernel_bound=1.0 if model.kernel_bound is None else float(model.kernel_bound),
        n_landmarks=None if model.n_landmarks is None else int(model.n_landmarks),
        automatic=model.solver == "auto",
        standardize=_require_flag("standardize", model.standardize),
        covariance=_require_covariance(model),
        class_weight=model.class_weight,
        multi_class=require_multi_class(model.multi_class),
        missing=require_missing(model.missing),
    )


def _require_covariance(model: Any) -> str:
    wanted = model.covariance
    if not (isinstance(wanted, str) and wanted in COVARIANCES):
        raise ValueError(f"covariance = {wanted!r} must be one of {', '.join(map(repr, COVARIANCES))}.")
    if wanted in ("shrunk", "pooled"):
        if model.confidence is not None:
            raise ValueError(
                f"confidence widens the moments of the samples as they are, and covariance = {wanted!r} changes these. Use "
                "covariance='batch', or confidence=None."
            )
        if not isinstance(model.kernel, str) or model.kernel == "precomputed":
            raise ValueError(
                f"covariance = {wanted!r} makes rows of its own, which a kernel with a name can compare and "
                f"{'a matrix' if isinstance(model.kernel, str) else 'a function'} may not know. Use covariance='batch'."
            )
    return wanted


def _context(model: Any) -> tuple[ChanceAdmmParameters, ...]:
    """What the solver of a model is made with."""
    return (ChanceAdmmParameters(penalty=float(model.admm_penalty)),) if model.solver == "admm" else ()


def _is_rbf(kernel: Any) -> bool:
    return isinstance(kernel, str) and kernel == "rbf"


def _require_flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} = {value!r} must be True or False.")
    return bool(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _require_positive(name: str, value: Any, otherwise: str = "") -> None:
    # A whole number may be too large for a double.
    if not (_is_number(value) and 0 < value <= sys.float_info.max):
        raise ValueError(f"{name} = {value!r} must be {otherwise}a positive, finite number.")
