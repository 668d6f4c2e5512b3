"""Models for a grid of radii and label weights, and how well each does on rows it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.design.write.output_frame import build_frame


@dataclass(frozen=True, eq=False)
class PathPoint:
    """One radius and one label weight.

    Attributes
    ----------
    radius : float
    label_weight : float
        kappa, the price of flipping a label.
    scores : ndarray of shape (n_folds,)
        Score on the validation rows of each fold; larger is better.
    coef : ndarray of shape (n_coefficients,)
        The model fitted to all rows, laid out like ``coef_[0]`` of the estimator.
    intercept : float
    price : float
        lambda of that model.
    certificate : Certificate
        Of that model, without the witness.
    """

    radius: float
    label_weight: float
    scores: FloatArray
    coef: FloatArray
    intercept: float
    price: float
    certificate: Certificate

    @property
    def mean_score(self) -> float:
        return float(self.scores.mean())

    @property
    def std_score(self) -> float:
        return float(self.scores.std())


@dataclass(frozen=True, eq=False)
class RadiusPath:
    """Points in the order of rising caution; a sequence, and a table.

    Radii rise; where there are several label weights, those of each radius fall.

    Attributes
    ----------
    points : tuple of PathPoint
    library : str or None
        Data frame library of ``table``.
    """

    points: tuple[PathPoint, ...]
    library: str | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[PathPoint]:
        return iter(self.points)

    def __getitem__(self, at: int) -> PathPoint:
        return self.points[at]

    @property
    def radii(self) -> FloatArray:
        return np.array([point.radius for point in self.points])

    @property
    def label_weights(self) -> FloatArray:
        return np.array([point.label_weight for point in self.points])

    @property
    def mean_scores(self) -> FloatArray:
        return np.array([point.mean_score for point in self.points])

    @property
    def coefs(self) -> FloatArray:
        """Coefficients of all models, one row per point."""
        return np.stack([point.coef for point in self.points])

    @property
    def best(self) -> PathPoint:
        """The point with the best mean score; of equal ones that with the largest radius, then the smallest label weight."""
        scores = self.mean_scores
        return self.points[int(np.flatnonzero(scores == scores.max())[-1])]

    @property
    def table(self) -> Any:
        """One line per point: scores over the folds, and objective, bound and verdict of the model on all rows."""
        return build_frame(self._columns(), self.library)

    def _columns(self) -> dict[str, Any]:
        certificates = [point.certificate for point in self.points]
        return {
            "radius": self.radii,
            "label_weight": self.label_weights,
            "mean_score": self.mean_scores,
            "std_score": np.array([point.std_score for point in self.points]),
            "objective": np.array([certificate.upper_bound for certificate in certificates]),
            "lower_bound": np.array([certificate.lower_bound for certificate in certificates]),
            "verified": np.array([certificate.verified for certificate in certificates], dtype=bool),
        }

    def __str__(self) -> str:
        lines = [f"{'radius':>10}  {'label weight':>12}  {'mean score':>10}  {'std score':>10}  {'objective':>10}  verified"]
        for point in self.points:
            mark = "  <- best" if point is self.best else ""
            lines.append(
                f"{point.radius:>10.4g}  {point.label_weight:>12.4g}  {point.mean_score:>10.5g}  {point.std_score:>10.3g}  "
                f"{point.certificate.upper_bound:>10.6g}  {'yes' if point.certificate.verified else 'no':>8}{mark}"
            )
        return "\n".join(lines)

    __repr__ = __str__
