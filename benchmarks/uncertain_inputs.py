"""Uncertain inputs as in Section 4.1 of Lin, Fang, Fang and Gao (2024): batches of normal samples around given means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem

# The paper's parameters for all of Syn_2d_20b, and its covariance.
COST, VIOLATION, VARIANCE, PER_BATCH = 2.0**10, 0.2, 0.05, 50
QUADRATIC_OFFSET = 2.0**2


@dataclass(frozen=True)
class SynSet:
    """One of the paper's synthetic sets; ``bandwidth`` is that of its RBF kernel, exp(-||x - z||^2 / (2 bandwidth^2))."""

    name: str
    n_columns: int
    n_batches: int
    bandwidth: float


# The paper gives 2^-2 for two columns. Distances grow with the number of columns, and so must the bandwidth.
SETS = (SynSet("Syn_2d_20b", 2, 20, 0.25), SynSet("Syn_8d_40b", 8, 40, 2.0), SynSet("Syn_16d_100b", 16, 100, 2.0))
KERNEL_NAMES = ("quadratic", "rbf")


def uncertain_problem(chosen: SynSet, kernel: str, per_batch: int = PER_BATCH, random_state: int = 0) -> ChanceSVMProblem:
    """Normal means, the half nearest the origin with label +1 and the others moved outwards by half; normal samples around."""
    rng = np.random.default_rng(random_state)
    means = rng.normal(size=(chosen.n_batches, chosen.n_columns))
    means = means[np.argsort(np.einsum("ij,ij->i", means, means))]
    labels = np.where(np.arange(chosen.n_batches) < chosen.n_batches // 2, 1.0, -1.0)
    means[labels < 0] *= 1.5
    noise = rng.normal(size=(chosen.n_batches * per_batch, chosen.n_columns))
    made = {
        "quadratic": Kernel("poly", gamma=1.0, degree=2, coef0=QUADRATIC_OFFSET),
        "rbf": Kernel("rbf", gamma=0.5 / chosen.bandwidth**2),
    }
    return ChanceSVMProblem(
        samples=np.repeat(means, per_batch, axis=0) + np.sqrt(VARIANCE) * noise,
        starts=per_batch * np.arange(chosen.n_batches + 1),
        labels=labels,
        costs=np.full(chosen.n_batches, COST),
        violation=np.full(chosen.n_batches, VIOLATION),
        kernel=made[kernel],
    )
