"""Tuning of the cutting-plane methods."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TreeParameters:
    """Branching and separation inside one tree, ours or that of SCIP. Not tuned.

    Attributes
    ----------
    integrality : float
        Distance to an integer below which a variable of the relaxation counts as integer.
    cut_gap_fraction : float
        A tangent at a fractional solution must raise the loss there by this fraction of the node's gap to the cutoff. Smaller:
        more cuts, fewer nodes, larger programmes.
    max_cuts_per_node : int
        Rounds of such tangents at one node.
    """

    integrality: float = 1e-6
    cut_gap_fraction: float = 0.1
    max_cuts_per_node: int = 3


@dataclass(frozen=True)
class CutParameters:
    """Initialisation and primal heuristics of LCPA. Not tuned, apart from what other records say.

    Attributes
    ----------
    path_cuts : int
        Tangents along the l1 path before the first relaxation.
    relaxation_rounds : int
        Relaxations solved, with two tangents each, before branching begins.
    relaxation_gap : float
        Relative gap between loss and relaxation at which these rounds end. What remains is closed by branching.
    initial_fraction : float
        Fraction of the time left that the first card, then the path, and then these rounds may take.
    first_card_seconds : float
        Most seconds for the first card; small tables take less.
    heuristic_rows : int
        Rows, drawn once, on which cards are rounded and polished. Objectives are always those of all rows.
    polish_ratio : float
        Cards whose objective is up to this multiple of the incumbent's are polished.
    report_interval : float
        Seconds between two lines of history.
    tree : TreeParameters
    """

    path_cuts: int = 25
    relaxation_rounds: int = 150
    relaxation_gap: float = 1e-4
    initial_fraction: float = 0.1
    first_card_seconds: float = 1.0
    heuristic_rows: int = 20_000
    polish_ratio: float = 1.1
    report_interval: float = 0.5
    tree: TreeParameters = TreeParameters()
