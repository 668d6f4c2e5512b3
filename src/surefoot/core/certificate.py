"""The verdict on a model: what was proven, and from which data. ``verified`` is set here and nowhere else.

A certificate rests on two numbers that hold for real numbers, not for doubles: ``upper_bound``, which the model's objective
does not exceed, and ``lower_bound``, below which no model of the class has an objective. They are ends of enclosures
(:mod:`surefoot.core.enclosure`), so rounding widens the gap between them and never excuses it:

    verified  <=>  nothing was taken on trust, and  upper_bound - lower_bound <= tolerance * max(|upper_bound|, floor).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from surefoot.exceptions import CertificateError

DIGITS = 10


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
        ``upper_bound - lower_bound``, and the same over the larger of ``|upper_bound|`` and the family's floor.
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
        The relative gap to prove.
    witness : object
    problem_digest, model_digest : str
    floor : float
        Objectives below this count as this large when a gap is put in relation to them.
    """
    require_tolerance(tolerance)
    upper = float(upper) if not np.isnan(upper) else np.inf
    lower = float(lower) if not np.isnan(lower) else -np.inf
    flaw = statement.flaw
    if lower > upper:
        # Both hold for real numbers, so this is an error of the program that computed them: neither can be believed.
        flaw = f"the bounds {lower!r} and {upper!r} contradict each other, which is an error of this program"
        upper, lower = np.inf, -np.inf
    size = max(abs(upper), floor)
    # The difference of two doubles rounded upwards is at or above the true one; the product rounded downwards is below it.
    gap = float(np.nextafter(upper - lower, np.inf)) if upper > lower else 0.0
    allowed = float(np.nextafter(tolerance * size, -np.inf)) if tolerance * size > 0 else 0.0
    finite = bool(np.isfinite(upper) and np.isfinite(lower))
    relative = (gap / size if size > 0 else gap) if finite else np.inf
    closed = finite and gap <= allowed
    return Certificate(
        claim=_claim(statement, flaw, upper, lower, relative, tolerance, closed=closed),
        upper_bound=upper,
        lower_bound=lower,
        gap=gap,
        relative_gap=relative,
        tolerance=tolerance,
        witness=witness,
        verified=closed and not flaw and not statement.trust,
        problem_digest=problem_digest,
        model_digest=model_digest,
    )


def _claim(words: Statement, flaw: str, upper: float, lower: float, relative: float, tolerance: float, *, closed: bool) -> str:
    scope = f" {words.scope}" if words.scope else ""
    below = f"no {words.models} has a {words.quantity} below {rounded_down(lower)}{scope}" if np.isfinite(lower) else ""
    has = f"this one has at most {rounded_up(upper)}" if np.isfinite(upper) else ""
    trust = f", provided that {words.trust}, which was not recomputed" if words.trust else ""
    if closed and not flaw:
        asked = f"(asked for: {tolerance:.1e})"
        text = f"{below}; {has}, so it is optimal to a relative gap of {rounded_up(relative, 2)} {asked}{trust}"
    else:
        wide = f"the relative gap {rounded_down(relative, 2)} is above the tolerance {tolerance:.1e}" if below and has else ""
        text = f"not proven optimal: {'; '.join(part for part in (below, has, flaw or wide) if part)}{trust}"
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
    found = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    plain = f"{found:f}" if -6 <= found.adjusted() < digits else f"{found:e}"
    if "." in plain and "e" not in plain:
        plain = plain.rstrip("0").rstrip(".")
    return plain


def digest(kind: str, parts: Mapping[str, Any]) -> str:
    """A fingerprint of named arrays, numbers and texts; sparse arrays give their own parts."""
    mark = hashlib.sha256(kind.encode())
    for name, part in parts.items():
        if isinstance(part, str | bytes):
            content, shape = (part.encode() if isinstance(part, str) else part), "text"
        else:
            array = np.ascontiguousarray(part)
            # A fingerprint must not depend on how wide the integers of a machine are, nor on the sign of zero.
            if array.dtype.kind in "iu":
                array = array.astype("<i8")
            elif array.dtype.kind == "f":
                array = array.astype("<f8") + 0.0
            content, shape = array.tobytes(), str((array.shape, array.dtype.kind))
        mark.update(f"{name} {shape} {len(content)}\n".encode())
        mark.update(content)
    return mark.hexdigest()


def require_tolerance(tolerance: float) -> None:
    """Raise if no gap can be at or below this."""
    if not (np.isfinite(tolerance) and tolerance >= 0):
        raise CertificateError(f"tolerance = {tolerance} must be a finite number at or above 0.")
