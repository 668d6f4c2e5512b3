"""Kernel classifiers for uncertain inputs: ellipsoids instead of points, separated at the proven optimum."""

from __future__ import annotations

import time
from typing import Any, Self

from surefoot.chancesvm.estimator.calibration_folds import calibrated
from surefoot.chancesvm.estimator.chance_svc_path import ChanceSVCPath
from surefoot.chancesvm.estimator.input_problem import pose_moments, pose_rows
from surefoot.chancesvm.estimator.posed_svm import PosedSVM, SolvedSVM
from surefoot.chancesvm.estimator.svm_settings import SVMSettings, read_settings
from surefoot.chancesvm.inputs.given_moments import read_covariances
from surefoot.chancesvm.inputs.stacked_inputs import unstacked
from surefoot.core.arrays import RowArray
from surefoot.core.outcome import SolveOutcome
from surefoot.design.write.output_frame import frame_library
from surefoot.exceptions import SolveInterrupted
from surefoot.sklearn_api.limit_warning import warn_of_limit
from surefoot.sklearn_api.number_table import dense
from surefoot.sklearn_api.training_rows import (
    TrainingRows,
    flat_labels,
)


class ChanceConstrainedSVC(ChanceSVCPath):
    """Support vector machine for inputs that are known by repeated measurements, or by mean and covariance.

    Input i is a batch of rows with one label y_i. In the feature space of the kernel the batch has a mean mu_i and a covariance
    Sigma_i. The model is the solution of ::

        min over w, b of  1/2 ||w||^2 + sum_i C_i max(0, 1 - y_i (w . mu_i + b) + tau_i sqrt(w' Sigma_i w)),
        tau_i = sqrt((1 - eps_i) / eps_i),   C_i = C * (number of rows) / (number of inputs).

    An input without slack is classified wrongly with a probability of at most ``violation`` (eps_i), whatever distribution with
    these two moments it has. Geometrically, ellipsoids are separated instead of points.

    Parameters
    ----------
    C : float, default=1.0
        Price of slack. All inputs together cost as much as their rows would in scikit-learn's SVC, so that the price does not
        depend on how rows are put together: inputs named by ``groups`` share C times the weight of all rows evenly; a row or a
        cluster costs C times its own weight. After ``fit_moments`` each input costs C.
    violation : float, array-like of shape (n_groups,), or mapping from group to float, default=0.95
        The probability of misclassification to be tolerated, above 0 and below 1; an array is in the sorted order of the
        groups. Close to 1 the spread of the inputs counts for nothing, and the model separates their means. 0.5 asks to be
        right at least as often as not, whatever the distribution; see the notes.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="rbf"
        As in scikit-learn. A callable takes two blocks of rows and returns their products.
    gamma : {"scale", "auto"} or float, default="scale"
        As in scikit-learn: exp(-gamma ||x - z||^2) and (gamma x . z + coef0)^degree, of rows in standard units.
    degree : int, default=2
    coef0 : float, default=1.0
    batches : {"auto", "rows", "clusters"} or int, default="auto"
        What inputs are when ``fit`` gets no groups. "auto" and "rows": every row, known exactly, which is a plain support
        vector machine; "auto" warns of it, "rows" says that it is meant. "clusters": k-means inside each class makes
        min(8, 10 % of the rows) of them, at least 2, as in the paper; a whole number: so many. They are shared between the
        classes in proportion to their distinct rows.
    solver : {"auto", "worst-points", "socp", "admm"}, default="auto"
        "auto" is "worst-points", and "socp" where that leaves up to 300 samples without a proof. All but "admm" find the
        optimum. "admm" is Algorithm 2 of the paper, and the model is its last iterate as it is: it chooses the point of an
        ellipsoid that suits it best, not the worst, and may stop at an objective many times the least. To show how many times,
        the certificate has the lower bound of "worst-points", unless ``time_limit`` is over by then.
    tol : float, default=1e-6
        Relative gap between the objective of the model and a proven lower bound at which to stop.
    max_iter : int, optional
    verbose : int, default=0
        Above 0: one line per iteration on standard error.
    random_state : int, RandomState or None, default=None
        Of k-means, and of the folds of ``probability``.
    time_limit : float, optional
        Most seconds to spend on the solve; the best model found by then stays, with a bound that holds. Its certificate is
        extra: one more look at the kernels of all pairs of rows, or of all rows with the landmarks, and at whether a given
        matrix is positive semidefinite (RBF kernel: about half a second for 4,000 rows, two for 8,000). "socp" refuses limits
        that a few of its iterations would outlast.
    probability : bool, default=False
        Whether ``predict_proba`` is to work. The solve is then repeated on five calibration folds, made of whole groups (rows,
        where no groups were given), and Platt scaling is fitted to the scores of each fold by the model that did not see it.
        With groups ``promise`` then also says how usual a new input would be in the other class.
    confidence : float, optional
        With which probability the true moments of a single input are to be covered, not only those of its samples. The
        ellipsoids are widened by the radii of :mod:`surefoot.chancesvm.problem.moment_radii`; ``moment_radii_`` says what this
        buys. Needs groups of independent, equally weighted rows, and many of them: for the RBF kernel thousands a group.
    kernel_bound : float, optional
        The length in feature space that no sample can ever exceed, for ``confidence``. Known for the RBF kernel: 1. For other
        kernels with a name it is about rows in standard units; ``standardize=False`` leaves columns as they are.
    n_landmarks : int, optional
        For tens of thousands of rows and kernels without a small explicit feature space: the best model among the combinations
        of so many rows is found and certified (Nystroem's method). They are chosen among twice as many, drawn evenly from all
        groups: one of each group if there are enough, then each as far as can be from what those before it span, by pivots of
        Cholesky's method; always the same for the same rows. The objective counts all rows. The certificate's bound holds for
        combinations of these rows only, as its claim says; how much better a model of all rows could be is not known. Time and
        memory grow with rows times landmarks instead of the square of the rows.
    covariance : {"auto", "shrunk", "pooled", "batch"}, default="auto"
        What the repeats of an input with a name say of its next measurement. "batch": that it has their mean and covariance, as
        in the paper; with few repeats that is too little, see the notes. "shrunk": the mean is off by as much as so few repeats
        leave open, and the covariance is drawn towards that of all inputs: one with fewer than ten repeats borrows deviations
        from the others, as long as its own. "pooled": all inputs have the same covariance. "auto": "shrunk"; "batch" with
        ``confidence``, and for kernels that are functions or matrices, which need not know rows that nobody measured.
    standardize : bool, default=True
        Whether each column is put into standard units inside: minus its mean, divided by its standard deviation over the rows
        of training (after ``fit_moments`` that of a draw from a random input). Kernels add up over columns, so that metres and
        millimetres would decide otherwise. ``coef_``, ``intercept_`` and ``support_vectors_`` are in the units of the columns.
        Kernels that are functions or matrices are left alone.
    admm_penalty : float, default=100.0
        Penalty rho of the augmented Lagrangian of ``solver="admm"``, which the paper leaves open: at which of its points the
        method stops, and how good that is, depends on it. No other solver has one.
    class_weight : {None, "balanced"} or mapping from class to float, default=None
        What the price of slack of the inputs of a class is multiplied by, as in scikit-learn's SVC; 1 for classes that a
        mapping does not name. "balanced": half of all inputs over those of the class, so that both classes cost the same; of
        rows and clusters, by their weight. Of more classes it multiplies the price of its inputs in every machine.
    multi_class : {"ovo", "ovr"}, default="ovo"
        How more than two classes are told apart: by a machine for each pair of classes, or for each class against the rest.
        Limits hold for each machine, and without groups each makes its own clusters.
    missing : {"raise", "drop"}, default="raise"
        What ``fit`` does about rows with gaps (NaN, None): an error, or they are left out with a warning, as if this repeat had
        not been measured. An input of which nothing is left is an error either way, and so are gaps in prediction, in moments
        and in a matrix of kernels.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Of two, the second one is the positive class.
    machines_ : list of ChanceConstrainedSVC
        Only of more than two classes: the models of two classes, in the order of the pairs or classes. They, not the model
        itself, have the attributes below that are about rows, kernels and planes.
    multi_class_ : str
        Only of more than two classes: which machines these are.
    groups_ : list
        The inputs by name, in sorted order; numbers from 0 where nobody named them. Of more than two classes empty where rows
        or clusters are inputs, which each machine numbers for itself.
    row_groups_ : ndarray of shape (n_rows,)
        For each row of training the place of its input in ``groups_``; -1 for rows of weight 0. Not after ``fit_moments``.
    support_groups_ : list
        The inputs whose ellipsoids touch the margin or lie beyond: all others could be left out.
    support_, support_vectors_, dual_coef_ : ndarray
        Rows of training with a coefficient, by number and by value, and their coefficients of shape (1, n_support). Kernels
        compare rows in standard units: (x - ``column_means_``) / ``column_scales_``. Where inputs borrow deviations
        (``covariance``) these are the samples made of the rows, numbered from 0 as they stand by ``groups_``.
    intercept_ : ndarray of shape (1,)
    coef_ : ndarray of shape (1, n_features)
        Linear kernel only.
    column_means_, column_scales_ : ndarray of shape (n_features,), or None
        Standard units: what is subtracted from each column, and what it is then divided by; 1 for a constant column.
    centre_ : ndarray of shape (n_features,), or None
    centre_intercept_ : ndarray of shape (1,)
        The proof is about the model as it predicts, and with a centre m it predicts from there: with
        k(x, z) - k(x, m) - k(m, z) + k(m, m) in the place of k(x, z) and with ``centre_intercept_``; for the linear kernel
        ``coef_ . (x - centre_) + centre_intercept_``. ``x @ coef_ + intercept_``, and for other kernels ``dual_coef_`` with the
        kernel itself and ``intercept_``, are the same in real numbers, but rounded to doubles where columns are far from 0, or
        where an RBF kernel is nearly 1 everywhere: see ``public_objective_``. For work without a centre, centre the columns
        first.
    public_objective_ : float
        About the objective of ``coef_`` or ``dual_coef_`` with ``intercept_`` in doubles, without the centre. It is that of the
        certificate unless these numbers are too rounded; then fit, and exports of the formula, warn.
    gamma_ : float
        As used, for kernels that have one.
    moment_radii_ : MomentRadii or None
    sigmoid_ : PlattScaling or None
        What turns scores into probabilities.
    certificate_ : Certificate
        Objective of the model, a lower bound for all models, and whether they agree to ``tol``; recomputed from the raw samples
        by code that knows no solver. Of more than two classes, of the sum over all machines; proven only if each is.
    outcome_ : SolveOutcome
    weakness_ : str
        What a ``WeakModelWarning`` says about the model, or nothing.
    solver_ : str
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the table had names.
    schema_ : Schema

    Raises
    ------
    InvalidTableError
        If the table, labels, groups or moments cannot be used; the message names group, row and value.

    Warns
    -----
    ConvergenceLimitWarning
        If the solver did not end at its tolerance, or the certificate does not confirm it; the model stays, with a bound that
        holds.
    DoubtfulColumnWarning
        If columns are most likely identifiers; it names them and what to do.
    RoundedInterceptWarning
        If ``coef_`` or ``dual_coef_`` with ``intercept_`` are too rounded to be as good as what was proven; ``centre_`` and
        ``centre_intercept_`` are.
    SingleSampleWarning
        If groups have one row, or there are none at all: nothing is known about their spread. Such ellipsoids are points,
        unless they can borrow from inputs that were measured more often.
        Groups that are handed to a search of scikit-learn reach the model by metadata routing only. Said once for a model and
        its clones, which are what a search fits.
    UserWarning
        If rows with gaps are left out, which ``missing="drop"`` asks for.
    WeakModelWarning
        If the best model puts everything into one class, or most inputs of named groups may break their promise.

    Notes
    -----
    The model is that of Lin, Fang, Fang and Gao, "Distributionally robust chance-constrained kernel-based support vector
    machine" (Computers and Operations Research, 2024), where each input costs C, columns are as they come, and k-means makes
    inputs of rows: ``standardize=False``, C divided by the rows per input, ``batches="clusters"``, ``covariance="batch"``.
    ``sample_weight`` counts rows: a weight of 2 is a measurement made twice. Named inputs are equally important, however many
    rows they have.

    Three repeats in thirty columns have no spread at all in most directions, and a plane finds these: with
    ``covariance="batch"`` and a violation of 0.1 more than a tenth of the further measurements were wrong for up to 15 % of the
    inputs that were said to be safe under six laws of noise (``benchmarks/run.py chance_promises``), and for more of them where
    noise is larger than there. A curved plane does the same with many repeats; only inputs that borrow are held against
    deviations that it has not seen.

    Price and violation were chosen on four tables (German credit, credit approval, HELOC, spambase), as inputs with simulated
    repeats. Where noise is equal in all columns, differs by column, or drifts, accuracy was lower than that of the better of
    SVC on rows and SVC on means by 0.022 at a violation of 0.1, 0.007 at 0.5 and 0.005 at 0.8; at a price of C for each input
    by 0.048, 0.023 and 0.014. The worst of 96 cases lost 0.19 at 0.1 and 0.13 at 0.5, where noisy inputs of overlapping classes
    leave no plane but w = 0. Of the larger violations 0.8, 0.9 and 0.95, also with noise that makes inputs differ, 0.95 was
    right most often about inputs that are read several times (0.0074 ± 0.0018 more often than 0.8, one standard error, 83
    draws) and as often as 0.8 about single readings (0.0008 ± 0.0015): hence the default, ellipsoids of a quarter of a standard
    deviation. Nine other tables (sonar, liver, ionosphere, Wisconsin, car, heart, wdbc, mammographic masses, cylinder bands)
    confirmed it: 0.0095 ± 0.0024 and 0.0040 ± 0.0015 (117 draws). It promises little. Where a promise is needed, ask for it.

    Examples
    --------
    >>> import surefoot as sf
    >>> measured = [[0.1, 1.0], [0.3, 1.4], [0.0, 1.1], [2.0, 0.1], [2.6, 0.0], [2.2, 0.4]]
    >>> sample = ["A", "A", "A", "B", "B", "B"]
    >>> verdict = ["good", "good", "good", "bad", "bad", "bad"]
    >>> model = sf.ChanceConstrainedSVC(kernel="linear").fit(measured, verdict, groups=sample)
    >>> model.certificate_.verified
    True
    >>> print(model.predict([[0.2, 1.2]])[0])
    good
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        violation: Any = 0.95,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 2,
        coef0: float = 1.0,
        batches: Any = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
        time_limit: float | None = None,
        probability: bool = False,
        confidence: float | None = None,
        kernel_bound: float | None = None,
        n_landmarks: int | None = None,
        standardize: bool = True,
        covariance: str = "auto",
        admm_penalty: float = 100.0,
        class_weight: Any = None,
        multi_class: str = "ovo",
        missing: str = "raise",
    ) -> None:
        self.C = C
        self.violation = violation
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.batches = batches
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.time_limit = time_limit
        self.probability = probability
        self.confidence = confidence
        self.kernel_bound = kernel_bound
        self.n_landmarks = n_landmarks
        self.standardize = standardize
        self.covariance = covariance
        self.admm_penalty = admm_penalty
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.missing = missing

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), 2-d array, list of rows, or scipy sparse matrix
            Numbers, one row per sample. For ``kernel="precomputed"`` the square table of kernels of all pairs of rows.
            Or an array of shape (n_inputs, n_repeats, n_columns), or a list of 2-d arrays, one for each input, without groups:
            then there is one label for each input, ``sample_weight`` has the shape of inputs and repeats, and repeats that
            are NaN throughout count as not measured.
        y : array-like of shape (n_rows,)
            Labels: two values or more, one for all rows of a group.
        groups : array-like of shape (n_rows,), optional
            The uncertain input that each row is a sample of. None: see ``batches``.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row was seen. Rows of weight 0 do not count at all.

        Returns
        -------
        self
        """
        started, where, library = time.perf_counter(), f"{type(self).__name__}.fit", frame_library(X)
        given = unstacked(X, flat_labels(y), groups, sample_weight)
        machines, table, settings, n_rows = self._machines(*given, read_settings(self))
        for at, (machine, own) in enumerate(machines):
            rows, named, told = own.rows, own.given is not None, f"{where}{own.told}"
            posed = pose_rows(rows, own.given, settings, named=named)
            if at == 0:
                self._warn_of_single_samples(
                    own.given if table is None else table.given, settings, where, borrows=posed.pool is not None
                )
            of_row = posed.groups_of_rows(rows.positions, n_rows)
            solved = machine._solve(posed, settings, started, rows, library, row_groups=of_row, named_groups=named)
            # Before anything is set: a fit that fails here leaves the model as it was.
            calibration = calibrated(rows, own.given, settings) if self.probability else None
            machine._unpack(posed, solved, rows, library, None, of_row, calibration, named_groups=named)
            if not solved.is_settled:
                warn_of_limit(solved, told, solved.advice)
            machine._warn_of_weakness(told)
            started = time.perf_counter()
        if table is not None:
            self._take_machines([machine for machine, _ in machines], table, settings.multi_class)
        return self

    def fit_moments(
        self, means: Any, covariances: Any, y: Any, *, feature_map: Any = None, shared_covariance: Any = None
    ) -> Self:
        """Fit the model to inputs that are known by their first two moments, and certify it.

        Parameters
        ----------
        means : data frame or 2-d array of shape (n_inputs, n_features)
            Moments are those of the rows as ``predict`` will see them, or of their images under ``feature_map``; the kernel
            must be "linear", since no other one lets moments be written down.
        covariances : array-like of shape (n_inputs, n_features, n_features), or None with ``shared_covariance``
            Or of shape (n_inputs, n_features): the variances of each input, if columns do not correlate.
        y : array-like of shape (n_inputs,)
        feature_map : callable, optional
            Takes a 2-d array of rows and returns their images, with as many columns as ``means`` has. ``predict`` applies it.
        shared_covariance : array-like of shape (n_features, n_features) or (n_features,), optional
            The covariance, or the variances, of all inputs, in the place of ``covariances``. :func:`surefoot.verify` takes them
            as ``(means, covariances)``, one for each input.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        settings = read_settings(self)
        if settings.kernel != "linear":
            raise ValueError(
                f"fit_moments needs kernel='linear', not {self.kernel!r}: the moments of an input do not say what its moments "
                "in another feature space are. Pass samples to fit, or moments of a feature map."
            )
        if self.probability or self.confidence is not None or self.n_landmarks is not None:
            raise ValueError("probability, confidence and n_landmarks need samples: pass them to fit, or leave these out.")
        where, library = f"{type(self).__name__}.fit_moments", frame_library(means)
        machines, table, settings, _ = self._machines(means, flat_labels(y), None, None, settings, by_moments=True)
        means_read = dense((machines[0][1].rows if table is None else table.rows).design.numeric)
        matrices = read_covariances(means_read, covariances, shared_covariance)
        for machine, own in machines:
            rows, told = own.rows, f"{where}{own.told}"
            posed = pose_moments(rows, matrices[rows.positions], settings)
            solved = machine._solve(posed, settings, started, rows, library, feature_map, named_groups=True)
            machine._unpack(posed, solved, rows, library, feature_map, named_groups=True)
            if not solved.is_settled:
                warn_of_limit(solved, told, solved.advice)
            machine._warn_of_weakness(told)
            started = time.perf_counter()
        if table is not None:
            self._take_machines([machine for machine, _ in machines], table, settings.multi_class, feature_map)
        return self

    def _solve(
        self,
        posed: PosedSVM,
        settings: SVMSettings,
        started: float,
        rows: TrainingRows,
        library: str | None,
        feature_map: Any = None,
        row_groups: RowArray | None = None,
        *,
        named_groups: bool,
    ) -> SolvedSVM:
        title = f"{type(self).__name__}, {posed.problem.n_batches} inputs, {posed.problem.n_samples} samples"
        try:
            return posed.solve(settings, started, title if self.verbose else None)
        except SolveInterrupted as stop:
            # The program goes on as after any Ctrl-C, but the best model until then is not lost.
            if isinstance(stop.outcome, SolveOutcome):
                found = posed.judge(stop.outcome, settings)
                self._unpack(posed, found, rows, library, feature_map, row_groups, named_groups=named_groups)
            raise
