"""What every solver returns."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

from surefoot.core.certificate import rounded_down, rounded_up
from surefoot.exceptions import SolveInterrupted

Primal = TypeVar("Primal")
Dual = TypeVar("Dual")


class Status(enum.Enum):
    """How a solve ended. Only ``OPTIMAL`` means that the requested gap was reached.

    ``STALLED`` is a solve that makes no more progress in double precision, ``NUMERICAL_ERROR`` one whose arithmetic broke down.
    """

    OPTIMAL = "optimal"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    STALLED = "stalled"
    NUMERICAL_ERROR = "numerical error"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class Progress:
    """One line of a solve: its best objective, its best proven bound, and the time they took."""

    iteration: int
    upper_bound: float
    lower_bound: float
    seconds: float

    @property
    def gap(self) -> float:
        return self.upper_bound - self.lower_bound


@dataclass(frozen=True)
class SolveOutcome(Generic[Primal, Dual]):
    """Result of a solve; bounds are the solver's own claims until a certificate has recomputed them.

    Attributes
    ----------
    status : Status
    primal : the best point found
    dual : what proves ``lower_bound``, or None if the solver has no proof to offer
    upper_bound, lower_bound : float
        NaN until earned.
    iterations : int
    seconds : float
    history : tuple of Progress
    """

    status: Status
    primal: Primal
    dual: Dual | None = field(repr=False)
    upper_bound: float
    lower_bound: float
    iterations: int
    seconds: float
    history: tuple[Progress, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain Python containers and arrays."""
        return {**asdict(self), "status": self.status.value}


def handed_over(outcome: SolveOutcome[Primal, Dual]) -> SolveOutcome[Primal, Dual]:
    """The outcome, or ``SolveInterrupted`` with the outcome in it if Ctrl-C ended the solve."""
    if outcome.status is Status.INTERRUPTED:
        raise SolveInterrupted(
            f"interrupted; the best so far has an objective of {rounded_up(outcome.upper_bound, 9)}, and by the solver's own "
            f"account none is below {rounded_down(outcome.lower_bound, 9)}.",
            outcome,
        )
    return outcome
