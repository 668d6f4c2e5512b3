"""The records that a model file may hold, by name, and whether what a file says fits them.

A file names a class; it is looked up here and nowhere else, so no file can have anything else made or called. A record is made
by its own constructor, which checks what it always checks, after every field has been compared with its declared type.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from surefoot import constraints
from surefoot.chancesvm.estimator.input_promises import HeldOutMargins
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.inputs.borrowed_repeats import RepeatPool
from surefoot.chancesvm.inputs.column_units import ColumnUnits
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.moment_radii import MomentRadii
from surefoot.chancesvm.problem.problem import EllipsoidMix, KernelPlane
from surefoot.chancesvm.solvers.platt_scaling import PlattScaling
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import Progress, SolveOutcome
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.binarize.table_binarizer import BinaryPlan
from surefoot.design.encode.schema import ColumnSchema, Schema
from surefoot.exceptions import ModelFileError
from surefoot.inverse.problem.cost_proof import CostProof, FacetProof
from surefoot.inverse.problem.cost_witness import CostWitness
from surefoot.inverse.problem.decision_proof import DecisionTrees
from surefoot.inverse.problem.ellipsoidal_cost import EllipsoidalCost, EllipsoidProof
from surefoot.inverse.problem.prior_set import PriorSet
from surefoot.inverse.problem.ray_proof import ConeCover, RayProof
from surefoot.riskscore.baselines.tangent_bound import TangentProof
from surefoot.riskscore.estimator.near_optimal import NearOptimalSet
from surefoot.riskscore.lattice.cut_run import CutTally
from surefoot.riskscore.problem.problem import RiskScore
from surefoot.riskscore.problem.score_proof import ScoreProof
from surefoot.riskscore.search.exact_score import SearchTally
from surefoot.riskscore.search.near_cards import NearOptimalCards
from surefoot.robust.estimator.automatic_radius import SamplingError
from surefoot.robust.estimator.held_out_radius import HeldOut
from surefoot.robust.estimator.radius_path import PathPoint, RadiusPath
from surefoot.robust.first_order.parameters import PublishedLpAdmm
from surefoot.robust.problem.ground_cost import GroundCost
from surefoot.robust.problem.problem import RobustCoefficients, ShiftPlan
from surefoot.shift.ambiguity import Ambiguity
from surefoot.shift.shift_model import ShiftModel

_RULES: tuple[Any, ...] = tuple(getattr(constraints, name) for name in constraints.__all__ if name != "Constraint")
RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Ambiguity,
        BinaryColumn,
        BinaryPlan,
        Certificate,
        ColumnSchema,
        ColumnUnits,
        ConeCover,
        CostProof,
        CostWitness,
        CutTally,
        DecisionTrees,
        EllipsoidMix,
        EllipsoidProof,
        EllipsoidalCost,
        FacetProof,
        GroundCost,
        HeldOut,
        HeldOutMargins,
        Kernel,
        KernelPlane,
        KernelScores,
        MomentRadii,
        NearOptimalCards,
        NearOptimalSet,
        PathPoint,
        PriorSet,
        PlattScaling,
        Progress,
        PublishedLpAdmm,
        RadiusPath,
        RayProof,
        RepeatPool,
        RiskScore,
        RobustCoefficients,
        SamplingError,
        Schema,
        ScoreProof,
        SearchTally,
        ShiftModel,
        ShiftPlan,
        SolveOutcome,
        TangentProof,
        *_RULES,
    )
}
# Records that had another name when earlier files were written.
EARLIER_NAMES: dict[str, str] = {"Sigmoid": "PlattScaling"}
# What proves the bounds of a model: a record, or an array of numbers.
_PROOFS = ("dual", "witness")
# Where tables that a model returns are made; a name from a file must not decide what is imported.
FRAME_LIBRARIES = ("cudf", "modin.pandas", "pandas", "polars", "pyarrow")


def record_fields(record: Any) -> dict[str, Any]:
    """The fields of a record by name."""
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def make_record(name: str, fields: Mapping[str, Any]) -> Any:
    """The record of that name.

    Raises
    ------
    ModelFileError
        If there is no such record, or it does not have these fields with values of these types.
    """
    kind = RECORDS.get(EARLIER_NAMES.get(name, name))
    if kind is None:
        raise ModelFileError(f"it names {name!r:.80}, which is no part of a model.")
    hints = _hints(kind)
    # Files that were written before a field existed do without it, if it has a default.
    if not _required(kind) <= set(fields) <= set(hints):
        raise ModelFileError(f"a {name} has the fields {', '.join(hints)}, not {', '.join(map(str, fields))!s:.200}.")
    for field, value in fields.items():
        # Some fields take functions; files have none to give, and nothing else that can be called has a place in a record.
        if not fits(value, hints[field]) or callable(value) or (field == "library" and not is_library(value)):
            raise ModelFileError(f"{field} of a {name} is {value!r:.80}, which it cannot be.")
        if field in _PROOFS and not (value is None or isinstance(value, (np.ndarray, *RECORDS.values()))):
            raise ModelFileError(f"{field} of a {name} is {value!r:.80}, which proves nothing.")
    try:
        return kind(**fields)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"a {name} in the file makes no sense: {error!s:.200}") from error


def is_library(name: Any) -> bool:
    """Whether a name is that of a data frame library, or None."""
    return name is None or (type(name) is str and name in FRAME_LIBRARIES)


@cache
def _hints(kind: type) -> dict[str, Any]:
    declared = typing.get_type_hints(kind)
    return {field.name: declared[field.name] for field in dataclasses.fields(kind) if field.init}


@cache
def _required(kind: type) -> frozenset[str]:
    no_default = dataclasses.MISSING
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.init and field.default is no_default and field.default_factory is no_default
    )


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type, as far as files go: containers are looked into, and arrays keep their numbers."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(origin, "__value__"):  # NDArray is an alias of its own from NumPy 2.5 on
        return fits(value, origin.__value__[inner])
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, choice) for choice in inner)
    if origin is typing.Literal:
        return type(value) is str and value in inner
    if hint in (None, type(None)):
        return value is None
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _has_numbers(value, inner[1])
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if inner[-1] is Ellipsis:
            return all(fits(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(fits, value, inner))
    if origin in (list, Sequence):
        return isinstance(value, (list, tuple) if origin is Sequence else list) and all(fits(item, inner[0]) for item in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(fits(key, inner[0]) and fits(item, inner[1]) for key, item in value.items())
    if hint is float:
        return isinstance(value, float) or type(value) is int
    if hint is int:
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    kind = origin or hint
    return isinstance(kind, type) and isinstance(value, kind)


def _has_numbers(array: np.ndarray[Any, Any], dtype_hint: Any) -> bool:
    inner = typing.get_args(dtype_hint)
    if not inner or inner[0] is Any:
        return True
    # Whole numbers may be of another width, as platforms differ in it; floats and truth values may not.
    wanted = np.dtype(inner[0])
    return bool(array.dtype == wanted or (wanted.kind == "i" and array.dtype.kind == "i"))
