"""Rows of more than two classes, and those of each machine that tells two of them apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.chancesvm.estimator.input_problem import read_groups
from surefoot.chancesvm.estimator.multi_class_machines import machine_classes
from surefoot.chancesvm.estimator.svm_settings import SVMSettings
from surefoot.chancesvm.inputs.class_prices import class_prices
from surefoot.chancesvm.inputs.uncertain_inputs import read_violation
from surefoot.core.arrays import AnyArray
from surefoot.design.encode.labels import ClassLabels, encode_classes
from surefoot.design.encode.row_groups import RowGroups
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import InvalidTableError
from surefoot.sklearn_api.sample_weight import row_counts
from surefoot.sklearn_api.training_rows import TrainingRows, read_training_rows


@dataclass(frozen=True, eq=False)
class MachineRows:
    """The rows of one machine, by their places in the whole table, and how messages name it if there are several."""

    rows: TrainingRows
    given: RowGroups | None
    told: str = ""


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows of positive weight of several classes.

    Attributes
    ----------
    rows : TrainingRows
        Their labels tell the first class from all others.
    codes : ndarray of shape (n_rows,)
        Places of their labels among the classes.
    classes : ndarray of shape (n_classes,)
    given : RowGroups or None
        If the user named groups.
    n_table_rows : int
        Rows of the table, those without weight too.
    """

    rows: TrainingRows
    codes: NDArray[np.intp]
    classes: AnyArray
    given: RowGroups | None
    n_table_rows: int

    def machines(self, multi_class: str) -> Iterator[MachineRows]:
        """The rows of each machine, in the order of :func:`machine_classes`."""
        for first, second in machine_classes(multi_class, self.classes.size):
            positive = self.codes == second
            labels = replace(self.rows, labels=np.where(positive, 1.0, -1.0))
            name = self.classes.tolist()[second]
            if first is None:
                # What the others have in common has no name in the table.
                classes = np.array([f"not {name}", str(name)], dtype=object)
                yield MachineRows(replace(labels, classes=classes), self.given, f" ({name!r} or not)")
            else:
                own = np.flatnonzero(positive | (self.codes == first))
                rows = replace(labels, classes=self.classes[[first, second]]).take(own)
                given = None if self.given is None else self.given.take(own)
                yield MachineRows(rows, given, f" ({self.classes.tolist()[first]!r} or {name!r})")

    def settings(self, settings: SVMSettings, *, by_moments: bool = False) -> SVMSettings:
        """Those of each machine: violations by input, and what the class of each row multiplies its price by."""
        names = tuple(range(self.n_table_rows)) if by_moments else None
        known = names if self.given is None else self.given.names
        counts = self.rows.counts
        if self.given is not None:
            # Named inputs count once, however many rows they have.
            counts = 1.0 / np.bincount(self.given.codes)[self.given.codes]
        factors = np.ones(self.n_table_rows)
        factors[self.rows.positions] = class_prices(settings.class_weight, self.classes, self.codes, counts)
        return replace(settings, violation=read_violation(settings.violation, known), row_prices=factors)


def several_classes(y: Any) -> ClassLabels | None:
    """The labels if they are of more than two classes."""
    found = encode_classes(y)
    return found if found.classes.size > 2 else None


def read_class_rows(table: Any, labels: ClassLabels, groups: Any, sample_weight: Any, settings: SVMSettings) -> ClassRows:
    """Rows of several classes that count.

    Raises
    ------
    InvalidTableError
        If no row of a class has weight, or what :func:`read_training_rows` raises on.
    """
    counting = row_counts(sample_weight, labels.codes.size) > 0
    for at, name in enumerate(labels.classes.tolist()):
        if not np.any(counting & (labels.codes == at)):
            raise InvalidTableError(f"class {name!r} has no row of positive sample_weight. Leave its rows out, or weigh one.")
    encoder = TableEncoder(categorical_features=None)
    rows = read_training_rows(encoder, table, (labels.codes != 0).astype(np.int64), sample_weight)
    given = read_groups(groups, table.n_rows, rows, settings)
    return ClassRows(rows, labels.codes[rows.positions], labels.classes, given, table.n_rows)
