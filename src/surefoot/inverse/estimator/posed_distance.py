"""The distance that a model asks for, over the observations that it has: what it takes to measure them exactly.

Distances between features, and functions of the caller's, are convex functions of nothing in particular: the decision that
saves most beyond its distance is found by going through all of them. Vectors of a few whole unknowns become lists for that;
other decisions are refused. Distances by name are concave on 0/1 unknowns; on other whole ones they take a list, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.exceptions import InvalidObservationError, UnsupportedProblemError
from surefoot.inverse.oracle.parameters import MAX_LISTED
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet, OpaqueSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures
from surefoot.inverse.problem.problem import Example, MeasuredExample

FEATURES = Distance("features", "none")
# Names that programmes are exact for on 0/1 unknowns alone.
BINARY_NAMES = ("l1", "l2", "squared-l2", "zero-one")
# Approaches that go through all decisions, whatever their distance.
LISTING_APPROACHES = ("predictability", "ellipsoidal-incenter", "ellipsoidal-asl")


def posed_distance(
    examples: tuple[Example, ...], signals: Sequence[Any], given: Any, approach: str, features: Any
) -> tuple[tuple[Example, ...], Distance]:
    """The examples with all that a distance needs of them, and the distance.

    "auto" is "l2", but between features where an incenter has some of its own: Definition 3.3 of the paper.
    """
    if isinstance(given, str) and given == "auto":
        whole = all(bool(example.instance.decisions.whole.all()) for example in examples)
        given = "features" if approach == "incenter" and features is not None and whole else "l2"
    if callable(given):
        measured = zip(examples, signals, strict=True)
        return tuple(_measured(_listed(each, given), signal, given) for each, signal in measured), Distance.of(given)
    distance = Distance.of(given)
    plain = distance.integer == "features" and all(_is_plain(example) for example in examples)
    if distance.integer in BINARY_NAMES or plain or approach in LISTING_APPROACHES:
        examples = tuple(_listed_if_general(example) for example in examples)
    if plain:
        return examples, Distance("l2", "none")
    if distance.integer != "features":
        return examples, distance
    return tuple(_listed(example, "features") for example in examples), FEATURES


def _is_plain(example: Example) -> bool:
    """Whether decisions are priced as they are, so that their own distance is that of their features."""
    features, whole = example.instance.features, example.instance.decisions.whole
    if not isinstance(features, LinearFeatures) or not whole.all():
        return False
    return np.array_equal(features.matrix, np.eye(whole.size))


def _listed(example: Example, distance: Any) -> Example:
    decisions = example.instance.decisions
    if isinstance(decisions, ListedSet) or (isinstance(decisions, OpaqueSet) and distance == "features"):
        return example
    points = _few_points(decisions) if isinstance(decisions, LinearSet) else None
    if points is None:
        what = "between features" if distance == "features" else "that is a function"
        raise UnsupportedProblemError(
            f"observation {example.index}: a distance {what} needs decisions that can be listed: alternatives, or at most "
            f"{MAX_LISTED} unknowns that are all 0/1, or as few other whole ones. Choose distance='l2', which measures the "
            "decisions themselves, or 'l1', 'linf', 'zero-one'."
        )
    return replace(example, instance=replace(example.instance, decisions=ListedSet(points)))


def _listed_if_general(example: Example) -> Example:
    """The example with its decisions as a list, if they are whole numbers beyond 0 and 1, and few."""
    decisions = example.instance.decisions
    if not isinstance(decisions, LinearSet) or not decisions.whole.all() or decisions.binary.all():
        return example
    points = _few_points(decisions)
    return example if points is None else replace(example, instance=replace(example.instance, decisions=ListedSet(points)))


def _few_points(decisions: LinearSet) -> FloatArray | None:
    """All decisions of a set of whole unknowns whose bounds leave at most 2^16 vectors, or None."""
    if not decisions.whole.all() or not np.isfinite(decisions.upper - decisions.lower).all():
        return None
    low, high = np.ceil(decisions.lower), np.floor(decisions.upper)
    if np.prod(high - low + 1, dtype=np.float64) > 2**MAX_LISTED:
        return None
    spans = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
    every = np.stack(np.meshgrid(*spans, indexing="ij"), axis=-1).reshape(-1, len(spans))
    return np.asarray(every[decisions.allowed(every)])


def _measured(example: Example, signal: Any, function: Callable[[Any, FloatArray, FloatArray], Any]) -> Example:
    decisions = example.instance.decisions
    assert isinstance(decisions, ListedSet)

    def measure(point: FloatArray) -> float:
        try:
            return float(function(signal, example.response, point))
        except (TypeError, ValueError) as flaw:
            raise InvalidObservationError(f"observation {example.index}: the distance failed: {flaw}.") from flaw

    lengths = np.array([measure(point) for point in decisions.points])
    own = measure(example.response)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths >= 0)))
    if wrong.size or own != 0:
        at, value = ("the response itself", own) if not wrong.size else (decisions.points[wrong[0]], lengths[wrong[0]])
        raise InvalidObservationError(
            f"observation {example.index}: the distance of {at} is {value}; it must be 0 for the response itself, and a finite "
            "number at or above 0 for others."
        )
    return MeasuredExample(example.instance, example.response, example.inside, lengths)
