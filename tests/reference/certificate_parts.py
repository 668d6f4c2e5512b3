"""The parts of a robust certificate, called one by one on a whole table."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

from surefoot.core.enclosure import Enclosure, enclose
from surefoot.robust.certificate import lower_bound
from surefoot.robust.certificate.certificate import survey
from surefoot.robust.certificate.checked_plan import CheckedPlan, check_plan
from surefoot.robust.certificate.lower_bound import plan_bound, plan_sums, weak_duality_bound
from surefoot.robust.certificate.objective import admissible_price, read_model, row_sums
from surefoot.robust.certificate.posed_rows import Part, read_part, read_setting


def posed(problem: Any) -> Part:
    """The rows of a problem about their mean, with weights that are shares."""
    setting = read_setting(problem)
    total, columns, sparse, _ = survey(problem, None, setting)
    centred = setting.fit_intercept and not sparse
    return read_part(problem, setting, 1.0, columns / total.mid if centred else 0.0 * columns)


def checked(problem: Any, plan: Any) -> CheckedPlan:
    return check_plan(posed(problem), plan)


def objective(problem: Any, model: Any) -> Enclosure:
    """Enclosure of the model's objective."""
    part = posed(problem)
    with np.errstate(all="ignore"):
        numbers = read_model(part.setting, model)
        price = admissible_price(part.setting, numbers)
        losses = row_sums(part, numbers, price)[0]
        return losses + enclose(price) * part.setting.radius if part.setting.radius > 0 else losses


def weak_bound(problem: Any, plan: Any, limits: Any) -> float:
    with np.errstate(all="ignore"):
        sound = checked(problem, plan)
        return weak_duality_bound(sound.part.setting, plan_sums(sound), limits_of(limits))


def corrected_bound(problem: Any, plan: Any, limits: Any) -> float:
    """The bound from corrected slopes, with the limit on the price alone; ``-inf`` for a table that is too large for it."""
    with np.errstate(all="ignore"):
        sound = checked(problem, plan)

        def gather(work: Any, *arguments: Any) -> Any:
            return work(sound, *arguments)

        with mock.patch.object(lower_bound, "weak_duality_bound", return_value=-np.inf):
            return plan_bound(sound.part.setting, plan_sums(sound), limits_of(limits), np.inf, gather)


def limits_of(limits: Any) -> tuple[Enclosure, Enclosure, Enclosure]:
    return enclose(limits.price), enclose(limits.intercept), enclose(limits.levels)
