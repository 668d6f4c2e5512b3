"""The proof of a fitted chance-constrained classifier once more: its problem from the rows, its answer as it predicts now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.chancesvm.certificate.certificate import certify_chance_svm
from surefoot.chancesvm.estimator.chance_svc_model import ChanceSVCModel
from surefoot.chancesvm.estimator.class_rows import MachineRows, read_class_rows
from surefoot.chancesvm.estimator.input_problem import pose_moments, pose_rows, read_groups
from surefoot.chancesvm.estimator.posed_svm import PosedSVM, SolvedSVM
from surefoot.chancesvm.estimator.promised_inputs import REMEDIES
from surefoot.chancesvm.estimator.several_machines import certificate_of_sum
from surefoot.chancesvm.estimator.svm_settings import SVMSettings, read_settings
from surefoot.chancesvm.inputs.gap_policy import without_gaps
from surefoot.chancesvm.inputs.given_moments import read_covariances
from surefoot.chancesvm.inputs.stacked_inputs import unstacked
from surefoot.chancesvm.registry import ChanceOutcome
from surefoot.core.arrays import RowArray
from surefoot.core.certificate import Certificate
from surefoot.design.encode.labels import encode_classes
from surefoot.design.encode.row_groups import RowGroups
from surefoot.design.encode.schema import Level
from surefoot.design.encode.table_encoder import TableEncoder
from surefoot.exceptions import CertificateError, InvalidTableError
from surefoot.sklearn_api.number_table import dense, read_number_table
from surefoot.sklearn_api.parameter_marks import parameter_marks
from surefoot.sklearn_api.proven_model import CHANGED, ProofParts
from surefoot.sklearn_api.training_rows import (
    TrainingRows,
    flat_labels,
    read_training_rows,
    require_columns_of_training,
    require_same_classes,
)


class ChanceSVCProof(ChanceSVCModel):
    """The part of :class:`~surefoot.ChanceConstrainedSVC` that rebuilds what its certificate judges."""

    def _proof_parts(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> ProofParts:
        settings = read_settings(self)
        if not isinstance(X, tuple):
            X, y, groups, sample_weight = unstacked(X, flat_labels(y), groups, sample_weight)
            require_columns_of_training(self, X)
            if settings.drops_gaps:
                X, sample_weight = without_gaps(X, groups, sample_weight)
        if self._is_multi_class:
            return self._proof_of_machines(X, y, sample_weight, groups, settings)
        if hasattr(self, "row_groups_"):
            rows, given, n_rows = read_rows(X, y, groups, sample_weight, replace(settings, confidence=None))
            require_same_classes(self, rows)
            posed = self._posed_again(rows, given, n_rows, settings)
        else:
            means, covariances = _given_moments(X, sample_weight, groups)
            rows = read_training_rows(TableEncoder(categorical_features=None), read_number_table(means, REMEDIES), y)
            require_same_classes(self, rows)
            posed = pose_moments(rows, covariances, settings, self._scores.units)
        outcome = replace(self.outcome_, primal=self._answer(posed, rows))
        arguments = posed.proof_arguments(outcome, settings)

        def judge() -> Certificate:
            found = certify_chance_svm(**arguments)
            if found.problem_digest == self.certificate_.problem_digest:
                values = posed.problem.values(outcome.primal.coefficients)
                self._require_same(posed, SolvedSVM(outcome, found, self.solver_, values), rows)
            return found

        return ProofParts("chancesvm", arguments, judge)

    def _posed_again(self, rows: TrainingRows, given: RowGroups | None, n_rows: int, settings: SVMSettings) -> PosedSVM:
        """The problem of a fit, with its own groups if none are given, and the kernel that it has used."""
        if hasattr(self, "gamma_"):
            settings = replace(settings, gamma=self.gamma_)
        if given is None:
            given = groups_again(self.groups_, self.row_groups_, rows, n_rows)
        # Without this mark the model is from before prices depended on it.
        named = getattr(self, "_named_groups", None)
        posed = pose_rows(rows, given, settings, self._scores.units, named=named)
        if not posed.has_landmarks_of(self._scores.support, self.certificate_):
            # Earlier versions drew landmarks and did not choose among them.
            posed = pose_rows(rows, given, replace(settings, landmark_candidates=1), self._scores.units, named=named)
        return posed

    def _proof_of_machines(self, X: Any, y: Any, sample_weight: Any, groups: Any, settings: SVMSettings) -> ProofParts:
        """The same of more than two classes: the parts of all machines."""
        matrices, by_rows = None, hasattr(self.machines_[0], "row_groups_")
        if not by_rows:
            X, covariances = _given_moments(X, sample_weight, groups)
        labels = encode_classes(flat_labels(y))
        require_same_classes(self, labels)
        table = read_class_rows(number_table(X, settings), labels, groups, sample_weight, replace(settings, confidence=None))
        if not by_rows:
            matrices = read_covariances(dense(table.rows.design.numeric), covariances)
        elif table.given is None and self._named_groups:
            table = replace(table, given=groups_again(self.groups_, self.row_groups_, table.rows, table.n_table_rows))
        settings = table.settings(settings, by_moments=not by_rows)
        answers = list[tuple[ChanceSVCProof, PosedSVM, ChanceOutcome, dict[str, Any], MachineRows]]()
        wanted = list(table.machines(self.multi_class_))
        if len(wanted) != len(self.machines_):
            raise CertificateError(f"{CHANGED}: it has {len(self.machines_)} machines, and {len(wanted)} are needed.")
        for machine, own in zip(self.machines_, wanted, strict=True):
            if parameter_marks(machine) != parameter_marks(self):
                raise CertificateError(f"{CHANGED}: parameters of a machine are not those of the model.")
            if matrices is None:
                posed = machine._posed_again(own.rows, own.given, table.n_table_rows, settings)
            else:
                posed = pose_moments(own.rows, matrices[own.rows.positions], settings, machine._scores.units)
            outcome = replace(machine.outcome_, primal=machine._answer(posed, own.rows))
            answers.append((machine, posed, outcome, posed.proof_arguments(outcome, settings), own))
        parts = [answer[3] for answer in answers]

        def judge() -> Certificate:
            found = certificate_of_sum([certify_chance_svm(**part) for part in parts])
            if found.problem_digest == self.certificate_.problem_digest:
                for machine, posed, outcome, _, own in answers:
                    values = posed.problem.values(outcome.primal.coefficients)
                    machine._require_same(posed, SolvedSVM(outcome, machine.certificate_, machine.solver_, values), own.rows)
            return found

        return ProofParts("chancesvm", {"machines": parts}, judge)


def groups_again(names: list[Level], of_row: RowArray, rows: TrainingRows, n_rows: int) -> RowGroups:
    """The groups of a fit for the same rows.

    Raises
    ------
    InvalidTableError
        If these cannot be the rows of the fit.
    """
    if n_rows != of_row.size:
        raise InvalidTableError(f"there are {n_rows} rows, and the model was fitted to {of_row.size}.")
    codes = of_row[rows.positions]
    if codes.max(initial=-1) >= len(names):
        raise InvalidTableError(f"the model names {len(names)} groups, and its rows are of more.")
    if np.any(codes < 0):
        raise InvalidTableError("rows that had no weight in the fit have some now.")
    return RowGroups(tuple(names), codes.astype(np.intp), rows.positions)


def _given_moments(X: Any, sample_weight: Any, groups: Any) -> tuple[Any, Any]:
    """Means and covariances."""
    if not (isinstance(X, tuple) and len(X) == 2) or sample_weight is not None or groups is not None:
        raise ValueError("this model was fitted to moments: X is the pair (means, covariances), without weights or groups.")
    return X


def number_table(X: Any, settings: SVMSettings) -> Any:
    """A table of numbers; a square one if it is that of a precomputed kernel."""
    dropped = replace(REMEDIES, gap=f"missing='drop', which leaves them out, or {REMEDIES.gap}")
    table = read_number_table(X, REMEDIES if settings.precomputed else dropped)
    if settings.precomputed and table.n_rows != len(table.names):
        raise ValueError(
            f"Precomputed matrix must be a square matrix. Input is a {table.n_rows}x{len(table.names)} matrix: row i holds "
            "the kernels of row i with all rows."
        )
    return table


def read_rows(
    X: Any, y: Any, groups: Any, sample_weight: Any, settings: SVMSettings
) -> tuple[TrainingRows, RowGroups | None, int]:
    """Rows of training, their groups if any were named, and how many rows there were."""
    table = number_table(X, settings)
    rows = read_training_rows(TableEncoder(categorical_features=None), table, y, sample_weight)
    return rows, read_groups(groups, table.n_rows, rows, settings), table.n_rows
