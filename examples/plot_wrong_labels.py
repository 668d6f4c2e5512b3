"""
Labels that may be wrong
========================

Some answers were typed in wrongly, and nobody knows which. With a price for a flipped label the model stops being sure of
rows that the others contradict.
"""

import matplotlib.pyplot as plt
import numpy as np

import surefoot as sf

# %%
# Two measurements; one label of twelve is wrong in the training rows and right in the others.
draw = np.random.default_rng(2)


def rows(count, wrong):
    X = draw.normal(size=(count, 2))
    true = (X @ [3.0, 2.0] + 0.3 * draw.logistic(size=count) > 0).astype(int)
    flipped = draw.random(count) < wrong
    return X, np.where(flipped, 1 - true, true), flipped


X, y, _ = rows(400, 1 / 12)
X_new, y_new, _ = rows(2000, 0.0)

# %%
# Radius 0.02 and several prices: radius / price is the share of labels that the adversary may flip.
shares = [0.0, 0.01, 0.02, 0.04, 0.08]
found = []
for share in shares:
    model = sf.RobustLogisticRegression(radius=0.02, label_weight=0.02 / share if share else np.inf).fit(X, y)
    assert model.certificate_.verified
    risk = model.predict_proba(X_new)[:, 1]
    losses = -np.log(np.where(y_new == 1, risk, 1 - risk))
    found.append((np.linalg.norm(model.coef_), losses.mean(), np.quantile(losses, 0.99)))

# %%
# Coefficients shrink, and with them the losses of the rows that the model is most wrong about. The mean over right labels
# rises: caution is paid for by the many rows that were right. Whether that is worth it depends on what a sure error costs.
sizes, mean, worst = np.array(found).T
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(shares, sizes, "o-", color="#2f6ea5")
left.set(xlabel="labels that may be wrong", ylabel="size of the coefficients", ylim=(0, None))
right.plot(shares, mean, "o-", color="#2f6ea5", label="mean")
right.plot(shares, worst, "o--", color="#c05a00", label="99 of 100 rows are below")
right.set(xlabel="labels that may be wrong", ylabel="log loss on right labels", ylim=(0, None))
right.legend()
