"""Fitted models on thousands of shifted tables, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from surefoot.core.arrays import BoolArray, FloatArray
from surefoot.design.encode.labels import encode_labels
from surefoot.design.write.output_frame import frame_library
from surefoot.exceptions import InvalidTableError
from surefoot.shift.scenarios import Scenario, named_scenarios
from surefoot.shift.shift_model import ShiftModel
from surefoot.shift.stress.metrics import N_BINS, metrics_of_probabilities, metrics_of_scores, named_metrics
from surefoot.shift.stress.possible_rows import MOST_ROWS, PossibleRows
from surefoot.shift.stress.shifted_scores import AlikeScores, alike_scores, shifted_scores
from surefoot.shift.stress.stress_report import StressReport
from surefoot.shift.table_shift import Perturbation, TableShift, seed_entropy, set_seeds
from surefoot.sklearn_api.own_rows import own_rows
from surefoot.sklearn_api.progress import CountPrinter
from surefoot.sklearn_api.training_rows import flat_labels

# Draws of the certainties of a scenario; sets count from 0 upwards in the same stream.
_CERTAINTY_KEY = (1 << 32) - 1


@dataclass(frozen=True)
class StressParameters:
    """How sets are divided among threads and calls; results do not depend on it. bench_stress measures the speed."""

    # Sets that one thread takes at a time: few enough to divide the work evenly, enough to make hand-overs cheap.
    sets_per_task: int = 50
    # Scores in one call: small tables go together, because a set of them is too little work for a call of NumPy, and models on
    # large tables one after the other, because what is worked on should stay in the processor's cache.
    scores_per_call: int = 30_000


PARAMETERS = StressParameters()


def stress_test(
    model: Any,
    X: Any,
    y: Any,
    shift: ShiftModel,
    n_sets: int = 5000,
    metrics: Sequence[str] | str = ("auc", "ace", "log_loss"),
    random_state: Any = None,
    n_jobs: int | None = None,
    *,
    scenarios: Any = "expected",
    reference: Any = None,
    n_bins: int = N_BINS,
    quantiles: Sequence[float] = (0.05, 0.5, 0.95),
    verbose: int = 0,
) -> StressReport:
    """Measure fitted classifiers on many random shifts of a test table.

    Parameters
    ----------
    model : fitted binary classifier, or mapping of names to such
        Anything with ``predict_proba``; all models see the same shifted tables. Robust logistic regressions and score cards are
        evaluated from the shifts alone, which is much faster than predicting tables.
    X : data frame (pandas, polars, pyarrow), 2-d array, or list of rows
        The test table.
    y : array-like of shape (n_rows,)
    shift : ShiftModel
    n_sets : int, default=5000
        Shifted tables per scenario.
    metrics : names among "auc", "ace", "log_loss", "accuracy"
        Area under the ROC curve, adaptive calibration error, mean log loss, share of right answers.
    random_state : None, int, or NumPy generator
        A number makes the report reproducible, whatever ``n_jobs``. The tables of the scenario "expected" are those of
        ``shift.perturb(X, n_sets, random_state)``.
    n_jobs : int, optional
        Threads. None means 1 unless joblib's ``parallel_config`` says otherwise, -1 all cores.
    scenarios : "expected", "unexpected", "all", or list of names, default="expected"
        "unexpected" are the seven of the paper, in which the certainties were wrong: all of them by -0.2, -0.1 or +0.1
        ("certainty -0.2", ...), or each one by a random amount of up to 0.05, 0.1, 0.15 or 0.2 ("certainty within 0.05", ...).
    reference : table, optional
        Where standard deviations, and levels that X happens not to hold, come from: usually the training table. None means X.
    n_bins : int, default=10
        Bins of the adaptive calibration error.
    quantiles : sequence of float, default=(0.05, 0.5, 0.95)
    verbose : int, default=0
        Above 0: how much is done, on standard error.

    Returns
    -------
    StressReport
        ``table`` with mean, worst and quantiles, ``of(metric)`` with all values; prints readably.

    Notes
    -----
    Scenarios and metrics are those of Section 5.2 of Sun, Justin, Gomez and Vayanos, "Mixed-feature Logistic Regression Robust
    to Distribution Shifts" (AISTATS 2025).

    Examples
    --------
    >>> import surefoot as sf
    >>> X = [[1.0, "web"], [2.0, "shop"], [3.0, "web"], [4.0, "shop"], [5.0, "shop"], [6.0, "web"]]
    >>> y = ["no", "no", "yes", "no", "yes", "yes"]
    >>> model = sf.RobustLogisticRegression(radius=0.05).fit(X, y)
    >>> shift = sf.ShiftModel(numeric_certainty=0.8, categorical_certainty=0.9)
    >>> report = sf.stress_test(model, X, y, shift, n_sets=100, random_state=0)
    >>> report.of("auc").shape
    (100,)
    """
    if not isinstance(shift, ShiftModel):
        raise ValueError(f"shift = {shift!r} must be a ShiftModel.")
    sets = _whole(n_sets, "n_sets")
    bins = _whole(n_bins, "n_bins")
    levels = _require_quantiles(quantiles)
    names = named_metrics(metrics)
    chosen = named_scenarios(scenarios)
    models = _named_models(model)
    positive = positive_rows(next(iter(models.values())).classes_, y)
    entropy, threads = seed_entropy(random_state), joblib.effective_n_jobs(n_jobs)
    printer = CountPrinter("stress test", sets * len(chosen)) if verbose else None
    values = np.empty((len(chosen), len(models), len(names), sets))
    unshifted = np.empty((len(models), len(names)))
    # Matrix products here are small, and their own threads would fight with ours.
    with threadpool_limits(limits=1, user_api="blas"):
        for at, scenario in enumerate(chosen):
            shifted = _shift(shift, scenario, X, reference, entropy)
            if shifted.n_rows != positive.size:
                raise InvalidTableError(
                    f"Found input variables with inconsistent numbers of samples: X has {shifted.n_rows} rows, "
                    f"y has {positive.size} labels."
                )
            trial = _Trial(models, shifted, positive, names, bins)
            if at == 0:
                unshifted = trial.unshifted()
            seeds = set_seeds(entropy, scenario.stream, sets)
            _run(trial, seeds, values[at], threads, printer)
    library = frame_library(X)
    return StressReport(values, unshifted, tuple(scenario.name for scenario in chosen), tuple(models), names, levels, library)


class _Trial:
    """All models on one table that shifts."""

    def __init__(
        self, models: Mapping[str, Any], shift: TableShift, positive: BoolArray, metrics: Sequence[str], n_bins: int
    ) -> None:
        self.models, self.shift, self.positive, self.metrics, self.n_bins = models, shift, positive, metrics, n_bins
        scores = [shifted_scores(model, name, shift) for name, model in models.items()]
        self.linear = [at for at, found in enumerate(scores) if found is not None]
        self.others = [(at, model) for at, model in enumerate(models.values()) if scores[at] is None]
        alike = alike_scores(
            [found for found in scores if found is not None], max(1, PARAMETERS.scores_per_call // positive.size)
        )
        self.groups = [(group, self._possible_rows(group)) for group in alike]

    def _possible_rows(self, group: AlikeScores) -> PossibleRows | None:
        """All rows that there can be, if they are few."""
        n_levels = [column.n_levels for column in self.shift.categorical]
        scores = group.every_score(n_levels, MOST_ROWS)
        return None if scores is None else PossibleRows(scores, n_levels, self.positive, self.metrics, self.n_bins)

    def unshifted(self) -> FloatArray:
        """Metrics on the table as it is."""
        still = Perturbation(
            np.zeros((len(self.shift.numeric), 1, self.shift.n_rows)),
            np.array([column.levels.codes for column in self.shift.categorical])
            .reshape(-1, 1, self.shift.n_rows)
            .astype(np.int32),
        )
        return self._measure(still, [self.shift.table.source])[:, :, 0]

    def measure(self, seeds: Sequence[np.random.SeedSequence]) -> FloatArray:
        """Metrics on one shifted table per seed, an array of shape (n_models, n_metrics, n_sets)."""
        drawn = self.shift.draw(seeds)
        return self._measure(drawn, (self.shift.write(drawn, which) for which in range(len(seeds))))

    def _measure(self, drawn: Perturbation, tables: Iterable[Any]) -> FloatArray:
        """``tables`` are those that were drawn, written only if a model wants to read them."""
        sets, rows = drawn.noise.shape[1:]
        found = np.empty((len(self.models), len(self.metrics), sets))
        for group, possible in self.groups:
            places = [self.linear[place] for place in group.places]
            if possible is not None:
                found[places] = possible.measure(drawn.codes)
            else:
                measured = metrics_of_scores(group.on(drawn).reshape(-1, rows), self.positive, self.metrics, self.n_bins)
                found[places] = measured.reshape(-1, sets, len(self.metrics)).transpose(0, 2, 1)
        if self.others:
            places = [at for at, _ in self.others]
            for at, table in enumerate(tables):
                answers = [np.asarray(model.predict_proba(own_rows(table)), dtype=np.float64).T for _, model in self.others]
                first, second = np.stack(answers, axis=1)
                found[places, :, at] = metrics_of_probabilities(first, second, self.positive, self.metrics, self.n_bins)
        return found


def _run(
    trial: _Trial,
    seeds: Sequence[np.random.SeedSequence],
    values: FloatArray,
    threads: int,
    printer: CountPrinter | None,
) -> None:
    """Measure all sets into ``values``, of shape (n_models, n_metrics, n_sets); who does which makes no difference."""
    together = max(1, PARAMETERS.scores_per_call // (trial.positive.size * len(trial.models)))
    per_task = PARAMETERS.sets_per_task

    def run(start: int) -> None:
        stop = min(start + per_task, len(seeds))
        for at in range(start, stop, together):
            end = min(at + together, stop)
            values[:, :, at:end] = trial.measure(seeds[at:end])
        if printer is not None:
            printer.advance(stop - start)

    starts = range(0, len(seeds), per_task)
    joblib.Parallel(n_jobs=threads, backend="threading")(joblib.delayed(run)(start) for start in starts)


def _shift(shift: ShiftModel, scenario: Scenario, X: Any, reference: Any, entropy: int) -> TableShift:
    if scenario.offset == 0 and scenario.half_width == 0:
        return shift.on(X, reference)
    seed = np.random.SeedSequence(entropy, spawn_key=(scenario.stream, _CERTAINTY_KEY))
    return shift.on(X, reference, lambda rho, lowest: scenario.certainties(rho, lowest, seed))


def _named_models(model: Any) -> dict[str, Any]:
    named = dict(model) if isinstance(model, Mapping) else {type(model).__name__: model}
    if not named:
        raise ValueError("model is an empty mapping; give at least one fitted classifier.")
    for name, fitted in named.items():
        if not isinstance(name, str):
            raise ValueError(f"the name {name!r} of a model must be text.")
        if not hasattr(fitted, "predict_proba"):
            raise ValueError(
                f"model {name!r} ({type(fitted).__name__}) has no predict_proba, but a stress test needs probabilities. "
                "Wrap it in scikit-learn's CalibratedClassifierCV, or choose a classifier that has it."
            )
        if not hasattr(fitted, "classes_"):
            raise NotFittedError(f"model {name!r} ({type(fitted).__name__}) is not fitted: it has no classes_. Call fit first.")
        if len(fitted.classes_) != 2:
            raise ValueError(f"model {name!r} tells {len(fitted.classes_)} classes apart; a stress test takes two.")
    first, *rest = named.items()
    for name, fitted in rest:
        if list(fitted.classes_) != list(first[1].classes_):
            raise ValueError(
                f"model {name!r} knows the classes {list(fitted.classes_)}, but {first[0]!r} knows {list(first[1].classes_)}."
            )
    return named


def positive_rows(classes: Any, y: Any) -> BoolArray:
    """Which labels are of the second class; both classes must be there."""
    known = np.asarray(classes)
    positive: BoolArray = encode_labels(flat_labels(y), classes=known).signs > 0
    if positive.all() or not positive.any():
        raise InvalidTableError(
            f"y holds only the class {known.tolist()[int(positive[0])]!r}; ranking needs rows of both classes."
        )
    return positive


def _whole(value: Any, name: str) -> int:
    if not (isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1):
        raise ValueError(f"{name} = {value!r} must be a whole number of at least 1.")
    return int(value)


def _require_quantiles(quantiles: Any) -> tuple[float, ...]:
    levels = tuple(float(level) for level in quantiles)
    if not all(0 <= level <= 1 for level in levels):
        raise ValueError(f"quantiles = {quantiles!r} must be numbers from 0 to 1.")
    return levels
