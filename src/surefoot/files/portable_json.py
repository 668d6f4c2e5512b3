"""A formula as JSON that other languages can compute with."""

from __future__ import annotations

import json
from typing import Any

from surefoot.files.formula import LevelTerm, LinearTerm, Term, read_formula
from surefoot.sklearn_api.proven_model import ABOUT_LAST_STEP

_HOW = (
    "score = (intercept + sum of terms) / divisor; probability of classes[1] = 1 / (1 + exp(-(slope * score + offset))). "
    "linear: coefficient * value, a null value counts as fill. levels: the number beside the value, null counts as missing, "
    "any other value as other. steps: the sum of the numbers whose threshold the value reaches, null counts as missing. Where "
    "fill, missing or other is null, such a row has no score."
)


def to_json(model: Any) -> str:
    """A linear model or a score card as JSON for other languages.

    Parameters
    ----------
    model : fitted RobustLogisticRegression, RobustLogisticRegressionCV, RiskScoreClassifier or linear ChanceConstrainedSVC
        Alone, or at the end of a pipeline behind a ThresholdBinarizer or a StandardScaler.

    Returns
    -------
    str
        ``how`` says in words how to compute; the certificate comes along. :func:`surefoot.save` is for models that are to come
        back.

    Examples
    --------
    >>> import json, surefoot as sf
    >>> model = sf.RobustLogisticRegression(radius=0.05).fit([[1.0], [2.0], [3.0], [4.0]], ["no", "yes", "no", "yes"])
    >>> formula = json.loads(sf.export.to_json(model))
    >>> formula["classes"], [term["feature"] for term in formula["terms"]]
    (['no', 'yes'], ['x0'])
    """
    formula = read_formula(model)
    proof = formula.certificate
    content = {
        "format": "surefoot formula",
        "version": 1,
        "how": _HOW,
        "classes": list(formula.classes),
        "intercept": formula.intercept,
        "divisor": formula.divisor,
        "slope": formula.slope,
        "offset": formula.offset,
        "terms": [_entry(term) for term in formula.terms],
        "certificate": {
            "claim": proof.claim,
            "verified": proof.verified,
            "upper_bound": proof.upper_bound,
            "lower_bound": proof.lower_bound,
            "problem_digest": proof.problem_digest,
            **({"about": ABOUT_LAST_STEP} if formula.behind_steps else {}),
        },
    }
    return json.dumps(_finite(content), ensure_ascii=True, allow_nan=False, indent=1)


def _entry(term: Term) -> dict[str, Any]:
    if isinstance(term, LinearTerm):
        return {"kind": "linear", "feature": term.feature, "coefficient": term.coefficient, "fill": term.fill}
    if isinstance(term, LevelTerm):
        pairs = [list(pair) for pair in term.levels]
        return {"kind": "levels", "feature": term.feature, "levels": pairs, "missing": term.missing, "other": term.other}
    return {"kind": "steps", "feature": term.feature, "steps": [list(pair) for pair in term.steps], "missing": term.missing}


def _finite(content: dict[str, Any]) -> dict[str, Any]:
    """Bounds that were never earned are NaN, which JSON does not have."""
    proof = content["certificate"]
    for name in ("upper_bound", "lower_bound"):
        if proof[name] != proof[name] or abs(proof[name]) == float("inf"):
            proof[name] = None
    return content
