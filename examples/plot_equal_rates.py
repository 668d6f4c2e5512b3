"""
What equal rates cost
=====================

A rule may ask that two groups are flagged alike. The best card under such a rule is found and proven like any other, so the
difference in loss is what the rule costs, and not what a search missed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import surefoot as sf

# %%
# Loans. Two of the questions tell the districts apart more than the risk.
draw = np.random.default_rng(0)
rows = 800
district = draw.integers(0, 2, rows)
answers = pd.DataFrame(
    {
        "district": district,
        "rents": (draw.random(rows) < 0.3 + 0.4 * district).astype(int),
        "late before": (draw.random(rows) < 0.25).astype(int),
        "new job": (draw.random(rows) < 0.3 + 0.2 * district).astype(int),
        "savings": (draw.random(rows) < 0.5 - 0.2 * district).astype(int),
    }
)
score = answers @ [0.3, 0.8, 1.6, 0.7, -1.2] - 0.6
outcome = np.where(draw.logistic(size=rows) < score, "late", "on time")
target = (outcome == "late").astype(int)

# %%
# The same question for several allowed differences of the share of good payers who are flagged.
allowed = [0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.01]
losses = []
for most in allowed:
    alike = sf.constraints.FairRates("district", "fpr", most)
    card = sf.RiskScoreClassifier(max_features=4, max_points=4, constraints=[alike]).fit(answers, target)
    assert card.certificate_.verified
    losses.append(card.certificate_.upper_bound)

# %%
# No card that keeps the rule is better than these: each point was proven. What the strictest of these rules allows is a card
# for the training rows, and rates on others will differ by chance.
figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
ax.plot(allowed, losses, "o-", color="#2f6ea5")
ax.set(xlabel="largest difference of false positive rates that is allowed", ylabel="least log loss (proven)")
