"""The parts of a robust certificate, called one by one on a whole table."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.enclosure import Enclosure
from surefoot.robust.certificate import corrected_slopes
from surefoot.robust.certificate.certificate import frame_of, survey
from surefoot.robust.certificate.checked_plan import CheckedPlan, check_plan
from surefoot.robust.certificate.objective import objective_of, row_sums
from surefoot.robust.certificate.posed_rows import Frame, Part, read_part, read_setting
from surefoot.robust.certificate.weak_duality import plan_sums, weak_duality_bound


def framed(problem: Any) -> tuple[Part, Frame]:
    """The rows of a problem, and their frame."""
    setting = read_setting(problem)
    return read_part(problem, setting), frame_of(setting, survey(problem, setting), shares=True)


def checked(problem: Any, plan: Any) -> CheckedPlan:
    return check_plan(*framed(problem), plan)


def objective(problem: Any, model: Any) -> Enclosure:
    """Enclosure of the model's objective."""
    part, frame = framed(problem)
    with np.errstate(all="ignore"):
        return objective_of(frame, model, row_sums(part, frame, model)[0])


def weak_bound(problem: Any, plan: Any, limits: Any) -> float:
    with np.errstate(all="ignore"):
        sound = checked(problem, plan)
        return weak_duality_bound(sound.frame.setting, plan_sums(sound), limits)


def corrected_bound(problem: Any, plan: Any, limits: Any) -> float:
    """The bound from corrected slopes; ``-inf`` for a table that is too large for it."""
    with np.errstate(all="ignore"):
        sound = checked(problem, plan)
        if corrected_slopes.too_large(sound.frame, sound.row.size):
            return -np.inf

        def gather(work: Any, *arguments: Any) -> Any:
            return work(sound, *arguments)

        return corrected_slopes.corrected_bound(sound.frame, plan_sums(sound), limits.price, gather)
