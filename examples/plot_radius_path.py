"""
Choosing the radius
===================

How far tomorrow's table may be from today's is a choice. A radius of 0 trusts the training rows completely; a large radius
trusts nothing but the share of the two classes. Cross-validation finds the radius that predicts best on rows the model has not
seen, and the path shows what each step of caution costs.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer

import surefoot as sf

# %%
# A table with numbers and categories: two measurements are graded, as a doctor would read them off. Every seventh patient makes
# a small study, in which caution pays even if nothing shifts.
data = load_breast_cancer(as_frame=True)
grades = ["low", "middle", "high"]
X = data.data[["mean texture", "mean smoothness", "worst compactness", "worst concave points"]].copy()
for name in ("worst area", "mean concavity"):
    X[name] = pd.qcut(data.data[name], 3, labels=grades)
X, y = X[::7], data.target_names[data.target[::7]]

# %%
# One fit solves the whole path, for each fold and for all rows, every solve starting from the one before. The grid is that of
# the paper unless ``radii`` says otherwise.
model = sf.RobustLogisticRegressionCV(radii=12, categorical_weights=0.5).fit(X, y)
model.path_

# %%
# Every model of the path is certified: its objective and a bound that no model can beat agree.
model.path_.table[["radius", "objective", "lower_bound", "verified"]]

# %%
# Held-out scores on the left; coefficients, in units of each column's standard deviation, on the right. Caution holds back the
# largest ones first, because that is where a shift hurts most.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
sf.RadiusPathDisplay.from_estimator(model, ax=left)
sf.RadiusPathDisplay.from_estimator(model, X, kind="coefficients", ax=right)
plt.show()

# %%
# What would hurt the chosen model most, if the table shifted as far as the radius allows:
model.worst_case(X, y)

# %%
# The same as a picture:
sf.WorstCaseDisplay.from_estimator(model, X, y)
plt.show()
