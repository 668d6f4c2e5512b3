"""Claims about score cards as a test writes them down, and all ways to compute their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.riskscore.certificate.card_table import CardTable
from surefoot.riskscore.certificate.counted_planes import CountedPlanes
from surefoot.riskscore.certificate.loss_planes import LossPlanes
from surefoot.riskscore.certificate.proof_reader import Claims
from surefoot.riskscore.certificate.subset_counts import SubsetCounts


def node_claims(
    table: CardTable,
    intercepts: tuple[int, int],
    support: np.ndarray,
    starts: np.ndarray,
    candidates: np.ndarray,
    marks: np.ndarray,
    points: np.ndarray,
    own: np.ndarray,
) -> Claims:
    """Nodes, whose boxes hold every card on their prefix."""
    lower, upper = (
        np.column_stack([np.full(len(support), float(end)), limit[support]])
        for end, limit in zip(intercepts, (table.lower, table.upper), strict=True)
    )
    return Claims(support, lower, upper, points, own, starts, candidates, marks)


def ways_of(table: CardTable, columns: np.ndarray | None = None) -> list[Any]:
    """From whole counts where they decide, and in enclosures. Supports list columns in the order given, or in the table's."""
    columns = np.arange(table.columns.shape[1]) if columns is None else columns
    if not SubsetCounts.suits(table, columns):
        return [LossPlanes(table)]
    counts = SubsetCounts(table, columns)
    return [CountedPlanes(table, counts, exact=False), CountedPlanes(table, counts, exact=True), LossPlanes(table)]
