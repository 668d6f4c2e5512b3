"""How far a learned cost can be trusted: what it may be, how far it may turn, and who pulls at it.

Bounds and estimates stand beside each other and are never mixed: how far a cost may turn, and the range of the costs that
explain all observations, are computed from the observations as they are; bands are about other observations of the same kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import FloatArray
from surefoot.core.certificate import rounded_down, rounded_up
from surefoot.core.solve_options import SolveOptions
from surefoot.design.write.output_frame import build_frame
from surefoot.exceptions import SurefootError
from surefoot.inverse.estimator.consistent_range import consistent_range
from surefoot.inverse.estimator.decision_turns import decision_turn
from surefoot.inverse.estimator.inverse_optimizer import InverseOptimizer
from surefoot.inverse.estimator.proven_fit import proven_fit
from surefoot.inverse.oracle.cut_separation import Separation
from surefoot.inverse.problem.cost_proof import CostProof
from surefoot.inverse.problem.cost_witness import CostWitness
from surefoot.inverse.problem.problem import InverseProblem
from surefoot.sklearn_api.parameter_checks import is_number

BANDS = ("bootstrap", "leave-one-out")
# Refits are compared by their direction, which does not show in further digits.
REFIT_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class CostConfidence:
    """How far a learned cost can be trusted; made by :func:`cost_confidence`.

    Costs are directions: all numbers about entries are those of costs of length 1.

    Attributes
    ----------
    cost : ndarray
        The learned cost, of length 1.
    low, high : ndarray
        Band of every entry, an estimate: percentiles over refits to resampled observations, or the least and the largest over
        refits that each lack one observation. NaN without refits.
    least, most : ndarray
        Bounds: no cost that explains all observations has an entry outside of these, if it is scaled to be as long as the
        learned one along it; infinite where observations do not bound it. NaN where the learned cost does not explain all
        observations, or where that is not known.
    cone_degrees : float
        Bound: no cost that explains all observations, and is within a right angle of the learned one, is farther away than
        this. NaN as ``least``.
    turn_least, turn_most : ndarray
        For every observation, how many degrees the cost may turn before the decision that the model predicts there changes:
        it does not change below the first, and changes at the second in some direction (bounds, as far as forward solvers keep
        their tolerances). Equal where decisions are listed; NaN where they are not known: mixed, quadratic and
        caller's own problems, and degenerate corners of linear programmes.
    pull : ndarray
        For every observation, its share in the summed lengths of the gradients ``w_i g_i`` that hold the cost where it is:
        ``w_i g_i`` is the mean difference of features between its response and the decisions that compete with it, weighted by
        the multipliers that the certificate is made of. 0 means that the cost is still the best without that observation's
        loss. NaN where a fit has no such multipliers.
    moved : ndarray
        For every observation, by how many degrees the cost turns if it is left out (refits; NaN but for "leave-one-out").
    band : str or None
        What ``low`` and ``high`` are.
    level : float
        What part of the refits a bootstrap band holds.
    n_refits, n_failed : int
        Refits, and how many of them found no cost; those are not in the band.
    """

    cost: FloatArray
    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray
    cone_degrees: float
    turn_least: FloatArray
    turn_most: FloatArray
    pull: FloatArray
    moved: FloatArray
    band: str | None
    level: float
    n_refits: int
    n_failed: int

    @property
    def turn(self) -> float:
        """Degrees that the cost may turn in any direction without changing one of the decisions (a bound); NaN if unknown."""
        return float(self.turn_least.min())

    def to_frame(self, what: str = "entries") -> Any:
        """The numbers as a data frame.

        Parameters
        ----------
        what : {"entries", "observations"}, default="entries"
            One row per entry of the cost (``cost``, ``low``, ``high``, ``least``, ``most``), or per observation
            (``turn_least``, ``turn_most``, ``pull``, ``moved``).
        """
        if what not in ("entries", "observations"):
            raise ValueError(f"what={what!r} must be 'entries' or 'observations'.")
        names = ["cost", "low", "high", "least", "most"]
        if what == "observations":
            names = ["turn_least", "turn_most", "pull", "moved"]
        columns = {name: getattr(self, name) for name in names}
        key = "entry" if what == "entries" else "observation"
        return build_frame({key: np.arange(len(columns[names[0]])), **columns}, None)

    def __repr__(self) -> str:
        lines = [f"CostConfidence of {self.cost.size} entries from {self.pull.size} observations", *self.sentences()]
        return "\n  ".join(lines)

    def sentences(self) -> Iterator[str]:
        """What is known, one thing after the other."""
        known = np.flatnonzero(np.isfinite(self.turn_least))
        if known.size:
            first = known[int(np.argmin(self.turn_least[known]))]
            rest = "" if known.size == self.turn_least.size else f" (of {known.size} that could be judged)"
            yield (
                f"turning (bound): no decision{rest} changes while the cost turns by less than "
                f"{rounded_down(float(self.turn_least[first]), 3)} degrees; observation {first} is the first"
            )
        else:
            yield "turning: not known for decisions of this kind"
        if np.isnan(self.cone_degrees):
            yield "cone: the learned cost does not explain all observations, as far as is known, and has no cone around it"
        elif self.cone_degrees >= 90:
            yield "cone (bound): the observations do not confine the cost to less than a right angle"
        else:
            yield f"cone (bound): costs that explain everything are within {rounded_up(self.cone_degrees, 3)} degrees"
        if self.band is not None:
            failed = f", {self.n_failed} without an answer" if self.n_failed else ""
            wide = self.high - self.low
            at = int(np.argmax(wide)) if np.isfinite(wide).all() else 0
            share = f"{self.level:.0%} of " if self.band == "bootstrap" else ""
            yield (
                f"band (estimate, {share}{self.n_refits} {self.band} refits{failed}): widest for entry {at}, from "
                f"{self.low[at]:.3g} to {self.high[at]:.3g} around {self.cost[at]:.3g}"
            )
        if np.isfinite(self.pull).all() and self.pull.any():
            order = np.argsort(-self.pull, kind="stable")[:3]
            yield "pull: most by observations " + ", ".join(
                f"{i} ({self.pull[i]:.0%})" for i in order.tolist() if self.pull[i] > 0
            )
        if np.isfinite(self.moved).any():
            at = int(np.nanargmax(self.moved))
            yield f"left out: the cost turns most, by {self.moved[at]:.3g} degrees, without observation {at}"


def cost_confidence(
    model: InverseOptimizer,
    signals: Sequence[Any],
    responses: Sequence[Any],
    *,
    band: str | None = "bootstrap",
    n_resamples: int = 50,
    level: float = 0.9,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> CostConfidence:
    """How far a learned cost can be trusted.

    Parameters
    ----------
    model : fitted InverseOptimizer
    signals, responses
        The observations it was fitted to.
    band : {"bootstrap", "leave-one-out"} or None, default="bootstrap"
        What the bands of entries come from: refits to as many observations drawn with replacement, refits without one
        observation each, or no refits.
    n_resamples : int, default=50
        Refits of a bootstrap.
    level : float, default=0.9
        What part of the refits a bootstrap band is to hold, entry by entry.
    time_limit : float, optional
        Seconds for all refits and for the range together; refits that were not begun by then are not in the band, and a range
        is wider than it need be.
    random_state : int, numpy.random.Generator or None, default=None

    Returns
    -------
    CostConfidence

    Examples
    --------
    >>> import numpy as np
    >>> import surefoot as sf
    >>> draw = np.random.default_rng(0)
    >>> offers = [draw.uniform(0, 1, (5, 3)) for _ in range(40)]
    >>> chosen = [int(np.argmin(offer @ [1.0, 2.0, 3.0])) for offer in offers]
    >>> model = sf.inverse.InverseOptimizer(sf.inverse.forward.FiniteChoice(), approach="incenter").fit(offers, chosen)
    >>> trust = sf.inverse.cost_confidence(model, offers, chosen, n_resamples=10, random_state=0)
    >>> bool(0 < trust.turn < trust.cone_degrees < 10), trust.n_refits
    (True, 10)
    """
    check_is_fitted(model, "certificate_")
    _require(band, n_resamples, level)
    length = float(np.linalg.norm(model.cost_))
    if length == 0:
        raise ValueError("the learned cost is 0: it has no direction, and nothing to be sure of.")
    problem = model._pose(signals, responses)
    unit = model.cost_ / length
    options = SolveOptions(tolerance=max(model.tol, REFIT_TOLERANCE), max_iter=model.max_iter, time_limit=time_limit)
    separation = Separation()
    turns = [decision_turn(separation.oracle, example.instance, unit) for example in problem.examples]
    around = consistent_range(problem, separation, unit, options)
    n, p = problem.n_examples, problem.n_features
    nothing = np.full(p, np.nan)
    low, high, moved, made, failed = nothing, nothing, np.full(n, np.nan), 0, 0
    if band is not None:
        samples = _left_out(n) if band == "leave-one-out" else _drawn(n, n_resamples, random_state)
        refits = [_refit(model, problem, sample, options) for sample in samples if not options.out_of_time]
        found = np.array([refit for refit in refits if refit is not None]).reshape(-1, p)
        made, failed = len(refits), len(refits) - len(found)
        if len(found) and band == "bootstrap":
            low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
        elif len(found):
            low, high = found.min(axis=0), found.max(axis=0)
        if band == "leave-one-out":
            for i, refit in enumerate(refits):
                if refit is not None:
                    moved[i] = _apart(unit, refit)
    return CostConfidence(
        unit,
        low,
        high,
        nothing if around is None else around.least,
        nothing if around is None else around.most,
        np.nan if around is None else around.degrees,
        np.array([turn.least for turn in turns]),
        np.array([turn.most for turn in turns]),
        _pull(model, problem),
        moved,
        band,
        level,
        made,
        failed,
    )


def _require(band: Any, n_resamples: Any, level: Any) -> None:
    if band is not None and band not in BANDS:
        raise ValueError(f"band={band!r} must be one of {', '.join(map(repr, BANDS))}, or None.")
    if not isinstance(n_resamples, int | np.integer) or isinstance(n_resamples, bool) or n_resamples < 2:
        raise ValueError(f"n_resamples={n_resamples!r} must be a whole number of at least 2.")
    if not (is_number(level) and 0 < level < 1):
        raise ValueError(f"level={level!r} must be above 0 and below 1.")


def _left_out(n: int) -> Iterator[list[int]]:
    for i in range(n):
        yield [k for k in range(n) if k != i]


def _drawn(n: int, count: int, random_state: Any) -> Iterator[list[int]]:
    draw = np.random.default_rng(random_state)
    for _ in range(count):
        yield np.sort(draw.integers(0, n, n)).tolist()


def _refit(model: InverseOptimizer, problem: InverseProblem, sample: list[int], options: SolveOptions) -> FloatArray | None:
    """The cost of length 1 that other observations give, or None."""
    # Copies: an observation that was drawn twice counts as two.
    examples = tuple(replace(problem.examples[i]) for i in sample)
    if not examples:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cost = proven_fit(model, Separation(), replace(problem, examples=examples), options).cost
        except SurefootError:
            return None
    length = float(np.linalg.norm(cost))
    return np.asarray(cost / length) if length > 0 else None


def _apart(first: FloatArray, second: FloatArray) -> float:
    chord, sum_ = np.linalg.norm(first - second), np.linalg.norm(first + second)
    return float(np.degrees(2.0 * np.arctan2(chord, sum_)))


def _pull(model: InverseOptimizer, problem: InverseProblem) -> FloatArray:
    dual = model.outcome_.dual
    proof = dual.bound if isinstance(dual, CostWitness) else dual
    if not isinstance(proof, CostProof):
        return np.full(problem.n_examples, np.nan)
    cuts = problem.cuts(proof.owners.tolist(), proof.points)
    forces = np.zeros((problem.n_examples, problem.n_features))
    np.add.at(forces, cuts.owners, proof.weights[:, None] * cuts.slopes)
    size = np.linalg.norm(forces, axis=1)
    total = float(size.sum())
    return np.asarray(size / total if total > 0 else size)
