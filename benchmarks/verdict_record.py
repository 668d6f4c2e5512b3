"""What became of one problem of the campaign, and the questions that are asked of every certificate.

    objective   of the model at hand, exactly
    best        an objective that some model of the class has, exactly: the optimum is at or below it

A reference that is not quite optimal makes the questions easier to pass and never accuses a right certificate.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from verdict_numbers import exactly

from surefoot.core.certificate import Certificate

ORDINARY, EXTREME = "ordinary", "extreme"
STRATA = (ORDINARY, EXTREME)
# Row weights are divided by their sum before a problem is posed, and standard deviations become prices: a few roundings that
# are no part of a verdict.
POSED = Decimal("4e-15")
# What numbers of 60 digits lose of the largest number on their way.
LOST = Decimal("1e-50")
# A reference that much above the model is none: nothing can be said about refusals then.
POOR = Decimal("1e-7")

FALSE_VERDICT, FALSE_CLAIM, FALSE_ERROR, CRASH = "false verdict", "false claim", "false error", "crash"
REFUSED, UNVERIFIED, OVERRUN, NO_REFERENCE = "refused", "unverified", "overrun", "no reference"
# Of a certificate in doubles and in balls: two contradictions, and what doubles are too short for.
BALLS_REFUSE, CONTRADICTED = "balls refuse what doubles verified", "doubles and balls contradict each other"
BALLS_PROVE = "balls prove what doubles leave open"
KINDS = (FALSE_VERDICT, FALSE_CLAIM, FALSE_ERROR, CRASH, REFUSED, UNVERIFIED, OVERRUN, NO_REFERENCE)
NUMBER = r"(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|-?inf|nan)"


@dataclass
class Record:
    """One problem, or one tampered answer, and what was found.

    Attributes
    ----------
    family, seed, stratum
    settings : list of str
        What is odd about the problem, in words.
    verified : bool
    answered : bool
        Whether there was a model (no error that is right).
    tampered : str
        What was changed in an answer, or nothing.
    balls : bool
        Whether this is a comparison of two arithmetics.
    found : dict from kind to detail
        Only what happened, of ``KINDS``.
    """

    family: str
    seed: int
    stratum: str
    settings: list[str] = field(default_factory=list)
    verified: bool = False
    answered: bool = False
    tampered: str = ""
    balls: bool = False
    seconds: float = 0.0
    found: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, detail: str) -> None:
        """Note a finding; several of one kind stand in one line."""
        self.found[kind] = f"{self.found[kind]}; {detail}" if kind in self.found else detail

    def plain(self) -> dict[str, Any]:
        """The record as JSON knows it."""
        return asdict(self)


@exactly
def judge(
    record: Record,
    certificate: Certificate,
    objective: Decimal,
    best: Decimal | None,
    *,
    floor: float = 0.0,
    least: Decimal | None = None,
    reached: Decimal | None = None,
) -> None:
    """Hold a certificate against the exact objective of its model and the best one known.

    Parameters
    ----------
    record : Record
    certificate : Certificate
    objective : Decimal
        Of the model, with everything that the certificate may choose (a price) as the model has it.
    best : Decimal or None
        Of the reference; None if there is none.
    floor : float
        Objectives below this count as this large in relative gaps; to call a model right, a hundredth of it does.
    least : Decimal or None
        The objective with everything that may be chosen chosen best, if that is less.
    reached : Decimal or None
        What the model reaches for certain, where ``least`` is not known to all digits.
    """
    record.answered = True
    record.verified = bool(certificate.verified)
    least = objective if least is None else least
    reached = least if reached is None else reached
    known = reached if best is None else min(best, reached)
    size = max(abs(objective), Decimal(floor))
    slack = POSED * max(abs(objective), abs(known)) + LOST * size
    upper, lower = certificate.upper_bound, certificate.lower_bound
    if math.isfinite(upper) and Decimal(upper) < least - slack:
        record.add(FALSE_VERDICT, f"upper bound {upper!r} below the objective {short(least)}")
    if math.isfinite(lower) and Decimal(lower) > known + slack:
        record.add(FALSE_VERDICT, f"lower bound {lower!r} above a reachable {short(known)}")
    if lower > upper:
        record.add(FALSE_VERDICT, f"lower bound {lower!r} above upper bound {upper!r}")
    if certificate.verified and least - known > Decimal(certificate.tolerance) * size + slack:
        record.add(FALSE_VERDICT, f"verified at {short(least)} where {short(known)} is reachable")
    if certificate.verified and not certificate.relative_gap <= certificate.tolerance * (1 + 1e-12):
        record.add(FALSE_VERDICT, f"verified with relative gap {certificate.relative_gap!r} > {certificate.tolerance!r}")
    check_claim(record, certificate, least, known, slack, size)
    if certificate.verified:
        return
    if best is None or best - objective > POOR * size:
        record.add(NO_REFERENCE, "unverified, and the reference is no better")
        record.add(UNVERIFIED, f"gap {certificate.relative_gap:.1e}")
    elif objective - best <= Decimal(certificate.tolerance) * max(abs(objective), Decimal(floor) / 100):
        record.add(REFUSED, f"{short(objective)} is within the tolerance of {short(best)}: {certificate.claim}")
    else:
        record.add(UNVERIFIED, f"{short(objective)} where {short(best)} is reachable, gap {certificate.relative_gap:.1e}")


def check_claim(
    record: Record, certificate: Certificate, least: Decimal, known: Decimal, slack: Decimal, size: Decimal
) -> None:
    """Read the numbers of the sentence and see whether they are true as printed."""
    claim = certificate.claim
    if "whatsoever" in claim:
        record.add(FALSE_CLAIM, "speaks of models whatsoever")
    for text in re.findall(rf"\bbelow {NUMBER}", claim):
        if math.isfinite(float(text)) and Decimal(text.lower()) > known + slack:
            record.add(FALSE_CLAIM, f"'below {text}' where {short(known)} is reachable")
    for text in re.findall(rf"this one has (?:at most )?{NUMBER}", claim):
        if math.isfinite(float(text)) and Decimal(text.lower()) < least - slack:
            record.add(FALSE_CLAIM, f"'has at most {text}' where it has {short(least)}")
    for text in re.findall(rf"optimal to a relative gap of {NUMBER}", claim):
        if size > 0 and Decimal(text.lower()) < (least - known - slack) / size:
            record.add(FALSE_CLAIM, f"'relative gap of {text}' where it is {short((least - known) / size)}")


def short(value: Decimal) -> str:
    """A number as a reader wants it."""
    return f"{value:.12g}"
