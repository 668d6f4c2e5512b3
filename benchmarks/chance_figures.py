"""Figures 1b and 2 of Lin, Fang, Fang and Gao (2024), drawn from our own solutions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from chance_synthetic import MEANS, N_TESTS, Draw, solve
from numpy.typing import NDArray
from uncertain_inputs import KERNEL_NAMES, SynSet
from uncertain_search import silenced

from surefoot import ChanceConstrainedSVC
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane
from surefoot.chancesvm.solvers.ellipsoid_cuts import EllipsoidCuts

# Example 1: moments of three inputs with independent columns; the paper does not say which eps. Below 0.25 the ellipsoids meet.
CENTRES = np.array([[2.0, 2.0], [-2.0, -2.0], [0.0, 0.0]])
VARIANCES = np.array([[0.5, 0.5], [0.5, 0.5], [4.0, 0.01]])
LABELS = np.array([1, 1, -1])
EXAMPLE_COST, EXAMPLE_VIOLATION = 2.0**10, 0.3
FIGURE_2_VIOLATIONS = (MEANS, 0.2, 0.1)
COLOURS = {1.0: "tab:blue", -1.0: "tab:red"}


def with_product(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The paper's map (x_1, x_2) -> (x_1, x_2, x_1 x_2)."""
    return np.column_stack((rows, rows[:, 0] * rows[:, 1]))


def mapped_moments() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and covariances of the three mapped inputs, by the formulas of Example 1."""
    first, second = CENTRES.T
    a, b = VARIANCES.T
    product = a * (b + second**2) + b * first**2
    zero = np.zeros(3)
    covariances = np.array([[a, zero, a * second], [zero, b, b * first], [a * second, b * first, product]])
    return with_product(CENTRES), np.moveaxis(covariances, -1, 0)


def example_model() -> ChanceConstrainedSVC:
    """The plane that separates the three ellipsoids in the feature space."""
    model = ChanceConstrainedSVC(kernel="linear", C=EXAMPLE_COST, violation=EXAMPLE_VIOLATION, standardize=False)
    means, covariances = mapped_moments()
    with silenced():
        return model.fit_moments(means, covariances, LABELS, feature_map=with_product)


def draw_figure_1b(path: Path) -> None:
    """Ellipsoids of the mapped inputs, and the plane between them."""
    from matplotlib.figure import Figure

    model, (means, covariances) = example_model(), mapped_moments()
    figure = Figure(figsize=(6, 5), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d")
    along, around = np.meshgrid(np.linspace(0, np.pi, 25), np.linspace(0, 2 * np.pi, 49))
    sphere = np.stack((np.sin(along) * np.cos(around), np.sin(along) * np.sin(around), np.cos(along)))
    reach = math.sqrt((1 - EXAMPLE_VIOLATION) / EXAMPLE_VIOLATION)
    for mean, covariance, label in zip(means, covariances, LABELS, strict=True):
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        surface = mean[:, None, None] + reach * np.einsum("ij,jkl->ikl", root, sphere)
        axes.plot_surface(*surface, color=COLOURS[float(label)], alpha=0.5, linewidth=0)
    x, y = np.meshgrid(np.linspace(-5, 5, 2), np.linspace(-5, 5, 2))
    u, v, w = model.coef_[0]
    axes.plot_surface(x, y, -(u * x + v * y + model.intercept_[0]) / w, color="grey", alpha=0.3)
    axes.set(
        xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_1 x_2$", title=f"Example 1 in the feature space, eps = {EXAMPLE_VIOLATION:g}"
    )
    figure.savefig(path, dpi=110)


def draw_figure_2(chosen: SynSet, per_batch: int, path: Path) -> None:
    """Classifiers, samples of training and of testing, by kernel and violation."""
    from matplotlib.figure import Figure

    draw = Draw.of(chosen, "normal", per_batch, 0)
    figure = Figure(figsize=(12, 8), layout="constrained")
    panels: Any = figure.subplots(len(KERNEL_NAMES), len(FIGURE_2_VIOLATIONS), sharex=True, sharey=True)
    for line, kernel in zip(panels, KERNEL_NAMES, strict=True):
        for axes, violation in zip(line, FIGURE_2_VIOLATIONS, strict=True):
            problem = draw.problem(kernel, violation)
            plane = solve(problem, EllipsoidCuts()).plane
            _draw_panel(axes, draw, problem, plane)
            accuracy = draw.accuracies(problem, [plane]).mean()
            axes.set_title(f"{kernel}, eps = {violation:.2f}: {accuracy:.1f} %")
    figure.savefig(path, dpi=90)


def _draw_panel(axes: Any, draw: Draw, problem: ChanceSVMProblem, plane: KernelPlane) -> None:
    low, high = draw.tests.min(axis=0), draw.tests.max(axis=0)
    x, y = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
    grid = np.column_stack((x.ravel(), y.ravel()))
    scores = problem.kernel.products(grid, problem.samples) @ plane.coefficients + plane.intercept
    axes.contourf(x, y, scores.reshape(x.shape) > 0, levels=[-0.5, 0.5, 1.5], colors=["tab:red", "tab:blue"], alpha=0.15)
    per_batch = len(draw.samples) // len(draw.labels)
    for rows, count, marker, size in ((draw.tests, N_TESTS, ".", 2), (draw.samples, per_batch, "o", 14)):
        for label, colour in COLOURS.items():
            own = rows[np.repeat(draw.labels, count) == label]
            axes.scatter(*own.T, marker=marker, s=size, color=colour, alpha=0.4 if marker == "." else 1.0, linewidths=0)
