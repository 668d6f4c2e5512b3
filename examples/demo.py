"""From a table to a report: fit a robust model, read its proof, put it under stress, and write everything into one file.

The table is scikit-learn's breast cancer data: four measurements as they are, and three that a doctor reads off as grades. What
may shift tomorrow is said in certainties: another laboratory measures a little differently and draws its boundaries elsewhere.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import surefoot as sf

MEASURED = ["mean texture", "mean smoothness", "worst compactness", "worst concave points"]
GRADED = {
    "worst area": ["low", "middle", "high"],
    "mean concavity": ["low", "middle", "high"],
    "worst symmetry": ["low", "high"],
}


def patients() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers and grades side by side, and the diagnoses."""
    data = load_breast_cancer(as_frame=True)
    table = data.data[MEASURED].copy()
    for name, grades in GRADED.items():
        table[name] = pd.qcut(data.data[name], len(grades), labels=grades)
    return table, data.target_names[data.target]


def main() -> None:
    X, y = patients()
    new = np.arange(len(X)) % 3 == 0  # a third of the patients, whom no model has seen
    shift = sf.ShiftModel(numeric_certainty=0.7, numeric_interval="0.4 std", categorical_certainty=0.8, robustness=0.8)
    print(f"{(~new).sum()} patients to learn from, {new.sum()} to judge by; what may shift:\n{shift.calibrate(X[~new])}\n")

    robust = sf.RobustLogisticRegression(shift=shift).fit(X[~new], y[~new])
    plain = sf.RobustLogisticRegression(radius=0.0).fit(X[~new], y[~new])
    print(f"Certificate, verified: {robust.certificate_.verified}\n{robust.certificate_.claim}\n")
    print(f"What would hurt most\n{robust.worst_case(X[new], y[new])}\n")
    models = {"plain": plain, "robust": robust}
    print(sf.stress_test(models, X[new], y[new], shift, n_sets=2000, random_state=0, reference=X[~new]))

    path = Path("reports") / "demo.html"
    path.parent.mkdir(exist_ok=True)
    title = "Is it malignant? A robust model of seven findings"
    training = (X[~new], y[~new])  # a plain regression is fitted to these rows, and shown beside the robust one
    sf.report(robust, X[new], y[new], path, title=title, training=training, by="worst area", json=True, overwrite=True)
    print(f"\nThe report: {path.resolve()}, its figures: {path.with_suffix('.json').name}")


if __name__ == "__main__":
    main()
