"""What steers the search for score cards from Python's side; the native search has records of its own beside each algorithm."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchParameters:
    """Tuning of the search.

    Attributes
    ----------
    heuristic_seconds : float
        Time limit of the heuristic solver where the options have none, in seconds: longer finds better cards on tables that
        are not 0/1. Not tuned.
    max_marked_rows : int
        Distinct rows whose flags a programme about rules may have as binary variables. Rates over more rows would make it
        larger than the search it is to spare, and are left out of it. Not tuned.
    transposed_rows : int
        Rows of a table transposed at a time, which should stay in the cache: ten times as fast as all at once. Not tuned.
    """

    heuristic_seconds: float = 1.0
    max_marked_rows: int = 3000
    transposed_rows: int = 1024


DEFAULT_PARAMETERS = SearchParameters()
