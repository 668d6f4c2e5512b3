"""Seconds of inverse optimization: mixed-integer fits beside InvOpt, online updates, and long lists of shortest paths."""

from __future__ import annotations

import argparse
import pickle
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from inverse_forwards import street_trips
from measure import say
from tables import Cell, Report, Row, Table
from threadpoolctl import threadpool_limits

from surefoot.datasets.expert_decisions import consistent_decisions, inconsistent_decisions, mixed_integer_decisions
from surefoot.inverse import InverseOptimizer, forward

DESCRIPTION = "mixed-integer fits beside InvOpt with Gurobi's free licence, online updates, and many shortest paths"
CHILD = Path(__file__).resolve().parent / "invopt_child.py"
# Continuous and whole unknowns, rows besides bounds, and as many observations as the free licence of Gurobi allows.
SIZES = ((1, 6, 2, 7), (2, 5, 2, 10), (4, 4, 3, 6), (2, 4, 2, 14), (3, 3, 2, 20), (4, 2, 3, 20), (2, 2, 2, 50))
BOTH_SIZES = ((2, 1, 1, 20), (1, 3, 1, 20), (1, 5, 1, 8), (2, 3, 2, 5))
TRIPS = (100, 300, 1000)
KAPPA = 0.01


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rivals-python", type=Path, help="a Python with invopt and gurobipy; without it InvOpt is left out")
    parser.add_argument("--repeats", type=int, default=5, help="times that each fit is made; the fastest counts")
    parser.add_argument("--trips", nargs="*", type=int, default=TRIPS, help="numbers of shortest paths")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a fit to shortest paths")
    parser.add_argument("--random-state", type=int, default=0)


def run(options: argparse.Namespace) -> Report:
    """Measure, and say what was found."""
    cases = [_case(size, both, options) for both, sizes in ((False, SIZES), (True, BOTH_SIZES)) for size in sizes]
    cases = cases[:2] if options.quick else cases
    rivals = _invopt(cases, options.rivals_python)
    with threadpool_limits(limits=1):
        mixed = [_mixed_row(case, rival) for case, rival in zip(cases, rivals, strict=True)]
        online = [_online_row(n, distance, options) for n in (6, 10) for distance in ("l1", "l2")]
        trips = [_trip_row(count, options) for count in ((20,) if options.quick else options.trips)]
    return Report(
        name="inverse_speed",
        title="Seconds of inverse optimization",
        tables=[
            Table("inverse_speed", "Mixed-integer augmented suboptimality beside InvOpt", mixed),
            Table("inverse_speed_online", "Observations learned online, per second", online),
            Table("inverse_speed_trips", "Shortest paths among 50 places", trips),
        ],
        findings=_findings(mixed, online, trips),
        method=[
            "CPU seconds of one thread, the fastest of "
            f"{options.repeats} fits. Ours are whole fits: posed, solved to a relative gap of 1e-6, both bounds recomputed "
            "from "
            "the raw data. InvOpt's (in a process of its own) have no certificate; it enumerates all values of the whole "
            "unknowns in one linear programme, which Gurobi's free licence limits to 2000 rows and columns: the sizes are near "
            "that limit.",
            f"Observations: decisions of Section 6.3 of the paper, each with other costs, so that no cost explains all of "
            "them; "
            f"costs at or above 0, l1 regularizer, kappa = {KAPPA:g}. measured: the distance of the whole unknowns alone "
            "(z), or "
            "that of the continuous ones as well (yz). apart: largest difference of the two costs, as a share of the largest.",
            "Online: partial_fit of 4000 observations, signals read and checked included, with approach 'asl', kappa = 0.01.",
            "Shortest paths: 50 random places, streets to the nearest ones, a cost for every street, distance 'l1', a "
            "traveller "
            f"with prices of their own each time; kappa = {KAPPA:g}, to a relative gap of 1e-4 or {options.time_limit:g} s of "
            "wall time, of which other work on the machine may take most.",
            "Why so slow: with a cost for every street the worst decision of a traveller is a path and any number of cycles "
            "far from it, each of which is worth its distance until its streets are priced. A cut says something of all cycles "
            "together, so that hundreds of cuts per observation are needed, and masters with thousands of them cost most of "
            "the time. 10,000 observations to 1e-4 within a minute are out of reach of this method.",
        ],
        not_measured=[*(() if options.rivals_python is not None else ("InvOpt: no Python given.",))],
    )


def _case(size: tuple[int, int, int, int], both: bool, options: argparse.Namespace) -> dict[str, Any]:
    n_continuous, n_whole, n_rows, count = size
    generator = np.random.default_rng((options.random_state, *size))
    data = mixed_integer_decisions(
        count, n_continuous=n_continuous, n_binary=n_whole, n_constraints=n_rows, random_state=generator
    )
    responses = []
    for signal in data.signals:
        own = data.cost + 0.2 * generator.uniform(size=data.cost.size)
        responses.append(_decided(own, signal, n_continuous))
    eye, nothing = np.eye(n_continuous), np.zeros((2 * n_continuous, n_whole))
    signals = [
        (
            np.vstack((first, eye, -eye)),
            np.vstack((second, nothing)),
            np.concatenate((ceiling, np.ones(n_continuous), np.zeros(n_continuous))),
        )
        for first, second, ceiling in data.signals
    ]
    return {
        "size": size,
        "n_whole": n_whole,
        "measures_continuous": both,
        "plain_signals": data.signals,
        "signals": signals,
        "responses": responses,
        "kappa": KAPPA,
        "repeats": options.repeats,
    }


def _decided(cost: Any, signal: Any, n_continuous: int) -> tuple[Any, Any]:
    model = InverseOptimizer(forward.MixedIntegerProgram())
    model.cost_ = cost
    found = model.predict([signal])[0]
    return found[:n_continuous], found[n_continuous:]


def _invopt(cases: list[dict[str, Any]], python: Path | None) -> list[dict[str, Any]]:
    if python is None:
        return [{} for _ in cases]
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given"), Path(folder, "found")
        given.write_bytes(pickle.dumps(cases))
        subprocess.run([str(python), str(CHILD), str(given), str(found)], check=True, stdout=subprocess.DEVNULL)
        return list(pickle.loads(found.read_bytes()))


def _mixed_row(case: dict[str, Any], rival: dict[str, Any]) -> dict[str, Cell]:
    n_continuous, n_whole, n_rows, count = case["size"]
    best, model = np.inf, None
    for _ in range(case["repeats"]):
        started = time.process_time()
        model = InverseOptimizer(
            forward.MixedIntegerProgram(),
            distance=("linf" if case["measures_continuous"] else "none", "l2"),
            prior="nonnegative",
            regularizer="l1",
            kappa=case["kappa"],
        ).fit(case["plain_signals"], case["responses"])
        best = min(best, time.process_time() - started)
    assert model is not None
    theirs, cost = rival.get("seconds"), rival.get("cost")
    apart = None if cost is None else float(np.abs(np.asarray(cost) - model.cost_).max() / np.abs(model.cost_).max())
    row: dict[str, Cell] = {
        "continuous": n_continuous,
        "whole": n_whole,
        "rows": n_rows,
        "observations": count,
        "measured": "yz" if case["measures_continuous"] else "z",
        "seconds": best,
        "invopt_seconds": theirs,
        "ratio": None if theirs is None else best / theirs,
        "apart": apart,
        "verified": bool(model.certificate_.verified),
        "invopt_says": str(rival.get("flaw", ""))[:60],
    }
    say(f"  {row}")
    return row


def _online_row(n: int, distance: str, options: argparse.Namespace) -> dict[str, Cell]:
    draw = consistent_decisions if n == 6 else inconsistent_decisions
    data = draw(500 if options.quick else 4000, random_state=options.random_state)
    best = np.inf
    for _ in range(options.repeats):
        model = InverseOptimizer(forward.BinaryProgram(), distance=distance, prior="nonnegative", kappa=KAPPA, solver="samd")
        started = time.process_time()
        model.partial_fit(data.signals, data.responses)
        best = min(best, time.process_time() - started)
    row: dict[str, Cell] = {"unknowns": n, "distance": distance, "per_second": len(data) / best}
    say(f"  {row}")
    return row


def _trip_row(count: int, options: argparse.Namespace) -> dict[str, Cell]:
    trips = street_trips(count, np.random.default_rng(options.random_state))
    model = InverseOptimizer(trips.forward, kappa=KAPPA, tol=1e-4, time_limit=options.time_limit, **trips.parameters)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(trips.signals, trips.responses)
    row: dict[str, Cell] = {
        "observations": count,
        "seconds": time.process_time() - started,
        "iterations": model.n_iter_,
        "relative_gap": model.certificate_.relative_gap,
        "verified": bool(model.certificate_.verified),
        "ended": model.outcome_.status.name,
    }
    say(f"  {row}")
    return row


def _findings(mixed: list[dict[str, Cell]], online: list[dict[str, Cell]], trips: list[dict[str, Cell]]) -> list[str]:
    known: list[Row] = [row for row in mixed if row["ratio"] is not None]
    said = []
    if known:
        ratios = np.array([float(row["ratio"] or 0.0) for row in known])
        mean, level = float(np.exp(np.log(ratios).mean())), int((ratios <= 1).sum())
        said.append(
            f"Mixed-integer fits take {mean:.2f} times the CPU seconds of InvOpt (geometric mean of {len(known)}; "
            f"{ratios.min():.2f} to {ratios.max():.2f}), certificates included; {level} take no longer."
        )
    slowest = min(float(row["per_second"] or 0.0) for row in online)
    said.append(f"Online: at least {slowest:.0f} observations a second.")
    said += [
        f"{row['observations']} shortest paths: relative gap {row['relative_gap']:.2g} after {row['seconds']:.0f} s."
        for row in trips
    ]
    return said
