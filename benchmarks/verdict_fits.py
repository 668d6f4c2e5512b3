"""One fit of the campaign: its warnings silenced, its errors sorted, its seconds held against its time limit."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from verdict_record import CRASH, EXTREME, FALSE_ERROR, ORDINARY, OVERRUN, REFUSED, UNVERIFIED, Record

from surefoot.exceptions import SurefootError, UnsupportedProblemError

# CPU seconds beyond its limit that a fit may take to notice, and to certify what it has.
GRACE = 1.0


def begin(family: str, seed: int) -> tuple[Record, np.random.Generator]:
    """An empty record and the draws of a seed; odd seeds are extreme."""
    return Record(family, seed, EXTREME if seed % 2 else ORDINARY), np.random.default_rng([seed, sum(family.encode())])


def fitted(record: Record, fit: Callable[[], Any], limit: float | None, right: Callable[[SurefootError], bool]) -> Any | None:
    """The fitted model, or None after an error, which is noted unless ``right`` says that its sentence is true."""
    start = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = fit()
    except UnsupportedProblemError:
        return None
    except SurefootError as error:
        if not right(error):
            record.add(FALSE_ERROR, f"{type(error).__name__}: {error}")
        return None
    except Exception as error:
        # Whatever escapes is what a user would see: a crash of the fit.
        record.add(CRASH, f"{type(error).__name__}: {error}")
        return None
    finally:
        record.seconds = time.process_time() - start
        if limit is not None and record.seconds > limit + GRACE:
            record.add(OVERRUN, f"{record.seconds:.1f} s of CPU with a limit of {limit:.1e} s")
    return model


def row_weights(weight: NDArray[Any] | None, n_rows: int) -> NDArray[Any]:
    """Weights that sum to 1, rounded as a posed problem has them: a proof knows the problem it is about to the last bit."""
    given = np.ones(n_rows) if weight is None else weight / weight.max()
    return np.asarray(given / given.sum())


def excuse_limit(record: Record, limit: float | None) -> None:
    """A fit that was given no time may stay without a proof."""
    if limit is not None:
        record.found.pop(REFUSED, None)
        record.found.pop(UNVERIFIED, None)
