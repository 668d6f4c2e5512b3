"""Errors and warnings that surefoot raises, all catchable as :class:`SurefootError`."""

from __future__ import annotations


class SurefootError(Exception):
    """Base class of every error that surefoot raises on purpose."""


class InvalidTableError(SurefootError, ValueError):
    """The table or the labels cannot be used; the message names column, row and value."""


class InfeasibleProblemError(SurefootError, ValueError):
    """The problem has no solution (or none that is attained), whatever the solver."""


class SeparableDataError(InfeasibleProblemError):
    """Plain logistic regression on separable data: the coefficients would grow without end."""


class UnsupportedProblemError(SurefootError, ValueError):
    """The chosen solver does not accept this problem; the message says what does."""


class CertificateError(SurefootError, ValueError):
    """A certificate was asked to judge arrays that do not belong together, or a model is not the one that was proven."""


class ChangedModelWarning(UserWarning):
    """A model has changed since it was proven; its certificate is about the model that it was."""


class ModelFileError(SurefootError, ValueError):
    """A model cannot be written to a file, or a file is no model that can be read; the message says why."""


class SolveInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a long search. It is a ``KeyboardInterrupt``, so programs end as they always do; what was found is not lost.

    Attributes
    ----------
    outcome : SolveOutcome or None
        The best answer until then, with a bound that holds.
    """

    def __init__(self, message: str, outcome: object = None) -> None:
        super().__init__(message)
        self.outcome = outcome


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the search went on without it."""


class ConvergenceLimitWarning(UserWarning):
    """A solve stopped before its tolerance; the message says which bound still holds."""


class SingleSampleWarning(UserWarning):
    """Groups have one row, or none were given: nothing is known about the spread of such inputs, so they count as exact."""


class RoundedInterceptWarning(UserWarning):
    """Columns are so far from 0 that public numbers, rounded to doubles, are not as good as what was proven."""


class WeakModelWarning(UserWarning):
    """The best model says next to nothing: one class for all, or few inputs that keep their promise; the message says why."""


class BelowChanceWarning(UserWarning):
    """A column says nothing of another environment: its estimated certainty was at or below chance, or its values name the
    environment itself; the message names the column, and a certainty that has been raised.
    """


class DoubtfulColumnWarning(UserWarning):
    """A column is read as what it most likely is not: an identifier, dates or numbers as text; the message names it and what to
    do.
    """


class PositiveClassWarning(UserWarning):
    """A score card gives the risk of a class that denies the other, "no CHD" beside "CHD"; the message says how to turn it."""


class GridEdgeWarning(UserWarning):
    """The choice over held-out environments is at the edge of its grid; the message says which values to add."""


class UnmeasuredColumnWarning(UserWarning):
    """A column was never measured at some sites, which counts as a shift of its own; the message names columns and sites."""


class ZeroCostWarning(UserWarning):
    """The best cost is 0, which prices all decisions alike; the message says what to do about it."""


class InvalidObservationError(SurefootError, ValueError):
    """A signal or a response cannot be used; the message names the observation."""


class ForwardSolveError(SurefootError, RuntimeError):
    """A forward problem could not be solved, or its solver returned what is no decision; the message names the observation.

    Attributes
    ----------
    outcome : SolveOutcome or None
        What had been found until then, with a bound that holds.
    """

    def __init__(self, message: str, outcome: object = None) -> None:
        super().__init__(message)
        self.outcome = outcome


class InconsistentDataError(InfeasibleProblemError):
    """No cost explains all observations; the message names those that conflict.

    Attributes
    ----------
    problem, outcome : InverseProblem, SolveOutcome
        The relaxed problem, and what bounds its mean loss from below for every cost.
    certificate : Certificate or None
        The same, verified.
    """

    def __init__(self, message: str, problem: object = None, outcome: object = None, certificate: object = None) -> None:
        super().__init__(message)
        self.problem, self.outcome, self.certificate = problem, outcome, certificate
