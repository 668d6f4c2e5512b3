"""The cone programme of a chance-constrained SVM of some hundred samples, and objectives, by code that surefoot does not share.

    minimise  1/2 ||w||^2 + sum_i C_i s_i
    subject to  y_i (w . mu_i + b) - tau_i l_i >= 1 - s_i,   s_i >= 0,   ||R_i w|| <= l_i

with features from the eigenvectors of the centred matrix of products, means mu_i of the samples of input i and the rows of R_i
their weighted deviations. Clarabel solves it in tight settings, and the best intercept for its w is found by trying all places
where an input begins to have slack. Objectives are added up with the digits of a long double.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from verdict_conic import Programme, Row

Values = NDArray[np.float64]
# Eigenvalues below this part of the largest are rounding.
NOTHING = 1e-14
# An objective below this part of what it was divided by is solved for once more.
TINY, ATTEMPTS = 1e-3, 2


@dataclass(frozen=True)
class ConicModel:
    """Samples, those of input i from ``starts[i]`` to ``starts[i + 1]``, and what is known of the inputs.

    Attributes
    ----------
    products : ndarray of shape (n_samples, n_samples)
        The kernel of all pairs of samples.
    starts : ndarray of shape (n_inputs + 1,)
    weights : ndarray of shape (n_samples,)
        Adding up to 1 for each input.
    labels : ndarray of shape (n_inputs,)
        -1 and +1.
    costs, violation : ndarray of shape (n_inputs,)
    """

    products: Values
    starts: NDArray[np.int64]
    weights: Values
    labels: Values
    costs: Values
    violation: Values

    @property
    def tau(self) -> Values:
        return np.asarray(np.sqrt((1.0 - self.violation) / self.violation))

    @property
    def centred(self) -> Values:
        """Products as seen from the mean of all samples in feature space: the intercept takes up the difference."""
        means = self.products.mean(axis=0)
        return np.asarray(self.products - means - means[:, None] + means.mean())

    def objective(self, values: Values, square: float, intercept: float | None = None) -> float:
        """Of a plane with these w . phi of the samples and this ||w||^2; by the best intercept where none is given."""
        scores, weights = values.astype(np.longdouble), self.weights.astype(np.longdouble)
        first, sizes = self.starts[:-1], np.diff(self.starts)
        means = np.add.reduceat(weights * scores, first)
        spreads = np.sqrt(np.add.reduceat(weights * (scores - np.repeat(means, sizes)) ** 2, first))
        needed = 1 - self.labels * means + self.tau * spreads
        tried = self.labels * needed if intercept is None else np.array([intercept], dtype=np.longdouble)
        losses = np.maximum(needed[None, :] - self.labels[None, :] * tried[:, None], 0) @ self.costs.astype(np.longdouble)
        return float(0.5 * np.longdouble(square) + losses.min())

    def least(self) -> float:
        """An objective that a plane has, and none is below but for what Clarabel leaves; that of w = 0 if nothing is found."""
        best = self.objective(np.zeros(len(self.products)), 0.0)
        features, size = self._features(), float(self.costs.sum())
        for _ in range(ATTEMPTS if features.shape[1] else 0):
            w = self._plane(features, size)
            best = best if w is None else min(best, self.objective(features @ w, float(w @ w)))
            if best > TINY * size:
                break
            # Slack is so dear that all prices together are far from the objective, which should be of size 1.
            size = best
        return best

    def _features(self) -> Values:
        lengths, axes = np.linalg.eigh(self.centred)
        kept = lengths > NOTHING * max(lengths[-1], 0.0)
        return np.asarray(axes[:, kept] * np.sqrt(lengths[kept]))

    def _plane(self, features: Values, size: float) -> Values | None:
        """w, by a programme whose objective is divided by ``size``."""
        # Columns of length 1 are easier to solve for.
        units = np.abs(features).max(axis=0)
        scaled = features / units
        programme = Programme()
        w, b = programme.add(features.shape[1]), programme.add(1)[0]
        slack, length = programme.add(len(self.labels)), programme.add(len(self.labels))
        programme.square = {at: 1.0 / (size * unit**2) for at, unit in zip(w, units.tolist(), strict=True)}
        programme.linear = {at: cost / size for at, cost in zip(slack, self.costs.tolist(), strict=True)}
        for i, label in enumerate(self.labels.tolist()):
            own = slice(self.starts[i], self.starts[i + 1])
            mean = self.weights[own] @ scaled[own]
            spread = np.sqrt(self.weights[own])[:, None] * (scaled[own] - mean)
            terms = {at: label * value for at, value in zip(w, mean.tolist(), strict=True)}
            programme.positives.append(({slack[i]: 1.0}, 0.0))
            programme.positives.append(({slack[i]: 1.0, b: label, length[i]: -float(self.tau[i]), **terms}, -1.0))
            parts: list[Row] = [(dict(zip(w, line.tolist(), strict=True)), 0.0) for line in spread]
            programme.cones.append(("second", [({length[i]: 1.0}, 0.0), *parts]))
        found = programme.solve()
        return None if found is None else np.asarray(found[list(w)] / units)
