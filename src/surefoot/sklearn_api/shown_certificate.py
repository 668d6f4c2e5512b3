"""Certificates in notebooks and as data frames.

The trusted base shows nothing, so that whoever reads it need not read this: the methods are put on from here, and the
estimators that make certificates import it.
"""

from __future__ import annotations

import math
from typing import Any

from surefoot.core.certificate import Certificate, rounded_up
from surefoot.design.write.output_frame import build_frame
from surefoot.design.write.shown_table import shown_table

_NUMBERS = ("upper_bound", "lower_bound", "gap", "relative_gap", "tolerance")
_DIGESTS = ("problem_digest", "model_digest")


def certificate_html(proof: Certificate) -> str:
    """The verdict, the claim and its numbers."""
    rows = [(name.replace("_", " "), f"{getattr(proof, name):.10g}") for name in _NUMBERS]
    rows += [(name.replace("_", " "), getattr(proof, name)[:16]) for name in _DIGESTS]
    return shown_table("Verified" if proof.verified else "Not verified", ("", ""), rows, [proof.claim])


def certificate_frame(proof: Certificate, library: str | None = None) -> Any:
    """One row with the verdict, the claim, its numbers and the digests.

    Parameters
    ----------
    library : str, optional
        The data frame library, such as "polars"; by default pandas, if there is one.
    """
    content: dict[str, Any] = {"verified": [proof.verified], "claim": [proof.claim]}
    content |= {name: [float(getattr(proof, name))] for name in _NUMBERS}
    return build_frame(content | {name: [getattr(proof, name)] for name in _DIGESTS}, library)


def gap_scale(proof: Certificate) -> str:
    """What the relative gap is relative to, in the words of the claim; nothing where that is the objective, or no gap is."""
    if not (0 < proof.relative_gap < math.inf and math.isfinite(proof.gap)):
        return ""
    size = float(f"{proof.gap / proof.relative_gap:.12g}")  # the quotient is a unit in the last place away from the size
    if size <= abs(proof.upper_bound) * (1 + 1e-9):
        return ""
    return f"{rounded_up(size, 3)}, which objectives of these data count as at least"


for _name, _method in (("_repr_html_", certificate_html), ("to_frame", certificate_frame)):
    setattr(Certificate, _name, _method)
