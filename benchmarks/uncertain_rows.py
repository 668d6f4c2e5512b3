"""The rows of the report on uncertain inputs made by k-means: of this run, and of earlier ones that measured other tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from machine import facts
from tables import Cell, Table
from uncertain_tables import SECONDS, SOURCES, load

FOLDS = 5
MODELS = ("svc quad", "svc rbf", "chance quad", "chance rbf")


@dataclass(frozen=True)
class Searched:
    """What a grid has found for one model on one table: figures of all fits, and the parameters with the best accuracy."""

    accuracies: np.ndarray  # widths, violations, costs, folds
    violations: Sequence[float | None]
    proven: int
    fits: int
    cpu_seconds: float
    cost: float
    width: float
    violation: float | None
    alone_seconds: float
    alone_accuracy: float

    @property
    def by_point(self) -> np.ndarray:
        return np.asarray(self.accuracies.mean(axis=-1))

    @property
    def accuracy(self) -> float:
        return float(self.by_point.max())

    @property
    def spread(self) -> float:
        return float(self.accuracies.reshape(-1, FOLDS)[self.by_point.argmax()].std(ddof=1))


@dataclass
class AccuracyRows:
    """Rows of all parts of the report; ``origins`` has the facts of the run that measured a table, if it was an earlier one."""

    accuracies: list[dict[str, Cell]] = field(default_factory=list)
    seconds: list[dict[str, Cell]] = field(default_factory=list)
    violations: list[dict[str, Cell]] = field(default_factory=list)
    scalings: list[dict[str, Cell]] = field(default_factory=list)
    origins: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def earlier(cls, directory: Path, names: Sequence[str], fits: set[int]) -> AccuracyRows:
        """Rows of these tables, where a run whose grids had as many fits has left them."""
        rows = cls()
        found = {
            stem: _read(directory / f"uncertain_accuracy{stem}.csv") for stem in ("", "_seconds", "_violations", "_scaling")
        }
        for name in names:
            own = {stem: [row for row, _ in pairs if row.get("data", "heart") == name] for stem, pairs in found.items()}
            if own[""] and {str(row.get("grid_fits")) for row in own["_seconds"]} == set(map(str, fits)):
                rows.accuracies += own[""]
                rows.seconds += [{key: _number(key, str(value)) for key, value in row.items()} for row in own["_seconds"]]
                rows.violations += own["_violations"]
                rows.scalings += own["_scaling"]
                rows.origins[name] = next(origin for row, origin in found[""] if row["data"] == name)
        return rows

    def add(self, name: str, found: Mapping[str, Searched]) -> None:
        """Take what was found for one table."""
        self.accuracies.append(_accuracy_row(name, found))
        self.seconds += [_seconds_row(name, model, best) for model, best in found.items()]
        self.violations += [_violations_row(name, model, best) for model, best in found.items() if best.violation is not None]

    def said(self) -> list[str]:
        """That rows are those of earlier runs, if any are."""
        commits = sorted({origin["commit"] for origin in self.origins.values()})
        kept = f"Measured by an earlier run with the same grid (commit {', '.join(commits)}): {', '.join(self.origins)}."
        return [kept] * bool(self.origins)

    def tables(self) -> list[Table]:
        """Parts that have rows, each in the order of the paper."""
        places = list(SOURCES)
        parts = [
            ("uncertain_accuracy", "Accuracy in percent at the best parameters, here and in Table 7", self.accuracies),
            (
                "uncertain_accuracy_seconds",
                "Best parameters, CPU seconds of one fit there, here and in Table 8, and the whole grid",
                self.seconds,
            ),
            ("uncertain_accuracy_violations", "Best accuracy in percent by violation, over all C and widths", self.violations),
            ("uncertain_accuracy_scaling", "SVC quad on heart, by scaling and training rows", self.scalings),
        ]
        tables = []
        for name, title, own in parts:
            ordered = sorted(own, key=lambda row: places.index(str(row.get("data", "heart"))))
            if ordered:
                origins = [self.origins.get(str(row.get("data", "heart"))) for row in ordered]
                tables.append(Table(name, title, ordered, origins=origins))
        return tables


def _read(path: Path) -> list[tuple[dict[str, Cell], dict[str, str]]]:
    """Rows of a saved table, and the facts of the run that saved them."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    known = facts()
    return [
        ({key: cell for key, cell in row.items() if key not in known}, {key: row[key] for key in known if key in row})
        for row in rows
    ]


def _number(column: str, cell: str) -> Cell:
    """A cell of the table of seconds as it was before it was saved."""
    if column in ("data", "model", "accuracy_alone"):
        return cell
    return None if cell == "" else int(cell) if column in ("grid_fits", "grid_proven") else float(cell)


def _accuracy_row(name: str, models: Mapping[str, Searched]) -> dict[str, Cell]:
    X, y = load(name)
    row: dict[str, Cell] = {"data": name, "rows": len(y), "paper_rows": SOURCES[name].shape[0], "columns": X.shape[1]}
    row["larger_class"] = f"{100 * max(y.mean(), 1 - y.mean()):.2f}"
    for model, best in models.items():
        row[model.replace(" ", "_")] = f"{100 * best.accuracy:.2f}"
        row[f"paper_{model.replace(' ', '_')}"] = f"{SOURCES[name].published[model]:.2f}"
    return row


def _seconds_row(name: str, model: str, best: Searched) -> dict[str, Cell]:
    return {
        "data": name,
        "model": model,
        "C": best.cost,
        "width": best.width,
        "violation": best.violation,
        "accuracy_sd": 100 * best.spread,
        "accuracy_alone": f"{100 * best.alone_accuracy:.2f}",
        "cpu_seconds": best.alone_seconds,
        "paper_cpu_seconds": SECONDS[name][MODELS.index(model)],
        "grid_fits": best.fits,
        "grid_cpu_seconds": round(best.cpu_seconds, 1),
        "grid_proven": best.proven,
    }


def _violations_row(name: str, model: str, best: Searched) -> dict[str, Cell]:
    by_violation = best.by_point.max(axis=(0, 2))
    kept = {f"{value:g}": f"{100 * accuracy:.2f}" for value, accuracy in zip(best.violations, by_violation, strict=True)}
    return {"data": name, "model": model, **kept}


def gains(accuracies: Sequence[dict[str, Cell]]) -> list[str]:
    """How far accuracies are from those of SVC and of the paper."""
    lines = []
    for kernel in ("quad", "rbf"):
        figures = {
            str(row["data"]): [float(str(row[f"{whose}_{kernel}"])) for whose in ("chance", "svc", "paper_chance")]
            for row in accuracies
        }
        ahead = [name for name, (ours, svc, _) in figures.items() if ours >= svc]
        ahead_by, apart = (np.array([row[0] - row[at] for row in figures.values()]) for at in (1, 2))
        lines.append(
            f"{kernel}: at or above SVC on {len(ahead)} of {len(ahead_by)} tables ({', '.join(ahead) or 'none'}), differences "
            f"{ahead_by.min():+.2f} to {ahead_by.max():+.2f} points, mean {ahead_by.mean():+.2f}."
        )
        lines.append(
            f"{kernel}: at or above the paper's own figure of this model on {(apart >= 0).sum()} of {len(apart)} tables, "
            f"differences {apart.min():+.2f} to {apart.max():+.2f} points."
        )
    return lines


def heart_scaling(rows: AccuracyRows) -> list[str]:
    """Why SVC with the quadratic kernel is so far from the paper's accuracy there."""
    if not rows.scalings:
        return []
    (heart,) = (row for row in rows.accuracies if row["data"] == "heart")
    worst, best = (choose(rows.scalings, key=lambda row: float(str(row["C = 0.5"]))) for choose in (min, max))
    return [
        f"heart: {heart['larger_class']}% of the rows have no event. The paper's accuracy of both SVCs is that of saying so of "
        f"everyone. SVC quad reaches {heart['svc_quad']}% here because standardised columns make (width + x . z)^2 "
        f"large and {worst['training_rows']} rows are then fitted all but exactly at every C; columns scaled to [0, 1] and "
        f"C = 0.5 give {best['C = 0.5']}% from {best['training_rows']} rows. The paper does not say how it scaled."
    ]


def effort(rows: Sequence[dict[str, Cell]], proven: Mapping[str, str]) -> list[str]:
    """What the grids took, and how many fits have earned what is said of each kind of model."""
    lines = []
    for kind, what in proven.items():
        own = [row for row in rows if str(row["model"]).startswith(kind)]
        fits, done, seconds = (
            sum(float(str(row[column])) for row in own) for column in ("grid_fits", "grid_proven", "grid_cpu_seconds")
        )
        alone = 1e3 * float(np.mean([float(str(row["cpu_seconds"])) for row in own]))
        lines.append(
            f"{kind}: {fits:.0f} fits in {seconds:.0f} CPU seconds, {1e3 * seconds / fits:.1f} ms a fit and its test; "
            f"{done:.0f} of them {what}. One fit by itself at the best parameters takes {alone:.1f} ms of CPU time on average."
        )
    return lines
