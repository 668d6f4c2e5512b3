"""
Learning tastes from baskets
============================

What somebody buys with a budget tells what it is worth to them. Every basket rules out some tastes; how fast what is left
shrinks around the true one is a picture.
"""

import matplotlib.pyplot as plt
import numpy as np

from surefoot import inverse

# %%
# Six goods, a budget, and a taste that we do not tell: buyers take the best basket that they can pay for.
draw = np.random.default_rng(0)
taste = -np.array([8.0, 5.0, 4.0, 3.0, 2.0, 1.0])
baskets = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T


def buy(prices, budget):
    affordable = baskets[baskets @ prices <= budget]
    return affordable[np.argmin(affordable @ taste)]


weeks = [(draw.uniform(1, 5, 6), draw.uniform(5, 12)) for _ in range(60)]
signals = [(prices[None, :], np.array([budget])) for prices, budget in weeks]
bought = np.array([buy(*week) for week in weeks], dtype=float)

# %%
# The incenter cost keeps as far as possible from contradicting any basket; its certificate says how wide the cone is that is
# left.
sizes, angles = [2, 4, 8, 16, 32, 48], []
for count in sizes:
    model = inverse.InverseOptimizer(inverse.forward.BinaryProgram(), approach="incenter").fit(signals[:count], bought[:count])
    angles.append(np.degrees(inverse.cost_angle(taste, model.cost_)))
missed = inverse.unpredicted_share(bought[48:], model.predict(signals[48:]))
print(f"Baskets not foreseen, of the last 12: {missed:.0%}; proven: {model.certificate_.verified}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(sizes, angles, "o-", color="#2f6ea5")
left.set(xlabel="baskets seen", ylabel="angle to the true taste, degrees", ylim=(0, None))
goods = np.arange(6)
right.bar(goods - 0.2, taste / np.linalg.norm(taste), 0.4, color="#5b6672", label="true")
right.bar(goods + 0.2, model.cost_ / np.linalg.norm(model.cost_), 0.4, color="#2f6ea5", label="learned")
right.set(xlabel="good", ylabel="cost, as a direction")
right.legend()
