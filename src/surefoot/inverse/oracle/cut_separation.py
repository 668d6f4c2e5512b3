"""Separation over all observations: the worst decision of each at a cost vector, and proofs that it is the worst.

    loss_i(theta) = max over x in X(s_i) of   <theta, phi(s_i, x_i) - phi(s_i, x)> + weight d(x_i, x)

Its maximisers are the cuts of constraint generation and the subgradients of mirror descent: equation (14) of Zattoni Scroccaro,
Atasoy and Mohajerin Esfahani (2024). Sets of a few 0/1 unknowns are searched in one native call for all observations; what is
left, or takes too many nodes there, goes to the forward oracle one by one.
"""

from __future__ import annotations

import time

import numpy as np

from surefoot.core.arrays import FloatArray
from surefoot.inverse.oracle.binary_batch import BinaryBatch
from surefoot.inverse.oracle.binary_tree import prove_binary_loss
from surefoot.inverse.oracle.boxed_batch import BoxedBatch
from surefoot.inverse.oracle.cut_pool import CutPool
from surefoot.inverse.oracle.forward_oracle import ForwardOracle
from surefoot.inverse.oracle.parameters import MAX_LISTED, BinaryTreeParameters, ProofTreeParameters
from surefoot.inverse.oracle.proof_tree import prove_loss
from surefoot.inverse.oracle.solver_check import require_no_worse
from surefoot.inverse.oracle.worst_decisions import WorstDecisions
from surefoot.inverse.problem.decision_proof import DecisionTrees, LossProof
from surefoot.inverse.problem.decision_set import LinearSet, ListedSet
from surefoot.inverse.problem.distance import Distance
from surefoot.inverse.problem.hypothesis import LinearFeatures, QuadraticFeatures
from surefoot.inverse.problem.problem import Example, InverseProblem


class Separation:
    """The separation oracle of an inverse problem.

    Parameters
    ----------
    oracle : ForwardOracle, optional
        One that has solved forward problems of the same examples before.
    retains_cuts : bool, default=False
        Whether problems over the same observations with the same distance begin with the decisions that earlier ones met.
    """

    def __init__(self, oracle: ForwardOracle | None = None, *, retains_cuts: bool = False) -> None:
        self.oracle = ForwardOracle() if oracle is None else oracle
        self.retains_cuts = retains_cuts
        self._pools: dict[tuple[Distance, tuple[int, ...]], CutPool] = {}
        # The observations too, so that their identity in the key stays theirs.
        self._batch: tuple[tuple[int, Distance], tuple[Example, ...], BinaryBatch | BoxedBatch | None] | None = None

    def afresh(self) -> Separation:
        """A separation that has solved nothing yet, with programmes that are stacked already where they retain nothing."""
        other = Separation()
        if self._batch is not None and isinstance(self._batch[2], BoxedBatch):
            other._batch = self._batch
        return other

    def pool(self, problem: InverseProblem) -> CutPool:
        """The decisions that a solve begins with: none, unless cuts are retained."""
        if not self.retains_cuts:
            return CutPool(problem)
        # Pools refer to their problems, so that the identities of examples stay theirs.
        key = (problem.distance, tuple(map(id, problem.examples)))
        return self._pools.setdefault(key, CutPool(problem)).over(problem)

    def losses(
        self,
        problem: InverseProblem,
        theta: FloatArray,
        pool: CutPool | None = None,
        *,
        weight: float = 1.0,
        seconds: float = np.inf,
    ) -> tuple[FloatArray, FloatArray]:
        """Losses at a cost vector as found, and bounds they do not exceed; worst decisions go into the pool.

        Searches that are not done after ``seconds``, all together, leave the bounds that they have, which may be infinite.
        """
        started = time.perf_counter()
        least = np.array([0.0 if example.inside or problem.clamp else -np.inf for example in problem.examples])
        found, bounds = np.empty(least.size), np.empty(least.size)
        left = np.ones(least.size, dtype=np.bool_)
        together = self._together(problem, theta, weight, seconds)
        if together is not None:
            left = ~together.solved
            found, bounds = np.maximum(together.values, least), np.maximum(together.bounds, least)
            if pool is not None:
                at = np.flatnonzero(together.solved & (together.values > least))
                pool.add_all(at, together.points[at], together.slopes[at], together.distances[at])
        for i in np.flatnonzero(left).tolist():
            left_over = max(0.0, seconds - (time.perf_counter() - started))
            choice = self.oracle.augmented(problem.examples[i], theta, problem.distance, weight=weight, seconds=left_over)
            if not problem.clamp:
                require_no_worse(problem.examples[i], theta, choice)
            found[i], bounds[i] = max(choice.value, least[i]), max(choice.bound, least[i])
            if pool is not None and choice.value > least[i]:
                pool.add(i, choice.point, choice.slope, choice.distance)
        return found, bounds

    def proofs(
        self, problem: InverseProblem, theta: FloatArray, losses: FloatArray, *, seconds: float = np.inf
    ) -> tuple[LossProof | None, ...]:
        """Proofs of losses at a cost vector, for observations whose losses certificates cannot recompute alone.

        The loss itself stands for a proof that was not found, or not within ``seconds`` for all observations together. None
        where certificates go through all decisions.
        """
        until = time.perf_counter() + seconds
        found: list[LossProof | None] = []
        batch = self._batched(problem)
        trees: list[DecisionTrees | None] = [None] * losses.size
        if isinstance(batch, BoxedBatch):
            trees = batch.proofs(theta, losses + ProofTreeParameters.claim_tolerance * np.maximum(1.0, np.abs(losses)), seconds)
        for example, loss, tree in zip(problem.examples, losses.tolist(), trees, strict=True):
            if tree is not None:
                found.append(tree)
                continue
            decisions = example.instance.decisions
            binary = isinstance(decisions, LinearSet) and bool(decisions.binary.all())
            if isinstance(decisions, ListedSet) or (binary and decisions.n_unknowns <= BinaryTreeParameters.listed):
                found.append(None)
                continue
            left = until - time.perf_counter()
            proof = self._proof(problem, example, theta, loss, left) if left > 0 and np.isfinite(loss) else None
            # Certificates go through some more vectors of 0/1 unknowns where there is no tree, if there is time.
            listed = binary and decisions.n_unknowns <= MAX_LISTED
            found.append(loss if proof is None and not (listed and time.perf_counter() < until) else proof)
        return tuple(found)

    def _proof(
        self, problem: InverseProblem, example: Example, theta: FloatArray, loss: float, seconds: float
    ) -> LossProof | None:
        decisions, features = example.instance.decisions, example.instance.features
        if isinstance(features, QuadraticFeatures):
            return self.oracle.proof(example, theta, problem.distance, seconds=seconds)
        if not isinstance(decisions, LinearSet) or not isinstance(features, LinearFeatures):
            return None
        if decisions.binary.all():
            if not np.isin(example.response, (0.0, 1.0)).all():
                return None
            tree = prove_binary_loss(example, theta, problem.distance, loss)
            if tree is not None:
                return tree
        # Rounding grows with the cost; what is not needed of it is not allowed for.
        sizes = (max(1.0, abs(loss)), max(1.0, abs(loss), float(np.abs(theta).sum())))
        tolerance = ProofTreeParameters.claim_tolerance
        until = time.perf_counter() + seconds
        trees = (
            prove_loss(example, theta, problem.distance, loss + tolerance * size, seconds=until - time.perf_counter())
            for size in sizes
        )
        return next((tree for tree in trees if tree is not None), None)

    def _together(self, problem: InverseProblem, theta: FloatArray, weight: float, seconds: float) -> WorstDecisions | None:
        """Worst decisions from one call, where that is possible; the batch of the last observations is retained."""
        batch = self._batched(problem)
        return None if batch is None else batch.worst(theta, weight, seconds)

    def _batched(self, problem: InverseProblem) -> BinaryBatch | BoxedBatch | None:
        key = (id(problem.examples), problem.distance)
        if self._batch is None or self._batch[0] != key:
            self._batch = (key, problem.examples, BinaryBatch.of(problem) or BoxedBatch.of(problem))
        return self._batch[2]
