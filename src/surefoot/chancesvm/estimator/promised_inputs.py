"""The part of a fitted classifier that is about inputs to come: their classes, and how sure these are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from surefoot.chancesvm.estimator.input_promises import HeldOutMargins, ScoreMoments, score_moments
from surefoot.chancesvm.estimator.kernel_scores import KernelScores
from surefoot.chancesvm.estimator.multi_class_machines import class_scores
from surefoot.chancesvm.inputs.borrowed_repeats import RepeatPool, Repeats, borrowed_samples
from surefoot.chancesvm.inputs.given_moments import read_covariances
from surefoot.chancesvm.inputs.stacked_inputs import unstacked
from surefoot.core.arrays import AnyArray, FloatArray, RowArray
from surefoot.design.encode.row_groups import RowGroups, read_row_groups
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.write.output_frame import build_frame
from surefoot.exceptions import WeakModelWarning
from surefoot.sklearn_api.number_table import Remedies, number_columns, read_number_table
from surefoot.sklearn_api.training_rows import require_columns_of_training

REMEDIES = Remedies(
    text="Kernels compare numbers: encode text and categories first, for example with scikit-learn's OneHotEncoder.",
    gap="an imputer before this model",
)


class PromisedInputs:
    """A fitted :class:`~surefoot.ChanceConstrainedSVC` before inputs that it has not seen."""

    kernel: Any
    classes_: AnyArray
    coef_: FloatArray
    groups_: list[Level]
    machines_: list[Any]
    multi_class_: str
    schema_: Schema
    # Models from before they were there have none.
    _held_out: HeldOutMargins | None = None
    _pool: RepeatPool | None = None
    _scores: KernelScores
    _kernel_columns: RowArray | None
    _library: str | None
    _feature_map: Any

    def predict(self, X: Any, groups: Any = None) -> AnyArray:
        """The class of each row, or of the input that it is a repeat of.

        Parameters
        ----------
        X : table of rows, or array of shape (n_inputs, n_repeats, n_columns)
        groups : array-like of shape (n_rows,), optional
            The input that each row is a measurement of: all its rows get the class of the mean of its scores. None: each row
            gets the class of its own score.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_inputs,) for an array of three dimensions
            The first class where a score is 0. Of several classes each machine has the mean of its scores.
        """
        rows, _, of_row, _ = unstacked(X, None, groups, None)
        if of_row is not groups:
            return self.predict(rows, of_row)[np.flatnonzero(np.diff(of_row, prepend=-1))]
        if groups is None:
            scores = self.decision_function(X)  # type: ignore[attr-defined] # of the whole model
            return self._classes(scores)
        block = self._block(X)  # type: ignore[attr-defined] # of the whole model
        inputs = read_row_groups(groups, len(block))
        return self._classes(self._combined([one._of_inputs(block, inputs).means for one in self._parts]))[inputs.codes]

    def promise(self, X: Any, groups: Any = None) -> Any:
        """What a model of two classes says of new inputs, and how sure that is.

        Parameters
        ----------
        X : table of rows
        groups : array-like of shape (n_rows,), optional
            The input that each row is a measurement of. None: each row is an input that was measured once.

        Returns
        -------
        data frame
            One row for each input, in the library of the training table:

            - ``group``, ``rows``: its name and the number of its measurements;
            - ``prediction``: the class of its mean score;
            - ``score``, ``spread``: mean of its scores, and how far that of a further measurement is from it; inputs borrow
              from those of training, as ``covariance`` says. One that was measured once is taken to be as noisy as others;
            - ``flips``: a further measurement is put into the other class at most that often, whatever its distribution with
              these two moments, which a few rows only estimate. NaN, as the spread, where nothing is known of it: one row,
              with ``covariance="batch"``;
            - ``other_class``, after a fit with ``probability=True`` and groups: at most about this fraction of inputs of the
              other class look as much like the predicted one, by inputs that were held out. At 0.1 or below the other class is
              ruled out with a confidence of 90 %.
        """
        return build_frame(self.promise_columns(X, groups), self._library)

    def promise_columns(self, X: Any, groups: Any = None) -> dict[str, Any]:
        """The columns of :meth:`promise` as plain lists and arrays."""
        self._require_two_classes("promise")
        X, _, groups, _ = unstacked(X, None, groups, None)
        weakness = getattr(self, "weakness_", "")
        if weakness:
            warnings.warn(f"{type(self).__name__}.promise: {weakness}", WeakModelWarning, stacklevel=3)
        block = self._block(X)  # type: ignore[attr-defined] # of the whole model
        inputs = RowGroups(tuple(range(len(block))), np.arange(len(block)), np.arange(len(block)))
        if groups is not None:
            inputs = read_row_groups(groups, len(block))
        found = self._of_inputs(block, inputs)
        return self._promised(found, inputs.names, np.bincount(inputs.codes, minlength=len(inputs.names)))

    def predict_moments(self, means: Any, covariances: Any, *, shared_covariance: Any = None) -> AnyArray:
        """The class of inputs that are known by their moments, that of their mean; linear kernel only.

        Parameters
        ----------
        means, covariances, shared_covariance
            As for :meth:`ChanceConstrainedSVC.fit_moments`: those of rows as the model was fitted to, or of their images under
            its ``feature_map``.

        Returns
        -------
        ndarray of shape (n_inputs,)
        """
        block, matrices = self._read_moments(means, covariances, shared_covariance)
        return self._classes(self._combined([one._of_moments(block, matrices).means for one in self._parts]))

    def promise_moments(self, means: Any, covariances: Any, *, shared_covariance: Any = None) -> Any:
        """What :meth:`promise` says, for inputs that are known by their moments; their ``rows`` are 0."""
        self._require_two_classes("promise_moments")
        found = self._of_moments(*self._read_moments(means, covariances, shared_covariance))
        count = found.means.size
        return build_frame(self._promised(found, range(count), np.zeros(count, dtype=np.int64)), self._library)

    def borrowed_covariances(self, rows: FloatArray, of_row: RowArray) -> FloatArray | None:
        """The covariances that inputs of these rows are taken to have, in the units of their columns; None if their own.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            The rows of training, all of the same weight.
        of_row : ndarray of shape (n_rows,)
            The place of each row's input in ``groups_``.

        Returns
        -------
        ndarray of shape (n_inputs, n_features, n_features) or None
        """
        check_is_fitted(self)
        if self._pool is None:
            return None
        units = self._scores.units
        order = np.argsort(of_row, kind="stable")
        sizes = np.bincount(of_row, minlength=len(self.groups_))
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        own = rows[order] if units is None else units.standardized(rows[order])
        repeats = Repeats.of(own, starts, np.repeat(1.0 / sizes, sizes), np.ones(of_row.size))
        made = borrowed_samples(repeats, np.ones(of_row.size), same=self._pool.same)
        if made is None:
            return None
        found = made[0].covariances
        return found if units is None else found * np.outer(units.scales, units.scales)

    def _promised(self, found: ScoreMoments, names: Sequence[Level], sizes: RowArray) -> dict[str, Any]:
        positive = (found.means > 0).astype(np.intp)
        columns = {
            "group": list(names),
            "rows": sizes,
            "prediction": self.classes_[positive].tolist(),
            "score": found.means,
            "spread": found.spreads,
            "flips": found.flips,
        }
        if self._held_out is not None:
            columns["other_class"] = self._held_out.p_values(found.margins)[np.arange(positive.size), 1 - positive]
        return columns

    @property
    def _parts(self) -> list[Any]:
        """The machines of two classes: those of several classes, or the model itself."""
        return getattr(self, "machines_", [self])

    def _require_two_classes(self, what: str) -> None:
        check_is_fitted(self)
        if hasattr(self, "machines_"):
            raise ValueError(
                f"{what} is about two classes, and this model has {self.classes_.size}: ask its machines_, each of which tells "
                "two of them apart."
            )

    def _combined(self, scores: list[FloatArray]) -> FloatArray:
        if not hasattr(self, "machines_"):
            return scores[0]
        return class_scores(self.multi_class_, np.column_stack(scores), self.classes_.size)

    def _classes(self, scores: FloatArray) -> AnyArray:
        found: AnyArray = self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)]
        return found

    def _of_inputs(self, block: FloatArray, inputs: RowGroups) -> ScoreMoments:
        """The moments of the scores of inputs with these rows, of a machine of two classes."""
        if not len(block):
            return ScoreMoments(np.zeros(0), np.zeros(0))
        columns = slice(None) if self._kernel_columns is None else self._kernel_columns
        return score_moments(self._scores, block[:, columns], inputs, self._pool)

    def _of_moments(self, block: FloatArray, matrices: FloatArray) -> ScoreMoments:
        """The same from moments of the inputs."""
        variances = np.einsum("j,ijk,k->i", self.coef_[0], matrices, self.coef_[0])
        return ScoreMoments(self._scores(block), np.sqrt(np.maximum(variances, 0.0)))

    def _read_moments(self, means: Any, covariances: Any, shared: Any) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self)
        if not hasattr(self._parts[0], "coef_"):
            raise ValueError(f"moments of inputs say nothing about their scores under kernel={self.kernel!r}: pass rows.")
        if self._feature_map is None:
            require_columns_of_training(self, means)
        block = number_columns(read_number_table(means, REMEDIES), self.schema_)
        return block, read_covariances(block, covariances, shared)
