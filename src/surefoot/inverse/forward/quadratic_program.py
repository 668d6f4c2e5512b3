"""Forward problems with a quadratic cost, learned as such: equation (18) of the paper.

    <theta, phi(s, (y, z))> = y' Q_yy y + y' Q inner(w, z) + q . outer(w, z),    Q_yy positive semidefinite,

with continuous unknowns y, whole unknowns z, and the context w of the signal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.programs import FeatureFunction, MixedIntegerProgram, numbers
from surefoot.inverse.problem.decision_set import DecisionSet, LinearSet
from surefoot.inverse.problem.hypothesis import (
    Features,
    GeneralFeatures,
    LinearFeatures,
    QuadraticFeatures,
    identity_features,
)

Part = Callable[[Any, FloatArray], Any]


class QuadraticProgram(MixedIntegerProgram):
    """{x = (y, z) : A y + B z <= c, bounds, z whole}, with a quadratic cost in y.

    A signal is (A, b) for continuous unknowns alone, (A, B, c) for both kinds; a context may follow. A cost vector is
    (vec Q_yy, vec Q, q), by columns.

    Parameters
    ----------
    inner : callable, optional
        ``inner(context, z)``; by default the entries of the context (if there is one), of z, and 1.
    outer : callable, optional
        ``outer(context, z)``; by default z.
    continuous_bounds : pair, default=(-inf, inf)
    integer_bounds : pair, default=(0, 1)
    """

    def __init__(
        self,
        *,
        inner: Part | None = None,
        outer: Part | None = None,
        continuous_bounds: Any = (-np.inf, np.inf),
        integer_bounds: Any = (0, 1),
    ) -> None:
        super().__init__(continuous_bounds=continuous_bounds, integer_bounds=integer_bounds)
        self.inner, self.outer = inner, outer

    def _split(self, signal: Any) -> tuple[tuple[Any, Any, Any], Any]:
        if not isinstance(signal, tuple | list) or len(signal) < 2:
            raise ValueError("the signal must be (A, b) or (A, B, c), with or without a context after it")
        if np.ndim(signal[1]) == 1 and len(signal) in (2, 3):
            empty = np.empty((np.shape(signal[0])[0], 0))
            return (signal[0], empty, signal[1]), signal[2] if len(signal) == 3 else None
        if len(signal) not in (3, 4):
            raise ValueError("the signal must be (A, b) or (A, B, c), with or without a context after it")
        return (signal[0], signal[1], signal[2]), signal[3] if len(signal) == 4 else None

    def decisions(self, signal: Any) -> LinearSet:
        """The set at a signal; rows with a single entry, of a continuous unknown, are bounds too."""
        found = super().decisions(self._split(signal)[0])
        lower, upper = found.lower.copy(), found.upper.copy()
        for row, side in zip(found.matrix, found.high, strict=True):
            at = np.flatnonzero(row)
            if at.size == 1 and not found.whole[at[0]]:
                end = float(side / row[at[0]])
                if row[at[0]] > 0:
                    upper[at] = np.minimum(upper[at], end)
                else:
                    lower[at] = np.maximum(lower[at], end)
        return replace(found, lower=lower, upper=upper)

    def features(self, signal: Any, decisions: DecisionSet, function: FeatureFunction | None) -> Features:
        """The quadratic hypothesis at a signal."""
        if function is not None:
            raise ValueError("a quadratic programme has features of its own; give inner and outer instead")
        context = self._split(signal)[1]
        known = np.empty(0) if context is None else numbers(np.atleast_1d(context), 1, "the context")
        size = int(decisions.whole.sum())
        plain = np.vstack((np.zeros((known.size, size)), np.eye(size), np.zeros((1, size))))
        inner: LinearFeatures | GeneralFeatures = LinearFeatures(plain, np.concatenate((known, np.zeros(size), [1.0])))
        outer: LinearFeatures | GeneralFeatures = identity_features(size)
        if self.inner is not None:
            inner = _of_context(self.inner, context, size)
        if self.outer is not None:
            outer = _of_context(self.outer, context, size)
        return QuadraticFeatures(decisions.n_unknowns - size, inner, outer)


def _of_context(function: Part, context: Any, size: int) -> GeneralFeatures:
    """A caller's function at one signal."""
    return GeneralFeatures(lambda z: function(context, z), np.asarray(function(context, np.zeros(size))).size)
