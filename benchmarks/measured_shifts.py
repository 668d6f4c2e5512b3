"""The models of an instance under thousands of shifts: average and worst figures, kept on disk as they come."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import say
from shift_instances import Parts, baselines, calibrated, expected_shift, split

import surefoot as sf
from surefoot.core.arrays import FloatArray

KINDS = ("expected", "unexpected")


@dataclass(frozen=True)
class Instance:
    """One data set and mean certainty; ``figures[kind]`` has the shape (scenarios, models, measures)."""

    data: str
    mean: float
    test_rows: int
    figures: dict[str, FloatArray]


def measured_instances(
    names: Sequence[str], means: Sequence[float], thetas: Sequence[float], sets: dict[str, int], options: argparse.Namespace
) -> Iterator[Instance]:
    """All data sets at the first mean, then at the next: a run that is cut has seen every data set."""
    start = time.perf_counter()
    parts: dict[str, Parts] = {}
    others: dict[str, dict[str, Any]] = {}
    for mean in means:
        for name in names:
            path = None if options.kept is None else options.kept / f"{_key(name, mean, thetas, sets, options)}.npz"
            if path is not None and path.exists():
                yield _read(path, name, mean)
                continue
            if time.perf_counter() - start > 60 * options.minutes:
                continue
            if name not in parts:
                parts[name] = split(name, options.random_state)
                others[name] = baselines(parts[name], options.random_state)
                say(f"{name}: baselines fitted")
            instance = _instance(name, mean, thetas, sets, options, parts[name], others[name])
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                np.savez(path, allow_pickle=False, test_rows=instance.test_rows, **instance.figures)
            yield instance


def saved_instances(options: argparse.Namespace) -> int:
    """How many instances the folder for them holds already."""
    return 0 if options.kept is None else len(list(options.kept.glob("*.npz")))


def _key(name: str, mean: float, thetas: Sequence[float], sets: dict[str, int], options: argparse.Namespace) -> str:
    """What an instance depends on, as a file name."""
    numbers = [mean, *thetas, *sets.values(), options.random_state]
    return "_".join([name, *(f"{number:g}" for number in numbers)])


def _read(path: Path, name: str, mean: float) -> Instance:
    with np.load(path, allow_pickle=False) as saved:
        return Instance(name, mean, int(saved["test_rows"]), {kind: saved[kind] for kind in KINDS})


def _instance(
    name: str,
    mean: float,
    thetas: Sequence[float],
    sets: dict[str, int],
    options: argparse.Namespace,
    parts: Parts,
    others: dict[str, Any],
) -> Instance:
    ours = calibrated(parts, mean, thetas, options.random_state)
    say(f"{name}, mean {mean:g}: {len(ours)} models fitted")
    models = {**others, **{f"{rounding}, {theta:g}": model for (rounding, theta), model in ours.items()}}
    shift = expected_shift(parts, mean, options.random_state)
    figures = {
        kind: _summary(
            sf.stress_test(
                models,
                parts.X_test,
                parts.y_test,
                shift,
                n_sets=sets[kind],
                metrics=("ace", "auc"),
                random_state=options.random_state,
                n_jobs=options.threads,
                scenarios=kind,
                reference=parts.X,
            ).values
        )
        for kind in KINDS
    }
    say(f"{name}, mean {mean:g}: stressed")
    return Instance(name, mean, len(parts.y_test), figures)


def _summary(values: FloatArray) -> FloatArray:
    """Average and worst ACE and AUC from all values of both."""
    error, ranking = values[:, :, 0], values[:, :, 1]
    return np.stack([error.mean(axis=2), error.max(axis=2), ranking.mean(axis=2), ranking.min(axis=2)], axis=2)
