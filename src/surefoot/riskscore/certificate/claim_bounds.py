"""What every claim of a proof proves, in batches of claims of one size: nodes, boxes of points, single cards.

The plane at a claim's point, least over the cards of its box, bounds these cards; less the gains of the columns that a support
may add (``largest_gains``) it bounds the supports that a node prunes. A box with one card is no exception, whatever the form of
the loss: the point says at which scale and price its plane touches. But such a card may break a rule, or keep all of them at
fewer scales.

Claims go through ``ways`` to compute planes, the fast one first: what it leaves below the threshold is left to the next. Nodes
with room for one or two columns are looked at by ``curvature_bounds`` in between, in doubles whatever the arithmetic.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.core.enclosure import enclose
from surefoot.riskscore.certificate.card_table import Scales
from surefoot.riskscore.certificate.counted_planes import CountedPlanes
from surefoot.riskscore.certificate.curvature_bounds import curvature_bounds
from surefoot.riskscore.certificate.largest_gains import largest_gains
from surefoot.riskscore.certificate.loss_planes import LossPlanes
from surefoot.riskscore.certificate.proof_reader import Claims, boxes_of

Ways = Sequence[CountedPlanes | LossPlanes]


def bounds_of(
    claims: Claims, ways: Ways, threshold: float, until: float = np.inf, counted: CountedPlanes | None = None
) -> FloatArray:
    """A number at or below the objective of every card that a claim is about, claim by claim; inf if there is none.

    No batch of claims is begun after ``until``, a moment of the clock: what is left then stays where it was, at first -inf.
    Nodes may rest on ``curvature_bounds`` where there are ``counted`` planes.
    """
    found, table = np.full(len(claims), -np.inf), ways[0].table
    for planes in ways:
        for at in planes.batches(claims, np.flatnonzero(~(found >= threshold))):
            if time.monotonic() > until:
                return found
            part = claims.take(at)
            found[at] = _bounds(part, planes, table.scales)
            if not table.rules or len(claims.candidates) or planes is not ways[-1]:
                continue
            single = np.flatnonzero(~(found[at] >= threshold) & np.all(part.lower == part.upper, axis=1))
            if single.size:
                cards = part.take(single)
                low, high = table.scales_of(cards.support, cards.lower, sure=False)
                found[at[single]] = np.where(low <= high, _bounds(cards, planes, (low, high)), np.inf)
        if counted is not None and len(claims.candidates) and planes is ways[0]:
            rest = np.flatnonzero(~(found >= threshold))
            found[rest] = np.maximum(found[rest], _bent_bounds(claims.take(rest), ways, counted, threshold, until))
    return found


def _bent_bounds(nodes: Claims, ways: Ways, counted: CountedPlanes, threshold: float, until: float) -> FloatArray:
    """Bounds on nodes by curvature; the cards of their own supports, which are no candidates, by planes as ever."""
    found = curvature_bounds(nodes, counted, threshold, until)
    own = np.flatnonzero(nodes.own & (found > -np.inf))
    boxes = boxes_of(nodes.support[own], nodes.lower[own], nodes.upper[own], nodes.points[own])
    found[own] = np.minimum(found[own], bounds_of(boxes, ways, threshold, until))
    return found


def _bounds(part: Claims, planes: CountedPlanes | LossPlanes, scales: Scales) -> FloatArray:
    """Bounds on cards whose scales lie between two ends."""
    table, size = planes.table, part.support.shape[1]
    found: Any = planes.at(part)
    gained = np.full(len(part), -np.inf)
    if len(part.candidates):
        gained = largest_gains(planes.gains(found, part), part.marks, part.starts, table.size - size - 1)
    bounds = np.full(len(part), np.inf)
    for also, gain, n_columns in ((part.own, 0.0, size), (gained > -np.inf, gained, size + 1)):
        if also.any():
            least = enclose(planes.least(found, part, np.where(also, gain, 0.0), scales))
            bounds = np.where(also, np.minimum(bounds, (least + enclose(table.penalty) * n_columns).low), bounds)
    return bounds
