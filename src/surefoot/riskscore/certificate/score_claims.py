"""The claims of a proof of a score card, in arrays: one row for every claim, a record of its own on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.core.arrays import FloatArray
from surefoot.riskscore.problem.score_proof import CandidateMark

Integers = NDArray[np.int64]


class RefusedProofError(ValueError):
    """The proof does not prove anything about this problem; the message says why."""


@dataclass(frozen=True)
class NodeClaim:
    """The tangent plane at ``point`` prunes candidates that do not remain, and remaining ones that are not ``open``.

    No improving support beyond the prefix holds one of the former, or has one of the latter as its first column.
    """

    prefix: tuple[int, ...]
    candidates: tuple[int, ...]
    remaining: tuple[int, ...]
    open: tuple[int, ...]
    point: FloatArray


@dataclass(frozen=True)
class BoxClaim:
    """The tangent plane at ``point`` prunes all cards of a support in a box; without a point the box is a single card."""

    support: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    point: FloatArray | None


Claim = NodeClaim | BoxClaim


@dataclass(frozen=True, eq=False)
class NodeClaims:
    """Nodes whose prefixes have the same size; the candidates of node k are those from starts[k] to starts[k + 1]."""

    prefix: Integers
    starts: Integers
    candidates: Integers
    marks: Integers
    points: FloatArray

    def __len__(self) -> int:
        return len(self.prefix)

    def claim(self, k: int) -> NodeClaim:
        own = slice(self.starts[k], self.starts[k + 1])
        candidates, marks = self.candidates[own], self.marks[own]
        remains, left_open = marks != CandidateMark.EXCLUDED, marks >= CandidateMark.CHILD  # children and twins
        lists = (self.prefix[k], candidates, candidates[remains], candidates[left_open])
        prefix, listed, remaining, open_ = (tuple(part.tolist()) for part in lists)
        return NodeClaim(prefix, listed, remaining, open_, self.points[k])


@dataclass(frozen=True, eq=False)
class BoxClaims:
    """Boxes of supports of the same size; single cards have no points."""

    support: Integers
    lower: Integers
    upper: Integers
    points: FloatArray | None

    def __len__(self) -> int:
        return len(self.support)

    def claim(self, k: int) -> BoxClaim:
        support, lower, upper = (tuple(part[k].tolist()) for part in (self.support, self.lower, self.upper))
        return BoxClaim(support, lower, upper, None if self.points is None else self.points[k])


class ScoreClaims:
    """All claims of a proof, in its order."""

    def __init__(self, parts: list[NodeClaims | BoxClaims]) -> None:
        self.parts = [part for part in parts if len(part)]
        self.ends = np.cumsum([len(part) for part in self.parts])

    def __len__(self) -> int:
        return int(self.ends[-1]) if self.parts else 0

    def __getitem__(self, k: int) -> Claim:
        if not 0 <= k < len(self):
            raise IndexError(k)
        at = int(np.searchsorted(self.ends, k, side="right"))
        return self.parts[at].claim(k - int(self.ends[at]) + len(self.parts[at]))

    def __iter__(self) -> Iterator[Claim]:
        return (part.claim(k) for part in self.parts for k in range(len(part)))
