"""The chance-constrained SVM as the paper writes it, handed to a generic conic solver: slow and obviously right."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from surefoot.chancesvm.problem.kernel_matrix import mended
from surefoot.chancesvm.problem.kernels import Kernel
from surefoot.chancesvm.problem.problem import ChanceSVMProblem, KernelPlane


def paper_optimum(problem: ChanceSVMProblem) -> float:
    """(DRCKSVM_aSOCP), over the coordinates of w in a basis of the samples' span."""
    gram = problem.kernel.products(problem.samples, problem.samples)
    roots, vectors = np.linalg.eigh(gram)
    kept = roots > 1e-13 * roots[-1]
    features = vectors[:, kept] * np.sqrt(roots[kept])
    w, b, slack = cp.Variable(int(kept.sum())), cp.Variable(), cp.Variable(problem.n_batches, nonneg=True)
    constraints = []
    for i in range(problem.n_batches):
        batch = slice(problem.starts[i], problem.starts[i + 1])
        mean = problem.weights[batch] @ features[batch]
        root = np.sqrt(problem.weights[batch])[:, None] * (features[batch] - mean)
        stacked = [root @ w, np.sqrt(problem.covariance_radius[i]) * w] if problem.covariance_radius[i] > 0 else [root @ w]
        spread = problem.tau[i] * cp.norm(cp.hstack(stacked))
        if problem.mean_radius[i] > 0:
            spread += problem.mean_radius[i] * cp.norm(w)
        constraints.append(problem.labels[i] * (mean @ w + b) >= 1 - slack[i] + spread)
    programme = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + problem.costs @ slack), constraints)
    programme.solve(solver=cp.CLARABEL)
    return float(programme.value)


def exact_objective(problem: ChanceSVMProblem, plane: KernelPlane) -> Any:
    """The objective of a plane from the definitions, in 400 bits: kernels of pairs, moments sample by sample."""
    import flint

    with flint.ctx.workprec(400):
        arb, kernel = flint.arb, problem.kernel
        rows = [[arb(float(x)) for x in row] for row in problem.samples]
        centre = None if kernel.centre is None else [arb(x) for x in kernel.centre]

        def product(x: Any, z: Any) -> Any:
            if kernel.name == "rbf":
                return (-arb(kernel.gamma) * sum(((a - b) ** 2 for a, b in zip(x, z, strict=True)), arb(0))).exp()
            dot = sum((a * b for a, b in zip(x, z, strict=True)), arb(0))
            return dot if kernel.name == "linear" else (arb(kernel.gamma) * dot + arb(kernel.coef0)) ** int(kernel.degree)

        def seen(s: int, t: int) -> Any:
            if kernel.name == "precomputed":
                return rows[s][t]
            found = product(rows[s], rows[t])
            if centre is not None:
                found += product(centre, centre) - product(rows[s], centre) - product(centre, rows[t])
            return found

        count = problem.n_samples
        coefficients = [arb(float(c)) for c in plane.coefficients]
        values = [sum((coefficients[t] * seen(s, t) for t in range(count)), arb(0)) for s in range(count)]
        square = sum((c * value for c, value in zip(coefficients, values, strict=True)), arb(0))
        # What is 0 by its definition comes out as a ball around it.
        square = square if square > 0 else arb(0)
        total = square / 2
        for i in range(problem.n_batches):
            own = range(int(problem.starts[i]), int(problem.starts[i + 1]))
            whole = sum((arb(float(problem.weights[s])) for s in own), arb(0))
            p = {s: arb(float(problem.weights[s])) / whole for s in own}
            mean = sum((p[s] * values[s] for s in own), arb(0))
            variance = sum((p[s] * (values[s] - mean) ** 2 for s in own), arb(0))
            variance = variance if variance > 0 else arb(0)
            eps = arb(float(problem.violation[i]))
            widened = variance + arb(float(problem.covariance_radius[i])) * square
            demand = 1 - int(problem.labels[i]) * (mean + arb(plane.intercept))
            demand += ((1 - eps) / eps * widened).sqrt() + arb(float(problem.mean_radius[i])) * square.sqrt()
            total += arb(float(problem.costs[i])) * max(demand, arb(0))
        return float(total)


KERNELS = (
    Kernel("linear"),
    Kernel("poly", gamma=0.5, degree=2, coef0=1.0),
    Kernel("poly", gamma=0.7, degree=3, coef0=0.0),
    Kernel("rbf", gamma=0.5),
    Kernel("callable", function=lambda left, right: 1.0 + left @ right.T),
)


def random_problem(
    seed: int,
    kernel: Kernel,
    *,
    violation: float = 0.1,
    cost: float = 10.0,
    n_batches: int = 8,
    most: int = 6,
    radii: bool = False,
) -> ChanceSVMProblem:
    """Batches of different sizes (the first has a single sample), weights, costs and violations, in three columns."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, most + 1, n_batches)
    sizes[0] = 1
    labels = np.where(np.arange(n_batches) % 2 == 0, 1.0, -1.0)
    centres = rng.normal(size=(n_batches, 3)) + labels[:, None]
    samples = np.repeat(centres, sizes, axis=0) + 0.3 * rng.normal(size=(int(sizes.sum()), 3))
    weights = rng.uniform(0.5, 1.5, int(sizes.sum()))
    starts = np.concatenate(([0], np.cumsum(sizes)))
    weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), sizes)
    if kernel.name == "precomputed":
        mapped = Kernel("rbf", gamma=0.5)
        samples = mapped.products(samples, samples)
    return ChanceSVMProblem(
        samples=samples,
        starts=starts,
        labels=labels,
        costs=cost * rng.uniform(0.5, 2.0, n_batches),
        violation=np.clip(violation * rng.uniform(0.8, 1.2, n_batches), 1e-3, 1 - 1e-3),
        kernel=kernel,
        weights=weights,
        mean_radius=np.full(n_batches, 0.03) if radii else None,
        covariance_radius=np.full(n_batches, 0.02) if radii else None,
    )


def mended_problem(seed: int, kernel: Kernel, **settings: Any) -> ChanceSVMProblem:
    """The same with a kernel matrix that is certainly positive semidefinite, as estimators pose it."""
    return mended(random_problem(seed, kernel, **settings))
