"""Solvers by name: one protocol for all families, and one table per family.

A family lists its solvers as ``"module:Class"``; a solver is imported when it is made and not before, so that a fit pays for
what it runs and for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Generic, Protocol, TypeVar, cast

from surefoot.core.outcome import SolveOutcome
from surefoot.core.solve_options import SolveOptions
from surefoot.exceptions import UnsupportedProblemError

Problem = TypeVar("Problem", contravariant=True)
Primal = TypeVar("Primal")
Dual = TypeVar("Dual")


class Solver(Protocol[Problem, Primal, Dual]):
    """An algorithm for one kind of problem; ``refuses`` returns why it cannot take one, or None."""

    @property
    def name(self) -> str: ...

    def refuses(self, problem: Problem) -> str | None: ...

    def solve(self, problem: Problem, options: SolveOptions) -> SolveOutcome[Primal, Dual]: ...


AnySolver = TypeVar("AnySolver", bound=Solver[Any, Any, Any])


class SolverRegistry(Generic[AnySolver]):
    """The solvers of one family by the names that users give them.

    Parameters
    ----------
    entries : mapping of str to str
        From a name to ``"module:Class"``. Behind a second colon stands what the class is called with, if anything.
    advice : str
        What a user can do whose problem a solver refuses; added to the refusals of all solvers but ``default``.
    default : str
        The solver that ``"auto"`` takes first.
    """

    def __init__(self, entries: Mapping[str, str], *, advice: str = "", default: str = "") -> None:
        self._entries = dict(entries)
        self._advice = advice
        self._default = default

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def make(self, name: str, *context: Any) -> AnySolver:
        """The solver of that name; ``context`` is what solvers are made with, behind the arguments of their entry."""
        self.require_known(name)
        module, kind, *arguments = self._entries[name].split(":")
        return cast(AnySolver, getattr(import_module(module), kind)(*arguments, *context))

    def require_known(self, name: str) -> None:
        """Raise ``ValueError`` if there is no solver of that name."""
        if name not in self._entries:
            raise ValueError(f"solver={name!r} is not known. Choose one of {', '.join(map(repr, self._entries))}.")

    def require_acceptance(self, solver: AnySolver, problem: Any) -> None:
        """Raise :class:`UnsupportedProblemError` if the solver does not accept the problem."""
        reason = solver.refuses(problem)
        if reason is not None:
            advice = f" {self._advice}" if self._advice and solver.name != self._default else ""
            raise UnsupportedProblemError(f"solver={solver.name!r} cannot solve this problem: {reason}{advice}")
