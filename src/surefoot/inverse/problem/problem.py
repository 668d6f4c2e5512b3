"""Inverse optimization: the cost behind observed decisions.

An observation is a signal s_i and a response x_i; with phi the features of a decision and X(s) the decisions open at s,

    loss_i(theta) = max over x in X(s_i) of   <theta, phi(s_i, x_i) - phi(s_i, x)> + d(x_i, x)

is the augmented suboptimality loss (d = 0: the suboptimality loss), and the problem is

    min over theta in Theta of   kappa R(theta) + (1/N) sum_i loss_i(theta),

R(theta) = 1/2 ||theta - theta_0||^2 or ||theta - theta_0||_1: equation (14) of Zattoni Scroccaro, Atasoy and Mohajerin
Esfahani, "Learning in Inverse Optimization". A cost is consistent if its suboptimality losses are all 0.

A loss is a maximum of functions linear in theta, one per decision: :class:`Cut`. Any set of cuts bounds the losses from below,
which is what solvers build and certificates check. A response outside X(s) can have a negative loss; with ``clamp`` it counts
as 0 then (Remark 4.2), which is the same as letting the response itself be a decision.

With ``hard`` losses must be 0 at most, instead of being minimised: equation (13), whose solution with the Euclidean regularizer
and distance is the incenter of the cone of consistent costs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from surefoot.core.arrays import FloatArray, IntArray, RowArray
from surefoot.inverse.problem.decision_set import DecisionSet, ListedSet, fingerprint
from surefoot.inverse.problem.distance import FEATURES, GIVEN, Distance
from surefoot.inverse.problem.hypothesis import Features
from surefoot.inverse.problem.prior_set import PriorSet


@dataclass(frozen=True, eq=False, repr=False)
class Instance:
    """A forward problem at one signal; ``index`` is its place among the signals given."""

    index: int
    decisions: DecisionSet
    features: Features


@dataclass(frozen=True, eq=False, repr=False)
class Example:
    """An instance and what was decided; ``inside`` says whether the response is one of the instance's decisions."""

    instance: Instance
    response: FloatArray
    inside: bool = True

    @property
    def index(self) -> int:
        return self.instance.index

    @cached_property
    def own(self) -> FloatArray:
        """Features of the response."""
        return np.asarray(self.instance.features.of(self.response[None, :])[0])

    def slopes(self, points: FloatArray) -> FloatArray:
        """phi(response) - phi(x), for the rows x of ``points``."""
        return np.asarray(self.own - self.instance.features.of(points), dtype=np.float64)

    def distances(self, distance: Distance, points: FloatArray) -> FloatArray:
        """Distances of the rows of ``points`` from the response."""
        if distance.integer == FEATURES:
            return np.asarray(np.linalg.norm(self.slopes(points), axis=1))
        return distance.between(self.response, points, self.instance.decisions.whole)


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredExample(Example):
    """An example whose decisions are listed, with the distance of each from the response: values of a caller's function."""

    lengths: FloatArray = field(default_factory=lambda: np.empty(0))

    def distances(self, distance: Distance, points: FloatArray) -> FloatArray:
        """Distances of the rows of ``points`` from the response."""
        if distance.integer != GIVEN:
            return super().distances(distance, points)
        listed = self.instance.decisions
        assert isinstance(listed, ListedSet)
        if points is listed.points:
            return self.lengths
        return np.array([self.lengths[np.argmax((listed.points == point).all(axis=1))] for point in points])


@dataclass(frozen=True, eq=False)
class Regularizer:
    """R(theta) = 1/2 ||theta - center||^2 ("l2") or ||theta - center||_1 ("l1")."""

    kind: Literal["l1", "l2"]
    center: FloatArray

    def __post_init__(self) -> None:
        if self.kind not in ("l1", "l2"):
            raise ValueError(f"regularizer={self.kind!r} must be 'l1' or 'l2'.")

    def __call__(self, theta: FloatArray) -> float:
        away = theta - self.center
        return float(away @ away / 2 if self.kind == "l2" else np.abs(away).sum())


@dataclass(frozen=True, eq=False, repr=False)
class Cuts:
    """Decisions that bound losses from below, with weights: loss_i >= slopes_k . theta + offsets_k for k with owner i.

    Attributes
    ----------
    owners : ndarray of shape (k,)
        Position of the example.
    points : tuple of ndarray
        The decisions.
    slopes : ndarray of shape (k, p)
    offsets : ndarray of shape (k,)
    """

    owners: IntArray
    points: tuple[FloatArray, ...]
    slopes: FloatArray
    offsets: FloatArray

    @property
    def size(self) -> int:
        return int(self.owners.size)

    def chosen(self, at: RowArray) -> Cuts:
        """The cuts at these positions."""
        rows = np.asarray(at, dtype=np.int64)
        return Cuts(self.owners[rows], tuple(self.points[k] for k in rows.tolist()), self.slopes[rows], self.offsets[rows])


@dataclass(frozen=True, eq=False, repr=False)
class InverseProblem:
    """One instance of the problem in the module docstring."""

    examples: tuple[Example, ...]
    distance: Distance
    regularizer: Regularizer
    kappa: float
    prior: PriorSet
    clamp: bool = False
    hard: bool = False

    def __post_init__(self) -> None:
        if not self.examples:
            raise ValueError("there are no observations.")
        if not (np.isfinite(self.kappa) and self.kappa >= 0):
            raise ValueError(f"kappa = {self.kappa} must be a finite number at or above 0.")
        p = self.n_features
        if self.prior.n_features != p or self.regularizer.center.shape != (p,):
            raise ValueError(
                f"features have {p} entries, the prior set {self.prior.n_features}, the prior's centre "
                f"{self.regularizer.center.size}; they must agree."
            )

    def __repr__(self) -> str:
        return f"InverseProblem(examples={self.n_examples}, features={self.n_features})"

    @property
    def n_examples(self) -> int:
        return len(self.examples)

    @property
    def n_features(self) -> int:
        return int(self.examples[0].instance.features.n_features)

    def cuts(self, owners: Iterable[int], points: Iterable[FloatArray]) -> Cuts:
        """Slopes and offsets of decisions, from the raw arrays."""
        whose, where = list(owners), [np.asarray(point, dtype=np.float64) for point in points]
        slopes, offsets = np.empty((len(whose), self.n_features)), np.empty(len(whose))
        for i in sorted(set(whose)):
            at = [k for k, owner in enumerate(whose) if owner == i]
            block = np.array([where[k] for k in at])
            slopes[at] = self.examples[i].slopes(block)
            offsets[at] = self.examples[i].distances(self.distance, block)
        return Cuts(np.asarray(whose, dtype=np.int32), tuple(where), slopes, offsets)

    def objective(self, theta: FloatArray, losses: FloatArray) -> float:
        """kappa R(theta) plus the mean of given losses, or without them if they must not be above 0."""
        if self.hard:
            return self.kappa * self.regularizer(theta)
        return self.kappa * self.regularizer(theta) + float(losses.mean())

    @property
    def scalable(self) -> bool:
        """Whether a larger multiple of a cost vector is as admissible and no better."""
        return self.prior.is_cone and not np.any(self.regularizer.center)

    def digest(self) -> str:
        """Fingerprint of everything that defines the optimum, as far as it is data and not a caller's function."""
        form = (self.distance.spelled(), self.regularizer.kind, self.kappa, self.clamp, self.hard, *self.prior.spelled())
        mark = hashlib.sha256(repr(form).encode())
        mark.update(self.regularizer.center.tobytes())
        for example in self.examples:
            mark.update(fingerprint(example.instance.decisions).encode())
            mark.update(example.response.tobytes())
            mark.update(example.instance.features.of(example.response[None, :]).tobytes())
        return mark.hexdigest()
