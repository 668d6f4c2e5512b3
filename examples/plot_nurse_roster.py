"""
A ward's roster
===============

A head nurse plans every week by hand: who works early, late or at night on which day. The rules are known, they are law and
contract. What makes one lawful roster better than another is in her head. From rosters of past weeks we learn what her wishes
weigh, and plan the next weeks with them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import LinearConstraint, milp

import surefoot as sf

# %%
# Three nurses, four days, three shifts: 36 variables of 0 and 1. Every shift needs one nurse; nobody works two shifts a day, or
# early after a night.
nurses, shifts, days = ("Ada", "Bo", "Cem"), ("early", "late", "night"), 4
place = {key: at for at, key in enumerate((n, d, s) for n in nurses for d in range(days) for s in shifts)}


def row(*keys):
    found = np.zeros(len(place))
    found[[place[key] for key in keys]] = 1.0
    return found


cover = np.array([row(*((n, d, s) for n in nurses)) for d in range(days) for s in shifts])
one_a_day = [row(*((n, d, s) for s in shifts)) for n in nurses for d in range(days)]
rested = [row((n, d, "night"), (n, d + 1, "early")) for n in nurses for d in range(days - 1)]
rules = np.array(one_a_day + rested)

# %%
# What a roster costs is a sum of what is disliked: a nurse's least favourite shift, a wish that is not granted, a second night
# in a row, a night for Bo, who has a small child. Each is a linear function of the roster; wishes differ from week to week.
dislikes = {
    "Ada early": sum(row(("Ada", d, "early")) for d in range(days)),
    "Bo at night": sum(row(("Bo", d, "night")) for d in range(days)),
    "Cem late": sum(row(("Cem", d, "late")) for d in range(days)),
}


def signal(wishes):
    """The rules of a week, and what is priced in it: dislikes, and shifts that somebody wished not to have."""
    return {"cost": np.array([*dislikes.values(), sum(row(key) for key in wishes)])}


ward = sf.inverse.forward.from_scipy(
    A_ub=rules,
    b_ub=np.ones(len(rules)),
    A_eq=cover,
    b_eq=np.ones(len(cover)),
    bounds=(0, 1),
    integrality=np.ones(len(place)),
    names=list(place),
    cost=np.array([*dislikes.values(), np.zeros(len(place))]),
    cost_names=[*dislikes, "a wish refused"],
)
ward

# %%
# Twenty weeks of the past, with the weights that the head nurse has in mind and will not tell.
random = np.random.default_rng(3)
keys, mind = list(place), np.array([1.0, 3.0, 0.5, 2.0])
weeks = [signal([keys[k] for k in random.choice(len(keys), 5, replace=False)]) for _ in range(24)]
lawful = [LinearConstraint(rules, ub=np.ones(len(rules))), LinearConstraint(cover, np.ones(len(cover)), np.ones(len(cover)))]
rosters = [
    np.round(milp(mind @ week["cost"], integrality=np.ones(len(place)), bounds=(0, 1), constraints=lawful).x) for week in weeks
]

# %%
# Rosters are numerous, and each observed one must not cost more than any other lawful one of its week. The fit finds those
# that matter, and proves that no weights explain the past better.
model = sf.inverse.InverseOptimizer(ward, distance="l1", prior="nonnegative", kappa=0.01, tol=1e-3)
model.fit(weeks[:16], rosters[:16])
model.certificate_.verified

# %%
# New weeks: what the roster of the learned weights costs the head nurse, beyond the best one in her own eyes.
planned = model.predict(weeks[16:])
regret = [mind @ week["cost"] @ (ours - hers) for week, ours, hers in zip(weeks[16:], planned, rosters[16:], strict=True)]
print(f"{np.mean(np.abs(regret) < 1e-6):.0%} of the new rosters are as good as hers")

# %%
# Left: the weights, learned and hers, in shares. Right: the first new week as the model would plan it.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
at = np.arange(len(mind))
left.barh(at - 0.2, mind / mind.sum(), 0.4, label="the head nurse's", color="0.6")
left.barh(at + 0.2, model.cost_ / model.cost_.sum(), 0.4, label="learned")
left.set_yticks(at, ward.priced_names)
left.invert_yaxis()
left.set_xlabel("share of the weight")
left.legend()

plan = planned[0].reshape(len(nurses), days, len(shifts))
colours = dict(zip(shifts, ("#e8c468", "#6fa8dc", "#45526c"), strict=True))
for i in range(len(nurses)):
    for d in range(days):
        for k, kind in enumerate(shifts):
            if plan[i, d, k] > 0.5:
                right.add_patch(plt.Rectangle((d, i), 0.95, 0.9, color=colours[kind]))
                right.text(d + 0.48, i + 0.45, kind, ha="center", va="center", color="white" if kind == "night" else "black")
right.set(xlim=(0, days), ylim=(len(nurses), 0), xticks=np.arange(days) + 0.5, yticks=np.arange(len(nurses)) + 0.45)
right.set_xticklabels([f"day {d + 1}" for d in range(days)])
right.set_yticklabels(nurses)
right.spines[:].set_visible(False)
plt.show()
