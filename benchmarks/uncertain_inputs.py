"""Uncertain inputs as in Section 4.1 of Lin, Fang, Fang and Gao (2024): batches of samples around given means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem

# The paper's parameters for all of Syn_2d_20b, and its covariance.
COST, VIOLATION, VARIANCE = 2.0**10, 0.2, 0.05
QUADRATIC_OFFSET = 2.0**2
# Half the width of the uniform law, and variance and degrees of freedom of the t law.
HALF_WIDTH, T_VARIANCE, T_FREEDOM = 0.75, 0.6, 3
LAWS = ("normal", "uniform", "t")


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


def syn_means(
    chosen: SynSet, rng: np.random.Generator, outwards: float, exchanged: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normal means, the half nearest the origin with label +1 and the others moved outwards; then so many pairs exchanged."""
    means = rng.normal(size=(chosen.n_batches, chosen.n_columns))
    means = means[np.argsort(np.einsum("ij,ij->i", means, means))]
    half = chosen.n_batches // 2
    labels = np.where(np.arange(chosen.n_batches) < half, 1.0, -1.0)
    means[labels < 0] *= outwards
    if exchanged:
        inner, outer = rng.choice(half, exchanged, replace=False), half + rng.choice(half, exchanged, replace=False)
        means[[*inner, *outer]] = means[[*outer, *inner]]
    return means, labels


def syn_noise(
    law: str, shape: tuple[int, int], rng: np.random.Generator, t_variance: float = T_VARIANCE
) -> NDArray[np.float64]:
    """Deviations from the mean, one row a sample; the t law is the joint one, with a common denominator."""
    if law == "normal":
        return np.sqrt(VARIANCE) * rng.normal(size=shape)
    if law == "uniform":
        return rng.uniform(-HALF_WIDTH, HALF_WIDTH, size=shape)
    scale = np.sqrt(t_variance * (T_FREEDOM - 2) / T_FREEDOM)
    return scale * rng.normal(size=shape) / np.sqrt(rng.chisquare(T_FREEDOM, size=(shape[0], 1)) / T_FREEDOM)


def syn_problem(
    chosen: SynSet, kernel: str, samples: NDArray[np.float64], labels: NDArray[np.float64], violation: float = VIOLATION
) -> ChanceSVMProblem:
    """The problem of samples that stand batch by batch, as many of each, at the paper's price."""
    made = {
        "quadratic": Kernel("poly", gamma=1.0, degree=2, coef0=QUADRATIC_OFFSET),
        "rbf": Kernel("rbf", gamma=0.5 / chosen.bandwidth**2),
    }
    return ChanceSVMProblem(
        samples=samples,
        starts=len(samples) // len(labels) * np.arange(len(labels) + 1),
        labels=labels,
        costs=np.full(len(labels), COST),
        violation=np.full(len(labels), violation),
        kernel=made[kernel],
    )
