"""Tables 5 to 8 of Lin, Fang, Fang and Gao (2024): the optimum, the published splitting and SVC on public tables."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from chance_printed import COD_RNA_ACCURACY, COD_RNA_SECONDS, COD_RNA_SHAPE, TABLE_5
from cod_rna import NAME as COD_RNA
from cod_rna import load_cod_rna
from measure import say
from tables import Cell
from threadpoolctl import threadpool_limits
from uncertain_rows import MODELS, Searched
from uncertain_search import GRIDS, Fold, alone, folds_of, search
from uncertain_tables import SECONDS, SOURCES, load

ALL_MODELS = (*MODELS, "admm quad", "admm rbf")
TABLE_5_NAMES = ("sonar", "ionosphere", "wisconsin")


@dataclass(frozen=True)
class TableFound:
    """One table: its shape, the share of its larger class, what each model's search found, and the cone programme's fits."""

    rows: int
    columns: int
    larger_class: float
    models: dict[str, Searched]
    cones: dict[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Benchmarked:
    """All tables by name, and why some are absent."""

    found: dict[str, TableFound]
    absent: list[str]

    @classmethod
    def of(cls, names: Sequence[str], answers: Sequence[TableFound | str]) -> Benchmarked:
        """Put together what :func:`search_table` has said of each."""
        pairs = list(zip(names, answers, strict=True))
        return cls(
            {name: one for name, one in pairs if not isinstance(one, str)}, [one for one in answers if isinstance(one, str)]
        )

    def findings(self) -> list[str]:
        """How far our figures are from the paper's and from SVC's, and what proves them; without the simulated table."""
        real = {name: one.models for name, one in self.found.items() if name != COD_RNA}
        if not real:
            return []
        lines = []
        for kernel in ("quad", "rbf"):
            ours, split, svc = (
                [100 * models[f"{kind} {kernel}"].accuracy for models in real.values()] for kind in ("chance", "admm", "svc")
            )
            printed = [paper(name, f"chance {kernel}") for name in real]
            lines.append(
                f"Table 7, {kernel}: Algorithm 2 is {_apart(split, printed)} from the paper's and {_apart(split, ours)} from "
                f"the optimum's; the optimum is {_apart(ours, printed)} from the paper's and {_apart(ours, svc)} from SVC's."
            )
        optima = [one.models[f"chance {kernel}"] for one in self.found.values() for kernel in ("quad", "rbf")]
        proven, fits = sum(one.proven for one in optima), sum(one.fits for one in optima)
        return [*lines, f"Tables 5 to 8: {proven} of {fits} optima of the searches are proven."]


def _apart(ours: Sequence[float], theirs: Sequence[float]) -> str:
    apart = [own - other for own, other in zip(ours, theirs, strict=True)]
    return f"{min(apart):+.1f} to {max(apart):+.1f} points (mean {statistics.fmean(apart):+.1f})"


def search_table(name: str, options: Any) -> TableFound | str:
    """Search the parameters of all models on one table; a sentence where its file is absent."""
    say(f"Tables 5 to 8: {name}")
    try:
        X, y = load_cod_rna(options.cod_rna, options.random_state, options.most_rows) if name == COD_RNA else load(name)
    except FileNotFoundError as error:
        if name == COD_RNA:
            raise
        return f"{name}: there is no {Path(error.filename).name} in the folder uci of the data."
    folds = list(folds_of(X, y, options, 10 if name == "ionosphere" else None))
    models = {model: search(model, folds, GRIDS[options.grid], options) for model in ALL_MODELS}
    kernels = ("quad", "rbf") if name in TABLE_5_NAMES else ()
    cones = {kernel: _cones(kernel, models[f"chance {kernel}"], folds, options) for kernel in kernels}
    larger = 100 * max(float(np.mean(y)), 1 - float(np.mean(y)))
    return TableFound(len(y), X.shape[1], larger, models, cones)


def _cones(kernel: str, best: Searched, folds: Sequence[Fold], options: Any) -> tuple[float, float, float]:
    """Accuracy in percent, its deviation over folds and CPU seconds of the cone programme at the best parameters."""
    scores, seconds = [], []
    with threadpool_limits(limits=1):
        for fold in folds:
            started = time.process_time()
            model = alone(f"chance {kernel}", best.width, best.cost, best.violation, fold, options, "socp")
            seconds.append(time.process_time() - started)
            scores.append(100 * model.score(fold.X_test, fold.y_test))
    return statistics.fmean(scores), statistics.stdev(scores), statistics.fmean(seconds)


def paper(name: str, model: str) -> float:
    """The accuracy of Table 7; the paper's chance models are those of its splitting."""
    model = model.replace("admm", "chance")
    return COD_RNA_ACCURACY[model] if name == COD_RNA else SOURCES[name].published[model]


def paper_seconds(name: str, model: str) -> float:
    at = MODELS.index(model.replace("admm", "chance"))
    return (COD_RNA_SECONDS if name == COD_RNA else SECONDS[name])[at]


def table_5(measured: Benchmarked) -> list[dict[str, Cell]]:
    """Accuracy, deviation and seconds of the cone programme and of the splitting."""
    rows: list[dict[str, Cell]] = []
    for name in TABLE_5_NAMES:
        one = measured.found.get(name)
        for kernel in ("quad", "rbf") if one is not None else ():
            split = one.models[f"admm {kernel}"]
            own = {
                "mosek": ("socp", *one.cones[kernel]),
                "admm": ("admm", 100 * split.accuracy, 100 * split.spread, split.alone_seconds),
            }
            for method, (ours, accuracy, spread, seconds) in own.items():
                printed = TABLE_5[name, kernel, method]
                rows.append(
                    {
                        "data": name,
                        "kernel": kernel,
                        "method": ours,
                        "paper_method": method,
                        "accuracy": f"{accuracy:.2f}",
                        "paper": f"{printed.accuracy:.2f}",
                        "std": f"{spread:.2f}",
                        "paper_std": f"{printed.std:.2f}",
                        "cpu": seconds,
                        "paper_cpu": printed.cpu,
                    }
                )
    return rows


def table_6(measured: Benchmarked) -> list[dict[str, Cell]]:
    """Rows and columns."""
    shapes = {**{name: source.shape for name, source in SOURCES.items()}, COD_RNA: COD_RNA_SHAPE}
    return [
        {
            "data": name,
            "rows": one.rows,
            "paper_rows": shapes[name][0],
            "columns": one.columns,
            "paper_columns": shapes[name][1],
            "larger_class": f"{one.larger_class:.2f}",
        }
        for name, one in measured.found.items()
    ]


def table_7(measured: Benchmarked) -> list[dict[str, Cell]]:
    """Accuracies by table and model, and the parameters behind them."""
    rows: list[dict[str, Cell]] = []
    for name, one in measured.found.items():
        for model, best in one.models.items():
            rows.append(
                {
                    "data": name,
                    "model": model,
                    "accuracy": f"{100 * best.accuracy:.2f}",
                    "paper": f"{paper(name, model):.2f}",
                    "std": f"{100 * best.spread:.2f}",
                    "C": best.cost,
                    "width": best.width,
                    "eps": None if best.violation is None else round(best.violation, 6),
                    "fits": best.fits,
                    "proven_or_ended": best.proven,
                }
            )
    return rows


def table_8(measured: Benchmarked) -> list[dict[str, Cell]]:
    """CPU seconds by table and model."""
    return [
        {
            "data": name,
            "model": model,
            "cpu": best.alone_seconds,
            "paper_cpu": paper_seconds(name, model),
            "grid_cpu": round(best.cpu_seconds, 1),
        }
        for name, one in measured.found.items()
        for model, best in one.models.items()
    ]
