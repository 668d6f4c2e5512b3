"""Tuning constants on tables that did not choose them: each value against a smaller and a larger one.

Every number of a parameter record is divided and multiplied by a factor, one at a time, and the same problems are solved again.
A value earns its place if neither side is clearly cheaper; one that makes no difference either way is not worth its line.
Processor time is compared, of one thread, so that other programs on the machine matter little.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from measure import say
from problems import MixedTable, calibrate, load, pose
from tables import Report, Table, geometric_mean
from unseen_tables import UNSEEN, load_unseen

from surefoot.core.outcome import Status
from surefoot.core.solve_options import SolveOptions
from surefoot.robust.problem.problem import RobustLogisticProblem
from surefoot.robust.sqp.parameters import SqpParameters
from surefoot.robust.sqp.sqp import SQP

DESCRIPTION = "every tuning constant of the default solver, halved and doubled, on tables that did not choose them"
# The tables whose fits chose most values, for comparison: the slowest fits of bench_real_weights among them.
CHOSEN_ON = ("audiology", "cylinder", "nursery", "online-shopper")
THETAS = (0.5, 0.9, 0.99)
TOLERANCE = 1e-6
# What repeated runs of the same solve differ by.
NOISE = 0.05


@dataclass(frozen=True)
class Effect:
    """One value of one constant; ratios are to the default, above 1 is dearer."""

    tables: str
    parameter: str
    default: str
    value: str
    iterations: float
    seconds: float
    worst_seconds: float
    unsolved: int


@dataclass(frozen=True)
class Solve:
    iterations: int
    seconds: float
    solved: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options beside --quick and --output."""
    parser.add_argument("--factor", type=float, default=4.0, help="by how much a value is divided and multiplied")
    parser.add_argument("--repeats", type=int, default=3, help="solves of each problem; the fastest counts")
    parser.add_argument("--rows", type=int, default=4000, help="rows of a table at the most, evenly spaced")
    parser.add_argument("--unseen-only", action="store_true", help="leave out the tables that chose values")
    parser.add_argument("--parameters", nargs="*", default=[], help="only these constants")


def run(options: argparse.Namespace) -> Report:
    """Vary one constant at a time on both groups of tables."""
    groups = {"unseen": _posed(UNSEEN[-1:] if options.quick else UNSEEN, load_unseen, options.rows)}
    if not (options.quick or options.unseen_only):
        groups["chosen on"] = _posed(CHOSEN_ON, load, options.rows)
    values = numbers_of(SqpParameters())
    names = options.parameters or list(values)[: 2 if options.quick else None]
    effects: list[Effect] = []
    for group, problems in groups.items():
        _solve(problems[0], [SqpParameters()], 1)  # whatever is imported late is imported now
        for name in names:
            for effect in _effects(group, name, values[name], problems, options):
                effects.append(effect)
                say(f"{group}: {name} = {effect.value} instead of {effect.default}: {effect.seconds:.3f} of the time")
    return Report(
        name="parameters",
        title="Tuning constants of the default solver on tables that did not choose them",
        tables=[Table("parameters", "One constant changed at a time; ratios to the defaults", list(map(asdict, effects)))],
        findings=findings(effects),
        method=[
            f"Tables that chose no value: {', '.join(UNSEEN)}. Tables among those that did: {', '.join(CHOSEN_ON)}.",
            f"Prices drawn at mean certainty 0.8, theta {', '.join(map(str, THETAS))}, relative gap {TOLERANCE:g}, no polish.",
            f"At most {options.rows} rows of a table; the fastest of {options.repeats} solves counts.",
        ],
        not_measured=["Pairs of constants changed together.", "Batches, Dask and wide tables."],
    )


def findings(effects: Sequence[Effect]) -> list[str]:
    """Which defaults a neighbour beats on the unseen tables, and which make no difference there."""
    unseen = [effect for effect in effects if effect.tables == "unseen"]
    beaten = [effect for effect in unseen if effect.seconds < 1 - NOISE and effect.unsolved == 0]
    names = dict.fromkeys(effect.parameter for effect in unseen)
    idle = [
        name for name in names if all(abs(e.seconds - 1) <= NOISE and not e.unsolved for e in unseen if e.parameter == name)
    ]
    lines = [f"{e.parameter} = {e.value} takes {e.seconds:.2f} of the time of the default {e.default}." for e in beaten]
    return [
        *(lines or [f"No neighbour of a default is faster by more than {NOISE:.0%} on the unseen tables."]),
        f"Within {NOISE:.0%} of the default both ways: {', '.join(idle) or 'none'}.",
    ]


def numbers_of(record: Any, prefix: str = "") -> dict[str, float]:
    """Every number of a record and of the records in it, by its dotted name."""
    found: dict[str, float] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            found |= numbers_of(value, f"{prefix}{field.name}.")
        elif isinstance(value, int | float):
            found[prefix + field.name] = value
    return found


def changed(record: Any, name: str, value: float) -> Any:
    """The record with one number, by its dotted name, replaced."""
    first, _, rest = name.partition(".")
    return dataclasses.replace(record, **{first: changed(getattr(record, first), rest, value) if rest else value})


def alternatives(value: float, factor: float) -> Iterator[float]:
    """A smaller and a larger value; whole numbers stay whole and above 0, fractions of a whole below 1."""
    for other in (value / factor, value * factor):
        if isinstance(value, int):
            other = max(1, round(other))
        elif value < 1 < other:
            other = (1 + value) / 2
        if other != value:
            yield other


def _posed(names: Sequence[str], read: Callable[[str], MixedTable], most_rows: int) -> list[RobustLogisticProblem]:
    tables = [thinned(read(name), most_rows).standardized() for name in names]
    return [pose(table, calibrate(table, mean=0.8), theta) for table in tables for theta in THETAS]


def thinned(table: MixedTable, most_rows: int) -> MixedTable:
    """Every k-th row; columns that no longer vary leave."""
    rows = np.arange(0, len(table.labels), -(-len(table.labels) // most_rows))
    numeric, codes = table.numeric[rows], table.codes[rows]
    moving = numeric.std(axis=0) > 0
    coded = [np.unique(codes[:, at], return_inverse=True) for at in range(codes.shape[1])]
    varied = [at for at, (levels, _) in enumerate(coded) if levels.size > 1]
    return replace(
        table,
        numeric=np.ascontiguousarray(numeric[:, moving]),
        codes=np.ascontiguousarray(
            np.column_stack([coded[at][1] for at in varied] or [np.empty((rows.size, 0))]), dtype=np.int32
        ),
        n_levels=np.array([coded[at][0].size for at in varied], dtype=np.int32),
        labels=table.labels[rows],
        numeric_names=tuple(name for name, moves in zip(table.numeric_names, moving, strict=True) if moves),
        categorical_names=tuple(table.categorical_names[at] for at in varied),
        levels=tuple(tuple(table.levels[at][code] for code in coded[at][0]) for at in varied),
    )


def _solve(problem: RobustLogisticProblem, records: Sequence[SqpParameters], repeats: int) -> list[Solve]:
    """One problem with several records in turn, again and again; the fastest solve of each."""
    found: list[list[Solve]] = [[] for _ in records]
    for _ in range(repeats):
        for solves, record in zip(found, records, strict=True):
            options = SolveOptions(tolerance=TOLERANCE, polish=False, time_limit=60.0)
            started = time.process_time()
            outcome = SQP(record).solve(problem, options)
            solves.append(Solve(outcome.iterations, time.process_time() - started, outcome.status is Status.OPTIMAL))
    return [min(solves, key=lambda solve: solve.seconds) for solves in found]


def _effects(
    group: str, name: str, default: float, problems: Sequence[RobustLogisticProblem], options: argparse.Namespace
) -> Iterator[Effect]:
    values = list(alternatives(default, options.factor))
    records = [SqpParameters(), *(changed(SqpParameters(), name, value) for value in values)]
    solves = [_solve(problem, records, options.repeats) for problem in problems]
    for at, value in enumerate(values, start=1):
        ratios = [found[at].seconds / found[0].seconds for found in solves]
        yield Effect(
            tables=group,
            parameter=name,
            default=f"{default:g}",
            value=f"{value:g}",
            iterations=sum(found[at].iterations for found in solves) / max(sum(found[0].iterations for found in solves), 1),
            seconds=geometric_mean(ratios),
            worst_seconds=float(np.max(ratios)),
            unsolved=sum(not found[at].solved for found in solves),
        )
