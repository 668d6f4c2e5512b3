"""What makes up a fitted estimator.

An estimator is its parameters and what a fit has left. Both are listed here by name and type: what is not listed is not
written, and a file that lists anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.chancesvm.estimator.input_promises import HeldOutMargins
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.inputs.borrowed_repeats import RepeatPool
from surefoot.chancesvm.problem.moment_radii import MomentRadii
from surefoot.chancesvm.solvers.platt_scaling import PlattScaling
from surefoot.core.arrays import AnyArray, FloatArray, IntArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.binarize.table_binarizer import BinaryPlan
from surefoot.design.encode.schema import Level, Schema
from surefoot.exceptions import ModelFileError
from surefoot.files.consistency import (
    binarizer_fault,
    card_fault,
    inverse_fault,
    machines_fault,
    path_fault,
    require_several_classes,
    require_two_classes,
    robust_fault,
    scaler_fault,
    svc_fault,
)
from surefoot.files.plain_values import PlainWriter
from surefoot.files.records import fits, is_library
from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer
from surefoot.riskscore.estimator.group_rates import Rates
from surefoot.riskscore.estimator.near_optimal import NearOptimalSet
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.automatic_radius import SamplingError
from surefoot.robust.estimator.radius_path import RadiusPath
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
from surefoot.robust.estimator.robust_logistic_cv import RobustLogisticRegressionCV
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.sklearn_api.threshold_binarizer import ThresholdBinarizer

_WholeArray = NDArray[np.int64]
_Ranges = dict[str, tuple[str, float, float]]


@dataclass(frozen=True)
class ModelKind:
    """One estimator: what a fit always leaves, what it may leave, and what is wrong with a fitted one, or None."""

    make: Callable[..., Any]
    always: Mapping[str, Any]
    sometimes: Mapping[str, Any]
    fault: Callable[[Any], str | None]
    # The same estimator where a fit to more than two classes leaves something else.
    of_classes: ModelKind | None = None

    def fitted_as(self, parts: Mapping[str, Any]) -> ModelKind:
        """The kind itself, or that of more than two classes if the parts are what such a fit leaves."""
        return self if self.of_classes is None or "machines_" not in parts else self.of_classes


_COLUMNS = {"feature_names_in_": AnyArray}
# Files from before models had seals, or seals knew the parameters of the fit, lack them.
_SEAL = {"_proof_seal": str, "_parameter_marks": dict[str, str]}
_PROVEN: dict[str, Any] = {
    "certificate_": Certificate,
    "classes_": AnyArray,
    "outcome_": SolveOutcome,
    "schema_": Schema,
    "solver_": str,
    "n_features_in_": int,
}
_ROBUST: dict[str, Any] = {
    **_PROVEN,
    "coef_": FloatArray,
    "intercept_": FloatArray,
    "dual_price_": float,
    "ground_cost_": GroundCost,
    "label_weight_": float,
    "radius_": float,
    "n_iter_": int,
    "_library": str | None,
}
KINDS: dict[str, ModelKind] = {
    "RobustLogisticRegression": ModelKind(
        RobustLogisticRegression,
        _ROBUST,
        # Files from before radii were automatic, or fits in parts remembered their parts, lack these.
        {**_COLUMNS, **_SEAL, "sampling_error_": SamplingError | None, "part_rows_": tuple[int, ...] | None},
        robust_fault,
    ),
    "RobustLogisticRegressionCV": ModelKind(
        RobustLogisticRegressionCV,
        {**_ROBUST, "path_": RadiusPath},
        # Files from before there were scales lack theirs.
        {**_COLUMNS, **_SEAL, "certainty_scale_": float},
        path_fault,
    ),
    "RiskScoreClassifier": ModelKind(
        RiskScoreClassifier,
        {
            **_PROVEN,
            "coef_": IntArray,
            "intercept_": int,
            "multiplier_": float,
            "points_": dict[str, int],
            "near_optimal_": NearOptimalSet | None,
            "_n_rows": int,
            "_ranges": _Ranges,
        },
        # Files from before there was pos_label, or rates of groups, lack them.
        {**_COLUMNS, **_SEAL, "_turned": bool, "_group_rates": dict[str, Rates], "_library": str | None},
        card_fault,
    ),
    "ChanceConstrainedSVC": ModelKind(
        ChanceConstrainedSVC,
        {
            **_PROVEN,
            "dual_coef_": FloatArray,
            "intercept_": FloatArray,
            "groups_": list[Level],
            "support_groups_": list[Level],
            "support_": _WholeArray,
            "support_vectors_": FloatArray,
            "moment_radii_": MomentRadii | None,
            "sigmoid_": PlattScaling | None,
            "n_iter_": int,
            "_feature_map": None,
            "_inputs": dict[str, AnyArray | list[Level]],
            "_kernel_columns": _WholeArray | None,
            "_library": str | None,
            "_scores": KernelScores,
        },
        {
            **_COLUMNS,
            **_SEAL,
            "coef_": FloatArray,
            "gamma_": float,
            "row_groups_": _WholeArray,
            # Files from before they were there lack them.
            "public_objective_": float,
            "weakness_": str,
            "_named_groups": bool,
            "_held_out": HeldOutMargins | None,
            "_pool": RepeatPool | None,
        },
        svc_fault,
        of_classes=ModelKind(
            ChanceConstrainedSVC,
            {
                **_PROVEN,
                "machines_": list[ChanceConstrainedSVC],
                "multi_class_": str,
                "groups_": list[Level],
                "support_groups_": list[Level],
                "n_iter_": int,
                "_feature_map": None,
                "_library": str | None,
                "_named_groups": bool,
            },
            {**_COLUMNS, **_SEAL, "row_groups_": _WholeArray},
            machines_fault,
        ),
    ),
    "ThresholdBinarizer": ModelKind(
        ThresholdBinarizer,
        {
            "plan_": BinaryPlan,
            "columns_": tuple[BinaryColumn, ...],
            "thresholds_": dict[str, list[float]],
            "n_features_in_": int,
            "_library": str | None,
        },
        {**_COLUMNS, "_sklearn_output_config": dict[str, str]},
        binarizer_fault,
    ),
    # After partial_fit there is no certificate; the steps themselves are not kept, but where they led.
    "InverseOptimizer": ModelKind(
        InverseOptimizer,
        {"cost_": FloatArray},
        {
            "certificate_": Certificate,
            "outcome_": SolveOutcome,
            "n_iter_": int,
            "n_seen_": int,
            "paid_": float,
            "regret_": float,
            **_SEAL,
        },
        inverse_fault,
    ),
    # Kernels need columns of like size, so a scaler is what stands before them in a pipeline.
    "StandardScaler": ModelKind(
        StandardScaler,
        {
            "mean_": FloatArray | None,
            "var_": FloatArray | None,
            "scale_": FloatArray | None,
            "n_samples_seen_": Any,
            "n_features_in_": int,
        },
        {**_COLUMNS, "_sklearn_output_config": dict[str, str]},
        scaler_fault,
    ),
}
# A file that comes from elsewhere must not say where this machine writes its checkpoints.
_NOT_KEPT = {"checkpoint": None}
# Nor may it have the steps of its pipeline write over the rows of whoever loads it; the answers are the same.
_ALWAYS = {"StandardScaler": {"copy": True}}


def write_model(model: Any, place: str, writer: PlainWriter) -> Any:
    """The entry of an estimator, or None for anything else."""
    name = type(model).__name__
    if type(model) is Pipeline:
        _require_plain_pipeline(model)
        steps = {step: writer.write(part, f"step {step!r}") for step, part in model.steps}
        return {"model": ["Pipeline", steps, {}]}
    kind = KINDS.get(name)
    if kind is None or kind.make is not type(model):
        return None
    given = {**model.get_params(deep=False), **{key: gone for key, gone in _NOT_KEPT.items() if hasattr(model, key)}}
    parameters = {key: writer.write(value, key) for key, value in given.items()}
    state = vars(model)
    kind = kind.fitted_as(state)
    if not all(key in state for key in kind.always):
        return {"model": [name, parameters, {}]}
    fitted = {key: writer.write(state[key], key) for key in (*kind.always, *kind.sometimes) if key in state}
    return {"model": [name, parameters, fitted]}


def make_model(name: str, parameters: dict[str, Any], fitted: dict[str, Any]) -> Any:
    """The estimator of a file.

    Raises
    ------
    ModelFileError
        If there is no such estimator, or its parts are not what they have to be.
    """
    if name == "Pipeline":
        return _make_pipeline(parameters, fitted)
    kind = KINDS.get(name)
    if kind is None:
        raise ModelFileError(f"it holds a {name!r:.80}, which this version of surefoot does not know.")
    parameters = {**getattr(kind.make, "later_parameters", {}), **parameters}
    try:
        model = kind.make(**parameters)
    except TypeError as error:
        raise ModelFileError(f"the parameters are not those of a {name}: {error!s:.200}") from error
    if set(parameters) != set(model.get_params(deep=False)):
        raise ModelFileError(f"it lacks parameters of a {name}.")
    for key, value in parameters.items():
        if callable(value) or hasattr(value, "fit"):
            raise ModelFileError(f"{key} of the {name} is {value!r:.80}, which it cannot be.")
        if key == "n_jobs" and not (value is None or (type(value) is int and value != 0)):
            raise ModelFileError(f"n_jobs of the {name} is {value!r:.80}, which it cannot be.")
        if key in _NOT_KEPT and value is not None:
            raise ModelFileError(f"it names a file, {key} = {value!r:.80}, which no model file does.")
    model.set_params(**_ALWAYS.get(name, {}))
    if fitted:
        _fill(model, name, kind.fitted_as(fitted), fitted)
    return model


def _fill(model: Any, name: str, kind: ModelKind, fitted: dict[str, Any]) -> None:
    hints = {**kind.always, **kind.sometimes}
    if not set(kind.always) <= set(fitted) <= set(hints):
        strange = sorted(set(fitted) ^ (set(kind.always) | (set(fitted) & set(kind.sometimes))))
        raise ModelFileError(f"a fitted {name} does not have exactly these parts: {', '.join(strange)!s:.200}.")
    for key, value in fitted.items():
        if not fits(value, hints[key]) or (key == "_library" and not is_library(value)):
            raise ModelFileError(f"{key} of the {name} is {value!r:.80}, which it cannot be.")
    if "classes_" in fitted:
        (require_several_classes if "machines_" in fitted else require_two_classes)(fitted["classes_"])
    vars(model).update(fitted)
    fault = kind.fault(model)
    if fault is not None:
        raise ModelFileError(f"the parts of the {name} do not belong together: {fault}.")


def _make_pipeline(steps: dict[str, Any], fitted: dict[str, Any]) -> Any:
    known = all(part == "passthrough" or (hasattr(part, "fit") and not isinstance(part, Pipeline)) for part in steps.values())
    if fitted or not steps or not known:
        raise ModelFileError("its steps are not those of a pipeline of surefoot's estimators.")
    *before, last = steps.values()
    if not all(part == "passthrough" or hasattr(part, "transform") for part in before) or last == "passthrough":
        raise ModelFileError("its steps do not follow each other as in a pipeline.")
    return Pipeline(list(steps.items()))


def _require_plain_pipeline(model: Any) -> None:
    for parameter in ("memory", "transform_input"):
        if getattr(model, parameter, None) is not None:
            raise ModelFileError(
                f"{parameter} of the pipeline is {getattr(model, parameter)!r:.80}, which a model file does not hold. "
                f"Save model.set_params({parameter}=None)."
            )
