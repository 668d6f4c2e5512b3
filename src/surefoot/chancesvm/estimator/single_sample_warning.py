"""The warning that inputs are taken to be known exactly, where nobody has said so."""

from __future__ import annotations

import warnings

import numpy as np

from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.design.encode.level_codes import listing
from surefoot.design.encode.row_groups import RowGroups
from surefoot.exceptions import SingleSampleWarning


def warn_of_single_samples(given: RowGroups | None, settings: SVMSettings, where: str, *, borrows: bool) -> None:
    """Say so where inputs are taken to be known exactly, unless that is what was asked for."""
    if given is None:
        if settings.batches == "auto":
            warnings.warn(
                f"{where}: no groups were given, so that each row is taken to be an input of its own that is known exactly: a "
                "plain support vector machine. If rows are repeated measurements, pass groups= (in a search of scikit-learn "
                "with metadata routing and set_fit_request(groups=True)). If not, batches='rows' says so.",
                SingleSampleWarning,
                stacklevel=3,
            )
        return
    single = [name for name, size in zip(given.names, np.bincount(given.codes), strict=True) if size == 1]
    if single:
        taken = "They are taken to vary as the other inputs do."
        if not borrows:
            taken = "The ellipsoid of one sample is a point: these inputs are taken to be known exactly."
        warnings.warn(
            f"{where}: {len(single)} of {len(given.names)} groups have one row (group {listing(single)}), which says "
            f"nothing about their spread. {taken}",
            SingleSampleWarning,
            stacklevel=3,
        )
