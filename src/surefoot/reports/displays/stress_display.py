"""The distribution of a metric over shifted tables, as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from surefoot.reports.displays.axes_display import PlainDisplay
from surefoot.reports.displays.canvas import INK, SERIES, plain
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress.metrics import METRICS
from surefoot.shift.stress.stress_report import StressReport
from surefoot.shift.stress.stress_test import stress_test

_LABELS = {"auc": "AUC", "ace": "adaptive calibration error", "log_loss": "log loss", "accuracy": "accuracy"}


@dataclass(eq=False)
class StressDisplay(PlainDisplay):
    """A metric of one or more models on shifted tables; made by :meth:`from_estimator`.

    Attributes
    ----------
    report : StressReport
    metric : str
    ax_, figure_ : matplotlib objects
        Set by :meth:`plot`, like ``artists_``: the bars of each model's histogram for a single scenario, else its box plots.
    """

    report: StressReport
    metric: str = "auc"
    artists_: list[Any] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        shift: ShiftModel,
        *,
        metric: str = "auc",
        n_sets: int = 1000,
        scenarios: Any = "expected",
        reference: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Run a stress test and draw it.

        Parameters
        ----------
        estimator : fitted binary classifier, or mapping of names to such
        X, y, shift, n_sets, scenarios, reference, random_state, n_jobs
            As in :func:`surefoot.stress_test`.
        metric : {"auc", "ace", "log_loss", "accuracy"}, default="auc"
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        StressDisplay
        """
        report = stress_test(
            estimator,
            X,
            y,
            shift,
            n_sets,
            metric,
            random_state,
            n_jobs,
            scenarios=scenarios,
            reference=reference,
        )
        return cls.from_report(report, metric=metric, ax=ax)

    @classmethod
    def from_report(cls, report: StressReport, *, metric: str = "auc", ax: Any = None) -> Self:
        """Draw a stress test that was run already."""
        if metric not in report.metrics:
            known = ", ".join(repr(name) for name in METRICS if name in report.metrics)
            raise ValueError(f"metric = {metric!r} is not in this report; it has {known}.")
        return cls(report, metric).plot(ax=ax)

    @property
    def _single(self) -> bool:
        return len(self.report.scenarios) == 1

    def _size(self) -> tuple[float, float]:
        return (5.6, 4.0) if self._single else (6.4, 1.4 + 0.5 * len(self.report.scenarios) * len(self.report.models))

    def _draw(self, ax: Any) -> None:
        self.artists_ = self._histograms(ax) if self._single else self._boxes(ax)

    def _unshifted(self, model: int) -> float:
        return float(self.report.unshifted[model, self.report.metrics.index(self.metric)])

    def _histograms(self, ax: Any) -> list[Any]:
        models = self.report.models
        values = [self.report.of(self.metric, model=model) for model in models]
        edges = np.histogram_bin_edges(np.concatenate(values), bins=40)
        drawn = []
        for at, (model, own) in enumerate(zip(models, values, strict=True)):
            colour = SERIES[at % len(SERIES)]
            share = np.full(own.size, 1.0 / own.size)
            drawn.append(ax.hist(own, bins=edges, weights=share, color=colour, alpha=0.6, label=plain(model))[2])
            ax.axvline(self._unshifted(at), color=colour, linestyle="--", linewidth=1.2)
        ax.plot([], [], color=INK, linestyle="--", linewidth=1.2, label="no shift")
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set(xlabel=_LABELS[self.metric], ylabel="share of shifted tables")
        ax.legend(frameon=False)
        return drawn

    def _boxes(self, ax: Any) -> list[Any]:
        scenarios, models = self.report.scenarios, self.report.models
        width = 0.8 / len(models)
        drawn = []
        for at, model in enumerate(models):
            colour = SERIES[at % len(SERIES)]
            places = np.arange(len(scenarios)) + (at - (len(models) - 1) / 2) * width
            values = [self.report.of(self.metric, model=model, scenario=scenario) for scenario in scenarios]
            # From the worst to the best set: a stress test is about its ends.
            boxes = ax.boxplot(
                values, positions=places, widths=0.8 * width, orientation="horizontal", whis=(0, 100), patch_artist=True
            )
            for box in boxes["boxes"]:
                box.set(facecolor=colour, alpha=0.6)
            for line in boxes["medians"]:
                line.set(color=INK)
            drawn.append(boxes)
            ax.axvline(self._unshifted(at), color=colour, linestyle="--", linewidth=1.2, label=f"{plain(model)}, no shift")
        ax.set_yticks(np.arange(len(scenarios)), [plain(scenario) for scenario in scenarios])
        ax.invert_yaxis()
        ax.set_xlabel(_LABELS[self.metric])
        ax.legend(frameon=False)
        return drawn
