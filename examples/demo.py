"""A robust model of a small medical table, its proof, and the shift that would hurt it most.

The table is scikit-learn's breast cancer data: four measurements as they are, and three that a doctor reads off as grades.
The grades are what shifts: another laboratory draws its boundaries elsewhere.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

import surefoot as sf

RADIUS = 0.1
MEASURED = ["mean texture", "mean smoothness", "worst compactness", "worst concave points"]
GRADED = {"worst area": 3, "mean concavity": 3, "worst symmetry": 2}
GRADES = {2: ["low", "high"], 3: ["low", "middle", "high"]}


def mixed_table() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Numbers and grades side by side, the diagnoses, and the names of the columns."""
    data = load_breast_cancer()
    column = dict(zip(data.feature_names.tolist(), data.data.T, strict=True))
    columns: list[np.ndarray] = [column[name].astype(object) for name in MEASURED]
    for name, count in GRADED.items():
        boundaries = np.quantile(column[name], np.arange(1, count) / count)
        columns.append(np.array(GRADES[count], dtype=object)[np.searchsorted(boundaries, column[name])])
    return np.column_stack(columns), data.target_names[data.target], [*MEASURED, *GRADED]


def aligned(rows: list[list[str]], left: int) -> list[str]:
    """Rows of text under each other; the first ``left`` columns flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def main() -> None:
    X, y, names = mixed_table()
    called = {f"x{at}": name for at, name in enumerate(names)}  # an array has no names of its own
    model = sf.RobustLogisticRegression(radius=RADIUS, categorical_weights=0.5).fit(X, y)
    plain = sf.RobustLogisticRegression(radius=0.0, categorical_weights=0.5).fit(X, y)

    report = [f"Robust logistic regression: {X.shape[0]} rows, {len(MEASURED)} measurements, {len(GRADED)} graded columns", ""]
    report += [f"Coefficients (log odds of {str(model.classes_[1])!r}, intercept {model.intercept_[0]:.3f})"]
    table = model.coefficients()
    rows = [["column", "level", "robust", "plain"]]
    for feature, level, robust, unprotected in zip(
        table["feature"], table["level"], table["coefficient"], plain.coefficients()["coefficient"], strict=True
    ):
        rows.append([called[feature], level or "", f"{robust:.3f}", f"{unprotected:.3f}"])
    report += aligned(rows, left=2)

    proof = model.certificate_
    report += [
        "",
        "Certificate",
        f"  {proof.claim}",
        f"  verified: {'yes' if proof.verified else 'NO'}",
        f"  iterations: {model.n_iter_}",
    ]

    worst = model.worst_case(X, y)
    report += ["", f"What would hurt most (all shifts that cost at most {RADIUS} per row on average)"]
    rows = [["column", "from", "to", "share of rows", "share of budget"]]
    moves = worst.summary()
    for feature, old, new, mass, budget in zip(
        *(moves[part] for part in ("feature", "from", "to", "mass", "budget")), strict=True
    ):
        ends = [str(old), str(new)] if old is not None else ["(any value)", "(far away)"]
        share = f"{mass:.1%}" if mass >= 0.001 else "< 0.1%"
        rows.append([called.get(feature, feature), *ends, share, f"{budget / RADIUS:.1%}"])
    report += aligned(rows[:8], left=3)

    exposed = plain.worst_case(X, y, radius=RADIUS)
    report += ["", "Mean log loss"]
    rows = [["", "as the table is", "worst shift"]]
    rows += [
        [name, f"{case.nominal_loss:.3f}", f"{case.expected_loss:.3f}"]
        for name, case in (("robust", worst), ("plain", exposed))
    ]
    report += aligned(rows, left=1)

    path = Path("reports") / "demo.txt"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(report) + "\n", encoding="utf-8")
    print(*report, "", f"This report: {path.resolve()}", sep="\n")


if __name__ == "__main__":
    main()
