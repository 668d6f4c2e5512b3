"""Which certificate judges a proof of which kind."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

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
    try:
        found = certify(**proof.arguments)
    except (TypeError, AttributeError, IndexError, KeyError, ArithmeticError, ValueError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"the parts of the proof make no sense: {error!s:.200}") from error
    for what in ("problem_digest", "model_digest"):
        named: Any = getattr(proof, what)
        if named and named != getattr(found, what):
            subject = "problem" if what == "problem_digest" else "model"
            raise CertificateError(f"the file names the digest {named[:16]} of the {subject}, but it is another one.")
    return found
