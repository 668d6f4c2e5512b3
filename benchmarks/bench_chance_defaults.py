"""What defaults give: ChanceConstrainedSVC() beside SVC() on rows and on means, on thirteen tables, seven of them the paper's.

First rows as they are, without repeats. Then each row is the true value of an input that is measured a few times, with noise of
three kinds that are alike for all inputs and four whose inputs differ, and inputs that were held out are classified: from their
readings together, and from single readings, which is what promises are about. There SVC() stands twice, as one types it and
behind a StandardScaler, because most of what is lost with the former are units.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
from machine import available_cores
from measure import say
from measured_inputs import ALIKE, FEWEST, KINDS, LAWS, MOST, VARYING, MeasuredInputs, measured_inputs
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tables import Cell, Report, Table
from threadpoolctl import threadpool_limits
from uncertain_tables import OTHERS, SOURCES, load

from surefoot import ChanceConstrainedSVC, WeakModelWarning
from surefoot.core.arrays import AnyArray, FloatArray

DESCRIPTION = "ChanceConstrainedSVC() beside SVC() on rows and on means, all with defaults, on thirteen tables"
ALLOWED = 0.01
# Of a table, what is trained on where not enough rows are left to test.
TRAINED = 2 / 3
# What is fitted beside ours: SVC() as it is, in the units of the table, and SVC() behind a StandardScaler.
RIVALS = {
    "svc_rows": "SVC() on rows",
    "svc_means": "SVC() on means",
    "rows": "SVC() on rows in standard units",
    "means": "SVC() on means in standard units",
}
# Tables on which price and violation were chosen.
CHOSEN_ON = ("german", "credit", "heloc", "spambase")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sets", nargs="+", choices=(*SOURCES, *OTHERS), help="tables (default: all; quick: sonar)")
    parser.add_argument("--rows", type=int, default=600, help="most rows of a table, drawn from it")
    parser.add_argument("--inputs", type=int, default=200, help="most inputs with repeats to train on")
    parser.add_argument("--others", type=int, default=400, help="most inputs with repeats to test on")
    parser.add_argument("--repeats", nargs="+", type=int, default=(3, 6), help="measurements of each input")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="of noise")
    parser.add_argument("--draws", type=int, default=5, help="draws of rows and noise for each table, repeats and kind")
    parser.add_argument("--violation", type=float, help="of ours with repeats, to choose defaults on some tables")
    parser.add_argument("--covariance", help="the same")
    parser.add_argument("--price", type=float, help="the same: each input costs this power of its repeats, by default 1")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=min(2, available_cores()), help="processes")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    names = options.sets or (("sonar",) if options.quick else (*SOURCES, *OTHERS))
    if options.quick:
        options.inputs, options.others, options.repeats, options.draws, options.folds = 40, 20, (3,), 1, 2
    plain: list[dict[str, Cell]] = []
    repeated: list[dict[str, Cell]] = []
    for name in names:
        X, y = _drawn(name, options)
        plain.append(
            {"table": name, "in_paper": name in SOURCES, "rows": len(y), "columns": X.shape[1], **_plain(X, y, options)}
        )
        cells = [
            (kind, repeats) for kind in options.kinds for repeats in ((None,) if kind == "counts" else tuple(options.repeats))
        ]
        wanted = [(*cell, number) for cell in cells for number in range(options.draws)]
        with joblib.parallel_config(n_jobs=options.jobs):
            found = joblib.Parallel()(joblib.delayed(_repeated)(name, *one, options) for one in wanted)
        for at, (kind, repeats) in enumerate(cells):
            draws = found[at * options.draws : (at + 1) * options.draws]
            repeated.append(
                {
                    "table": name, "in_paper": name in SOURCES, "kind": kind, "varies": kind in VARYING,
                    "repeats": f"{FEWEST} to {MOST}" if repeats is None else repeats, **_together(draws),
                }
            )  # fmt: skip
        say(f"{name}: {plain[-1]['ours']:.3f} against {plain[-1]['svc_scaled']:.3f} of SVC() in standard units")
    return Report(
        name="chance_defaults",
        title="Defaults: accuracy beside scikit-learn's SVC()",
        tables=[
            Table("chance_defaults", "Rows as they are", plain),
            Table("chance_defaults_repeats", "Inputs that are measured a few times", repeated),
        ],
        findings=_findings(plain, repeated),
        method=[
            f"Rows as they are: {options.folds} stratified folds, shuffled, random state {options.random_state}; at most "
            f"{options.rows} rows of a table, drawn with the same seed. Rows with gaps are dropped, categories numbered. ours "
            "is ChanceConstrainedSVC(batches='rows'), which puts columns into standard units; svc is SVC() on columns as they "
            "come, svc_scaled SVC() behind a StandardScaler.",
            f"Repeats: {options.draws} draws of at most {options.inputs} rows to train on and {options.others} to test on (of "
            "smaller tables two thirds and a third), each the true value of an input, and of the noise, whose sizes are in "
            "standard units; readings then go back to the units of the table. "
            "Noise alike for all inputs: " + "; ".join(f"{kind!r}: {LAWS[kind]}" for kind in ALIKE) + ".",
            "Inputs that differ: " + "; ".join(f"{kind!r}: {LAWS[kind]}" for kind in VARYING) + ".",
            f"ours is {_spelled(options)}.fit(X, y, groups), svc_rows SVC() on all rows and svc_means SVC() on the means, rows "
            "and means the same behind a StandardScaler. A held-out input is measured by the same rule: ours by "
            "predict(X, groups), models of rows by the mean of its scores, models of means by its mean. single: the share of "
            "single readings that are put into the right class, each input counting the same.",
            "Differences are of the same draws; after ± stands one standard error, over draws in the table, over its "
            "rows in the findings. certified: share of our models with a verified certificate. seconds: mean of "
            "one fit, one thread, certificate included.",
            "Price and violation were chosen before on German credit, credit approval, HELOC and spambase, the price on noise "
            "of kinds 'even', 'by column' and 'drift', the violation on other draws of all kinds; the constants of borrowed "
            "deviations on drawn inputs. Findings name what the other tables say alone.",
        ],
        not_measured=["Tables with real repeats: there are none in the collection. Other kernels than the default."],
    )


def _spelled(options: argparse.Namespace) -> str:
    given = [f"{name}={getattr(options, name)!r}" for name in ("violation", "covariance") if getattr(options, name) is not None]
    if options.price is not None:
        given.append(f"C=(rows / inputs) ** {options.price - 1.0:g}")
    return f"ChanceConstrainedSVC({', '.join(given)})"


def _drawn(name: str, options: argparse.Namespace) -> tuple[FloatArray, AnyArray]:
    X, y = load(name)
    chosen = np.random.default_rng(options.random_state).permutation(len(y))[: options.rows]
    return X[chosen], y[chosen]


def _plain(X: FloatArray, y: AnyArray, options: argparse.Namespace) -> dict[str, Cell]:
    models = {
        "ours": ChanceConstrainedSVC(batches="rows"),
        "svc": SVC(),
        "svc_scaled": make_pipeline(StandardScaler(), SVC()),
    }
    scores: dict[str, list[float]] = {name: [] for name in models}
    proven, seconds = [], []
    for train, test in _folds(y, options):
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakModelWarning)
            for name, model in models.items():
                started = time.perf_counter()
                model.fit(X[train], y[train])
                if name == "ours":
                    seconds.append(time.perf_counter() - started)
                    proven.append(model.certificate_.verified)
                scores[name].append(float(np.mean(model.predict(X[test]) == y[test])))
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    larger = float(max(np.mean(y), 1 - np.mean(y)))
    return {
        **means, "ours_minus_svc": means["ours"] - means["svc"], "ours_minus_scaled": means["ours"] - means["svc_scaled"],
        "larger_class": larger, "certified": float(np.mean(proven)), "seconds": float(np.mean(seconds)),
    }  # fmt: skip


def _repeated(name: str, kind: str, repeats: int | None, number: int, options: argparse.Namespace) -> dict[str, float]:
    """The figures of one draw."""
    X, y = load(name)
    draw = np.random.default_rng([options.random_state, number, KINDS.index(kind), repeats or 0])
    chosen = draw.permutation(len(y))[: options.inputs + options.others]
    trained = min(options.inputs, int(TRAINED * chosen.size))
    units = StandardScaler()
    every = measured_inputs(units.fit_transform(X[chosen]), y[chosen], kind, repeats, draw)
    every = replace(every, rows=units.inverse_transform(every.rows))
    known, new = every.take(np.arange(trained)), every.take(np.arange(trained, chosen.size))
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakModelWarning)
        started = time.perf_counter()
        ours = _ours(known, options).fit(known.rows, known.row_labels, groups=known.inputs)
        seconds = time.perf_counter() - started
        classes = {"ours": ours.predict(new.rows, groups=new.inputs)[np.unique(new.inputs, return_index=True)[1]]}
        single = {"ours": _single(ours, new)}
        for key in RIVALS:
            model = SVC() if key.startswith("svc_") else make_pipeline(StandardScaler(), SVC())
            if key.endswith("rows"):
                model.fit(known.rows, known.row_labels)
                classes[key] = new.of_inputs(model.decision_function(new.rows)) > 0
            else:
                classes[key] = model.fit(known.means, known.labels).predict(new.means)
            single[key] = _single(model, new)
    return {
        **{key: float(np.mean(found == new.labels)) for key, found in classes.items()},
        **{f"single_{key}": value for key, value in single.items()},
        "certified": float(ours.certificate_.verified), "seconds": seconds,
    }  # fmt: skip


def _ours(known: MeasuredInputs, options: argparse.Namespace) -> ChanceConstrainedSVC:
    """The model with defaults, or with what is asked for in their place."""
    params = {name: getattr(options, name) for name in ("violation", "covariance") if getattr(options, name) is not None}
    if options.price is not None:
        # C counts once for each repeat of an input, in the mean.
        params["C"] = float(len(known.rows) / len(known.labels)) ** (options.price - 1.0)
    return ChanceConstrainedSVC(**params)


def _single(model: Any, new: MeasuredInputs) -> float:
    return float(np.mean(new.of_inputs((model.predict(new.rows) == new.row_labels).astype(np.float64))))


def _together(draws: Sequence[dict[str, float]]) -> dict[str, Cell]:
    """Means over draws, and differences to both rivals with their standard errors."""
    figures = {key: np.array([one[key] for one in draws]) for key in draws[0]}
    found: dict[str, Cell] = {key: float(values.mean()) for key, values in figures.items()}
    for single in ("", "single_"):
        for rival in RIVALS:
            change = figures[f"{single}ours"] - figures[f"{single}{rival}"]
            found[f"{single}ours_minus_{rival}"] = float(change.mean())
            found[f"{single}error_{rival}"] = _error(change)
    return {**found, "draws": len(draws)}


def _error(values: AnyArray) -> float | None:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _folds(y: AnyArray, options: argparse.Namespace) -> list[tuple[AnyArray, AnyArray]]:
    return list(StratifiedKFold(options.folds, shuffle=True, random_state=options.random_state).split(y, y))


def _findings(plain: Sequence[dict[str, Cell]], repeated: Sequence[dict[str, Cell]]) -> list[str]:
    worst = min(plain, key=lambda row: float(row["ours_minus_svc"]))  # type: ignore[arg-type]
    scaled = min(plain, key=lambda row: float(row["ours_minus_scaled"]))  # type: ignore[arg-type]
    lines = [
        f"Rows as they are, {len(plain)} tables: against SVC() ours is {_change(worst['ours_minus_svc'])} at worst "
        f"({worst['table']}), against SVC() in standard units {_change(scaled['ours_minus_scaled'])} ({scaled['table']}); "
        f"allowed is {-ALLOWED:g}. Certified: {_mean(plain, 'certified'):.3f} of the models.",
    ]
    return [*lines, *(line for kind in KINDS for line in _of_kind(kind, repeated)), *_of_others(repeated)]


def _of_kind(kind: str, repeated: Sequence[dict[str, Cell]]) -> list[str]:
    own = [row for row in repeated if row["kind"] == kind]
    if not own:
        return []
    told = "inputs that differ" if kind in VARYING else "noise alike for all"
    return [f"Repeats, {told}, {kind!r}: {_against(own)}. Certified: {_mean(own, 'certified'):.3f}."]


def _of_others(repeated: Sequence[dict[str, Cell]]) -> list[str]:
    """What all kinds say together: of all tables, and of those on which nothing was chosen."""
    parts = [
        ("all tables", repeated),
        ("tables on which nothing was chosen", [r for r in repeated if r["table"] not in CHOSEN_ON]),
    ]
    lines = []
    for what, rows in parts:
        for told, varies in (("noise alike for all", False), ("inputs that differ", True)):
            own = [row for row in rows if row["varies"] is varies]
            if own:
                lines.append(f"Together, {told}, {what}: {_against(own)}. {_by_table(own)}")
    return lines


def _against(rows: Sequence[dict[str, Cell]]) -> str:
    """Mean differences to each rival, of inputs and of single readings."""
    parts = [f"{_change_of(rows, rival)} ({_change_of(rows, rival, 'single_')}) against {RIVALS[rival]}" for rival in RIVALS]
    return f"readings together (one by one) ours is {', '.join(parts)}"


def _change_of(rows: Sequence[dict[str, Cell]], rival: str, single: str = "") -> str:
    changes = np.array([float(row[f"{single}ours_minus_{rival}"]) for row in rows])  # type: ignore[arg-type]
    error = _error(changes)
    return _change(float(changes.mean())) + ("" if error is None else f" ± {error:.3f}")


def _by_table(rows: Sequence[dict[str, Cell]]) -> str:
    """On how many tables ours is better than each rival on rows, in the mean over what was measured there."""
    names = list(dict.fromkeys(str(row["table"]) for row in rows))
    parts = []
    for rival in ("svc_rows", "rows"):
        means = {name: _mean([row for row in rows if row["table"] == name], f"ours_minus_{rival}") for name in names}
        worst = min(means, key=lambda name: means[name])
        better = sum(mean > 0 for mean in means.values())
        parts.append(f"better than {RIVALS[rival]} on {better} of {len(names)} (least: {_change(means[worst])}, {worst})")
    return f"By table, readings together, it is {' and '.join(parts)}."


def _mean(rows: Sequence[dict[str, Cell]], name: str) -> float:
    return float(np.mean([float(row[name]) for row in rows]))  # type: ignore[arg-type]


def _change(value: Cell) -> str:
    return f"{float(value):+.3f}"  # type: ignore[arg-type]
