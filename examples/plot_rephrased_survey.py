"""
A survey that will be rephrased
===============================

Next year's questionnaire words one question anew. Nobody knows what people will answer then; what is known is that one answer
of five may come out differently. A model that is told so leans on the other questions.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import surefoot as sf

# %%
# Whether people move house, from four questions. How satisfied they are says most, and will be asked in other words.
draw = np.random.default_rng(3)
people = 1200
content = draw.normal(size=people)
survey = pd.DataFrame(
    {
        "satisfied": pd.cut(content + 0.3 * draw.normal(size=people), [-9, -0.8, 0.8, 9], labels=["no", "partly", "yes"]),
        "neighbours": pd.cut(content + 1.0 * draw.normal(size=people), [-9, -0.8, 0.8, 9], labels=["bad", "fair", "good"]),
        "noise": pd.cut(-content + 1.2 * draw.normal(size=people), [-9, 0.0, 9], labels=["quiet", "loud"]),
        "children": draw.choice(["yes", "no"], people),
    }
)
moves = np.where(draw.logistic(size=people) < -2.0 * content - 0.5, "moves", "stays")
old, test = slice(0, 800), slice(800, None)

# %%
# Only the rephrased question may shift, and the shift model says so.
shift = sf.ShiftModel(categorical_certainty={"satisfied": 0.8}, robustness=0.9)
plain = sf.RobustLogisticRegression(radius=0.0).fit(survey[old], moves[old])
robust = sf.RobustLogisticRegression(shift=shift).fit(survey[old], moves[old])

# %%
# The robust model takes weight from that question and gives it to the others.
spans = {}
for name, model in (("plain", plain), ("robust", robust)):
    table = model.coefficients()
    spans[name] = table.groupby("feature", sort=False)["coefficient"].agg(lambda values: values.max() - values.min())
pd.DataFrame(spans).plot.barh(figsize=(6, 3), color=["#5b6672", "#2f6ea5"], xlabel="largest difference of log odds", ylabel="")
plt.tight_layout()

# %%
# A thousand imagined answers to the new wording: losses of the robust model vary less.
sf.StressDisplay.from_estimator(
    {"plain": plain, "robust": robust}, survey[test], moves[test], shift, metric="log_loss", n_sets=1000, random_state=0
)
