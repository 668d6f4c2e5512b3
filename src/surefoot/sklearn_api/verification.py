"""``verify``: is a model what its certificate says, on the rows that it was proven on?"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

from surefoot.core.certificate import Certificate
from surefoot.core.enclosure import computing_in
from surefoot.exceptions import CertificateError, InvalidObservationError, InvalidTableError
from surefoot.sklearn_api.own_rows import seen_by_last_step
from surefoot.sklearn_api.proven_model import (
    CHANGED,
    ProofParts,
    ProvenModel,
    has_changed,
    has_steps,
    last_step,
    refitted,
    told_change,
)
from surefoot.sklearn_api.senseless_parts import refusing_senseless

_NOT_JUDGED = "the proof of this model cannot be judged"
_CLOSED = "Fit it again, or verify the model as its fit left it."

# Where others keep the models that they have fitted.
_FITTED = {
    "GridSearchCV": ": best_estimator_, with refit=True",
    "RandomizedSearchCV": ": best_estimator_, with refit=True",
    "CalibratedClassifierCV": ": calibrated_classifiers_[k].estimator",
}


def verify(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    arithmetic: str = "double",
) -> Certificate:
    """Check the proof of a model once more, from the rows that it was fitted to.

    The problem is rebuilt from the rows, the answer is what the model's public numbers say now, and the lower bound is that of
    the witness that the fit has left; the certificate of the family judges them anew. Nothing of the stored certificate is
    believed.

    Parameters
    ----------
    model : fitted estimator of surefoot, or a pipeline that ends with one
        Loaded from a file or not. Of a search such as ``GridSearchCV`` its ``best_estimator_`` is meant, which was fitted to
        all rows.
    X, y : the rows and labels that it was fitted to
        In the same order; batches and Dask tables where the fit had those. For :class:`~surefoot.inverse.InverseOptimizer`
        signals and responses. After ``fit_moments`` X is the pair (means, covariances).
    sample_weight : array-like of shape (n_rows,), optional
        As in the fit, to the last digit; a power of 2 times as large is the same.
    groups : array-like of shape (n_rows,), optional
        As in the fit of a :class:`~surefoot.ChanceConstrainedSVC`; None takes those of the fit, made by k-means or given. For a
        :class:`~surefoot.RobustLogisticRegressionCV` they had a part in the choice and have none in the proof.
    arithmetic : {"double", "ball"}, default="double"
        In what the bounds are computed: doubles with rounding counted, or the balls of python-flint (extra ``proof``).

    Returns
    -------
    Certificate
        Of this model, on these rows, made now. ``verified`` is False if the fit did not close its gap either.

    Raises
    ------
    CertificateError
        If rows, settings or model are not those of the proof (the message says which), or there is no witness.
    ImportError
        If balls are asked for and python-flint is not installed.

    Examples
    --------
    >>> import surefoot as sf
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "yes", "no", "yes"]
    >>> model = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    >>> sf.verify(model, X, y).verified
    True
    >>> model.coef_ = 3 * model.coef_
    >>> sf.verify(model, X, y)
    Traceback (most recent call last):
    surefoot.exceptions.CertificateError: the model has changed since it was proven. ...
    """
    model = refitted(model)
    parts = proof_parts(model, X, y, sample_weight, groups)
    with _computing(arithmetic):
        fresh = parts.judge()
    require_same(model, fresh)
    return fresh


def proof_parts(model: Any, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> ProofParts:
    """What the certificate of a model, or of a pipeline's last step, is to judge."""
    last = last_step(model)
    if not isinstance(last, ProvenModel):
        inner = hasattr(last, "get_params") and any(isinstance(part, ProvenModel) for part in last.get_params().values())
        place = _FITTED.get(type(last).__name__, "")
        advice = f" Verify a model that it has fitted, on the rows of that fit{place}." if inner else ""
        raise TypeError(f"{type(last).__name__} is no estimator of surefoot that carries a certificate.{advice}")
    check_is_fitted(last)
    if getattr(last, "certificate_", None) is None:
        raise CertificateError(f"this {type(last).__name__} has no certificate: what partial_fit learns is not proven.")
    if has_changed(model):
        raise CertificateError(f"{told_change(model)}. {_CLOSED}")
    try:
        with refusing_senseless("the problem cannot be rebuilt from this model and these rows"):
            return last._proof_parts(seen_by_last_step(model, X), y, sample_weight, groups)
    except (InvalidTableError, InvalidObservationError) as error:
        raise CertificateError(f"the problem cannot be rebuilt, so these are not the rows of the proof: {error}") from error


def require_same(model: Any, fresh: Certificate) -> None:
    """Raise unless the fresh certificate is about the problem and the model of the stored one."""
    last = last_step(model)
    proven = last.certificate_
    if fresh.problem_digest != proven.problem_digest:
        what = "the rows of the proof"
        steps = ""
        if has_steps(model):
            what += " as the steps of the pipeline made them"
            steps = ", and no step before the last one may have been fitted again"
        # Models have had digests for as long as problems have had those of today.
        earlier = "" if proven.model_digest else ", or the proof is of an earlier version, whose digests were others: fit again"
        raise CertificateError(
            f"these are not {what}{earlier}: the problem they pose has the digest {fresh.problem_digest[:16]}, the proof is "
            f"about {proven.problem_digest[:16]}. Rows, their order, labels, weights, groups and settings must be those of the "
            f"fit{steps}."
        )
    if proven.model_digest and fresh.model_digest != proven.model_digest:
        raise CertificateError(
            f"{CHANGED}: its numbers have the digest {fresh.model_digest[:16]}, the proof is about "
            f"{proven.model_digest[:16]}. {_CLOSED}"
        )
    if proven.verified and not fresh.verified and not has_witness(last):
        raise CertificateError(
            "the model carries no witness, so its lower bound cannot be recomputed: it was saved with witness=False, or fitted "
            f"from batches or on Dask and not found again from the model. Without one, this is left: {fresh.claim}"
        )
    if fresh.verified or not proven.verified:
        return
    before = "" if proven.model_digest else "; the proof predates model fingerprints, so the numbers may be other ones"
    raise CertificateError(f"the proof does not hold for the model as it is now{before}: {fresh.claim}")


def has_witness(model: Any) -> bool:
    """Whether a model still has what proves its lower bound."""
    machines = getattr(model, "machines_", None)
    if machines is not None:  # of more than two classes
        return all(has_witness(machine) for machine in machines)
    return model.certificate_.witness is not None or getattr(model.outcome_, "dual", None) is not None


@contextlib.contextmanager
def _computing(arithmetic: str) -> Iterator[None]:
    if arithmetic == "double":
        with refusing_senseless(_NOT_JUDGED):
            yield
        return
    if arithmetic != "ball":
        raise ValueError(f"arithmetic = {arithmetic!r} is not known; use 'double' or 'ball'.")
    try:
        from surefoot.core.flint_enclosure import FlintEnclosure  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError(
            "arithmetic='ball' needs python-flint, which is not installed here: pip install 'surefoot[proof]'."
        ) from error
    with computing_in(FlintEnclosure), refusing_senseless(_NOT_JUDGED):
        yield
