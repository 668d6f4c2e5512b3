"""Rows of a table as the true values of inputs that are measured a few times: noise that is alike for all, or that varies.

Where noise is alike, covariances say nothing of one input that they do not say of all, and a support vector machine that has
seen noisy rows has seen that noise. So there are four kinds whose inputs differ in what they are worth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.core.arrays import AnyArray, FloatArray

# Noise of the same law for all inputs, and noise that makes inputs differ.
ALIKE = ("even", "by column", "drift")
VARYING = ("by input", "counts", "one class", "outliers")
KINDS = (*ALIKE, *VARYING)
LAWS = {
    "even": "standard deviation 0.5 in all columns",
    "by column": "from 0 in the first to 1.5 in the last column",
    "drift": "1.5 along one random direction, the same for all inputs, and 0.2 besides",
    "by input": "0.6 in all columns times a factor of each input, log-normal with log standard deviation 1: bad machines",
    "counts": "1 in all columns, each input measured 2 to 12 times, all numbers as likely: some were looked at more often",
    "one class": "2 along the line between the means of the classes for inputs of the second class only, and 0.2 besides",
    "outliers": "0.3 in all columns, and 2.4 in 15 of 100 readings: gauges slip",
}
FEWEST, MOST = 2, 12


@dataclass(frozen=True)
class MeasuredInputs:
    """Readings of inputs: one row each, the input it belongs to by number in ascending order, and the labels of the inputs."""

    rows: FloatArray
    inputs: AnyArray
    labels: AnyArray

    @property
    def row_labels(self) -> AnyArray:
        return np.asarray(self.labels[self.inputs])

    @property
    def means(self) -> FloatArray:
        return np.stack([self.of_inputs(column) for column in self.rows.T], axis=1)

    def of_inputs(self, values: AnyArray) -> FloatArray:
        """The mean of one value a row over the rows of each input."""
        return np.asarray(np.bincount(self.inputs, weights=values) / np.bincount(self.inputs))

    def take(self, chosen: AnyArray) -> MeasuredInputs:
        """The readings of some inputs, numbered anew; ``chosen`` ascends."""
        kept = np.isin(self.inputs, chosen)
        return MeasuredInputs(self.rows[kept], np.searchsorted(chosen, self.inputs[kept]), self.labels[chosen])


def measured_inputs(X: FloatArray, y: AnyArray, kind: str, repeats: int | None, draw: np.random.Generator) -> MeasuredInputs:
    """Each row of a table in standard units measured so many times; None draws the number, as "counts" does."""
    sizes = draw.integers(FEWEST, MOST + 1, size=len(X)) if repeats is None else np.full(len(X), repeats)
    inputs = np.repeat(np.arange(len(X)), sizes)
    even = draw.normal(size=(inputs.size, X.shape[1]))
    if kind == "even":
        noise = 0.5 * even
    elif kind == "by column":
        noise = np.linspace(0.0, 1.5, X.shape[1]) * even
    elif kind == "drift":
        noise = 0.2 * even + 1.5 * draw.normal(size=(inputs.size, 1)) * _unit(draw.normal(size=X.shape[1]))
    elif kind == "by input":
        noise = 0.6 * np.exp(draw.normal(size=len(X)))[inputs, None] * even
    elif kind == "counts":
        noise = even
    elif kind == "one class":
        apart = _unit(X[y].mean(axis=0) - X[~y].mean(axis=0))
        noise = 0.2 * even + np.where(y[inputs], 2.0, 0.0)[:, None] * draw.normal(size=(inputs.size, 1)) * apart
    else:
        noise = np.where(draw.random(inputs.size) < 0.15, 2.4, 0.3)[:, None] * even
    return MeasuredInputs(X[inputs] + noise, inputs, y)


def _unit(direction: FloatArray) -> FloatArray:
    return np.asarray(direction / np.linalg.norm(direction))
