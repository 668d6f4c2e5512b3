"""The verdict on a model: what was proven, and from which data. ``verified`` is set here and nowhere else.

A certificate rests on two numbers that hold for real numbers, not for doubles: ``upper_bound``, which the model's objective
does not exceed, and ``lower_bound``, below which no model of the class has an objective. They are ends of enclosures
(:mod:`surefoot.core.enclosure`), so rounding widens the gap between them and never excuses it:

    verified  <=>  nothing was taken on trust, and  (upper_bound - lower_bound) / max(|upper_bound|, floor) <= tolerance < 1,

where the difference and the quotient are rounded upwards, so that the inequality holds for the numbers themselves.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from surefoot.exceptions import CertificateError

DIGITS = 10
# How truth values, integers and doubles enter a fingerprint, however a machine stores them.
FORMS = {"b": "?", "i": "<i8", "u": "<i8", "f": "<f8"}


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimal objective, recomputed from the raw arrays.

    Attributes
    ----------
    claim : str
        One sentence: what the numbers below say, and about which class of models.
    upper_bound : float
        The objective of the model itself is at or below this, rounding included.
    lower_bound : float
        No model of the class that the claim names has an objective below this.
    gap, relative_gap : float
        ``upper_bound - lower_bound``, and the same over the larger of ``|upper_bound|`` and the family's floor; rounded up.
    tolerance : float
        The relative gap that was asked for.
    witness : object
        What proves the lower bound (for robust models a ``ShiftPlan``), or None.
    verified : bool
        Whether the recomputed relative gap is at or below ``tolerance`` and nothing was taken on trust.
    problem_digest : str
        Fingerprint of the problem that was certified: its rows, weights and settings.
    model_digest : str
        Fingerprint of the model that was certified.
    trust : str
        What a closed gap depends on and was not recomputed, as the claim says it; nothing where a gap is open.
    """

    claim: str
    upper_bound: float
    lower_bound: float
    gap: float
    relative_gap: float
    tolerance: float
    witness: Any = field(repr=False)
    verified: bool
    problem_digest: str
    model_digest: str = ""
    trust: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain Python containers and arrays."""
        return asdict(self)


@dataclass(frozen=True)
class Statement:
    """The words of a claim, so that what is printed is what was proven.

    Attributes
    ----------
    models : str
        The class that competes, in the singular: "linear logistic model with these columns".
    quantity : str
        What is bounded, in the singular: "worst-case log loss".
    scope : str
        Where it holds: "on these rows".
    flaw : str
        Why there is no upper or no useful lower bound ("the plan is refused because ..."), or nothing.
    trust : str
        What was taken on trust and not recomputed, as a clause: "the forward solver is right about observation 3"; or nothing.
    remark : str
        A sentence to add, or nothing.
    """

    models: str
    quantity: str
    scope: str = ""
    flaw: str = ""
    trust: str = ""
    remark: str = ""


def verdict(
    statement: Statement,
    *,
    upper: float,
    lower: float,
    tolerance: float,
    witness: Any,
    problem_digest: str,
    model_digest: str,
    floor: float = 0.0,
) -> Certificate:
    """The certificate of a model whose objective is at most ``upper``, where no model has one below ``lower``.

    Parameters
    ----------
    statement : Statement
    upper, lower : float
        Proven, rounding included. ``inf`` and ``-inf`` where nothing is; NaN counts as nothing.
    tolerance : float
        The relative gap to prove. A gap that is as large as the objective says nothing, so at 1 and above nothing is verified.
    witness : object
    problem_digest, model_digest : str
    floor : float
        Objectives below this count as this large when a gap is put in relation to them.
    """
    require_tolerance(tolerance)
    if not (np.isfinite(floor) and floor >= 0):
        raise CertificateError(f"floor = {floor} must be a finite number at or above 0.")
    upper = float(upper) if not np.isnan(upper) else np.inf
    lower = float(lower) if not np.isnan(lower) else -np.inf
    flaw = statement.flaw
    if tolerance >= 1:
        flaw = flaw or f"a relative gap of {tolerance!r} says nothing: tolerances are below 1"
    if lower > upper:
        # Both hold for real numbers, so this is an error of the program that computed them: neither can be believed.
        flaw = f"the bounds {lower!r} and {upper!r} contradict each other, which is an error of this program"
        upper, lower = np.inf, -np.inf
    finite = bool(np.isfinite(upper) and np.isfinite(lower))
    size = max(abs(upper), floor)
    # Rounded upwards, where it is not exact: the next double is at or above the exact difference, and then the exact quotient.
    gap = (math.nextafter(upper - lower, math.inf) if upper > lower else 0.0) if finite else math.inf
    gap = upper if finite and lower == 0 else gap
    relative = (math.nextafter(gap / size, math.inf) if size > 0 else math.inf) if gap > 0 and finite else gap
    relative = 1.0 if finite and gap == size > 0 else relative
    closed = relative <= tolerance
    return Certificate(
        claim=_claim(replace(statement, flaw=flaw), upper, lower, relative, tolerance, floor),
        upper_bound=upper,
        lower_bound=lower,
        gap=gap,
        relative_gap=relative,
        tolerance=float(tolerance),
        witness=witness,
        verified=closed and not flaw and not statement.trust,
        problem_digest=problem_digest,
        model_digest=model_digest,
        trust=statement.trust if closed and not flaw else "",
    )


def _claim(words: Statement, upper: float, lower: float, relative: float, tolerance: float, floor: float) -> str:
    scope = f" {words.scope}" if words.scope else ""
    quantity = f"{'an' if words.quantity[0] in 'aeiou' else 'a'} {words.quantity}"
    below = f"no {words.models} has {quantity} below {rounded_down(lower)}{scope}" if np.isfinite(lower) else ""
    has = f"this one has at most {rounded_up(upper)}" if np.isfinite(upper) else ""
    trust = f"provided that {words.trust}, which was not recomputed: " if words.trust else ""
    if relative <= tolerance and not words.flaw:
        least = f"relative to {rounded_up(floor, 3)}, which objectives of these data count as at least; "
        asked = f"({least if relative and abs(upper) < floor else ''}asked for: {tolerance:.1e})"
        text = f"{trust}{below}; {has}, so it is optimal to a relative gap of {rounded_up(relative, 2)} {asked}"
    else:
        wide = f"the relative gap {rounded_up(relative, 3)} is above the tolerance {tolerance:.1e}" if below and has else ""
        known = "; ".join(part for part in (below, has, words.flaw or wide) if part)
        text = f"not proven optimal: {trust}{known or 'nothing is known about it'}"
    text = f"{text[0].upper()}{text[1:]}."
    return f"{text} {words.remark}" if words.remark else text


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """The number with so many digits, at or below it as printed."""
    return _printed(value, digits, ROUND_FLOOR)


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """The number with so many digits, at or above it as printed."""
    return _printed(value, digits, ROUND_CEILING)


def _printed(value: float, digits: int, rounding: str) -> str:
    if not np.isfinite(value):
        return str(value)
    found = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value + 0.0))  # no negative zero
    plain = f"{found:f}" if -6 <= found.adjusted() < digits else f"{found:e}"
    if "." in plain and "e" not in plain:
        plain = plain.rstrip("0").rstrip(".")
    return plain


def digest(kind: str, parts: Mapping[str, Any]) -> str:
    """A fingerprint of named arrays, numbers, texts and None; lists and sparse arrays give their own parts."""
    mark = hashlib.sha256(f"{kind!r}\n".encode())
    for name, part in parts.items():
        sparse = hasattr(part, "indptr")
        array = np.asarray(part.shape if sparse else part)  # a sparse array must not be made dense
        form = FORMS.get(array.dtype.kind, "")
        if sparse:
            inner = {"data": part.data, "indices": part.indices, "indptr": part.indptr, "shape": part.shape}
            form, content = "sparse", digest(part.format, inner).encode()
        elif form:
            if array.dtype.kind == "u" and np.any(array >= 2**63):
                raise CertificateError(f"{name} has no fingerprint: it holds a whole number beyond 2**63.")
            content = (array.astype(form) + np.zeros((), form)).tobytes()  # -0 + 0 = 0: the sign of zero does not count
        elif part is None or isinstance(part, str):
            form, content = ("none", b"") if part is None else ("text", part.encode())
        elif array.ndim:
            form, content = "list", digest("list", {str(k): entry for k, entry in enumerate(array.ravel().tolist())}).encode()
        else:  # the bytes of any other object are its address, which is another one in every run
            raise CertificateError(f"{name} has no fingerprint: {type(part).__name__} is neither a number nor a text.")
        mark.update(f"{name!r} {form} {array.shape} {len(content)}\n".encode() + content)
    return mark.hexdigest()


def require_tolerance(tolerance: float) -> None:
    """Raise if no gap can be at or below this."""
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise CertificateError(f"tolerance = {tolerance} must be a finite number at or above 0.")
