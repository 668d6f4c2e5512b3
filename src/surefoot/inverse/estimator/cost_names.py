"""What the entries of a learned cost price, in words."""

from __future__ import annotations

from typing import Any

from surefoot.inverse.forward.combinatorial import Assignment, ShortestPath
from surefoot.inverse.forward.models.called_model import as_forward


def cost_names(model: Any) -> list[str]:
    """A name for every entry of the cost of a fitted model: what its forward problem calls it, or else its number."""
    count = int(model.cost_.size)
    forward = as_forward(model.forward)
    known: Any = None
    if model.features is None:
        known = getattr(forward, "priced", None)
        if isinstance(forward, ShortestPath):
            known = forward.edges
        elif isinstance(forward, Assignment):
            known = [f"worker {i}, task {j}" for i in range(forward.n) for j in range(forward.n)]
    if known is None or len(known) != count:
        return [f"entry {k}" for k in range(count)]
    return [f"entry {name}" if isinstance(name, int) else _spelled(name) for name in known]


def _spelled(name: Any) -> str:
    """A name as text; an edge as its two ends, and its key if it has one."""
    if isinstance(name, tuple) and len(name) in (2, 3):
        return " to ".join(map(str, name[:2])) + "".join(f" ({key})" for key in name[2:])
    return str(name)
