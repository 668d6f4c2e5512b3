"""
A card for the ward, from the table to the bedside
==================================================

A clinic has a table of visits and wants a card for the ten-year risk of heart disease that a nurse can add up: few questions,
whole points, round thresholds, no blood test that costs more than it tells, and risks that are right for women and for men.
The table here is drawn by a formula, so that this page needs no patients; it has columns, gaps and rates like those of a
well-known cohort study, and says nothing about real ones.
"""

import io
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

import surefoot as sf
from surefoot import constraints as sc

# %%
# The table
# ---------
# 1,500 visits as a CSV file holds them: numbers, yes and no, gaps, and an outcome in words.
draw = np.random.default_rng(6)
n = 1500
male, age = draw.random(n) < 0.43, draw.normal(50, 9, n).clip(32, 70).round()
smoker = draw.random(n) < np.where(age < 50, 0.6, 0.4)
table = pd.DataFrame(
    {
        "male": np.where(male, 1, 0),
        "age": age,
        "cigarettes per day": np.where(smoker, draw.choice([5, 10, 20, 20, 30], n), 0),
        "systolic pressure": (95 + 0.75 * age + draw.normal(0, 19, n)).clip(85, 230).round(),
        "cholesterol": draw.normal(237, 44, n).clip(110, 450).round(),
        "glucose": (74 + draw.gamma(1.5, 6, n)).round(),
        "diabetes": (draw.random(n) < 0.04).astype(int),
    }
)
odds = -8.6 + 0.065 * age + 0.5 * male + 0.02 * table["cigarettes per day"] + 0.016 * table["systolic pressure"]
odds += 0.002 * table["cholesterol"] + 0.9 * table["diabetes"]
table["outcome"] = np.where(draw.random(n) < 1 / (1 + np.exp(-odds)), "CHD", "no CHD")
table.loc[draw.random(n) < 0.09, "glucose"] = np.nan
file = io.StringIO(table.to_csv(index=False))

visits = pd.read_csv(file)
outcome = visits.pop("outcome")
print(visits.describe().loc[["count", "mean", "min", "max"]].round(1).T.to_string())

# %%
# Questions
# ---------
# Numbers become questions: for age and pressure the best cuts between which the share of patients with CHD only rises, moved by
# at most 1 % of the rows to rounder numbers. A glucose that nobody measured is answered as the median one.
questions = sf.ThresholdBinarizer(
    strategy="supervised",
    max_thresholds=3,
    monotone={"age": "increasing", "systolic pressure": "increasing"},
    pos_label="CHD",
    rounding_slack=0.01,
    missing="typical",
)
answers = questions.fit_transform(visits, outcome)
print(questions.evidence(visits, outcome).round(2).to_string(index=False))
print(questions.cut_gaps(visits, outcome).round(4).to_string(index=False))

# %%
# Rules
# -----
# What the ward will accept is said once, and the search keeps to it: no higher value has fewer points, a question is asked only
# if at least 4 % of the patients say yes, and what has to be measured costs at most 12. At a free scale a point is worth as
# many log odds as fit best, so that few small points make fine steps of risk.
rules = [
    *(sc.Monotone(name, "increasing") for name in questions.thresholds_),
    sc.MinShare(0.04),
    sc.CostBudget({"cholesterol": 10, "glucose": 8, "systolic pressure": 2}, 12),
]
model = sf.RiskScoreClassifier(max_features=5, max_points=4, scale="free", constraints=rules, pos_label="CHD")
ward = Pipeline([("questions", questions), ("card", model)]).fit(visits, outcome)

# %%
# The card
# --------
# It is the best one under these rules on these rows, and the proof of that was recomputed.
card = ward["card"].score_card(title="Ten-year risk of heart disease", meanings=ward["questions"].columns_)
print(card)
assert ward["card"].certificate_.verified

# %%
# Is it right for women and for men, and whom would it flag from a risk of 10 % on? ``FairRates`` could limit what differs.
sexes = np.where(visits["male"] == 1, "men", "women")
print(card.group_rates(answers, outcome, sexes, risk=0.1).round(3).to_string(index=False))

# %%
# Why a patient has this risk, most important first.
for reason in card.reasons(answers.iloc[3]):
    print(reason)

# %%
# Will it hold?
# -------------
# Thresholds and card are found again on resamples of the patients, and without each fifth of them. Optimism is what the card
# seems to be better than it will be.
evidence = sf.internal_validation(ward, visits, outcome, n_resamples=40)
print(evidence)
print(evidence.stability().round(2).to_string(index=False))

# %%
# Where one would act from a risk of 5, 10 or 20 % on, acting by the card does more good than acting on everybody or on nobody,
# which has a net benefit of 0.
curve = evidence.decision_curve().set_index("threshold").loc[[0.05, 0.1, 0.2]]
print(curve.round(4).to_string())
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
evidence.plot(left)
left.set_xlim(0, 0.6)
sf.ScoreCardDisplay.from_estimator(ward["card"], meanings=ward["questions"].columns_, ax=right)
plt.show()

# %%
# To the ward
# -----------
# The calculator is one file that works offline, and the report is what goes into the folder: both print on paper.
with tempfile.TemporaryDirectory() as folder:
    Path(folder, "calculator.html").write_text(card.calculator(), encoding="utf-8")
    sf.report(ward["card"], answers, outcome, Path(folder, "report.html"), meanings=ward["questions"].columns_)
    print(sorted(path.name for path in Path(folder).iterdir()))
