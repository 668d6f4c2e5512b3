"""The warning that inputs are taken to be known exactly, where nobody has said so."""

from __future__ import annotations

import warnings
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np

from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.design.encode.level_codes import listing
from surefoot.design.encode.row_groups import RowGroups
from surefoot.exceptions import SingleSampleWarning


class WarnsOnceOfSingleSamples:
    """A model that says once that inputs are taken to be known exactly, and not once more for each of its clones.

    A search fits clones, one for each fold and candidate. Before each, scikit-learn resets what Python remembers of warnings.
    """

    # Of clones: their own mark, and the mark of the one among all clones of a model that has warned of something. What is no
    # clone always warns.
    _mark: object = None
    _warned: dict[str, object] | None = None

    def __sklearn_clone__(self) -> Self:
        found: Self = super().__sklearn_clone__()  # type: ignore[misc] # of scikit-learn's BaseEstimator
        found._mark, found._warned = object(), _WARNED_CLONES.setdefault(self, {}) if self._warned is None else self._warned
        return found

    def _warn_of_single_samples(self, given: RowGroups | None, settings: SVMSettings, where: str, *, borrows: bool) -> None:
        """Say so where inputs are taken to be known exactly, unless that is what was asked for."""
        kind = "rows" if given is None else "groups"
        if self._warned is None or self._warned.get(kind, self._mark) is self._mark:
            said = _warn_of_single_samples(given, settings, where, borrows=borrows)
            if said and self._warned is not None:
                self._warned[kind] = self._mark


# Of models that have clones, as long as they are there.
_WARNED_CLONES: WeakKeyDictionary[WarnsOnceOfSingleSamples, dict[str, object]] = WeakKeyDictionary()


def _warn_of_single_samples(given: RowGroups | None, settings: SVMSettings, where: str, *, borrows: bool) -> bool:
    """Whether there was something to say."""
    if given is None:
        if settings.batches == "auto":
            warnings.warn(
                f"{where}: no groups were given, so that each row is taken to be an input of its own that is known exactly: a "
                "plain support vector machine. If rows are repeated measurements, pass groups= (in a search of scikit-learn "
                "with metadata routing and set_fit_request(groups=True)). If not, batches='rows' says so.",
                SingleSampleWarning,
                stacklevel=4,
            )
        return settings.batches == "auto"
    single = [name for name, size in zip(given.names, np.bincount(given.codes), strict=True) if size == 1]
    if single:
        taken = "They are taken to vary as the other inputs do."
        if not borrows:
            taken = "The ellipsoid of one sample is a point: these inputs are taken to be known exactly."
        warnings.warn(
            f"{where}: {len(single)} of {len(given.names)} groups have one row (group {listing(single)}), which says "
            f"nothing about their spread. {taken}",
            SingleSampleWarning,
            stacklevel=4,
        )
    return bool(single)
