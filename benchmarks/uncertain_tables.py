"""The tables behind Tables 6 to 8 of Lin, Fang, Fang and Gao (2024), what the paper says of each, and some others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from problems import data_directory, read_columns


@dataclass(frozen=True)
class Source:
    """How a file becomes a table, and its column of Tables 6 and 7: rows, columns, and the four accuracies in percent."""

    file: str
    label: str
    classes: tuple[str, str]
    shape: tuple[int, int]
    published: dict[str, float]
    drop: tuple[str, ...] = ()
    folder: str = "uci"


def _published(svc_quad: float, svc_rbf: float, quad: float, rbf: float) -> dict[str, float]:
    return {"svc quad": svc_quad, "svc rbf": svc_rbf, "chance quad": quad, "chance rbf": rbf}


SOURCES = {
    "sonar": Source("sonar.csv", "class", ("R", "M"), (208, 60), _published(81.95, 83.14, 81.36, 86.75)),
    "liver": Source("bupa_liver.csv", "selector", ("1", "2"), (319, 6), _published(73.98, 76.49, 73.05, 75.99)),
    "ionosphere": Source("ionosphere.csv", "class", ("b", "g"), (351, 34), _published(91.10, 95.01, 90.04, 93.24)),
    "wisconsin": Source(
        "breast_cancer_wisconsin_original.csv",
        "class",
        ("2", "4"),
        (666, 9),
        _published(94.88, 95.97, 97.57, 96.70),
        drop=("sample_code",),
    ),
    "german": Source("german_credit.csv", "class", ("1", "2"), (1000, 20), _published(70.62, 71.00, 70.50, 72.20)),
    # 1210 + 384 rows of these two classes are the paper's 1594.
    "car": Source("car.csv", "class", ("unacc", "acc"), (1594, 6), _published(94.90, 95.98, 85.81, 93.39)),
    "heart": Source("framingham.csv", "TenYearCHD", ("0", "1"), (3658, 15), _published(84.76, 84.76, 84.74, 84.83)),
}
# Tables that are not the paper's, by file, label and classes.
OTHERS = {
    "wdbc": Source("wdbc.csv", "diagnosis", ("B", "M"), (569, 30), {}, drop=("id",)),
    "spambase": Source("spambase_data.csv.gz", "Spam", ("0", "1"), (4601, 57), {}, folder="riskslim"),
    "credit": Source("credit_approval.csv", "A16", ("-", "+"), (653, 15), {}),
    "heloc": Source("heloc_fico.csv.gz", "RiskPerformance", ("Bad", "Good"), (10459, 23), {}, folder="shift"),
    "mammographic": Source("mammographic_masses.csv", "severity", ("0", "1"), (830, 5), {}),
    "cylinder": Source("cylinder_bands.csv", "band_type", ("band", "noband"), (277, 35), {}),
}
SECONDS = {  # Table 8
    "sonar": (0.01, 0.01, 0.11, 0.41),
    "liver": (1.08, 0.39, 0.91, 1.72),
    "ionosphere": (0.01, 0.01, 0.34, 1.67),
    "wisconsin": (0.26, 0.01, 0.01, 0.02),
    "german": (0.03, 0.03, 0.03, 0.09),
    "car": (0.08, 0.06, 0.05, 0.10),
    "heart": (0.03, 0.01, 0.02, 0.04),
}
# Categories with an order of their own; all others are numbered in the order of their codes.
ORDERS = {value: at for values in (("low", "med", "high", "vhigh"), ("small", "big")) for at, value in enumerate(values)}
ORDERS |= {"big": 2, "5more": 5, "more": 6}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and labels (True for the second class); rows with gaps and of other classes dropped."""
    source = (SOURCES | OTHERS)[name]
    columns = read_columns(data_directory() / source.folder / source.file)
    labels = columns.pop(source.label)
    columns = {column: values for column, values in columns.items() if column not in source.drop}
    kept = np.isin(labels, source.classes)
    for values in columns.values():
        kept &= ~np.isin(values, ("?", "NA", ""))
    X = np.column_stack([_numbers(values[kept]) for values in columns.values()])
    return X, labels[kept] == source.classes[1]


def _numbers(values: np.ndarray) -> np.ndarray:
    try:
        return values.astype(np.float64)
    except ValueError:
        codes = {value: at for at, value in enumerate(np.unique(values).tolist())}
        return np.array([ORDERS.get(value, _digit(value, codes)) for value in values.tolist()], dtype=np.float64)


def _digit(value: str, codes: dict[str, int]) -> float:
    return float(value) if value.isdigit() else float(codes[value])
