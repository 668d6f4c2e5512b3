"""A model of more than two classes: machines of two classes each, and what they are together.

Each machine is judged by the certificate of its own problem, which is the trusted one. What is proven of all of them together
is the sum: no set of planes, one for each problem, has a sum of objectives below the sum of the lower bounds, since none of
them has an objective below its own. Sums are enclosed, so that rounding counts against the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.chancesvm.estimator.class_rows import ClassRows
from surefoot.core.arrays import AnyArray, FloatArray, RowArray
from surefoot.core.certificate import Certificate, Statement, digest, verdict
from surefoot.core.enclosure import enclose
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.design.encode.schema import Level, Schema
from surefoot.sklearn_api.training_rows import set_columns_of_training

# What such a model answers by, beside its machines.
_OWN_NUMBERS = ("classes_", "multi_class_", "groups_", "support_groups_", "row_groups_", "_named_groups")
# What only a model of two classes has: of several, each machine has its own.
_OF_TWO_CLASSES = (
    *("_scores", "_kernel_columns", "_inputs", "support_", "support_vectors_", "dual_coef_", "coef_", "intercept_"),
    *("gamma_", "public_objective_", "moment_radii_", "sigmoid_", "weakness_", "_pool", "_held_out"),
)
_OF_SEVERAL_CLASSES = ("machines_", "multi_class_")


class SeveralMachines:
    """The part of a fitted :class:`~surefoot.ChanceConstrainedSVC` that is about more than two classes."""

    machines_: list[Any]
    multi_class_: str
    classes_: AnyArray
    groups_: list[Level]
    support_groups_: list[Level]
    row_groups_: RowArray
    certificate_: Certificate
    outcome_: SolveOutcome[Any, Any]
    schema_: Schema

    @property
    def _is_multi_class(self) -> bool:
        return hasattr(self, "machines_")

    def _machine_scores(self, block: FloatArray) -> FloatArray:
        return np.column_stack([machine._scored(block) for machine in self.machines_])

    def _inputs_of_machines(self) -> dict[str, Any]:
        tables = [machine.input_columns() for machine in self.machines_]
        names = [" or ".join(map(str, machine.classes_.tolist())) for machine in self.machines_]
        of_input = [name for name, machine in zip(names, self.machines_, strict=True) for _ in machine.groups_]
        return {"machine": of_input, **{name: _joined([table[name] for table in tables]) for name in tables[0]}}

    def _take_machines(self, machines: Sequence[Any], table: ClassRows, multi_class: str, feature_map: Any = None) -> None:
        """Take over machines that are fitted; nothing is set before."""
        first, given = machines[0], table.given
        for name in _OF_TWO_CLASSES:
            if name in vars(self):
                delattr(self, name)
        self.machines_ = list(machines)
        self.multi_class_ = multi_class
        self.classes_ = table.classes
        self.schema_ = first.schema_
        self._feature_map, self._library, self._named_groups = feature_map, first._library, first._named_groups
        of_moments = list[Level]() if hasattr(first, "row_groups_") else list[Level](range(table.n_table_rows))
        self._set_inputs(table, of_moments if given is None else list(given.names))
        self.certificate_ = certificate_of_sum([machine.certificate_ for machine in machines])
        self.outcome_ = _outcome([machine.outcome_ for machine in machines], self.certificate_)
        self.solver_ = first.solver_
        self.n_iter_ = sum(machine.n_iter_ for machine in machines)
        set_columns_of_training(self, first.schema_.names, named=first.schema_.named and feature_map is None)
        self._seal_proof()  # type: ignore[attr-defined] # of a proven model

    def _set_inputs(self, table: ClassRows, names: list[Level]) -> None:
        """Named inputs: all of them, those that support a machine, and which one each row is a sample of."""
        supporting = {name for machine in self.machines_ for name in machine.support_groups_}
        self.groups_, self.support_groups_ = names, [name for name in names if name in supporting]
        if table.given is not None:
            self.row_groups_ = np.full(table.n_table_rows, -1, dtype=np.int64)
            self.row_groups_[table.rows.positions] = table.given.codes
        elif hasattr(self, "row_groups_"):
            del self.row_groups_

    def _forget_machines(self) -> None:
        for name in _OF_SEVERAL_CLASSES:
            if hasattr(self, name):
                delattr(self, name)

    def _numbers_of_machines(self) -> Mapping[str, Any]:
        found = {name: getattr(self, name) for name in _OWN_NUMBERS if hasattr(self, name)}
        for at, machine in enumerate(self.machines_):
            proof = {
                field.name: getattr(machine.certificate_, field.name) for field in dataclasses.fields(machine.certificate_)
            }
            del proof["witness"]  # it is checked whenever it is used, and a file may do without it
            own = {**machine._proven_numbers(), **{f"proof.{name}": value for name, value in proof.items()}}
            found |= {f"machine {at}.{name}": value for name, value in own.items()}
        return {**found, "schema_": self.schema_.to_dict()}


def certificate_of_sum(parts: Sequence[Certificate]) -> Certificate:
    """What the certificates of all machines say together; proven only if each of them is."""
    own = "one for each of these problems of two classes and each of the class that its own certificate names,"
    open_ = sum(not part.verified for part in parts)
    flaw = f"{open_} of the planes {'is' if open_ == 1 else 'are'} not proven optimal" if open_ else ""
    with np.errstate(all="ignore"):
        upper = enclose(np.array([part.upper_bound for part in parts])).sum().high
        lower = enclose(np.array([part.lower_bound for part in parts])).sum().low
    return verdict(
        Statement(f"set of {len(parts)} planes, {own}", "sum of objectives", flaw=flaw),
        upper=float(upper),
        # No objective is negative, whatever the enclosure of a sum of zeros says.
        lower=max(0.0, float(lower)),
        tolerance=max(part.tolerance for part in parts),
        witness=None,
        problem_digest=digest(
            "chance-constrained SVMs of two classes each", {"parts": [part.problem_digest for part in parts]}
        ),
        model_digest=digest("planes", {"parts": [part.model_digest for part in parts]}),
    )


def _outcome(outcomes: Sequence[SolveOutcome[Any, Any]], proof: Certificate) -> SolveOutcome[Any, Any]:
    """How the solves ended together: as the first one that did not end at its optimum, if there is one."""
    ended = [outcome.status for outcome in outcomes if outcome.status is not Status.OPTIMAL]
    return SolveOutcome(
        status=ended[0] if ended else Status.OPTIMAL,
        primal=None,
        dual=None,
        upper_bound=proof.upper_bound,
        lower_bound=proof.lower_bound,
        iterations=sum(outcome.iterations for outcome in outcomes),
        seconds=sum(outcome.seconds for outcome in outcomes),
    )


def _joined(columns: list[Any]) -> Any:
    """Columns of several tables, one behind the other."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    return [value for column in columns for value in column]
