"""Drawn inputs that are measured a few times, under six laws of their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray

# How far a draw of each law is from 0, in units of its own standard deviation.
T_FREEDOM, JUMP_CHANCE, JUMP_SHARE = 3.0, 0.1, 0.8
LAWS = ("normal", "uniform", "t", "laplace", "exponential", "jumps")


@dataclass(frozen=True)
class RepeatedInputs:
    """Inputs of two classes: ``repeats`` of shape (n_inputs, m, n_columns), and many further measurements of each."""

    repeats: FloatArray
    further: FloatArray
    labels: AnyArray

    @property
    def rows(self) -> FloatArray:
        return self.repeats.reshape(-1, self.repeats.shape[2])

    @property
    def groups(self) -> AnyArray:
        return np.repeat(np.arange(len(self.labels)), self.repeats.shape[1])

    @property
    def row_labels(self) -> AnyArray:
        return self.labels[self.groups]


def noise(law: str, shape: tuple[int, int, int], draw: np.random.Generator) -> FloatArray:
    """Noise of mean 0 and variance 1 in each column; that of "jumps" is the same in all columns, and rare."""
    if law == "normal":
        return draw.normal(size=shape)
    if law == "uniform":
        return draw.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=shape)
    if law == "t":
        return draw.standard_t(T_FREEDOM, size=shape) / np.sqrt(T_FREEDOM / (T_FREEDOM - 2.0))
    if law == "laplace":
        return draw.laplace(size=shape) / np.sqrt(2.0)
    if law == "exponential":
        return draw.exponential(size=shape) - 1.0
    jumped = draw.random(size=(*shape[:2], 1)) < JUMP_CHANCE
    jump = (jumped - JUMP_CHANCE) / np.sqrt(JUMP_CHANCE * (1.0 - JUMP_CHANCE))
    return np.asarray(np.sqrt(JUMP_SHARE) * jump + np.sqrt(1.0 - JUMP_SHARE) * draw.normal(size=shape))


def repeated_inputs(
    law: str, repeats: int, columns: int, count: int, *, further: int, uneven: float, random_state: int
) -> RepeatedInputs:
    """So many inputs of each class, ``further`` measurements beside the repeats of each.

    Means are normal, those of the classes 3 apart in the first column. Noise is half as large as the means' own spread, times
    a factor of each input whose logarithm has a standard deviation of ``uneven``.
    """
    draw = np.random.default_rng(random_state)
    labels = np.repeat([0, 1], count)
    means = draw.normal(size=(2 * count, columns))
    means[:, 0] += np.where(labels == 1, 1.5, -1.5)
    scale = 0.5 * np.exp(uneven * draw.normal(size=(2 * count, 1, 1)))
    found = means[:, None, :] + scale * noise(law, (2 * count, repeats + further, columns), draw)
    return RepeatedInputs(found[:, :repeats], found[:, repeats:], labels)
