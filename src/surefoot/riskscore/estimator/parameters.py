"""How much work a fit puts into proofs and explanations."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class FitParameters:
    """Not tuned: what a user may wait for, and what memory holds.

    Attributes
    ----------
    proof_memory : float
        Fraction of the machine's memory that a proof may fill: about 6 bytes for each of its numbers, twice while it is handed
        over. A longer one is not kept, and the fit warns. 1,000 rows of 76 columns at 5 features make 21 million numbers.
    proof_numbers : int
        The same in numbers, where the machine does not tell how much memory it has.
    proven_gap : float
        Smallest relative gap that a certificate is asked for. Doubles enclose objective and bound to about 1e-12, and prove no
        equality.
    rounded_gap, rounded_fraction : float
        Of a gap that is asked for, so much is left to the certificate for what rounding costs it, but at most this fraction:
        1e-8 where entries are 1e7.
    conflict_seconds : float
        Seconds for naming the rules that contradict each other; reading the message should not have to wait longer.
    judging_seconds : float
        Seconds for each number of the table that judging a card takes: fingerprint, distinct rows, one plane. Searches with a
        time limit end so much earlier. Twice what was measured on tables of one to four million numbers (40 to 50 ns), as
        machines have other work to do.
    judging_fraction : float
        Most of a time limit that is kept for that.
    """

    proof_memory: float = 0.3
    proof_numbers: int = 400_000_000
    proven_gap: float = 1e-9
    rounded_gap: float = 5e-8
    rounded_fraction: float = 0.1
    conflict_seconds: float = 10.0
    judging_seconds: float = 1e-7
    judging_fraction: float = 0.25

    @property
    def most_proof_numbers(self) -> int:
        """Numbers that a proof may hold on this machine."""
        try:
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return self.proof_numbers
        return int(self.proof_memory * memory / 12)

    def search_gap(self, gap: float) -> float:
        """The relative gap at which a search may stop, so that its certificate can confirm ``gap`` in doubles."""
        return max(gap - max(self.proven_gap, min(self.rounded_gap, self.rounded_fraction * gap)), 0.0)

    def search_limit(self, time_limit: float, n_numbers: int) -> float:
        """Seconds after which a search of a table of so many numbers ends, so that its card is judged within the limit."""
        return time_limit - min(self.judging_seconds * n_numbers, self.judging_fraction * time_limit)


FIT_PARAMETERS = FitParameters()
