"""How much work a fit puts into proofs and explanations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FitParameters:
    """Not tuned: what a user may wait for, and what memory holds.

    Attributes
    ----------
    proof_numbers : int
        Numbers that a proof may hold: some hundred megabytes.
    checked_numbers : float
        Entries of the table that a certificate may read, column by column, claim by claim: about a second.
    least_claims, most_claims : int
        Claims of a long proof that are recomputed, whatever the size of the table.
    conflict_seconds : float
        Seconds for naming the rules that contradict each other; reading the message should not have to wait longer.
    """

    proof_numbers: int = 20_000_000
    checked_numbers: float = 3e8
    least_claims: int = 100
    most_claims: int = 2000
    conflict_seconds: float = 10.0


FIT_PARAMETERS = FitParameters()
