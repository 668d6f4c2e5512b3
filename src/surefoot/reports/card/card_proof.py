"""What is proven about a score card, in numbers and in one sentence."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from surefoot.core.certificate import rounded_down, rounded_up
from surefoot.reports.plain_json import PlainReader


@dataclass(frozen=True)
class CardProof:
    """Summary of a certificate.

    Attributes
    ----------
    objective : float
        Objective of the card, mean loss plus penalty, as the certificate bounds it.
    lower_bound : float
        No card under the same rules has a smaller objective.
    relative_gap : float
        (objective - lower_bound) / objective.
    verified : bool
        Whether the certificate is verified: every claim of the proof recomputed from the data by code that knows no solver.
    rows : int
        Rows of the training table.
    recomputed : str
        A sentence on how much of the proof was recomputed, or why it was refused; empty if there is no proof, or an earlier
        version did not say.
    changed : str
        How the card differs from the one that was proven, as a clause; then nothing is proven about it.
    """

    objective: float
    lower_bound: float
    relative_gap: float
    verified: bool
    rows: int
    recomputed: str = ""
    changed: str = ""

    @classmethod
    def void(cls, changed: str, rows: int) -> CardProof:
        """What is left to say of a card that has changed since it was proven."""
        return cls(math.nan, math.nan, math.nan, verified=False, rows=rows, changed=changed)

    @property
    def sentence(self) -> str:
        """The proof in words."""
        if self.changed:
            return f"Nothing is proven about this card: {self.changed}."
        return f"{self._verdict} {self.recomputed}".rstrip()

    @property
    def _verdict(self) -> str:
        data = f"{self.rows:,} rows"
        if not self.verified:
            return f"Not proven to be the best card: {self._open}"
        checked = "checked independently of the solver"
        # Objective and bound differ by the rounding of sums at least; a gap below the sixth digit is none.
        if self.relative_gap < 5e-7:
            return (
                f"Best possible card: no other under the same rules has an objective below "
                f"{rounded_down(self.lower_bound, 6)} ({data}; {checked})."
            )
        return (
            f"Objective {self.objective:.6g} on {data}; no card under the same rules is below "
            f"{rounded_down(self.lower_bound, 6)} (gap {rounded_up(100 * self.relative_gap, 2)}%; {checked})."
        )

    @property
    def _open(self) -> str:
        """What is known about better cards, where the gap is not closed."""
        known = f"its objective is {rounded_up(self.objective, 6)} on {self.rows:,} rows (less is better), and "
        if self.lower_bound > 0:
            most = rounded_up(min(100 * self.relative_gap, 100.0), 2)
            known += f"others may be better by at most {most}%: no card under the same rules is below "
            known += f"{rounded_down(self.lower_bound, 6)}."
        else:  # No loss is below 0: a bound of 0 is none.
            known += "nothing is proven about better cards."
        if self.recomputed.startswith("Recomputed were"):
            return f"{known} Its proof was not checked to the end; 'surefoot verify' does that."
        return known if self.recomputed else f"{known} A longer or an exact search may prove more."

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready containers; a bound that nobody found is null."""
        lost = {key: None for key, entry in asdict(self).items() if isinstance(entry, float) and not math.isfinite(entry)}
        return {**asdict(self), **lost}

    @classmethod
    def read(cls, entry: PlainReader) -> CardProof:
        """The proof that :meth:`to_dict` wrote."""
        found = {key: entry.optional(key) for key in ("objective", "lower_bound", "relative_gap")}
        numbers = {key: math.nan if own is None else own.number() for key, own in found.items()}
        said, changed = ("" if entry.optional(key) is None else entry.text(key) for key in ("recomputed", "changed"))
        return cls(**numbers, verified=entry.truth("verified"), rows=entry.whole("rows"), recomputed=said, changed=changed)
