"""Models for a grid of radii, label weights and certainty scales, and how well each does on rows it has not seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import Certificate
from surefoot.design.encode.schema import Level
from surefoot.design.write.output_frame import build_frame
from surefoot.sklearn_api.path_choice import chosen_point


@dataclass(frozen=True, eq=False)
class PathPoint:
    """One radius, one label weight and one certainty scale.

    Attributes
    ----------
    radius : float
    label_weight : float
        kappa, the price of flipping a label.
    scores : ndarray of shape (n_folds,) or (n_environments,)
        Score on the validation rows of each fold, or of each environment where groups were given; larger is better.
    coef : ndarray of shape (n_coefficients,)
        The model fitted to all rows, laid out like ``coef_[0]`` of the estimator.
    intercept : float
    price : float
        lambda of that model.
    certificate : Certificate
        Of that model, without the witness.
    certainty_scale : float
        What doubts about columns, 1 - certainty, were multiplied by.
    """

    radius: float
    label_weight: float
    scores: FloatArray
    coef: FloatArray
    intercept: float
    price: float
    certificate: Certificate
    certainty_scale: float = 1.0

    @property
    def mean_score(self) -> float:
        return float(self.scores.mean())

    @property
    def std_score(self) -> float:
        return float(self.scores.std())

    @property
    def worst_score(self) -> float:
        return float(self.scores.min())


@dataclass(frozen=True, eq=False)
class RadiusPath:
    """Points in the order of rising caution; a sequence, and a table.

    Radii rise; where there are several label weights, those of each radius fall, and where there are several certainty scales,
    those of each label weight rise.

    Attributes
    ----------
    points : tuple of PathPoint
    library : str or None
        Data frame library of ``table``.
    environments : tuple
        Whose the scores are, where groups were given; empty where they are those of folds.
    select : str
        The rule by which ``best`` was chosen.
    """

    points: tuple[PathPoint, ...]
    library: str | None = None
    environments: tuple[Level, ...] = ()
    select: str = "mean"

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
    def certainty_scales(self) -> FloatArray:
        return np.array([point.certainty_scale for point in self.points])

    @property
    def scores(self) -> FloatArray:
        """All scores, one row per point, one column per fold or environment."""
        return np.stack([point.scores for point in self.points])

    @property
    def mean_scores(self) -> FloatArray:
        return np.array([point.mean_score for point in self.points])

    @property
    def coefs(self) -> FloatArray:
        """Coefficients of all models, one row per point."""
        return np.stack([point.coef for point in self.points])

    @property
    def best(self) -> PathPoint:
        """The point that ``select`` takes; of equally good ones that with the largest radius, then the least label weight."""
        return self.points[chosen_point(self.scores, self.select)]

    @property
    def table(self) -> Any:
        """One line per point: scores over the folds, and objective, bound and verdict of the model on all rows."""
        return build_frame(self._columns(), self.library)

    def to_frame(self) -> Any:
        """The same as ``table``."""
        return self.table

    @property
    def environment_table(self) -> Any:
        """One line per environment: its score at the point chosen, and where its own score would have been best.

        Columns ``environment``, ``score``, ``best_score``, ``best_radius``, ``best_label_weight``.

        Raises
        ------
        ValueError
            If the fit had no groups.
        """
        if not self.environments:
            raise ValueError("these scores are those of folds; give fit the groups of the rows to have them by environment.")
        scores = self.scores
        own = scores.argmax(axis=0)
        columns: dict[str, Any] = {
            "environment": list(self.environments),
            "score": self.best.scores,
            "best_score": scores.max(axis=0),
            "best_radius": self.radii[own],
            "best_label_weight": self.label_weights[own],
        }
        return build_frame(columns, self.library)

    @property
    def _is_scaled(self) -> bool:
        return bool(np.any(self.certainty_scales != 1.0))

    def _columns(self) -> dict[str, Any]:
        certificates = [point.certificate for point in self.points]
        scales = {"certainty_scale": self.certainty_scales} if self._is_scaled else {}
        worst = {"worst_score": np.array([point.worst_score for point in self.points])} if self.environments else {}
        return {
            "radius": self.radii,
            "label_weight": self.label_weights,
            **scales,
            "mean_score": self.mean_scores,
            "std_score": np.array([point.std_score for point in self.points]),
            **worst,
            "objective": np.array([certificate.upper_bound for certificate in certificates]),
            "lower_bound": np.array([certificate.lower_bound for certificate in certificates]),
            "verified": np.array([certificate.verified for certificate in certificates], dtype=bool),
        }

    def __str__(self) -> str:
        titles = ["radius", "label weight", *["certainty scale"] * self._is_scaled, "mean score", "std score"]
        titles += [*["worst score"] * bool(self.environments), "objective", "verified"]
        lines = ["  ".join(f"{title:>{_width(title)}}" for title in titles)]
        best = self.best
        for point in self.points:
            cells = [f"{point.radius:.4g}", f"{point.label_weight:.4g}", *[f"{point.certainty_scale:.4g}"] * self._is_scaled]
            cells += [f"{point.mean_score:.5g}", f"{point.std_score:.3g}"]
            cells += [f"{point.worst_score:.5g}"] * bool(self.environments)
            cells += [f"{point.certificate.upper_bound:.6g}", "yes" if point.certificate.verified else "no"]
            line = "  ".join(f"{cell:>{_width(title)}}" for title, cell in zip(titles, cells, strict=True))
            lines.append(line + ("  <- best" if point is best else ""))
        return "\n".join(lines)

    __repr__ = __str__


def _width(title: str) -> int:
    return len(title) if title == "verified" else max(len(title), 10)
