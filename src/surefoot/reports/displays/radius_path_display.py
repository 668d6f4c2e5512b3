"""A radius path as a picture: what each step of caution costs, and what it does to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.design.read.table import read_table
from surefoot.reports.displays.axes_display import AxesDisplay, require_kind
from surefoot.reports.displays.canvas import BLUE, GREY, ORANGE, SERIES, plain

_KINDS = ("score", "coefficients")


@dataclass(eq=False)
class RadiusPathDisplay(AxesDisplay):
    """Held-out scores or coefficients against the radius; made by :meth:`from_estimator`.

    Attributes
    ----------
    radii, label_weights : ndarray of shape (n_points,)
    mean_scores, std_scores : ndarray of shape (n_points,)
        Over the folds.
    coefs : ndarray of shape (n_points, n_coefficients)
    names : list of str
        Of the coefficients.
    numeric : ndarray of shape (n_coefficients,), bool
        Which coefficients are those of numeric columns.
    radius, label_weight : float
        Those chosen.
    scoring : str
        What the scores are.
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like ``lines_``, one per label weight or coefficient.
    """

    radii: FloatArray
    label_weights: FloatArray
    mean_scores: FloatArray
    std_scores: FloatArray
    coefs: FloatArray
    names: Sequence[str]
    numeric: BoolArray
    radius: float
    label_weight: float
    scoring: str = "score"
    lines_: list[Any] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, kind: str = "score", ax: Any = None) -> Self:
        """Draw the path of a fitted model.

        Parameters
        ----------
        estimator : RobustLogisticRegressionCV
        X : table, optional
            Coefficients of numeric columns are then shown per standard deviation of the column in this table, so that they can
            be compared.
        kind : {"score", "coefficients"}, default="score"
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        RadiusPathDisplay
        """
        path = getattr(estimator, "path_", None)
        if path is None:
            raise ValueError(
                f"{type(estimator).__name__} has no path_; fit a RobustLogisticRegressionCV, which walks along radii."
            )
        pairs = estimator.schema_.coefficient_names()
        numeric = np.array([level is None for _, level in pairs], dtype=bool)
        scales = np.ones(len(pairs))
        if X is not None:
            table = read_table(X)
            spreads = [np.nanstd(table.columns[at].numbers()) for at in estimator.schema_.numeric_positions]
            scales[numeric] = spreads
        scoring = estimator.scoring if isinstance(estimator.scoring, str) else "score"
        return cls(
            radii=path.radii,
            label_weights=path.label_weights,
            mean_scores=path.mean_scores,
            std_scores=np.array([point.std_score for point in path]),
            coefs=path.coefs * scales,
            names=[feature if level is None else f"{feature} = {level}" for feature, level in pairs],
            numeric=numeric,
            radius=float(estimator.radius_),
            label_weight=float(estimator.label_weight_),
            scoring=scoring.replace("_", " "),
        ).plot(kind=kind, ax=ax)

    def plot(self, *, kind: str = "score", ax: Any = None) -> Self:
        """Draw once more.

        Parameters
        ----------
        kind : {"score", "coefficients"}, default="score"
        ax : matplotlib.axes.Axes, optional
            Where; a new figure by default.

        Returns
        -------
        RadiusPathDisplay
        """
        require_kind(kind, _KINDS)
        return self._plot_on(ax, (5.6, 4.2), partial(self._draw, kind))

    def _draw(self, kind: str, ax: Any) -> None:
        self.lines_ = self._scores(ax) if kind == "score" else self._coefficients(ax)
        ax.axvline(self.radius, color=GREY, linestyle="--", linewidth=1)
        # A radius of 0 has no place on a logarithmic axis.
        ax.set_xscale("log" if np.all(self.radii > 0) else "linear")
        ax.set_xlabel("radius")

    def _scores(self, ax: Any) -> list[Any]:
        lines = []
        weights = np.unique(self.label_weights)[::-1]
        for at, weight in enumerate(weights):
            own = self.label_weights == weight
            colour = SERIES[at % len(SERIES)]
            mean, spread = self.mean_scores[own], self.std_scores[own]
            lines += ax.plot(self.radii[own], mean, marker="o", markersize=4, color=colour, label=f"label weight {weight:g}")
            ax.fill_between(self.radii[own], mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0)
        ax.set_ylabel(f"{self.scoring} on held-out rows")
        if weights.size > 1:
            ax.legend(frameon=False)
        return lines

    def _coefficients(self, ax: Any) -> list[Any]:
        own = self.label_weights == self.label_weight
        lines = []
        for name, is_numeric, values in zip(self.names, self.numeric, self.coefs[own].T, strict=True):
            lines += ax.plot(self.radii[own], values, color=BLUE if is_numeric else ORANGE, linewidth=1.3, label=plain(name))
        sorts = [(BLUE, "numeric column", np.any(self.numeric)), (ORANGE, "level of a category", np.any(~self.numeric))]
        legend = [ax.plot([], [], color=colour, label=label)[0] for colour, label, shown in sorts if shown]
        ax.legend(handles=legend, frameon=False)
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.set_ylabel("coefficient")
        return lines
