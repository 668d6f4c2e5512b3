"""A quadratic cost under one quadratic constraint: Appendix B of the paper.

    min over x of   x' Q x + 2 q . x    subject to    x' A x + 2 b . x + c <= 0,    A positive definite.

The cost need not be convex: neither the forward problem nor its augmentation by ||x_hat - x||^2 is harder for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.forward.programs import FeatureFunction, ForwardProblem, numbers
from surefoot.inverse.problem.decision_set import DecisionSet, EllipsoidSet
from surefoot.inverse.problem.hypothesis import Features, QuadraticFeatures


class EllipsoidProgram(ForwardProblem):
    """{x : x' A x + 2 b . x + c <= 0} with a quadratic cost; a signal is (A, b, c).

    A cost vector is (vec Q, q), for the cost x' Q x + 2 q . x. Distances are "squared-l2" or "none".
    """

    def decisions(self, signal: Any) -> EllipsoidSet:
        if not isinstance(signal, tuple | list) or len(signal) != 3:
            raise ValueError("the signal must be (A, b, c)")
        form, shift = numbers(signal[0], 2, "A"), numbers(signal[1], 1, "b")
        constant = float(numbers(np.atleast_1d(signal[2]), 1, "c")[0])
        if form.shape != (shift.size, shift.size):
            raise ValueError(f"A has shape {form.shape}, but b has {shift.size} entries")
        if not np.allclose(form, form.T) or np.linalg.eigvalsh(form)[0] <= 0:
            raise ValueError("A must be symmetric and positive definite")
        if float(shift @ np.linalg.solve(form, shift)) - constant <= 0:
            raise ValueError("the constraint leaves no point, or a single one")
        return EllipsoidSet.of((form + form.T) / 2, shift, constant)

    def features(self, signal: Any, decisions: DecisionSet, function: FeatureFunction | None) -> Features:
        """The quadratic hypothesis."""
        if function is not None:
            raise ValueError("a quadratic programme has features of its own")
        return QuadraticFeatures.of_all(decisions.n_unknowns)

    def response(self, signal: Any, given: Any) -> FloatArray:
        return numbers(given, 1, "the response")
