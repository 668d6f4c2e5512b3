"""
Tours of a delivery driver
==========================

Drivers do not follow the shortest tour. They know which part of the town to finish first, where parking is hard before noon,
and which zones belong together. The Amazon Last Mile Routing Challenge asked to learn that from thousands of tours: in which
order does a driver visit the zones? Here the tours are drawn, with a driver whose habits are known.
"""

from functools import cache
from itertools import pairwise, permutations

import matplotlib.pyplot as plt
import numpy as np

import surefoot as sf

# %%
# A town of eight zones around a depot; every day five of them are to be visited.
random = np.random.default_rng(11)
zones = random.uniform(-1, 1, (8, 2))
town = {"depot": np.zeros(2)} | {f"zone {k}": zone for k, zone in enumerate(zones)}
centre = {name for name, at in town.items() if np.abs(at).max() < 0.45 and name != "depot"}


def features(day, tour):
    """What a tour has that a driver may mind: kilometres, a late centre, crossing the river, and turning back."""
    return of_stops(tuple(day[k] for k in tour.astype(int)))


@cache
def of_stops(visited):
    stops = np.array([town[name] for name in ("depot", *visited, "depot")])
    legs = np.diff(stops, axis=0)
    length = np.linalg.norm(legs, axis=1)
    late = sum(k for k, name in enumerate(visited) if name in centre)
    crossed = np.sum(np.sign(stops[:-1, 0]) * np.sign(stops[1:, 0]) < 0)
    turns = legs[:-1] * legs[1:]
    back = np.sum(np.maximum(0.0, -turns.sum(axis=1)))
    return np.array([length.sum(), late, crossed, back])


names = ("kilometres", "centre late", "river crossed", "turning back")

# %%
# The forward problem is a choice among all orders of the day's zones: a travelling salesman whose distances are habits. The
# driver prefers what costs least, and errs now and then.
orders = np.array(list(permutations(range(5))), dtype=float)
habits = np.array([1.0, 0.15, 0.5, 0.8])
days = [[f"zone {k}" for k in random.choice(8, 5, replace=False)] for _ in range(60)]


def drive(day):
    price = np.array([features(day, tour) for tour in orders]) @ (habits * random.lognormal(0.0, 0.1, 4))
    return orders[np.argmin(price)]


driven = np.array([drive(day) for day in days])


class Tours(sf.inverse.forward.ForwardProblem):
    """All orders of the zones of a day."""

    def decisions(self, signal):
        return sf.inverse.forward.FiniteChoice().decisions(orders)


# %%
# Forty days to learn from. Any explanation has to make forty tours the best of 120 each, so few observations tell much.
model = sf.inverse.InverseOptimizer(
    Tours(), features=features, distance="zero-one", prior="nonnegative", kappa=0.01, tol=1e-4
).fit(days[:40], driven[:40])
model.certificate_.verified

# %%
# On new days: how many of the legs that were driven the model foresees, and how many the shortest tour has.


def legs(day, tour):
    stops = ["depot", *(day[k] for k in tour.astype(int)), "depot"]
    return {frozenset(leg) for leg in pairwise(stops)}


ours = model.predict(days[40:])
shortest = [min(orders, key=lambda tour, day=day: features(day, tour)[0]) for day in days[40:]]
shared = {
    name: np.mean([len(legs(day, a) & legs(day, b)) / 6 for day, a, b in zip(days[40:], found, driven[40:], strict=True)])
    for name, found in (("learned", ours), ("shortest", shortest))
}
print({name: f"{value:.0%}" for name, value in shared.items()})

# %%
# How sure the habits are: wide bars hold every cost that explains all forty tours, thin lines what refits to resampled days
# say, and ticks what the driver has in mind. What a crossing of the river is worth is hardly known: a tour that has stops on
# both sides crosses it twice anyway.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
display = sf.inverse.CostDisplay.from_estimator(
    model, days[:40], driven[:40], names=names, n_resamples=8, random_state=0, ax=left
)
for height, label in zip(left.get_yticks(), left.get_yticklabels(), strict=True):
    left.plot(habits[names.index(label.get_text())] / np.linalg.norm(habits), height, "k|", markersize=18)
left.set_xlim(-0.05, 1.2)
apart = [len(legs(day, a) - legs(day, b)) for day, a, b in zip(days[40:], shortest, driven[40:], strict=True)]
at = int(np.argmax(apart))
for tour, colour, width, name in (
    (driven[40 + at], "0.6", 7, "driven"),
    (ours[at], "tab:blue", 2.5, "learned"),
    (shortest[at], "tab:orange", 1.5, "shortest"),
):
    stops = np.array([town[name] for name in ("depot", *(days[40 + at][k] for k in tour.astype(int)), "depot")])
    right.plot(*stops.T, color=colour, linewidth=width, label=name)
right.plot(*np.array(list(town.values())).T, "o", color="0.3")
right.axvline(0.0, color="tab:cyan", linewidth=6, alpha=0.3)
right.set(aspect="equal", xticks=[], yticks=[], title="a new day, and the river")
right.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
plt.show()
