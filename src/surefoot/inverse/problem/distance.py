"""Distance of a decision from the observed one: the d of the augmented suboptimality loss.

    d(x_hat, x) = continuous-part distance + integer-part distance.

A maximiser of "suboptimality plus distance" is found exactly only where the distance leaves the forward problem a programme of
its own kind. On 0/1 unknowns every distance below is a concave function of a linear form, hence exact in a linear programme
over integers:

    l1, squared-l2   a linear form h(x) = sum_j |x_hat_j - x_j|, since |x_hat_j - x_j| at 0 and at 1 are two numbers
    l2               sqrt(h), interpolated between whole h, where x_hat is 0/1 too
    linf, zero-one   min(h, 1), likewise

On continuous unknowns the maximum of a norm is a maximum of a convex function; "linf" is the largest of 2 u linear forms, one
for every coordinate and sign (Theorem 4.5 of Zattoni Scroccaro, Atasoy and Mohajerin Esfahani), so 2 u programmes find it.
"squared-l2" is exact over an ellipsoid (Appendix B), and nowhere else.

Where decisions are listed any distance is exact. "features" is ||phi(x_hat) - phi(x)||_2, with which the incenter is that of
Definition 3.3; "given" stands for values of a caller's function, one for each decision of the list
(:class:`~surefoot.inverse.problem.problem.MeasuredExample`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray

# Of decisions, coordinate by coordinate; of their features; and of a caller's function.
NAMES = ("l1", "l2", "linf", "squared-l2", "zero-one", "none")
FEATURES, GIVEN = "features", "given"
CONTINUOUS_NAMES = ("linf", "squared-l2", "none")


def _measure(name: str, apart: FloatArray) -> FloatArray:
    """The distance of rows of coordinate differences."""
    if name == "none" or apart.shape[1] == 0:
        return np.zeros(apart.shape[0])
    size = np.abs(apart)
    if name == "l1":
        found = size.sum(axis=1)
    elif name == "l2":
        found = np.sqrt((size**2).sum(axis=1))
    elif name == "squared-l2":
        found = (size**2).sum(axis=1)
    elif name == "linf":
        found = size.max(axis=1)
    else:
        found = (size.max(axis=1) > 0).astype(np.float64)
    return np.asarray(found, dtype=np.float64)


@dataclass(frozen=True)
class Distance:
    """A distance between decisions.

    Attributes
    ----------
    integer : str
        For whole unknowns and for listed decisions: one of ``NAMES``, ``FEATURES`` or ``GIVEN``.
    continuous : str
        For continuous unknowns: "linf" or "none", or "squared-l2" over an ellipsoid.
    """

    integer: str = "l2"
    continuous: str = "linf"

    def __post_init__(self) -> None:
        if self.integer not in (*NAMES, FEATURES, GIVEN):
            known = ", ".join(map(repr, (*NAMES, FEATURES)))
            raise ValueError(f"distance={self.integer!r} is not known. Choose one of {known}.")
        if self.continuous not in CONTINUOUS_NAMES:
            raise ValueError(
                f"distance={self.continuous!r} is not possible for continuous unknowns: the augmented problem would not be "
                f"concave. Choose one of {', '.join(map(repr, CONTINUOUS_NAMES))}."
            )

    @classmethod
    def of(cls, given: object) -> Distance:
        """A distance from its name, or from the pair (continuous, integer) of names."""
        if isinstance(given, Distance):
            return given
        if isinstance(given, str) and given != GIVEN:
            return cls(given, given if given in ("none", "squared-l2") else "linf")
        if callable(given):
            return cls(GIVEN, "none")
        if isinstance(given, tuple) and len(given) == 2:
            return cls(str(given[1]), str(given[0]))
        known = ", ".join(map(repr, ("auto", *NAMES, FEATURES)))
        raise ValueError(
            f"distance={given!r} must be one of {known}, a function, or a pair: the distance of the continuous part ('linf' or "
            "'none') and that of the integer part."
        )

    @property
    def absent(self) -> bool:
        """Whether all distances are 0: the suboptimality loss."""
        return self.integer == "none" and self.continuous == "none"

    def between(self, response: FloatArray, points: FloatArray, whole: BoolArray) -> FloatArray:
        """Distances of the rows of ``points`` from a response; ``whole`` marks the integer part."""
        apart = points - response
        if whole.all():
            return _measure(self.integer, apart)
        return _measure(self.integer, apart[:, whole]) + _measure(self.continuous, apart[:, ~whole])

    def spelled(self) -> tuple[str, str]:
        return self.continuous, self.integer


NO_DISTANCE = Distance("none", "none")
