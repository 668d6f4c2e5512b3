"""The figures that Lin, Fang, Fang and Gao (2024) print in Tables 2 to 5, by the keys of our own rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """Accuracy in percent, its standard deviation, and CPU seconds where the table has them."""

    accuracy: float
    std: float
    cpu: float | None = None


def _laws(kernel: str, violation: float, *pairs: tuple[float, float]) -> dict[tuple[str, str, float], Printed]:
    return {(kernel, law, violation): Printed(*pair) for law, pair in zip(("normal", "uniform", "t"), pairs, strict=True)}


# By kernel, law and violation.
TABLE_2 = {
    **_laws("quadratic", 1.0, (87.70, 5.15), (81.95, 8.20), (85.70, 6.18)),
    **_laws("quadratic", 0.2, (88.45, 4.02), (83.55, 7.75), (84.00, 5.57)),
    **_laws("quadratic", 0.1, (89.85, 5.67), (84.20, 6.31), (86.30, 6.12)),
    **_laws("rbf", 1.0, (96.70, 5.73), (90.55, 6.21), (92.55, 6.45)),
    **_laws("rbf", 0.2, (97.40, 4.38), (91.50, 6.30), (93.65, 6.03)),
    **_laws("rbf", 0.1, (98.00, 4.94), (91.85, 5.73), (91.70, 5.01)),
}


def _sets(kernel: str, second: object, *triples: tuple[float, float, float]) -> dict[tuple[str, object, str], Printed]:
    names = ("Syn_2d_20b", "Syn_8d_40b", "Syn_16d_100b")
    return {(kernel, second, name): Printed(*triple) for name, triple in zip(names, triples, strict=True)}


# By kernel, samples a batch and set; Mosek.
TABLE_3 = {
    **_sets("quadratic", 5, (84.20, 7.16, 0.99), (94.79, 3.47, 3.38), (92.43, 2.44, 77.90)),
    **_sets("quadratic", 10, (85.90, 6.52, 5.25), (96.15, 2.96, 12.14), (96.81, 1.66, 338.12)),
    **_sets("quadratic", 50, (88.80, 5.40, 35.97), (98.37, 2.03, 399.38), (98.01, 1.32, 10215.04)),
    **_sets("rbf", 5, (90.40, 6.46, 0.82), (97.12, 2.63, 3.51), (96.77, 1.67, 80.21)),
    **_sets("rbf", 10, (95.20, 4.28, 4.13), (97.53, 2.43, 12.89), (97.20, 1.55, 342.25)),
    **_sets("rbf", 50, (96.32, 4.12, 34.99), (98.36, 2.05, 432.92), (98.86, 1.05, 10142.65)),
}
# By kernel, method and set, 50 samples a batch.
TABLE_4 = {
    **{(kernel, "mosek", name): printed for (kernel, count, name), printed in TABLE_3.items() if count == 50},
    **_sets("quadratic", "admm", (86.00, 2.02, 5.12), (97.59, 7.71, 8.75), (97.12, 7.02, 94.01)),
    **_sets("rbf", "admm", (95.70, 5.31, 2.11), (97.43, 4.45, 11.32), (97.06, 3.75, 92.15)),
}
# By table, kernel and method.
TABLE_5 = {
    ("sonar", "quad", "mosek"): Printed(82.14, 7.27, 6.76),
    ("sonar", "quad", "admm"): Printed(81.36, 3.65, 0.11),
    ("sonar", "rbf", "mosek"): Printed(83.73, 7.30, 5.16),
    ("sonar", "rbf", "admm"): Printed(86.75, 3.98, 0.41),
    ("ionosphere", "quad", "mosek"): Printed(91.46, 3.17, 50.57),
    ("ionosphere", "quad", "admm"): Printed(90.04, 2.33, 0.34),
    ("ionosphere", "rbf", "mosek"): Printed(95.37, 4.71, 30.76),
    ("ionosphere", "rbf", "admm"): Printed(93.24, 2.58, 1.67),
    ("wisconsin", "quad", "mosek"): Printed(98.16, 3.68, 969.36),
    ("wisconsin", "quad", "admm"): Printed(97.57, 2.12, 12.82),
    ("wisconsin", "rbf", "mosek"): Printed(97.44, 1.99, 252.42),
    ("wisconsin", "rbf", "admm"): Printed(96.70, 1.30, 13.97),
}
# The column of cod-rna in Tables 6 to 8: rows and columns, and the four models' accuracies and CPU seconds.
COD_RNA_SHAPE = (59_535, 8)
COD_RNA_ACCURACY = {"svc quad": 92.98, "svc rbf": 81.46, "chance quad": 94.59, "chance rbf": 86.07}
COD_RNA_SECONDS = (7.80, 3.04, 7.07, 13.64)
