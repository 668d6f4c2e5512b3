"""Many fits to the same rows: machines of more than two classes, and grids of prices and violations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

from sklearn.base import clone

from surefoot.chancesvm.estimator.calibration_folds import calibrated
from surefoot.chancesvm.estimator.chance_svc_proof import ChanceSVCProof, number_table, read_rows
from surefoot.chancesvm.estimator.class_rows import ClassRows, MachineRows, read_class_rows, several_classes
from surefoot.chancesvm.estimator.input_problem import pose_rows
from surefoot.chancesvm.estimator.single_sample_warning import WarnsOnceOfSingleSamples
from surefoot.chancesvm.estimator.svm_settings import SVMSettings, read_settings
from surefoot.chancesvm.inputs.gap_policy import without_gaps
from surefoot.chancesvm.inputs.stacked_inputs import unstacked
from surefoot.chancesvm.inputs.uncertain_inputs import read_violation, violation_of
from surefoot.design.encode.deciding_columns import warn_of_deciding_columns
from surefoot.design.encode.doubtful_columns import warn_of_doubtful_design
from surefoot.design.write.output_frame import frame_library
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.training_rows import flat_labels


class ChanceSVCPath(WarnsOnceOfSingleSamples, ChanceSVCProof):
    """The part of :class:`~surefoot.ChanceConstrainedSVC` that fits more than one problem to the same rows."""

    def _machines(
        self, X: Any, y: Any, groups: Any, sample_weight: Any, settings: SVMSettings, *, by_moments: bool = False
    ) -> tuple[list[tuple[Self, MachineRows]], ClassRows | None, SVMSettings, int]:
        """What is to be fitted to which rows: the model itself, or machines where there are more than two classes.

        Also all rows, if these are of several classes, the settings of each fit, and how many rows there were.
        """
        if settings.drops_gaps and not by_moments:
            X, sample_weight = without_gaps(X, groups, sample_weight, f"{type(self).__name__}.fit")
        labels = several_classes(y)
        if labels is None:
            rows, given, n_rows = read_rows(X, y, groups, sample_weight, settings)
            warn_of_doubtful_design(f"{type(self).__name__}.fit", rows.design, stacklevel=5)
            warn_of_deciding_columns(f"{type(self).__name__}.fit", rows.design, rows.labels, stacklevel=5)
            return [(self, MachineRows(rows, given))], None, settings, n_rows
        table = read_class_rows(number_table(X, settings), labels, groups, sample_weight, settings)
        warn_of_doubtful_design(f"{type(self).__name__}.fit", table.rows.design, stacklevel=5)
        params = self.get_params(deep=False)
        machines = [(type(self)(**params), own) for own in table.machines(settings.multi_class)]
        return machines, table, table.settings(settings, by_moments=by_moments), table.n_table_rows

    def fit_path(
        self,
        X: Any,
        y: Any,
        *,
        costs: Sequence[float],
        violations: Sequence[Any],
        groups: Any = None,
        sample_weight: Any = None,
    ) -> list[list[Self]]:
        """Fit a model for every pair of a violation and a price of slack, for a search among them; each is certified.

        The models are those of separate fits, to ``tol``, but much cheaper: kernels of all pairs of rows are computed once, and
        what was found at one point of the grid is where its neighbours begin. Beyond the price at which all slack is gone
        nothing is left to solve at all. ``self`` is not fitted.

        Parameters
        ----------
        X, y, groups, sample_weight
            As for :meth:`fit`. All models have the same clusters, where ``batches`` asks for some.
        costs : sequence of float
            In the place of ``C``.
        violations : sequence
            In the place of ``violation``: each entry is what that parameter takes.

        Returns
        -------
        list of list of ChanceConstrainedSVC
            ``models[i][j]`` is fitted with ``violations[i]`` and ``costs[j]``; limits hold for each model.
        """
        own_params = self.get_params(deep=False)
        models = [[type(self)(**{**own_params, "C": cost, "violation": value}) for cost in costs] for value in violations]
        if not (models and models[0]):
            raise ValueError(f"a path needs costs and violations, but there are {len(costs)} and {len(violations)}.")
        settings = [[read_settings(model) for model in row] for row in models]
        where, library = f"{type(self).__name__}.fit_path", frame_library(X)
        rows_given = unstacked(X, flat_labels(y), groups, sample_weight)
        machines, table, shared, n_rows = self._machines(*rows_given, replace(settings[0][0], cost=1.0))
        given = machines[0][1].given if table is None else table.given
        named = None if given is None else given.names
        grids = [models if table is None else [[clone(model) for model in row] for row in models] for _ in machines]
        for at, (grid, (_, part)) in enumerate(zip(grids, machines, strict=True)):
            posed = pose_rows(part.rows, part.given, shared, named=given is not None)
            if at == 0:
                self._warn_of_single_samples(given, shared, where, borrows=posed.pool is not None)
            of_row = posed.groups_of_rows(part.rows.positions, n_rows)
            wanted = [violation_of(read_violation(violation, named), posed.inputs.names) for violation in violations]
            title = f"{type(self).__name__}, {posed.problem.n_batches} inputs, {posed.problem.n_samples} samples, a path"
            for row, column, own, solved in posed.solve_path(shared, costs, wanted, title if self.verbose else None):
                one = settings[row][column]
                one = replace(one, seed=shared.seed) if table is None else table.settings(replace(one, seed=shared.seed))
                calibration = calibrated(part.rows, part.given, one) if self.probability else None
                grid[row][column]._unpack(
                    own, solved, part.rows, library, None, of_row, calibration, named_groups=given is not None
                )
                if not solved.is_settled:
                    warn_of_limit(solved, f"{where}{part.told} (C = {costs[column]!r}, violation = {violations[row]!r})")
        if table is not None:
            for row, line in enumerate(models):
                for column, model in enumerate(line):
                    model._take_machines([grid[row][column] for grid in grids], table, shared.multi_class)
        return models
