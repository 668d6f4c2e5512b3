"""Which certificate judges a proof of which kind."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

from surefoot.core.certificate import Certificate
from surefoot.exceptions import CertificateError
from surefoot.proofs.proof_file import Proof

# A file names a kind; where its certificate is found stands here and nowhere else.
CERTIFICATES = {
    "robust": ("surefoot.robust.certificate", "certify_robust_logistic"),
    "riskscore": ("surefoot.riskscore.certificate", "certify_risk_score"),
    "chancesvm": ("surefoot.chancesvm.certificate", "certify_chance_svm"),
    "inverse-cost": ("surefoot.inverse.certificate", "certify_cost"),
    "inverse-ellipsoid": ("surefoot.inverse.certificate", "certify_ellipsoid"),
    "inverse-rays": ("surefoot.inverse.certificate", "certify_rays"),
    "inverse-predictions": ("surefoot.inverse.certificate", "certify_predictions"),
}
# How much of a proof is recomputed is for its reader to say, not for the file.
SETTINGS = frozenset({"max_claims", "max_seconds", "random_state"})
# What a certificate may raise about parts that make no sense, apart from words of its own.
_SENSELESS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError)


def certificate_of(kind: str) -> Callable[..., Certificate]:
    """The function that judges proofs of a kind."""
    if kind not in CERTIFICATES:
        raise CertificateError(f"there are no proofs of the kind {kind!r:.80}; there are {', '.join(CERTIFICATES)}.")
    folder, name = CERTIFICATES[kind]
    modules = [import_module(f"{folder}.{entry.name}") for entry in iter_modules(import_module(folder).__path__)]
    found: Callable[..., Certificate] = next(getattr(module, name) for module in modules if hasattr(module, name))
    return found


def judge(proof: Proof) -> Certificate:
    """The verdict on a proof.

    Raises
    ------
    CertificateError
        If the parts do not belong together, or are not those that the file names by digest.
    """
    certify = certificate_of(proof.kind)
    _require_parts(proof, inspect.signature(certify).parameters)
    try:
        with np.errstate(all="ignore"):
            found = certify(**proof.arguments)
    except CertificateError:
        raise
    except MemoryError as error:
        raise CertificateError("judging the proof takes more memory than there is.") from error
    except _SENSELESS as error:
        raise CertificateError(
            f"the parts of the proof are not those of a proof of the kind {proof.kind!r} ({type(error).__name__})."
        ) from error
    for what in ("problem_digest", "model_digest"):
        named: Any = getattr(proof, what)
        if named and named != getattr(found, what):
            subject = "problem" if what == "problem_digest" else "model"
            raise CertificateError(f"the file names the digest {named[:16]} of the {subject}, but it is another one.")
    return found


def _require_parts(proof: Proof, parameters: Any) -> None:
    """Raise unless the parts have the names, and the records the kinds, that the certificate declares."""
    known = {name: parameter for name, parameter in parameters.items() if name not in SETTINGS}
    needed = {name for name, parameter in known.items() if parameter.default is parameter.empty}
    if not needed <= set(proof.arguments) <= set(known):
        given = ", ".join(proof.arguments)
        raise CertificateError(
            f"a proof of the kind {proof.kind!r} has the parts {', '.join(known)}, not {given or 'none':.200}."
        )
    tolerance = proof.arguments["tolerance"]
    if not isinstance(tolerance, int | float) or isinstance(tolerance, bool) or not 0 <= tolerance < 1:
        raise CertificateError(f"tolerance = {tolerance!r:.80} must be a number at or above 0 and below 1: a relative gap.")
    if getattr(proof.arguments.get("problem"), "examples", None) == ():
        raise CertificateError("the problem of the proof has no examples, and of none nothing can be proven.")
    for name, value in proof.arguments.items():
        kinds = re.findall(r"\w+", str(known[name].annotation))
        if dataclasses.is_dataclass(value) and type(value).__name__ not in kinds and "Any" not in kinds:
            raise CertificateError(f"{name} of the proof is a {type(value).__name__:.80}, where {' or '.join(kinds)} is meant.")
