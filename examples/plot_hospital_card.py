"""
A score card for the ward
=========================

From a table of measurements to a card that a nurse adds up: thresholds become questions, a few rules say what a good card is,
and the search returns the best card under these rules, with a proof.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import surefoot as sf

# %%
# Five measurements of 569 tumours; a third of them is kept for the judgement.
data = load_breast_cancer(as_frame=True)
findings = data.data[["mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry"]]
diagnosis = np.where(data.target == 0, "malignant", "benign")
X, X_new, y, y_new = train_test_split(findings, diagnosis, test_size=1 / 3, random_state=0, stratify=diagnosis)

# %%
# Numbers become questions with round thresholds, and two rules say that large cells speak for cancer and that no measurement is
# asked about more than once.
binarizer = sf.ThresholdBinarizer(max_thresholds=3).fit(X, y)
rules = [sf.constraints.MaxThresholds(1, name) for name in findings.columns]
model = sf.RiskScoreClassifier(max_features=4, max_points=4, constraints=rules).fit(binarizer.transform(X), y)
print(model.certificate_.claim)

# %%
# The card, as it hangs on the ward. ``card.calculator()`` is the same for a telephone, without a network.
card = model.score_card(meanings=binarizer.columns_, title="Is it malignant?")
card

# %%
# Points by question, and the risk by total.
sf.ScoreCardDisplay.from_card(card)
sf.ScoreCardDisplay.from_card(card, kind="risk")

# %%
# On rows that it has not seen, the card predicts about what happens.
sf.ReliabilityDisplay.from_estimator(model, binarizer.transform(X_new), y_new)
