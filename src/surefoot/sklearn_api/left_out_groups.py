"""Groups of rows (sites, periods, people) that are held out whole: rows of one group are never on both sides of a split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut

from surefoot.design.encode.row_groups import RowGroups

# Up to so many groups each is left out alone; more are put into as many folds as ``cv`` says. A path is solved for each fold,
# so this also bounds what a search costs.
MOST_LEFT_OUT_ALONE = 20


def left_out_whole(cv: int, named: RowGroups) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and held-out rows: every group alone, or, if there are many, ``cv`` folds of groups."""
    if cv < 2:
        raise ValueError(f"cv = {cv!r} must be at least 2.")
    splitter = LeaveOneGroupOut() if len(named.names) <= MOST_LEFT_OUT_ALONE else GroupKFold(cv)
    return list(splitter.split(np.zeros((named.codes.size, 1)), None, named.codes))
