"""What a fitted estimator needs so that its proof can be checked again: one protocol for all families.

A fit and a later check ask the same method for the certificate, so they cannot differ. Between the two the model may have
changed: a fit leaves a seal, which is a fingerprint of the numbers that a user sees, of those that predictions use, of the
certificate that speaks about them, and of the parameters that the fit had.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate, Statement, digest, verdict
from surefoot.sklearn_api import shown_certificate as _shown  # noqa: F401  puts on what shows a certificate
from surefoot.sklearn_api.parameter_marks import parameter_mark, parameter_marks, sealed_fields

CHANGED = "the model has changed since it was proven"
# A last step does not see the steps before it: what they did in its fit can be told from the rows alone.
ABOUT_LAST_STEP = (
    "This is about the last step of a pipeline, on the rows that the steps before it made in the fit; whether these steps are "
    "still the same is told by surefoot.verify, from the training rows."
)


@dataclass(frozen=True)
class ProofParts:
    """What a certificate judges.

    Attributes
    ----------
    kind : str
        Which certificate judges: "robust", "riskscore", "chancesvm", "inverse-cost", ...; see :mod:`surefoot.proofs`.
    arguments : mapping
        Problem, answer, witness and settings by the names that the family's function takes them under.
    judge : callable
        Calls that function, as the fit did.
    """

    kind: str
    arguments: Mapping[str, Any]
    judge: Callable[[], Certificate]


class ProvenModel:
    """Base of estimators that carry a certificate; subclasses list their numbers and rebuild their problem."""

    certificate_: Certificate
    # Parameters that came later, with the value that tells what models from before did.
    later_parameters: ClassVar[Mapping[str, Any]] = {}

    def _proof_parts(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ProofParts:
        """Problem of these rows, answer as the public numbers have it now, and the stored witness."""
        raise NotImplementedError

    def _proven_numbers(self) -> Mapping[str, Any]:
        """Everything by which the model answers, as it is now: arrays, numbers, texts, lists and records."""
        raise NotImplementedError

    def _held_out_probability(self, X: Any, y: Any) -> FloatArray | None:
        """Of the second class, for each row of the fit, by a model of the same settings fitted without it; None if unknown."""
        return None

    def _seal_proof(self) -> None:
        """Remember what has been proven; the last step of a fit."""
        self._parameter_marks = parameter_marks(self)
        self._proof_seal = _seal(self)


def has_changed(model: Any) -> bool | None:
    """Whether a model differs from the one that its certificate is about; None for models from before there were seals.

    Of a pipeline this is its last step, and whether the step before it makes the columns that it was fitted to. Seals came with
    digests of models, so a certificate with such a digest and without a seal has lost it, which counts as a change.
    """
    last = last_step(model)
    if getattr(last, "certificate_", None) is None:
        return None
    if changed_columns(model):
        return True
    if getattr(last, "_proof_seal", None) is None:
        return True if last.certificate_.model_digest else None
    return bool(last._proof_seal != _seal(last) or changed_parameters(last))


def changed_parameters(model: Any) -> list[str]:
    """The parameters that are not those of the fit; none for models from before parameters were part of the seal."""
    marks = getattr(model, "_parameter_marks", None)
    if marks is None:
        return []
    now = parameter_marks(model)
    marks = {**{name: parameter_mark(name, value) for name, value in model.later_parameters.items()}, **marks}
    return [name for name in sorted(now | marks) if now.get(name) != marks.get(name)]


def changed_columns(model: Any) -> str:
    """How the columns that a pipeline hands to its last step differ from those of its fit, as a clause; nothing if not at all.

    Names are compared where the step before is known to give its columns the names that it tells.
    """
    steps = [step for _, step in getattr(model, "steps", ()) if step != "passthrough"]
    if len(steps) < 2 or not hasattr(steps[-1], "n_features_in_"):
        return ""
    *_, before, last = steps
    if type(before).__module__.partition(".")[0] not in ("surefoot", "sklearn"):
        return ""
    try:
        made = [str(name) for name in before.get_feature_names_out()]
    except (AttributeError, ValueError):  # it has no names, or is not fitted
        return ""
    if len(made) != last.n_features_in_:
        return f"the step before it makes {len(made)} columns, and it was fitted to {last.n_features_in_}"
    for name, known in zip(made, getattr(last, "feature_names_in_", made), strict=True):
        if name != known:
            return f"the step before it makes the column {name!r:.80} where it was fitted to {known!r:.80}"
    return ""


def told_change(model: Any) -> str:
    """What has changed about a model that :func:`has_changed`, as a clause."""
    columns, names = changed_columns(model), changed_parameters(last_step(model))
    if columns:
        return f"{CHANGED}: {columns}"
    if getattr(last_step(model), "_proof_seal", None) is None:
        return f"{CHANGED}, or may have: the seal that a fit leaves is missing"
    if not names:
        return CHANGED
    listed = ", ".join(names)
    return f"{CHANGED}: " + (
        f"its parameter {listed} is not that of the fit"
        if len(names) == 1
        else f"its parameters {listed} are not those of the fit"
    )


def refitted(model: Any) -> Any:
    """The model itself, or of a fitted search such as ``GridSearchCV`` the one that it has fitted to all rows at its end."""
    return getattr(model, "best_estimator_", model)


def has_steps(model: Any) -> bool:
    """Whether a model is a pipeline in which something stands before the last step."""
    return len([step for _, step in getattr(model, "steps", ()) if step != "passthrough"]) > 1


def standing_certificate(model: Any) -> Certificate:
    """The certificate of a model or of a pipeline's last step, or one that claims nothing if the model has changed since."""
    proof: Certificate = last_step(model).certificate_
    if not has_changed(model):
        return proof
    return verdict(
        Statement("model", "objective", flaw=told_change(model)),
        upper=np.inf,
        lower=-np.inf,
        tolerance=proof.tolerance,
        witness=None,
        problem_digest=proof.problem_digest,
        model_digest="",
    )


def last_step(model: Any) -> Any:
    """The model itself, which may stand at the end of a pipeline."""
    steps = getattr(model, "steps", None)
    return model if steps is None else steps[-1][1]


def _seal(model: ProvenModel) -> str:
    proof = model.certificate_
    parts: dict[str, Any] = {field.name: getattr(proof, field.name) for field in dataclasses.fields(proof)}
    del parts["witness"]  # it is checked whenever it is used, and a file may do without it
    marks = getattr(model, "_parameter_marks", None)
    if marks is not None:  # seals of earlier files are made without
        parts["parameters"] = json.dumps(marks, sort_keys=True)
    return digest(type(model).__name__, {**parts, **_flat(model._proven_numbers())})


def _flat(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays as they are, everything else as text."""
    found: dict[str, Any] = {}
    for name, value in numbers.items():
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            found |= _flat({f"{name}.{key}": part for key, part in sealed_fields(value).items()})
        elif type(value) is np.ndarray and value.dtype.kind in "biuf":
            found[name] = value
        elif isinstance(value, float | np.floating):
            found[name] = np.float64(value)
        elif isinstance(value, np.ndarray):  # also one that computes otherwise than its numbers say, as masked arrays do
            found[name] = repr((type(value).__name__, value.tolist()))
        else:
            found[name] = json.dumps(value, default=_named)
    return found


def _named(value: Any) -> Any:
    """What JSON does not know: numbers of NumPy as numbers, functions by name, since their address changes."""
    if isinstance(value, np.generic):
        return value.item()
    return getattr(value, "__qualname__", type(value).__qualname__)
