"""
All cards that are nearly best
==============================

Where many cards are about as good, the best one by a hair need not be the one to hang up. All cards within ten percent of
the best are listed, with nothing left out, so that people can choose.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import surefoot as sf

# %%
data = load_breast_cancer(as_frame=True)
binarizer = sf.ThresholdBinarizer(max_thresholds=1)
columns = ["mean radius", "mean texture", "mean smoothness", "mean compactness", "mean concavity", "mean symmetry"]
questions = binarizer.fit_transform(data.data[columns], data.target)
model = sf.RiskScoreClassifier(max_features=4, max_points=3, near_optimal=0.1).fit(questions, data.target)
choice = model.near_optimal_
choice

# %%
# How often each question is on one of these cards, and with how many points.
points = np.array([[card.points.get(name, 0) for name in questions.columns] for card in choice])
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
left = np.zeros(len(questions.columns))
for value, colour in ((1, "#a9c7e2"), (2, "#2f6ea5"), (3, "#c05a00")):
    share = (np.abs(points) == value).mean(axis=0)
    ax.barh(list(questions.columns), share, left=left, color=colour, label=f"{value} point{'s' if value > 1 else ''}")
    left += share
ax.set(xlabel=f"share of the {len(choice)} cards")
ax.legend()
