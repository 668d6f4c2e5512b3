"""
An oncologist's prognoses
=========================

An expert looks at a tumour and says whether the disease will come back, and after how many months. Both are decisions: a
number and a yes or no, which belong together. Zattoni Scroccaro, Atasoy and Mohajerin Esfahani (2024) learn such an expert
from the Wisconsin prognoses as an inverse problem with a quadratic cost; here the patients are drawn, so that the expert's own
rule is known.
"""

import matplotlib.pyplot as plt
import numpy as np

import surefoot as sf

# %%
# Patients: size of the tumour, affected lymph nodes, and the texture of cell nuclei, in standard units. The larger the first
# two, the likelier and the earlier the disease comes back.
random = np.random.default_rng(5)
patients = random.normal(size=(110, 3))
urgency = patients @ [0.9, 0.7, 0.1] + 0.3 * random.normal(size=110)
recurs = (urgency > 0.4).astype(float)
months = np.clip(np.where(recurs > 0, 24 - 9 * urgency, 62 - 6 * urgency) + 3 * random.normal(size=110), 1, 120)
prognoses = np.column_stack([months / 12, recurs])  # years and recurrence

# %%
# A decision is (years, recurrent). What it costs the expert is quadratic in the years,
#
#     q years^2 + years * (linear in the patient and the recurrence) + recurrence * (linear in the patient),
#
# so that the best years depend on the patient and on the recurrence. The context of a signal is the patient.


def inner(patient, z):
    return np.concatenate([patient, z, z[0] * patient, [1.0]])


def outer(patient, z):
    return z[0] * np.append(patient, 1.0)


expert = sf.inverse.forward.QuadraticProgram(inner=inner, outer=outer, continuous_bounds=(0.0, 12.0))
signals = [(np.zeros((1, 1)), np.zeros((1, 1)), np.ones(1), patient) for patient in patients]

# %%
# Learned from eighty patients: prognoses that differ from the expert's are to cost more by their distance in years, and by
# whether they name the right outcome.
model = sf.inverse.InverseOptimizer(expert, distance=("linf", "l1"), kappa=0.02, tol=1e-4)
model.fit(signals[:80], prognoses[:80])
model.certificate_.verified

# %%
# On the thirty others:
found = np.array(model.predict(signals[80:]))
error = 12 * np.abs(found[:, 0] - prognoses[80:, 0])
right = found[:, 1].round() == prognoses[80:, 1]
guess = 12 * np.abs(np.median(prognoses[:80, 0]) - prognoses[80:, 0])
print(f"recurrence right for {right.mean():.0%}; {error.mean():.1f} months off, the median of all patients {guess.mean():.1f}")

# %%
# One prognosis follows from the other: the learned cost of every number of years, for one patient, with and without recurrence.
# The lower of the two curves at its lowest point is what is decided.
figure, (left, middle) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
at = 80 + int(np.argmin(np.abs(urgency[80:] - 0.4)))
years = np.linspace(0, 8, 200)
instance = expert.instance(0, signals[at])
for z, name, colour in ((0.0, "stays away", "tab:blue"), (1.0, "comes back", "tab:orange")):
    cost = instance.features.of(np.column_stack([years, np.full_like(years, z)])) @ model.cost_
    left.plot(years, cost, color=colour, label=name)
    left.plot(years[np.argmin(cost)], cost.min(), "o", color=colour)
left.axvline(prognoses[at, 0], color="0.5", linestyle=":", label="what happened")
left.set(xlabel="years", ylabel="learned cost", title="one patient")
left.legend()
middle.scatter(12 * prognoses[80:, 0], 12 * found[:, 0], c=np.where(right, "tab:blue", "tab:red"))
middle.plot([0, 90], [0, 90], color="0.7", zorder=0)
middle.set(xlabel="months, as it went", ylabel="months, predicted", title="new patients (red: wrong outcome)")
plt.show()
