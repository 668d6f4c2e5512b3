"""
Last year's table and this year's
=================================

Has something shifted, is it more than chance, and does the radius of the model cover it? One call compares two tables in the
prices of a model.
"""

import numpy as np
import pandas as pd

import surefoot as sf


# %%
# Applications for a loan. In the second year more of them come through the web, and incomes are a tenth higher.
def applications(rows, income, web, seed):
    draw = np.random.default_rng(seed)
    other = (1 - web) / 2
    X = pd.DataFrame(
        {
            "age": draw.uniform(20, 70, rows),
            "income": draw.gamma(4, income / 4, rows),
            "channel": draw.choice(["branch", "phone", "web"], rows, p=[other, other, web]),
        }
    )
    score = 0.03 * (X["age"] - 45) + 0.05 * (X["income"] - 32) + 1.2 * (X["channel"] == "branch") - 0.4
    return X, np.where(draw.logistic(size=rows) < score, "repaid", "default")


X, y = applications(1000, 32.0, 1 / 3, seed=0)
X_now, y_now = applications(800, 35.0, 0.5, seed=1)

# %%
model = sf.RobustLogisticRegression(radius=0.15).fit(X, y)
found = sf.compare(X, X_now, y, y_now, model)
print(found.radius)

# %%
# Bars that end beyond their mark are shifts that chance does not explain.
found.plot()
