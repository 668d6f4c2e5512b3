"""
A driver's roads
================

Drivers do not take the shortest way. They avoid lights, alleys and schools, and know why, but nobody wrote it down. From the
roads that one driver has taken we learn what a kilometre of each kind of street, and a traffic light, is worth to them, and
plan the next tours as they would.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import surefoot as sf

# %%
# A part of a city: nine streets across and nine along, every third of which is an avenue; some blocks have alleys or a school,
# some crossings have lights. An edge has the kilometres of its kind, and the lights at its end.
random = np.random.default_rng(7)
city = nx.grid_2d_graph(9, 9).to_directed()
lights = {node for node in city if random.random() < 0.3}
for (r, c), (s, d), street in city.edges(data=True):
    across = r == s
    avenue = (r if across else c) % 3 == 0
    kind = "avenue" if avenue else random.choice(["street", "alley", "school"], p=[0.6, 0.25, 0.15])
    street["km"] = 0.3 if across else 0.4
    street.update({name: street["km"] * (kind == name) for name in ("avenue", "street", "alley", "school")})
    street["lights"] = float((s, d) in lights)

# %%
# What the driver has in mind, which we will not tell: minutes for a kilometre of each kind, and for a light. Some trips are
# driven on a whim, at other prices.
prices = {"avenue": 1.5, "street": 2.4, "alley": 4.0, "school": 6.0, "lights": 0.5}
nodes = list(city)


def drive(start, end):
    whim = {name: price * (random.uniform(0.5, 2.0) if random.random() < 1 / 15 else 1.0) for name, price in prices.items()}
    return nx.shortest_path(city, start, end, weight=lambda u, v, street: sum(whim[name] * street[name] for name in whim))


trips = [tuple(nodes[k] for k in random.choice(len(nodes), 2, replace=False)) for _ in range(80)]
driven = [drive(*trip) for trip in trips]

# %%
# The graph itself is the forward problem: its cost is a price for each of the named attributes. Trips are pairs of crossings,
# and what was driven is the list of crossings on the way.
roads = sf.inverse.forward.from_networkx(city, "shortest_path", cost=list(prices))
model = sf.inverse.InverseOptimizer(roads, approach="suboptimality", distance="none", prior="simplex", tol=0.01)
model.fit(trips[:40], driven[:40])
roads

# %%
# The fit is proven: what the driven ways cost beyond the best ones, on average, is within a hundredth of the least that any
# prices attain.
model.certificate_.verified

# %%
# Prices have no unit of their own; measured in kilometres of avenue they can be compared with the driver's.
learned = roads.priced_by_name(model.cost_)
ratios = {name: (prices[name] / prices["avenue"], learned[name] / learned["avenue"]) for name in prices}


# %%
# Forty more trips, which the model has not seen: how many of their kilometres were on the road that we would have proposed, and
# how many on the shortest.
def shared(proposed, taken):
    ours = set(pairwise(proposed))
    theirs = list(pairwise(taken))
    return sum(city.edges[edge]["km"] for edge in theirs if edge in ours) / sum(city.edges[edge]["km"] for edge in theirs)


proposed = [roads.readable(decision) for decision in model.predict(trips[40:])]
shortest = [nx.shortest_path(city, *trip, weight="km") for trip in trips[40:]]
agreement = {
    name: np.mean([shared(*pair) for pair in zip(routes, driven[40:], strict=True)])
    for name, routes in (("learned", proposed), ("shortest", shortest))
}
print({name: f"{value:.0%}" for name, value in agreement.items()})

# %%
# Left: what things are worth, in kilometres of avenue. Right: one of the new trips.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
at = np.arange(len(ratios))
left.bar(at - 0.2, [true for true, _ in ratios.values()], 0.4, label="the driver's", color="0.6")
left.bar(at + 0.2, [ours for _, ours in ratios.values()], 0.4, label="learned")
left.set_xticks(at, ["km of avenue", "km of street", "km of alley", "km past a school", "a light"], rotation=20)
left.set_ylabel("worth, in km of avenue")
left.legend()

worst = int(np.argmin([shared(*pair) for pair in zip(shortest, driven[40:], strict=True)]))
places = {node: (node[1] * 0.3, node[0] * 0.4) for node in city}
nx.draw_networkx_edges(city, places, ax=right, edge_color="0.85", arrows=False)
nx.draw_networkx_nodes(city, places, nodelist=sorted(lights), node_size=12, node_color="tab:red", ax=right)
for route, colour, width, name in (
    (driven[40 + worst], "0.4", 7, "driven"),
    (proposed[worst], "tab:blue", 3, "learned"),
    (shortest[worst], "tab:orange", 2, "shortest"),
):
    right.plot(*np.array([places[node] for node in route]).T, color=colour, linewidth=width, label=name, alpha=0.8)
right.set_aspect("equal")
right.axis("off")
right.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
plt.show()
