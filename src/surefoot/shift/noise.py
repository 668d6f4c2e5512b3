"""Laws of numeric shifts, and the price each of them implies.

A law is a distribution g of shifts d up to scale. The certainty fixes the scale: P(|d| <= u) = rho. With Q the quantile
function of |d| at scale 1, the scale is u / Q(rho):

    Laplace    Q(rho) = -log(1 - rho)              E|d| = 1
    Gaussian   Q(rho) = Phi^-1((1 + rho) / 2)      E|d| = sqrt(2 / pi)
    uniform    Q(rho) = rho, on [-1, 1]            E|d| = 1/2
    callable   both estimated from one large draw with a fixed seed

A robust model charges gamma |d| for a shift d, which is the log likelihood ratio of the Laplace law of scale 1 / gamma and
of no other. The price that another law implies is that of the Laplace law nearest to it: the divergence

    KL(g || Laplace(b))  =  constant + log(2 b) + E_g|d| / b

is least at b = E_g|d|, so gamma = 1 / E_g|d|: a shift of mean size costs 1. For the Laplace law itself this is the paper's
gamma = -log(1 - rho) / u.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtri

from surefoot.core.arrays import FloatArray

# Draws behind the quantiles and the mean of a callable law: 0.3 % of error for the mean of Laplace noise.
_SAMPLE = 1 << 17


class Noise(Protocol):
    """A law of shifts at scale 1; ``mean_size`` is E|d|."""

    @property
    def mean_size(self) -> float: ...

    def quantile(self, certainty: float) -> float:
        """Q(rho), the bound that the size of a shift keeps with that probability, for 0 < rho < 1."""
        ...

    def fill(self, out: FloatArray, generator: np.random.Generator) -> None:
        """Independent draws into an array."""
        ...


@dataclass(frozen=True)
class LaplaceNoise:
    """Two-sided exponential noise."""

    mean_size: float = 1.0

    def quantile(self, certainty: float) -> float:
        return -math.log1p(-certainty)

    def fill(self, out: FloatArray, generator: np.random.Generator) -> None:
        # An exponential size and a fair sign take a third of the time of the generator's own Laplace draws.
        generator.standard_exponential(out=out)
        words = generator.integers(0, np.iinfo(np.uint64).max, size=-(-out.size // 64), dtype=np.uint64, endpoint=True)
        signs = np.unpackbits(words.view(np.uint8))[: out.size].astype(np.uint64)
        signs <<= np.uint64(63)
        bits = out.reshape(-1).view(np.uint64)
        bits |= signs


@dataclass(frozen=True)
class GaussianNoise:
    """Normal noise."""

    mean_size: float = math.sqrt(2.0 / math.pi)

    def quantile(self, certainty: float) -> float:
        return float(ndtri((1.0 + certainty) / 2.0))

    def fill(self, out: FloatArray, generator: np.random.Generator) -> None:
        generator.standard_normal(out=out)


@dataclass(frozen=True)
class UniformNoise:
    """Noise that is spread evenly over [-1, 1]."""

    mean_size: float = 0.5

    def quantile(self, certainty: float) -> float:
        return certainty

    def fill(self, out: FloatArray, generator: np.random.Generator) -> None:
        generator.random(out=out)
        out *= 2.0
        out -= 1.0


@dataclass(frozen=True)
class CallableNoise:
    """The user's own law: ``draw(generator, size)`` returns that many independent shifts, in any unit."""

    draw: Callable[[np.random.Generator, int], Any]

    @cached_property
    def _sizes(self) -> FloatArray:
        sizes: FloatArray = np.sort(np.abs(self._draws(np.random.default_rng(0), _SAMPLE)))
        if sizes[-1] == 0:
            raise ValueError(f"noise = {self.draw!r} draws nothing but 0, so no scale of it moves anything.")
        return sizes

    @cached_property
    def mean_size(self) -> float:
        return float(self._sizes.mean())

    def quantile(self, certainty: float) -> float:
        value = float(np.quantile(self._sizes, certainty))
        if value == 0:
            raise ValueError(
                f"noise = {self.draw!r} is 0 with a probability above the certainty {certainty:g}, so no scale of it fits. "
                "Raise the certainty, or let the law draw only the shifts of values that move."
            )
        return value

    def fill(self, out: FloatArray, generator: np.random.Generator) -> None:
        out.reshape(-1)[:] = self._draws(generator, out.size)

    def _draws(self, generator: np.random.Generator, size: int) -> FloatArray:
        draws = np.asarray(self.draw(generator, size), dtype=np.float64)
        if draws.shape != (size,) or not np.isfinite(draws).all():
            raise ValueError(
                f"noise = {self.draw!r} must return an array of {size} finite numbers for (generator, {size}), "
                f"not one of shape {draws.shape}" + (" with NaN or infinity." if draws.shape == (size,) else ".")
            )
        return draws


_NAMED: dict[str, Noise] = {"laplace": LaplaceNoise(), "gaussian": GaussianNoise(), "uniform": UniformNoise()}


def named_noise(noise: Any, where: str = "noise") -> Noise:
    """The law of that name, or the user's own."""
    if isinstance(noise, str) and noise in _NAMED:
        return _NAMED[noise]
    if callable(noise):
        return CallableNoise(noise)
    known = ", ".join(map(repr, _NAMED))
    raise ValueError(f"{where} = {noise!r} is not a law of shifts; use {known}, or a function (generator, size) -> array.")
