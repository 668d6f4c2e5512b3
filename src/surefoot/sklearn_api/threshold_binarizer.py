"""Readable 0/1 columns from numeric and categorical data, as a scikit-learn transformer."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from surefoot.core.arrays import AnyArray
from surefoot.design.binarize.binary_column import BinaryColumn
from surefoot.design.binarize.cut_judgement import CutColumn, cut_columns, evidence_rows, gap_rows
from surefoot.design.binarize.cuts import Direction
from surefoot.design.binarize.table_binarizer import BinaryPlan, TableBinarizer
from surefoot.design.binarize.threshold_settings import by_position, share_of_rows, threshold_limit, threshold_numbers
from surefoot.design.encode.doubtful_columns import categories_are_listed, named_columns, warn_of_doubtful_columns
from surefoot.design.encode.labels import encode_labels
from surefoot.design.encode.schema import Level, Schema
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.design.read.table import Table, read_table
from surefoot.design.write.output_frame import build_frame, frame_library, frame_of_block
from surefoot.exceptions import InvalidTableError, WeakModelWarning
from surefoot.sklearn_api.sample_weight import row_counts
from surefoot.sklearn_api.training_rows import flat_labels, require_columns_of_training, set_columns_of_training

DEFAULT_THRESHOLDS = 5


class ThresholdBinarizer(TransformerMixin, BaseEstimator):
    """Readable 0/1 columns: "age >= 75", "sex = female", "income missing".

    A numeric column becomes one 0/1 column per threshold, a category one per level. A table whose columns say yes or no is what
    a score card needs: every line of the card can be answered by looking at the patient. Columns that hold 0 and 1 already pass
    unchanged, under their own name; columns that are constant in training give nothing.

    Parameters
    ----------
    strategy : {"quantile", "supervised"}, default="quantile"
        Where numeric columns are cut: into parts of equal weight, or where the share of positive labels changes: at the cuts of
        the step function of one column with the greatest likelihood, as many of them as the Bayesian information criterion asks
        for (at least one, at most ``max_thresholds``). "supervised" needs two classes in ``y``.
    max_thresholds : int or mapping, default=5
        Most thresholds per numeric column; a mapping names columns, those it leaves out have 5.
    min_share : float, default=0.05
        Least share of the rows between two neighbouring supervised cuts, and beyond the outermost. A column that no cut parts
        in this way (0 in nearly all rows) is cut once, at its best place.
    thresholds : mapping, optional
        Fixed thresholds {column: [numbers]} for numeric columns. They are used as given, even where they part no training rows.
        An empty list leaves the column out.
    round_thresholds : bool, default=True
        Move each threshold to the roundest number between the two neighbouring training values, which parts the training rows
        in the same way. False: the upper one of the two values.
    rounding_slack : float, default=0.0
        Share of the rows that a threshold may pass on its way to a rounder number. Measurements with many digits leave no room
        between neighbouring values; 0.01 may make "pressure >= 120" of "pressure >= 119.8723", and moves at most 1 % of the
        rows.
    categorical_features : "from_dtype", None, or list, default="from_dtype"
        Which columns are categories: those whose type says so (text, boolean, categorical), none, or a list of names, positions
        or booleans.
    rare_levels : int or float, optional
        Levels that fewer rows have (an int), or a smaller share of rows (a float below 1), are counted as one level if there
        are two or more of them.
    drop_complements : bool, default=True
        Make one column, not two, of a category with two levels: the second is one minus the first. Both are made nevertheless
        if ``unseen="zero"``, where they can be 0 together.
    missing : {"error", "column", "typical"}, default="error"
        Gaps: an error; or a column of their own ("age missing"), where all other columns of the feature are 0; or the answers
        of the typical row, that of the median or of the most frequent level, which are the neutral ones where nothing is
        known.
    unseen : {"error", "zero"}, default="error"
        Levels that no training row had, and gaps where training had none: an error, or 0 in all columns of the feature. With
        ``missing="typical"`` gaps are answered wherever they are.
    monotone : {"increasing", "decreasing", "either"} or mapping, optional
        With ``strategy="supervised"``: cuts between which the share of positive rows only rises, only falls, or does one of the
        two. A mapping names columns. The cuts are the best under this condition; a column that has none is left out, with a
        ``WeakModelWarning``.
    pos_label : object, optional
        The class whose rows are positive, for ``monotone`` and ``evidence``. None means the second in sorted order: of "CHD"
        and "no CHD" that would be "no CHD".

    Attributes
    ----------
    columns_ : tuple of BinaryColumn
        What each 0/1 column means: ``name``, ``feature``, ``operator`` (">=", "=", "in", "missing") and ``value``.
    thresholds_ : dict of str to list of float
        Thresholds of each numeric column that has some.
    plan_ : BinaryPlan
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the table had names.

    Notes
    -----
    A data frame comes out as a data frame of the same library, so that names survive in a Pipeline; arrays come out as arrays.
    ``set_output`` overrules this, as in all of scikit-learn.

    Examples
    --------
    >>> import surefoot as sf
    >>> X = [[34, "web"], [71, "shop"], [58, "web"], [80, "phone"], [45, "shop"], [76, "web"]]
    >>> binarizer = sf.ThresholdBinarizer(max_thresholds=2).fit(X)
    >>> print(*binarizer.get_feature_names_out(["age", "channel"]), sep=", ")
    age >= 50, age >= 75, channel = phone, channel = shop, channel = web
    >>> binarizer.transform([[79, "web"]])
    array([[1, 1, 0, 0, 1]], dtype=int8)
    """

    plan_: BinaryPlan
    columns_: tuple[BinaryColumn, ...]
    thresholds_: dict[str, list[float]]
    n_features_in_: int
    feature_names_in_: AnyArray
    # Files from before there were directions lack it.
    later_parameters: ClassVar[Mapping[str, Any]] = {"monotone": None, "pos_label": None}

    def __init__(
        self,
        *,
        strategy: str = "quantile",
        max_thresholds: Any = DEFAULT_THRESHOLDS,
        min_share: float = 0.05,
        thresholds: Any = None,
        round_thresholds: bool = True,
        rounding_slack: float = 0.0,
        categorical_features: Any = "from_dtype",
        rare_levels: float | None = None,
        drop_complements: bool = True,
        missing: str = "error",
        unseen: str = "error",
        monotone: Any = None,
        pos_label: Any = None,
    ) -> None:
        self.strategy = strategy
        self.max_thresholds = max_thresholds
        self.min_share = min_share
        self.thresholds = thresholds
        self.round_thresholds = round_thresholds
        self.rounding_slack = rounding_slack
        self.categorical_features = categorical_features
        self.rare_levels = rare_levels
        self.drop_complements = drop_complements
        self.missing = missing
        self.unseen = unseen
        self.monotone = monotone
        self.pos_label = pos_label

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the 0/1 columns.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix (numeric)
        y : array-like of shape (n_rows,), optional
            Labels, two values; only ``strategy="supervised"`` looks at them.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        self._fit(X, read_table(X), y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Choose the 0/1 columns and make them; the table is read once."""
        table = read_table(X)
        return self._fit(X, table, y, sample_weight)._output(X, table)

    def transform(self, X: Any) -> Any:
        """The 0/1 columns of a table.

        Parameters
        ----------
        X : data frame, 2-d array, list of rows, or scipy sparse matrix
            The columns of the training table, in the same order.

        Returns
        -------
        data frame or ndarray of shape (n_rows, n_columns), int8
        """
        require_columns_of_training(self, X)
        return self._output(X, read_table(X))

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names of the 0/1 columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of the table, for a table that had none. If it had names, these must be the same.
        """
        check_is_fitted(self)
        columns = self.columns_
        if input_features is not None:
            names = [str(name) for name in np.asarray(input_features, dtype=object)]
            if len(names) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), got {len(names)}"
                )
            if self.plan_.schema.named and names != list(self.plan_.schema.names):
                raise ValueError("input_features is not equal to feature_names_in_")
            renamed = dict(zip(self.plan_.schema.names, names, strict=True))
            columns = tuple(replace(column, feature=renamed[column.feature]) for column in columns)
        return np.array([column.name for column in columns], dtype=object)

    def columns_of(self, feature: str) -> list[str]:
        """Names of the 0/1 columns made of one column, for rules such as "at most one threshold of age"."""
        check_is_fitted(self)
        if feature not in self.plan_.schema.names:
            raise ValueError(f"{feature!r} is no column of the table; the columns are {', '.join(self.plan_.schema.names)}.")
        return [column.name for column in self.columns_ if column.feature == feature]

    def describe(self) -> Any:
        """What each 0/1 column means.

        Returns
        -------
        data frame
            Columns ``name``, ``feature``, ``operator`` and ``value`` (text; levels counted as one are separated by commas). The
            frame belongs to the library of the training table; after a fit on arrays it is a pandas frame, or a NumPy record
            array without pandas.
        """
        check_is_fitted(self)
        fields: dict[str, Sequence[Level]] = {
            "name": [column.name for column in self.columns_],
            "feature": [column.feature for column in self.columns_],
            "operator": [column.operator for column in self.columns_],
            "value": [column.value_text for column in self.columns_],
        }
        return build_frame(fields, self._library)

    def evidence(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """What a table says of every interval between thresholds: weight of evidence and information value.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`; ``y`` holds two classes.

        Returns
        -------
        data frame
            Columns ``feature``, ``answer`` ("40 to below 65"), ``weight``, ``observed`` (share of positive rows), ``woe`` and
            ``information``, the part of the information value of the feature. Categories, and columns of 0 and 1, are left out.
        """
        return build_frame(evidence_rows(self._cut_columns(X, y, sample_weight)), self._library)

    def cut_gaps(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """How far the cuts are from the best ones there are, proven.

        Compared are all cuts that ``max_thresholds``, ``min_share`` and ``monotone`` allow, by the objective that supervised
        cuts minimise: the negative log-likelihood of a step function, plus the logarithm of the weight of all rows for each
        cut. Up to 1,500 distinct values all of them are gone through; of columns with more, relaxations are solved.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`; ``y`` holds two classes.

        Returns
        -------
        data frame
            Columns ``feature``, ``n_cuts``, ``objective``, ``lower_bound`` (no allowed cuts have an objective below) and
            ``gap``, relative to it. Cuts at fixed or at rounded thresholds may keep less than is asked of the others.
        """
        columns = self._cut_columns(X, y, sample_weight)
        table = read_table(X)
        rows = gap_rows(columns, self._limits(table), share_of_rows("min_share", self.min_share), self._directions(table))
        return build_frame(rows, self._library)

    def _cut_columns(self, X: Any, y: Any, sample_weight: Any) -> Iterator[CutColumn]:
        require_columns_of_training(self, X)
        table = read_table(X)
        return cut_columns(
            self.plan_, table, _positive(y, table.n_rows, self.pos_label), row_counts(sample_weight, table.n_rows)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.strategy == "supervised":
            tags.target_tags.required = True
            tags.classifier_tags = ClassifierTags(multi_class=False)  # says that labels are of two classes
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _fit(self, X: Any, table: Table, y: Any, sample_weight: Any) -> Self:
        weights = row_counts(sample_weight, table.n_rows)
        positive = _positive(y, table.n_rows, self.pos_label) if self.strategy == "supervised" else None
        directions = self._directions(table)
        plan = TableBinarizer(
            strategy=self.strategy,  # type: ignore[arg-type]  # policies are checked there
            max_thresholds=self._limits(table),
            thresholds=self._fixed(table),
            categorical_features=self.categorical_features,
            directions=directions,
            missing=self.missing,  # type: ignore[arg-type]
            unseen=self.unseen,  # type: ignore[arg-type]
            min_share=share_of_rows("min_share", self.min_share),
            rare=self._rare_weight(float(weights.sum())),
            drop_complements=bool(self.drop_complements),
            round_thresholds=bool(self.round_thresholds),
            rounding_slack=share_of_rows("rounding_slack", self.rounding_slack),
        ).fit(table, weights, positive)
        self._warn_of_doubtful_columns(table, plan.schema)
        self._warn_of_lost_columns(table, weights, directions, plan)
        self._library = frame_library(X)
        self.plan_ = plan
        self.columns_ = plan.columns
        self.thresholds_ = {}
        for column in plan.columns:
            if column.operator == ">=":
                self.thresholds_.setdefault(column.feature, []).append(column.value)  # type: ignore[arg-type]
        set_columns_of_training(self, table.names, named=table.named)
        return self

    def _warn_of_doubtful_columns(self, table: Table, schema: Schema) -> None:
        numbers = None if issparse(table.array) else [table.columns[at].numbers() for at in schema.numeric_positions]
        present = [int((table.columns[at].categories().codes >= 0).sum()) for at in schema.categorical_positions]
        listed, meant = categories_are_listed(self.categorical_features), named_columns(self.thresholds, self.max_thresholds)
        who = f"{type(self).__name__}.fit"
        warn_of_doubtful_columns(who, schema, numbers, present, listed=listed, meant=meant, stacklevel=5)

    def _output(self, X: Any, table: Table) -> Any:
        block = self.plan_.apply(table)
        # With set_output, scikit-learn's wrapper builds the frame from an array.
        chosen = getattr(self, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
        if chosen != "default" or frame_library(X) is None:
            return block
        return frame_of_block(block, [column.name for column in self.columns_], X)

    def _limits(self, table: Table) -> list[int]:
        given = self.max_thresholds
        by_column = by_position(given, table, "max_thresholds") if isinstance(given, Mapping) else None
        if by_column is None:
            return [threshold_limit(given)] * len(table.names)
        return [threshold_limit(by_column.get(at, DEFAULT_THRESHOLDS)) for at in range(len(table.names))]

    def _fixed(self, table: Table) -> dict[int, list[float]]:
        if self.thresholds is None:
            return {}
        if not isinstance(self.thresholds, Mapping):
            raise ValueError(f"thresholds = {self.thresholds!r} must be a mapping {{column: [numbers]}}.")
        fixed = by_position(self.thresholds, table, "thresholds")
        return {at: threshold_numbers(values, table.names[at]) for at, values in fixed.items()}

    def _directions(self, table: Table) -> dict[int, Direction]:
        given = self.monotone
        if given is None:
            return {}
        if self.strategy != "supervised":
            raise ValueError("monotone is about shares of positive rows, at which only strategy='supervised' looks.")
        named = by_position(given, table, "monotone") if isinstance(given, Mapping) else None
        if named is None:
            kinds = TableEncoder(categorical_features=self.categorical_features).kinds(table)
            named = {at: given for at, kind in enumerate(kinds) if kind == "numeric"}
        for direction in [given] if not named else named.values():
            if direction not in ("increasing", "decreasing", "either"):
                raise ValueError(f"monotone = {direction!r} is not understood; use 'increasing', 'decreasing' or 'either'.")
        return named

    def _warn_of_lost_columns(
        self, table: Table, weights: NDArray[np.float64], directions: Mapping[int, Direction], plan: BinaryPlan
    ) -> None:
        lost = []
        for at in directions:
            if not any(own.operator != "missing" for own in plan.outputs[at]) and at not in self._fixed(table):
                known = table.columns[at].numbers()[weights > 0]
                if np.unique(known[~np.isnan(known)]).size > 1:
                    lost.append(plan.schema.names[at])
        if lost:
            warnings.warn(
                f"{type(self).__name__}.fit: no cut of {', '.join(map(repr, lost))} keeps the shares of positive rows monotone "
                "as asked; no threshold was made. Ask for the other direction, or for 'either'. Positive is the class that "
                "pos_label names, or else the second in sorted order.",
                WeakModelWarning,
                stacklevel=4,
            )

    def _rare_weight(self, total: float) -> float:
        rare = self.rare_levels
        if rare is None:
            return 0.0
        if isinstance(rare, numbers.Integral) and not isinstance(rare, bool) and rare >= 1:
            return float(rare)
        if isinstance(rare, numbers.Real) and not isinstance(rare, numbers.Integral) and 0 < float(rare) < 1:
            return float(rare) * total
        raise ValueError(
            f"rare_levels = {rare!r} must be None, a whole number of rows of at least 1, or a share of rows between 0 and 1."
        )


def _positive(y: Any, n_rows: int, pos_label: Any) -> NDArray[np.bool_]:
    found = encode_labels(flat_labels(y))
    labels, names = found.signs, found.classes.tolist()
    if pos_label is not None and pos_label not in names:
        raise InvalidTableError(f"pos_label = {pos_label!r:.80} is no class: y holds {names[0]!r:.80} and {names[1]!r:.80}.")
    if labels.size != n_rows:
        raise InvalidTableError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {labels.size} labels."
        )
    return np.asarray(labels < 0 if pos_label is not None and pos_label == names[0] else labels > 0)
