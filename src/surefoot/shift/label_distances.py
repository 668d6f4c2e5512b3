"""How much labels differ between sites beyond what the columns explain: the least share that must flip.

One logistic regression is fitted to the rows of all sites and sorts them into ten parts by its probability. Rows of a part are
alike as far as the columns tell, so their labels should be alike at all sites. What remains of the difference in the share of
the second class between a site and the others, after chance, is the share of labels that must flip to make the site like them;
it is averaged over parts by their rows and over sites as in ``site_distances``. Sites where the outcome is more common, and
sites where it follows the columns differently, both show in it; sites that have other rows do not. It is the least share: a
relation that half of the sites reverse leaves the one model with nothing to sort by, and shows only in part.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.core.arrays import FloatArray
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.shift.environments import Environments
from surefoot.shift.site_distances import changed_share

# As many as in the calibration error of stress tests.
PARTS = 10
# The fit only sorts rows into parts: where it ends is of no consequence.
MOST_ITERATIONS = 200


def flipped_share(found: Environments, categorical: Sequence[str], signs: FloatArray, *, correct: bool = True) -> float:
    """The mean share of labels that must flip to make a site like the others.

    Parameters
    ----------
    found : Environments
    categorical : names of the columns that are categories
    signs : ndarray of shape (n_rows,)
        Labels, -1.0 and +1.0.
    correct : bool
        Whether what chance explains is taken off.
    """
    part = _parts(found, categorical, signs)
    codes = (signs > 0).astype(np.intp)
    share = 0.0
    for at in np.unique(part):
        own = part == at
        share += own.mean() * changed_share(codes[own], 2, found.codes[own], len(found.names), correct=correct)
    return float(share)


def _parts(found: Environments, categorical: Sequence[str], signs: FloatArray) -> NDArray[np.intp]:
    """Tenths of the rows by what one model for all sites says of them; fewer where it says the same of many."""
    # Loaded here: a shift model that looks at no labels is ready ten times as fast without.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    encoder = TableEncoder(categorical_features=list(categorical), missing_numeric="median", missing_categorical="level")
    design = encoder.fit_encode(found.table)
    block = design.numeric
    numeric = block if sparse.issparse(block) else sparse.csr_array(_standardized(np.asarray(block)))
    rows = np.arange(design.n_rows)
    levels = [
        sparse.csr_array((np.ones(rows.size), (rows, design.codes[:, at])), shape=(rows.size, int(count)))
        for at, count in enumerate(design.n_levels)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        matrix = sparse.csr_matrix(sparse.hstack([numeric, *levels]))
        model = LogisticRegression(max_iter=MOST_ITERATIONS).fit(matrix, signs)
    # Rows that the columns do not tell apart differ in their last digits only, if at all.
    scores = np.round(model.decision_function(matrix), 9)
    cuts = np.unique(np.quantile(scores, np.arange(1, PARTS) / PARTS))
    found_parts: NDArray[np.intp] = np.searchsorted(cuts, scores, side="right")
    return found_parts


def _standardized(block: FloatArray) -> FloatArray:
    # In units of the largest value no square overflows, and none vanishes.
    largest = np.abs(block).max(axis=0, initial=0.0)
    block = block / np.where(largest > 0, largest, 1.0)
    spread = block.std(axis=0)
    found: FloatArray = (block - block.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return found
