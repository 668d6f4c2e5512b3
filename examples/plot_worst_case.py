"""
The shift that would hurt most
==============================

A robust model says what it is afraid of: the distribution within its radius that raises its loss most, move by move. Whoever
knows the data can say whether that could happen, and change the prices if it could not.
"""

import numpy as np
import pandas as pd

import surefoot as sf

# %%
# Visits to a clinic. The colour of a triage card is read off by people, the age from a document.
draw = np.random.default_rng(0)
visits = pd.DataFrame(
    {
        "age": draw.uniform(18, 90, 600).round(),
        "triage": draw.choice(["green", "yellow", "red"], 600, p=[0.5, 0.35, 0.15]),
        "arrival": draw.choice(["walking", "ambulance"], 600, p=[0.8, 0.2]),
    }
)
score = 0.05 * (visits["age"] - 60) + 1.8 * (visits["triage"] == "red") + 1.1 * (visits["arrival"] == "ambulance")
stayed = np.where(draw.logistic(size=600) < score, "admitted", "sent home")

# %%
# With one price for every column, the adversary lets very few rows have an age far away, and turns some colours.
model = sf.RobustLogisticRegression(radius=0.06).fit(visits, stayed)
print(model.worst_case(visits, stayed))

# %%
sf.WorstCaseDisplay.from_estimator(model, visits, stayed)

# %%
# Nobody is 400 years old, and documents do not lie. With a range for the age, and prices that say that colours are read wrongly
# more easily than arrivals, the worst case is one that could happen.
prices = {"triage": 0.5, "arrival": 2.0}
informed = sf.RobustLogisticRegression(radius=0.06, numeric_range={"age": (18, 90)}, categorical_weights=prices)
sf.WorstCaseDisplay.from_estimator(informed.fit(visits, stayed), visits, stayed)
