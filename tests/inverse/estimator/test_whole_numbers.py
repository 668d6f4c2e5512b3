"""Whole unknowns beyond 0 and 1, in every approach and with every distance, are those of the list of their decisions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from surefoot.inverse import InverseOptimizer, forward

WEIGHTS = np.array([[1.0, 2.0, 1.0]])
NEEDS = (3.0, 5.0, 7.0, 4.0)
DISTANCES = ("l1", "l2", "linf", "squared-l2", "zero-one", "none", "features")
APPROACHES = ("asl", "incenter", "predictability", "ellipsoidal-incenter", "ellipsoidal-asl")


def observations() -> tuple[list[tuple[np.ndarray, ...]], list[np.ndarray], list[np.ndarray]]:
    """Signals, lists of all decisions, and decisions, one of which contradicts the others."""
    every = np.array(list(itertools.product(range(4), repeat=3)), dtype=np.float64)
    lists = [every[every @ WEIGHTS[0] >= need] for need in NEEDS]
    decided = [points[np.argmin(points @ [1.0, 2.3, 1.7])] for points in lists]
    return [(np.empty((1, 0)), -WEIGHTS, np.array([-need])) for need in NEEDS], lists, decided


@pytest.mark.parametrize("approach", APPROACHES)
def test_every_distance_is_that_of_the_list_of_decisions(approach: str) -> None:
    signals, lists, decided = observations()
    program = forward.MixedIntegerProgram(integer_bounds=(0, 3))
    for distance in DISTANCES if approach not in ("asl", "incenter") else set(DISTANCES) - {"none"}:
        options = {"approach": approach, "distance": distance, "kappa": 0.05, "prior": "nonnegative"}
        models = [
            InverseOptimizer(kind, **options).fit(given, decided)
            for kind, given in ((program, signals), (forward.FiniteChoice(), lists))
        ]
        ours, theirs = (model.certificate_ for model in models)
        assert ours.verified and theirs.verified, distance
        assert ours.upper_bound == pytest.approx(theirs.upper_bound, rel=3e-6, abs=1e-8), distance
