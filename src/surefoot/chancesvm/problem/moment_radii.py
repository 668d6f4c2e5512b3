"""How far true moments may be from those of a batch of samples, with a chosen confidence.

Let ||phi(x)|| <= R for all x, and let a batch hold m independent draws of its input. Each of

    ||mean of the batch - true mean||              <=  R / sqrt(m) (2 + sqrt(2 log(2 / delta)))          =: r
    ||covariance of the batch - true covariance||  <=  2 R^2 / sqrt(m) (2 + sqrt(2 log(4 / delta)))      =: v    (Frobenius)

holds with probability at least 1 - delta / 2, the second for m >= (2 + sqrt(2 log(4 / delta)))^2 (Shawe-Taylor and Cristianini,
"Estimating the moments of a random vector", 2003; Lemmas 2 and 3 of Lin, Fang, Fang and Gao). So with probability at least
1 - delta both hold, and then, for every w whatsoever,

    y w . mu - tau sqrt(w' Sigma w)  >=  y w . mean - r ||w|| - tau sqrt(w' (covariance + v I) w):

a classifier that separates the ellipsoids widened by r and v keeps its promise for the true moments. For N batches all of this
holds at once with probability at least 1 - N delta.

Theorem 1 of the paper puts both radii into one matrix, covariance + (r / tau + v) I. That asks for less than the two terms
above, at which its proof arrives: sqrt(q + v) + r / tau <= sqrt(q + v + r / tau) fails unless 2 sqrt(q + v) + r / tau <= 1. It
also drops the factor 2 of its Lemma 3. The two terms are used here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class MomentRadii:
    """Radii of all batches.

    Attributes
    ----------
    mean, covariance : ndarray of shape (n_batches,)
        r and v of the module docstring.
    confidence : float
        Probability, at least, with which both hold for a single batch: 1 - delta.
    joint_confidence : float
        Probability, at least, with which they hold for all batches at once: 1 - n_batches delta, or 0.
    """

    mean: FloatArray
    covariance: FloatArray
    confidence: float
    joint_confidence: float


def least_samples(confidence: float) -> int:
    """How many samples a batch needs for the bound of its covariance to hold at all."""
    return math.ceil(_deviation(4.0, 1.0 - confidence) ** 2)


def moment_radii(sizes: NDArray[Any], confidence: float, bound: float) -> MomentRadii:
    """Radii of batches.

    Parameters
    ----------
    sizes : ndarray of shape (n_batches,)
        Samples of each batch.
    confidence : float
        Above 0 and below 1.
    bound : float
        R, above 0: no sample the input can ever give is longer in feature space.

    Raises
    ------
    ValueError
        If a batch has fewer samples than the bound needs; the message names it by its place.
    """
    delta = 1.0 - confidence
    roots = np.sqrt(np.asarray(sizes, dtype=np.float64))
    least = least_samples(confidence)
    short = np.flatnonzero(np.asarray(sizes) < least)
    if short.size:
        raise ValueError(
            f"batch {short[0]} has {int(sizes[short[0]])} samples, but a confidence of {confidence:g} needs at least {least} "
            "in every batch."
        )
    return MomentRadii(
        mean=bound / roots * _deviation(2.0, delta),
        covariance=2.0 * bound * bound / roots * _deviation(4.0, delta),
        confidence=confidence,
        joint_confidence=max(0.0, 1.0 - len(roots) * delta),
    )


def _deviation(parts: float, delta: float) -> float:
    return 2.0 + math.sqrt(2.0 * math.log(parts / delta))
