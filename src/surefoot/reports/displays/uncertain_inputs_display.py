"""A picture of a classifier of uncertain inputs with two columns: samples, ellipses, boundary and margin.

The ellipse of an input is {x : (x - mean)' covariance^-1 (x - mean) <= tau^2}, tau = sqrt((1 - violation) / violation), with
mean and covariance of its samples in the plane of the picture. For the linear kernel these are what the model separates. Other
kernels separate ellipsoids of their own feature space, which leave no exact trace in the plane; the ellipses then show how far
the samples spread at the same violation.

matplotlib is optional; it is imported when a picture is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray
from surefoot.design.read.table import read_table
from surefoot.design.write.output_frame import build_frame, frame_library
from surefoot.exceptions import InvalidTableError
from surefoot.reports.displays.axes_display import PlainDisplay
from surefoot.reports.displays.canvas import BLUE, INK, ORANGE, matplotlib, plain

_CORNERS = 100
_MARGIN = 0.06


@dataclass(eq=False)
class UncertainInputsDisplay(PlainDisplay):
    """Samples, ellipses and boundary of a classifier of uncertain inputs; made by :meth:`from_estimator`.

    Attributes
    ----------
    means : ndarray of shape (n_inputs, 2)
    covariances : ndarray of shape (n_inputs, 2, 2)
    sizes : ndarray of shape (n_inputs,)
        tau of each input.
    labels : ndarray of shape (n_inputs,)
        Whether the input is of the second class.
    support : ndarray of shape (n_inputs,)
        Whether the input supports the model.
    samples, sample_labels : ndarray of shape (n_rows, 2), (n_rows,)
        No rows if the inputs were given by their moments.
    xx0, xx1, response : ndarray
        A grid and the scores on it.
    classes, columns : tuple of str
        Names for legend and axes.
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like the three below.
    ellipses_ : list of matplotlib.patches.Polygon
    boundary_ : matplotlib.contour.QuadContourSet
        The boundary and the two margins.
    surface_ : matplotlib.contour.QuadContourSet
    """

    means: FloatArray
    covariances: FloatArray
    sizes: FloatArray
    labels: BoolArray
    support: BoolArray
    samples: FloatArray
    sample_labels: BoolArray
    xx0: FloatArray
    xx1: FloatArray
    response: FloatArray
    classes: tuple[str, str]
    columns: tuple[str, str]
    ellipses_: list[Any] = field(default_factory=list, init=False, repr=False)
    boundary_: Any = field(default=None, init=False, repr=False)
    surface_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, covariances: Any = None, grid_resolution: int = 200, ax: Any = None
    ) -> Self:
        """Draw a fitted model.

        Parameters
        ----------
        estimator : ChanceConstrainedSVC
            Fitted to two columns.
        X : data frame or array of shape (n_rows, 2)
            The rows of training; after ``fit_moments`` the means.
        covariances : array-like of shape (n_inputs, 2, 2) or (n_inputs, 2), optional
            After ``fit_moments``: the covariances.
        grid_resolution : int, default=200
            Points along each side of the grid on which the model is evaluated.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        UncertainInputsDisplay
        """
        if hasattr(estimator, "machines_"):
            raise ValueError(
                f"a picture shows one boundary, but the model tells {len(estimator.classes_)} classes apart. Draw one of "
                "machines_, each of which knows its own rows."
            )
        table = read_table(X)
        points = np.asarray(table.numbers(range(len(table.names))))
        if points.shape[1] != 2:
            raise InvalidTableError(f"a picture shows two columns, but X has {points.shape[1]}. Fit a model to two of them.")
        inputs = estimator.inputs()
        violation = np.asarray(inputs["violation"], dtype=np.float64)
        labels = np.array([label == estimator.classes_.tolist()[1] for label in _listed(inputs["label"])])
        if covariances is None:
            of_row = _row_groups(estimator, len(points))
            means, spread = _moments(points[of_row >= 0], of_row[of_row >= 0], len(violation))
            made = estimator.borrowed_covariances(points[of_row >= 0], of_row[of_row >= 0])
            spread = spread if made is None else made
            samples, sample_labels = points[of_row >= 0], labels[of_row[of_row >= 0]]
        else:
            means, spread = points, _full(np.asarray(covariances, dtype=np.float64), points.shape)
            samples, sample_labels = points[:0], labels[:0]
        sizes = np.sqrt((1.0 - violation) / violation)
        xx0, xx1 = _grid(np.vstack([samples, _outlines(means, spread, sizes).reshape(-1, 2)]), grid_resolution)
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        return cls(
            means=means,
            covariances=spread,
            sizes=sizes,
            labels=labels,
            support=np.asarray(inputs["support"], dtype=bool),
            samples=samples,
            sample_labels=sample_labels,
            xx0=xx0,
            xx1=xx1,
            response=_scores(estimator, grid, X).reshape(xx0.shape),
            classes=(str(estimator.classes_[0]), str(estimator.classes_[1])),
            columns=(table.names[0], table.names[1]),
        ).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return 6.4, 5.2

    def _draw(self, ax: Any) -> None:
        ax.set(
            xlim=(self.xx0.min(), self.xx0.max()),
            ylim=(self.xx1.min(), self.xx1.max()),
            xlabel=plain(self.columns[0]),
            ylabel=plain(self.columns[1]),
        )
        # Only the sign is shaded: how large a score is has no meaning beyond the margin.
        self.surface_ = ax.contourf(
            self.xx0, self.xx1, self.response, levels=[-np.inf, 0.0, np.inf], colors=[BLUE, ORANGE], alpha=0.12
        )
        self.boundary_ = ax.contour(
            self.xx0,
            self.xx1,
            self.response,
            levels=[-1.0, 0.0, 1.0],
            colors=INK,
            linestyles=["dashed", "solid", "dashed"],
            linewidths=[0.9, 1.8, 0.9],
        )
        for second, colour in ((False, BLUE), (True, ORANGE)):
            rows = self.samples[self.sample_labels == second]
            ax.scatter(rows[:, 0], rows[:, 1], s=9, color=colour, alpha=0.65, linewidths=0, zorder=3)
        self.ellipses_ = self._ellipses(ax)
        self._legend(ax)

    def _ellipses(self, ax: Any) -> list[Any]:
        polygon = matplotlib("patches").Polygon
        colours = [ORANGE if second else BLUE for second in self.labels]
        drawn = []
        for outline, colour, support in zip(
            _outlines(self.means, self.covariances, self.sizes), colours, self.support, strict=True
        ):
            drawn.append(ax.add_patch(polygon(outline, **_style(colour, bool(support)), zorder=4 if support else 3.5)))
        ax.scatter(self.means[:, 0], self.means[:, 1], s=22, marker="+", c=colours, linewidths=1.3, zorder=5)
        return drawn

    def _legend(self, ax: Any) -> None:
        line = matplotlib("lines").Line2D
        patch = matplotlib("patches").Patch
        handles = [
            patch(color=BLUE, alpha=0.7, label=plain(self.classes[0])),
            patch(color=ORANGE, alpha=0.7, label=plain(self.classes[1])),
            patch(**_style(INK, True), label="support ellipse"),
            patch(**_style(INK, False), label="other ellipse"),
            line([], [], color=INK, linewidth=1.8, label="boundary"),
            line([], [], color=INK, linewidth=0.9, linestyle="dashed", label="margin"),
        ]
        # Above the axes: inside, it would cover ellipses.
        ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, fontsize=9)


def _style(colour: str, support: bool) -> dict[str, Any]:
    if support:
        return {"edgecolor": colour, "facecolor": (*_rgb(colour), 0.22), "linewidth": 1.8}
    return {"edgecolor": colour, "facecolor": "none", "linewidth": 0.8, "linestyle": "dotted"}


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def _listed(column: Any) -> list[Any]:
    """The values of a column of any data frame library."""
    reader = next(name for name in ("tolist", "to_list", "to_pylist") if hasattr(column, name))
    values: list[Any] = getattr(column, reader)()
    return values


def _row_groups(estimator: Any, count: int) -> AnyArray:
    of_row: AnyArray | None = getattr(estimator, "row_groups_", None)
    if of_row is None:
        raise ValueError("this model was fitted to moments: pass the means as X, and covariances.")
    if of_row.size != count:
        raise InvalidTableError(f"X has {count} rows, but the model was fitted to {of_row.size}. Pass the rows of training.")
    return of_row


def _moments(points: FloatArray, of_row: AnyArray, count: int) -> tuple[FloatArray, FloatArray]:
    sizes = np.bincount(of_row, minlength=count)
    means = np.column_stack([np.bincount(of_row, points[:, at], count) / sizes for at in (0, 1)])
    deviations = points - means[of_row]
    covariances = np.empty((count, 2, 2))
    for row in (0, 1):
        for column in (0, 1):
            covariances[:, row, column] = np.bincount(of_row, deviations[:, row] * deviations[:, column], count) / sizes
    return means, covariances


def _full(covariances: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    full: FloatArray = covariances[:, :, None] * np.eye(2) if covariances.shape == shape else covariances
    return full


def _outlines(means: FloatArray, covariances: FloatArray, sizes: FloatArray) -> FloatArray:
    """Corners of the ellipses, of shape (n_inputs, corners, 2)."""
    angles = np.linspace(0.0, 2.0 * np.pi, _CORNERS)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    values, vectors = np.linalg.eigh(covariances)
    half_axes = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :] * sizes[:, None, None]
    corners: FloatArray = means[:, None, :] + circle @ half_axes.transpose(0, 2, 1)
    return corners


def _grid(points: FloatArray, resolution: int) -> tuple[FloatArray, FloatArray]:
    low, high = points.min(axis=0), points.max(axis=0)
    room = _MARGIN * np.where(high > low, high - low, 1.0)
    first, second = (np.linspace(low[at] - room[at], high[at] + room[at], resolution) for at in (0, 1))
    xx0, xx1 = np.meshgrid(first, second)
    return xx0, xx1


def _scores(estimator: Any, grid: FloatArray, like: Any) -> FloatArray:
    """Scores of the grid, handed over as a frame where the model knows names."""
    if hasattr(estimator, "feature_names_in_"):
        columns = {name: grid[:, at] for at, name in enumerate(estimator.feature_names_in_)}
        return np.asarray(estimator.decision_function(build_frame(columns, frame_library(like))))
    return np.asarray(estimator.decision_function(grid))
