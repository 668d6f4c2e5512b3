"""
Machines that were measured many times
======================================

Each machine was measured twelve times, and no two measurements agree. A classifier that takes every measurement for a fact
draws its boundary wherever the dots leave room. One that takes each machine for an uncertain input keeps its distance from the
machines whose measurements scatter most, and says how often it will be wrong at worst.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import surefoot as sf

# %%
# Four new machines in the middle, four worn ones around them.
draw = np.random.default_rng(1)
centres = np.array([[0, 0], [1, 0.3], [-0.6, 0.8], [0.2, 1.2], [2.5, 2.2], [3, 1], [2.2, -1], [-2, 2.6]])
machine = np.repeat(list("ABCDEFGH"), 12)
measured = np.repeat(centres, 12, axis=0) + draw.normal(size=(96, 2)) * [0.12, 0.22]
X = pd.DataFrame(measured, columns=["vibration", "noise"])
y = np.repeat(["new", "worn"], 48)

# %%
# A line cannot separate them; with the RBF kernel no machine needs slack, so each is misclassified with a probability of at
# most 0.1, whatever distribution with these moments its measurements have.
models = {
    "linear": sf.ChanceConstrainedSVC(kernel="linear", C=100, violation=0.1).fit(X, y, groups=machine),
    "rbf": sf.ChanceConstrainedSVC(kernel="rbf", gamma=0.5, C=100, violation=0.1).fit(X, y, groups=machine),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
for ax, (kernel, model) in zip(axes, models.items(), strict=True):
    sf.UncertainInputsDisplay.from_estimator(model, X, ax=ax)
    ax.set_title(f"{kernel} kernel, largest error {model.inputs()['misclassified'].max():.3f}", pad=44)
plt.show()

# %%
# What is promised about each machine:
models["rbf"].inputs()

# %%
# Both models are the best there are, and proven to be:
{kernel: model.certificate_.relative_gap for kernel, model in models.items()}
