"""
What caution costs, and what it saves
=====================================

A model that is safe against shifts gives away a little where nothing shifts. How much, and what for, shows when both are put
under the same thousand shifts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

import surefoot as sf

# %%
# Four measurements, and two that were read off as grades. Two thirds are for training.
data = load_breast_cancer(as_frame=True)
table = data.data[["mean texture", "worst concave points", "mean smoothness", "worst symmetry"]].copy()
table["area"] = pd.qcut(data.data["worst area"], 3, labels=["small", "middle", "large"])
table["concavity"] = pd.qcut(data.data["mean concavity"], 3, labels=["low", "middle", "high"])
answer = data.target_names[data.target]
new = np.arange(len(table)) % 3 == 0

# %%
# Another laboratory reads grades differently in one of five cases, and moves numbers a little.
shift = sf.ShiftModel(numeric_certainty=0.7, categorical_certainty=0.8, robustness=0.8)
models = {
    "plain": sf.RobustLogisticRegression(radius=0.0).fit(table[~new], answer[~new]),
    "robust": sf.RobustLogisticRegression(shift=shift).fit(table[~new], answer[~new]),
}
report = sf.stress_test(models, table[new], answer[new], shift, n_sets=1000, random_state=0, reference=table[~new])
print(report)

# %%
# As the table is, the plain model is the better one. Under shifts, its losses spread far to the right.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for metric, ax in zip(["auc", "log_loss"], axes, strict=True):
    sf.StressDisplay.from_report(report, metric=metric, ax=ax)
