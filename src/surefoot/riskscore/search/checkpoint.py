"""Checkpoints of a long search, from which another one can resume.

One ``.npz`` file: arrays, and a line of JSON with the format, the fingerprint of the problem and the gap. Nothing in it is
executed when it is read. It is written by :func:`~surefoot.core.new_file.new_file`, so a file by that name is always whole.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot import _native
from surefoot.core.arrays import IntArray
from surefoot.core.new_file import new_file
from surefoot.riskscore.problem.problem import RiskScore, RiskScoreProblem

FORMAT = "surefoot score search 2"
# Written before: its fingerprint of the problem was another one, so nobody can tell whether the data are the same.
EARLIER_FORMATS = ("surefoot score search 1",)


@dataclass(frozen=True, eq=False)
class SearchCheckpoint:
    """The state of a search between two subtrees.

    Attributes
    ----------
    order : ndarray of int
        Columns in the order of the search.
    finished : ndarray of shape (n, 2)
        Pairs of columns: supports of three and more columns that begin with one of them, in that order, are no better than the
        card by more than the gap.
    card : RiskScore or None
        The best card so far.
    gap : float
        The relative gap at which the search stops.
    """

    order: IntArray
    finished: IntArray
    card: RiskScore | None
    gap: float

    def write(self, path: Path, digest: str) -> None:
        """Put the checkpoint in place of an earlier one; raises ``OSError`` and leaves that alone where it cannot."""
        about = json.dumps({"format": FORMAT, "problem": digest, "gap": self.gap, "has_card": self.card is not None})
        card = self.card if self.card is not None else RiskScore(0, np.zeros(0, dtype=np.int32))
        with new_file(path, overwrite=True, text=False, private=True) as file:
            np.savez_compressed(
                file,
                about=np.frombuffer(about.encode(), dtype=np.uint8),
                order=self.order,
                finished=self.finished,
                intercept=np.array([card.intercept], dtype=np.int32),
                points=card.points,
            )


class CheckpointFile:
    """The checkpoint file of a running search. An error in writing is recorded, and does not end the search."""

    def __init__(self, path: str | Path, problem: RiskScoreProblem, gap: float) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint = {str(path)!r}: there is no folder {str(self.path.parent)!r}. Create it first.")
        self.digest = problem.digest()
        self.gap = gap
        self.error: str | None = None
        self.state = read_checkpoint(self.path, problem, gap) if self.path.exists() else None

    def save(self, snapshot: _native.SearchSnapshot) -> bool:
        """Write a state; always true, for the search goes on."""
        points = snapshot.points
        card = RiskScore(snapshot.intercept, points) if points.size else None
        try:
            SearchCheckpoint(snapshot.order, snapshot.finished.reshape(-1, 2), card, self.gap).write(self.path, self.digest)
            self.error = None
        except OSError as failure:
            reason = failure.__cause__ if isinstance(failure.__cause__, OSError) else failure
            self.error = f"{self.path} could not be written: {reason.strerror or reason}"
        return True


def read_checkpoint(path: Path, problem: RiskScoreProblem, gap: float) -> SearchCheckpoint:
    """The checkpoint at ``path``, or the part of it that holds for a search of this problem to this gap.

    Raises
    ------
    ValueError
        If the file is no checkpoint, or one of another problem.
    """
    advice = "Name another file, or delete this one to start afresh."
    try:
        # Opened here: where the content is damaged, NumPy leaves a file that it opened itself to chance.
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes().decode())
            order, finished, intercept, points = (
                np.ascontiguousarray(file[name], dtype=np.int32) for name in ("order", "finished", "intercept", "points")
            )
            form, digest, old_gap, has_card = (about[name] for name in ("format", "problem", "gap", "has_card"))
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as flaw:
        raise ValueError(f"{path} is not a checkpoint of a score search, or is damaged ({flaw}). {advice}") from flaw
    if form in EARLIER_FORMATS:
        raise ValueError(
            f"{path} was written by an earlier version of surefoot, which named data in another way: whether it belongs to "
            f"these rows cannot be told. {advice}"
        )
    if form != FORMAT:
        raise ValueError(f"{path} has the format {form!r}; this version reads {FORMAT!r}. {advice}")
    if digest != problem.digest():
        raise ValueError(f"{path} is the checkpoint of a search on other data, or under other limits or rules. {advice}")
    card = _card_of(problem, int(intercept[0]), points) if has_card and intercept.shape == (1,) else None
    if (card is not None and not problem.admits(card)) or finished.ndim != 2 or order.ndim != 1:
        raise ValueError(f"{path} holds a state that no search can have been in. {advice}")
    if not old_gap <= gap:
        # What was left at a wider gap may hide a better card; the card itself is as good as ever.
        finished = finished[:0]
    return SearchCheckpoint(order, finished, card, gap)


def _card_of(problem: RiskScoreProblem, intercept: int, points: IntArray) -> RiskScore:
    """The card with these points, at a multiplier that obeys the rules if there is one; the search finds the best anew."""
    if problem.scale == "unit" or points.shape != (problem.n_columns,):
        return RiskScore(intercept, points)
    least, most = problem.scales(intercept, points)
    return RiskScore(intercept, points, 1.0 / least if least <= most else 1.0)
