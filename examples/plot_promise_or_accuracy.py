"""
How much to promise
===================

Sensors that were read several times are uncertain inputs. The smaller the tolerated violation, the more is promised about a
further reading of each machine, whatever the law of its noise. What that costs on other machines is counted here, for one
table: little.
"""

import matplotlib.pyplot as plt
import numpy as np

import surefoot as sf

# %%
# Machines, each read four times by three sensors. Worn ones are warmer and shake more, and one sensor is noisy.
draw = np.random.default_rng(0)


def measured(machines):
    worn = np.arange(machines) % 2 == 1
    true = np.array([70, 50, 2]) + np.array([4, 6, 0.3]) * draw.normal(size=(machines, 3)) + np.outer(worn, [5, 9, 0.5])
    X = np.repeat(true, 4, axis=0) + np.array([0.5, 0.6, 0.9]) * draw.normal(size=(4 * machines, 3))
    return X, np.repeat(np.where(worn, "worn", "sound"), 4), np.repeat(np.arange(machines), 4)


X, y, machine = measured(60)
X_new, y_new, machine_new = measured(300)

# %%
tolerated = [0.2, 0.4, 0.6, 0.8, 0.95]
promised, right = [], []
for violation in tolerated:
    model = sf.ChanceConstrainedSVC(violation=violation).fit(X, y, groups=machine)
    assert model.certificate_.verified
    promised.append(np.median(np.asarray(model.input_columns()["misclassified"], dtype=float)))
    right.append(np.mean(model.predict(X_new, groups=machine_new) == y_new))

# %%
figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
ax.plot(tolerated, promised, "o-", color="#2f6ea5", label="a further reading is misclassified at most (median)")
ax.plot(tolerated, 1 - np.array(right), "s--", color="#c05a00", label="new machines misclassified")
ax.set(xlabel="violation that is tolerated", ylabel="share", ylim=(0, 1))
ax.legend(fontsize=8)
