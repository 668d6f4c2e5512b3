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
# Held-out loss on the left; coefficients, in units of each column's standard deviation, on the right. Caution holds back the
# largest ones first, because that is where a shift hurts most.
path = model.path_
numeric, categorical = plt.cm.tab10.colors[0], plt.cm.tab10.colors[1]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
loss = -path.mean_scores
spread = path.table["std_score"]
left.plot(path.radii, loss, marker="o", color=numeric)
left.fill_between(path.radii, loss - spread, loss + spread, alpha=0.2, color=numeric)
left.axvline(model.radius_, color="grey", linestyle="--")
left.set(xscale="log", xlabel="radius", ylabel="log loss on held-out rows", title="Prediction")

spreads = X.std(numeric_only=True)
for (feature, level), coefficient in zip(model.schema_.coefficient_names(), path.coefs.T, strict=True):
    values = coefficient * spreads[feature] if level is None else coefficient
    right.plot(path.radii, values, color=numeric if level is None else categorical)
right.plot([], [], color=numeric, label="numeric column")
right.plot([], [], color=categorical, label="level of a category")
right.axvline(model.radius_, color="grey", linestyle="--")
right.set(xscale="log", xlabel="radius", ylabel="coefficient", title="Models")
right.legend()
plt.show()

# %%
# What would hurt the chosen model most, if the table shifted as far as the radius allows:
model.worst_case(X, y)
