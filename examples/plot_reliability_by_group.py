"""
Are the probabilities right for everybody?
==========================================

A model can be well calibrated for all rows together, and too sure for some of them. Diagrams for each group show it; so does
``report(by=...)``, with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import surefoot as sf

# %%
# In the second clinic the same findings mean a higher risk, and the model does not see the clinic.
draw = np.random.default_rng(1)
findings = pd.DataFrame(draw.normal(size=(2400, 3)), columns=["pulse", "pressure", "sugar"])
clinic = draw.choice(["first", "second"], 2400, p=[0.7, 0.3])
score = findings @ [0.8, -0.6, 0.5] + 1.0 * (clinic == "second") - 0.6
ill = np.where(draw.logistic(size=2400) < score, "ill", "well")
train = np.arange(2400) < 1200
model = sf.RobustLogisticRegression().fit(findings[train], np.where(ill == "ill", 1, 0)[train])

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, group in zip(axes, ["both", "first", "second"], strict=True):
    rows = ~train & ((clinic == group) | (group == "both"))
    shown = sf.ReliabilityDisplay.from_estimator(model, findings[rows], (ill == "ill").astype(int)[rows], n_bins=6, ax=ax)
    ax.set_title(
        f"{group} clinic{'s' if group == 'both' else ''}: {shown.bins.n_outside} of {shown.bins.observed.size} outside"
    )
