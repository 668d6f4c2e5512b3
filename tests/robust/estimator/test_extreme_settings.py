"""Small tables with odd prices, weights, units and radii: the right models are found and proven.

Each of them was unproven, or far from the best, before plans were polished, slopes corrected and stuck problems solved anew.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.enclosure import computing_in


@dataclass(frozen=True)
class Case:
    """A table, its labels and weights, and parameters of the estimator."""

    X: list[list[float]]
    y: list[int]
    weight: list[float] | None
    parameters: dict[str, Any]


# Nothing limits the coefficients of what never moves, and residuals had no price.
UNLIMITED = {
    "one_feature_never_moves": Case(
        [
            [2, 1],
            [1, 0],
            [0, 0],
            [0, 1],
            [1, 1],
            [0, 0],
            [2, 1],
        ],
        [1, 1, 0, 0, 1, 1, 0],
        [2.0, 2.0, 1.0, 0.0, 3.0, 0.0, 2.0],
        dict(
            radius=0.22552066770147966,
            norm="l1",
            categorical_features=[0, 1],
            fit_intercept=True,
            numeric_weights=[],
            categorical_weights=[0.4625422093459548, np.inf],
            label_weight=2.84662330822322,
        ),
    ),
    "flips_are_dear": Case(
        [
            [-0.038392, 0, 1, 0],
            [1.2161, 2, 0, 0],
            [-0.172812, 0, 0, 0],
            [0.106024, 2, 0, 0],
            [0.573993, 0, 1, 1],
            [1.514067, 1, 2, 0],
        ],
        [0, 1, 0, 0, 0, 1],
        None,
        dict(
            radius=0.9107072496676506,
            norm="l2",
            categorical_features=[1, 2, 3],
            fit_intercept=True,
            numeric_weights=[2.3843031290021734],
            categorical_weights=[2.821949455551356, np.inf, 0.688557193300438],
            label_weight=136164.14945149445,
        ),
    ),
    "a_level_with_one_label": Case(
        [
            [1, 0, 1],
            [2, 2, 2],
            [1, 2, 0],
            [0, 0, 2],
            [0, 1, 2],
            [0, 2, 0],
            [1, 0, 1],
            [0, 2, 0],
            [0, 1, 1],
            [2, 2, 2],
            [2, 2, 0],
            [2, 2, 1],
        ],
        [1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1],
        None,
        dict(
            radius=5.571855639115601e-08,
            norm="l1",
            categorical_features=[0, 1, 2],
            fit_intercept=True,
            numeric_weights=[],
            categorical_weights=[np.inf, 1.0, 1.0],
            label_weight=131593.03655390113,
        ),
    ),
    "constant_column_no_intercept": Case(
        [
            [1.5, 1, 1, 2],
            [1.5, 1, 1, 2],
            [1.5, 1, 1, 1],
            [1.5, 0, 2, 0],
        ],
        [0, 0, 1, 0],
        None,
        dict(
            radius=0.01861361777490008,
            norm="l1",
            categorical_features=[1, 2, 3],
            fit_intercept=False,
            numeric_weights=[1.1398750811876996],
            categorical_weights=[1.87523764763443e-06, 8247.035500067976, np.inf],
            label_weight=1.0,
        ),
    ),
    "offset_without_intercept": Case(
        [
            [102404204.09579165, 1, 1, 0],
            [102404204.32500465, 0, 1, 2],
            [102404205.89436565, 2, 0, 0],
            [102404205.11434765, 2, 0, 1],
            [102404205.05613565, 0, 2, 1],
            [102404204.73481366, 0, 0, 1],
            [102404205.00478965, 0, 2, 1],
            [102404204.05287966, 2, 2, 1],
            [102404205.49370165, 0, 1, 2],
            [102404204.56574066, 0, 2, 0],
        ],
        [1, 1, 1, 0, 0, 0, 0, 1, 1, 0],
        None,
        dict(
            radius=0.0032591271021758486,
            norm="l1",
            categorical_features=[1, 2, 3],
            fit_intercept=False,
            numeric_weights=[0.9755411431340875],
            categorical_weights=None,
            label_weight=np.inf,
        ),
    ),
    "prices_of_many_sizes": Case(
        [
            [-0.275851, -2.967824, 0.846678, 0],
            [-0.812678, 0.391217, 0.136298, 0],
            [0.694616, -0.375746, 0.45017, 0],
            [-0.168024, 1.890385, 1.819616, 1],
            [0.074204, 0.66601, 0.606855, 1],
            [-0.708839, 0.755802, 0.265069, 1],
            [0.736848, -0.524067, 1.520126, 0],
            [-0.469626, 0.941436, -0.160087, 1],
            [-0.369882, -0.503933, 0.502024, 0],
            [-1.04685, 0.500039, 1.1787, 1],
        ],
        [0, 0, 0, 1, 1, 1, 0, 0, 0, 1],
        [2.0, 1.0, 3.0, 2.0, 2.0, 3.0, 1.0, 3.0, 2.0, 1.0],
        dict(
            radius=0.019764683179342594,
            norm="l2",
            categorical_features=[3],
            fit_intercept=True,
            numeric_weights=[26619.12310305882, np.inf, 358989.9005210275],
            categorical_weights=[1.755095218762875],
            label_weight=np.inf,
        ),
    ),
    "more_coefficients_than_rows": Case(
        [
            [-1.706673, 1.393782, 2, 1, 1],
            [0.908994, -0.711751, 2, 1, 1],
            [-1.78044, -0.292084, 2, 0, 0],
            [0.125674, -0.063074, 2, 1, 1],
            [-0.80384, -1.457315, 1, 0, 0],
            [1.177313, -0.695918, 1, 0, 1],
        ],
        [1, 1, 0, 1, 0, 0],
        [0.0, 2.0, 0.0, 1.0, 3.0, 2.0],
        dict(
            radius=0.039725492986291785,
            norm="l1",
            categorical_features=[2, 3, 4],
            fit_intercept=True,
            numeric_weights=[np.inf, 0.3205434617770894],
            categorical_weights=[1.4090555079548168, 1.1579691199459516, 2.4817989173325947],
            label_weight=1.0,
        ),
    ),
}
# Quadratic steps stalled far from the optimum, or the last digit of an intercept was worth more than the tolerance.
STUCK = {
    "columns_of_many_sizes": Case(
        [
            [3.2387959515311803e-06, 2.722210688770581e-09, -3582491.7700747224, 0],
            [-8.30360460462898e-07, 1.6504085647496362e-09, -2677402.1314887046, 1],
            [1.8472803838498337e-05, 2.3524270753348425e-09, -2715602.2049899437, 0],
            [1.7366334785576665e-06, 2.384251288669434e-09, -5317189.582101412, 1],
            [9.946107770289984e-06, -7.052772027486221e-09, -1602240.9799836343, 1],
            [-1.191121308574357e-05, -1.8237235490633957e-09, -5461542.275959618, 1],
            [1.5196544546837145e-05, -4.520806770997763e-10, -167024.90750446773, 0],
            [-1.287337696037609e-05, -2.0678279212686375e-09, -2588375.450124239, 0],
            [8.539439057642276e-06, -7.316048874804152e-10, 1803120.3821581604, 1],
            [1.2093946505420288e-05, -2.417760165390976e-09, 820250.4373145296, 1],
            [1.0587001478387622e-05, 2.2977551386528466e-09, -984647.4874137107, 0],
        ],
        [0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 1],
        [
            35198.87033496791,
            109695.18443678724,
            0.12919678965300224,
            0.004471164047285021,
            0.7670053617263862,
            0.0001486742858689897,
            0.0003210047803621057,
            1441.6649152219352,
            0.06615412629063115,
            0.2280736933929256,
            0.003973192178795819,
        ],
        dict(
            radius=0.048122982739999855,
            norm="l1",
            categorical_features=[3],
            fit_intercept=True,
            numeric_weights=[0.4126088640427744, 2.173969122736829, 1.2833121029549952],
            categorical_weights=None,
            label_weight=np.inf,
        ),
    ),
    "cheap_categories": Case(
        [
            [0.55783, 0, 1],
            [-0.591284, 1, 1],
            [0.742665, 0, 1],
            [-1.658697, 0, 1],
        ],
        [1, 1, 1, 0],
        None,
        dict(
            radius=9.02782369453207e-09,
            norm="l2",
            categorical_features=[1, 2],
            fit_intercept=True,
            numeric_weights=[0.006372648561782943],
            categorical_weights=[4.5021016044201385e-06, 0.0005190610542618424],
            label_weight=1.0,
        ),
    ),
    "dear_labels": Case(
        [
            [-0.177006, 0.64408, -0.785832, 2],
            [-1.088543, -1.727112, 0.169088, 0],
            [-0.385411, -1.628309, -0.325537, 2],
            [1.072039, -0.515771, 0.463709, 0],
            [-0.81299, -0.233075, -0.055153, 0],
            [0.629596, 0.359154, 1.543025, 2],
            [0.442665, -0.215512, -0.032386, 0],
            [-0.500769, 1.642711, -0.669637, 2],
            [-0.354175, -0.363963, 1.284444, 2],
            [-1.050389, 0.479653, 1.152545, 2],
            [-0.9284, -0.443532, 0.510983, 1],
        ],
        [1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0],
        [
            0.01035632723511116,
            2476.4806574982176,
            0.0008170142854842933,
            58482.974991599825,
            3.059882965441495e-05,
            16.14434583991315,
            64342.2007233278,
            4.339415665830626,
            5.165153015509778e-06,
            3.231900964067417,
            179.42449900609677,
        ],
        dict(
            radius=0.2642988884198274,
            norm="l1",
            categorical_features=[3],
            fit_intercept=True,
            numeric_weights=[7.432926910337499, 673.2126469027003, 2222.440938537816],
            categorical_weights=[0.49065989533728027],
            label_weight=55177.47274673463,
        ),
    ),
    "time_stamps": Case(
        [
            [1700000000.1416895, 0.528305, 1],
            [1700000000.2175264, -1.067429, 0],
        ],
        [1, 0],
        [1.0, 2.0],
        dict(
            radius=0.04439068135976508,
            norm="l1",
            categorical_features=[2],
            fit_intercept=True,
            numeric_weights=[0.9164969777637229, 1.8873015048113586],
            categorical_weights=[2.024413359211498],
            label_weight=np.inf,
        ),
    ),
    "offsets_and_a_tiny_radius": Case(
        [
            [11134205.399320457, 1702172.187086917, 32100665.079078652, 0],
            [11134203.976022458, 1702172.0857659169, 32100666.691821653, 0],
            [11134202.601503458, 1702173.027079917, 32100666.155005652, 0],
            [11134203.674708458, 1702170.432509917, 32100666.459970653, 0],
            [11134203.958128458, 1702170.073545917, 32100666.33292565, 1],
            [11134203.582589459, 1702172.925820917, 32100665.56573065, 0],
            [11134203.842472458, 1702170.656083917, 32100667.096698653, 1],
            [11134204.640876457, 1702171.956329917, 32100665.107964654, 1],
        ],
        [1, 1, 0, 0, 0, 1, 1, 1],
        [2.0, 1.0, 1.0, 2.0, 3.0, 2.0, 2.0, 0.0],
        dict(
            radius=1.746827638227566e-09,
            norm="l1",
            categorical_features=[3],
            fit_intercept=True,
            numeric_weights=None,
            categorical_weights=[0.3308640114880407],
            label_weight=1.0,
        ),
    ),
    "as_many_rows_as_columns_that_never_move": Case(
        [
            [0.991934, 0, 0],
            [0.379179, 0, 1],
            [0.722203, 1, 2],
            [0.760879, 0, 0],
        ],
        [0, 0, 1, 0],
        [3.0, 3.0, 2.0, 0.0],
        dict(
            radius=0.047123067861004196,
            norm="l1",
            categorical_features=[1, 2],
            fit_intercept=True,
            numeric_weights=[np.inf],
            categorical_weights=[12721.598588173323, 1.0118034090228292],
            label_weight=1.1870381006803818,
        ),
    ),
    "a_dear_column_spends_what_moves_leave": Case(
        [
            [13876.870231904755, 310559309.38818485, 1, 0],
            [13876.870231898542, 310542199.4732499, 1, 2],
            [13876.870231884881, 310108618.45356107, 1, 2],
            [13876.87023188553, 310369888.03970355, 1, 2],
            [13876.870231884744, 310556386.5010474, 1, 0],
            [13876.870231855097, 310015720.3773259, 1, 0],
            [13876.870231871062, 309663813.4436503, 0, 2],
            [13876.870231889065, 310293996.2643695, 0, 0],
            [13876.870231893388, 309987167.9113163, 1, 0],
            [13876.870231893488, 310221561.63603514, 1, 2],
            [13876.870231903977, 310219370.1992182, 1, 1],
        ],
        [1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1],
        [1.0, 0.0, 0.0, 1.0, 0.0, 2.0, 2.0, 1.0, 3.0, 3.0, 1.0],
        dict(
            radius=0.20968239762601376,
            norm="l1",
            categorical_features=[2, 3],
            fit_intercept=True,
            numeric_weights=[0.9427603566549496, 1.0502688959155178],
            categorical_weights=[1.9732443171136544, 0.9935125010181094],
            label_weight=np.inf,
        ),
    ),
    "a_dear_column_beside_cheap_ones": Case(
        [
            [5352147.485104577, 6167534.317761192, 408.4330740711294, 0, 0],
            [5352146.009441577, 6167534.379806192, 407.1727480711294, 2, 0],
            [5352144.214415576, 6167535.225969192, 409.13427607112936, 1, 0],
            [5352145.878648576, 6167535.047868192, 408.2440950711294, 1, 1],
            [5352144.693603577, 6167535.150573192, 408.8154230711294, 2, 0],
            [5352145.209129577, 6167534.330343192, 409.7438450711294, 2, 1],
        ],
        [0, 0, 0, 1, 1, 0],
        None,
        dict(
            radius=0.016622133506257315,
            norm="l1",
            categorical_features=[3, 4],
            fit_intercept=True,
            numeric_weights=[0.010200847137001827, 120249.58297332149, 5.24641705213462e-06],
            label_weight=np.inf,
        ),
    ),
    "rows_of_hardly_any_weight": Case(
        [
            [25055935.806772083, 0, 0, 0],
            [25055935.806772083, 2, 1, 1],
            [25055935.806772083, 1, 2, 0],
            [25055935.806772083, 0, 0, 1],
            [25055935.806772083, 0, 1, 0],
            [25055935.806772083, 0, 2, 0],
            [25055935.806772083, 0, 0, 0],
            [25055935.806772083, 0, 2, 0],
            [25055935.806772083, 2, 0, 0],
        ],
        [0, 1, 1, 0, 0, 0, 0, 0, 1],
        [
            3.503542424063641e-06,
            0.05199849054298553,
            5.051491583052381,
            29291.953470194472,
            0.0007313415669471284,
            43769.892527578195,
            27044.952117933528,
            194.66682503763272,
            4.170877644636259e-06,
        ],
        dict(
            radius=0.22146475592264886,
            norm="l2",
            categorical_features=[1, 2, 3],
            fit_intercept=True,
            numeric_weights=[7105.728040896026],
            label_weight=2.3549469253618325,
        ),
    ),
    "dear_ranges": Case(
        [
            [0.260462, -0.689419, -0.689717, 2, 1],
            [0.670613, 0.359735, 1.220556, 1, 1],
            [1.221261, -0.427689, 0.344382, 2, 0],
            [-1.498129, 0.10742, 0.907124, 2, 1],
            [0.514772, 1.3217, 0.921571, 1, 0],
            [-2.004832, -0.389313, 0.159725, 2, 1],
            [-1.03265, 0.65628, -1.034757, 0, 1],
            [0.045689, 1.198879, 0.943246, 2, 1],
            [0.260462, -0.689419, -0.689717, 2, 1],
        ],
        [0, 1, 1, 1, 1, 1, 0, 1, 1],
        None,
        dict(
            radius=0.003919922388399759,
            categorical_features=[3, 4],
            numeric_weights=[120364.955, 192.951482, 286661.524],
            categorical_weights=[2.06358032, 1.47333598],
            numeric_range={0: (-2.004832, 65.743121), 2: (-3.29007, 2.3482125)},
        ),
    ),
}


def _fitted(case: Case, **changes: Any) -> Any:
    weight = None if case.weight is None else np.array(case.weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sf.RobustLogisticRegression(**case.parameters, **changes).fit(np.array(case.X), np.array(case.y), weight)


@pytest.mark.parametrize("name", [*UNLIMITED, *STUCK])
def test_right_models_are_found_and_proven(name):
    case = {**UNLIMITED, **STUCK}[name]
    model = _fitted(case)
    assert model.certificate_.verified, model.certificate_.claim
    weight = None if case.weight is None else np.array(case.weight)
    again = sf.verify(model, np.array(case.X), np.array(case.y), sample_weight=weight)
    assert again.verified and again.lower_bound == model.certificate_.lower_bound


@pytest.mark.parametrize("name", UNLIMITED)
def test_balls_agree(name):
    enclosures = pytest.importorskip("surefoot.core.flint_enclosure")
    case = UNLIMITED[name]
    doubles = _fitted(case).certificate_
    with computing_in(enclosures.FlintEnclosure):
        balls = _fitted(case).certificate_
    assert balls.verified and doubles.verified
    assert doubles.lower_bound <= balls.upper_bound <= doubles.upper_bound
    assert balls.lower_bound <= doubles.upper_bound


@pytest.mark.parametrize("radius", [0.0, 0.02])
def test_dummies_that_add_up_to_one_are_proven(radius):
    rng = np.random.default_rng(3)
    yes = rng.integers(0, 2, size=80).astype(float)
    X = np.column_stack((rng.normal(size=80), yes, 1.0 - yes, rng.integers(0, 3, size=80)))
    y = (X[:, 0] + X[:, 1] + 0.5 * X[:, 3] + rng.logistic(size=80) > 1).astype(int)
    for categories in (None, [3]):
        weights = [1.0] * (4 if categories is None else 3)
        model = sf.RobustLogisticRegression(
            radius=radius, numeric_weights=weights[:1] + [np.inf] * (len(weights) - 1), categorical_features=categories
        ).fit(X, y)
        assert model.certificate_.verified, model.certificate_.claim
        # The same model as without the column that adds nothing.
        without = sf.RobustLogisticRegression(
            radius=radius,
            numeric_weights=weights[:1] + [np.inf] * (len(weights) - 2),
            categorical_features=None if categories is None else [2],
        ).fit(np.delete(X, 2, axis=1), y)
        assert model.certificate_.upper_bound == pytest.approx(without.certificate_.upper_bound, rel=1e-6)


def test_a_feature_nested_in_another_is_proven_without_a_radius():
    rng = np.random.default_rng(4)
    town = rng.integers(0, 6, size=200)
    X = np.column_stack((town, town // 2, rng.integers(0, 2, size=200)))
    y = (0.4 * town + X[:, 2] + rng.logistic(size=200) > 1.5).astype(int)
    model = sf.RobustLogisticRegression(radius=0.0, categorical_features=[0, 1, 2]).fit(X, y)
    assert model.certificate_.verified, model.certificate_.claim
    alone = sf.RobustLogisticRegression(radius=0.0, categorical_features=[0, 1]).fit(X[:, [0, 2]], y)
    assert model.certificate_.upper_bound == pytest.approx(alone.certificate_.upper_bound, rel=1e-6)


@pytest.mark.filterwarnings("ignore::surefoot.exceptions.WeakModelWarning")
@pytest.mark.parametrize("seed", range(12))
def test_one_infinite_weight_beside_widely_spread_finite_ones_is_proven(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack((rng.normal(size=(60, 3)), rng.integers(0, 3, size=(60, 2))))
    y = (X[:, 0] - X[:, 1] + 0.5 * X[:, 3] + rng.logistic(size=60) > 0.5).astype(int)
    numeric, categorical = 10.0 ** rng.uniform(-4, 4, size=3), 10.0 ** rng.uniform(-4, 4, size=2)
    (numeric if seed % 2 else categorical)[seed % 2] = np.inf
    model = sf.RobustLogisticRegression(
        radius=float(10.0 ** rng.uniform(-3, 0)),
        numeric_weights=numeric,
        categorical_weights=categorical,
        categorical_features=[3, 4],
        label_weight=float(rng.choice([np.inf, 1.0])),
    ).fit(X, y)
    assert model.certificate_.verified, model.certificate_.claim


@pytest.mark.parametrize("seed", range(10))
def test_separable_data_with_dear_columns_and_a_price_on_labels_are_proven(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    for label_weight in (0.5, 2.0):
        model = sf.RobustLogisticRegression(radius=0.05, numeric_weights=[1e6, 1e6], label_weight=label_weight).fit(X, y)
        assert model.certificate_.verified, model.certificate_.claim


@pytest.mark.parametrize("seed", range(12))
def test_no_more_rows_than_columns_that_never_shift_are_proven_if_labels_may_flip(seed):
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(2, 7))
    rows = int(rng.integers(2, columns + 1))
    X = np.column_stack((rng.normal(size=(rows, columns)), rng.integers(0, 3, size=rows)))
    y = np.append([0, 1], rng.integers(0, 2, size=rows - 2))
    model = sf.RobustLogisticRegression(
        radius=float(10.0 ** rng.uniform(-3, 0)),
        numeric_weights=np.full(columns, np.inf),
        categorical_features=[columns],
        categorical_weights=[np.inf if seed % 2 else 1.3],
        label_weight=float(rng.uniform(0.2, 3.0)),
        fit_intercept=bool(seed % 3),
    ).fit(X, y)
    assert model.certificate_.verified, model.certificate_.claim


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@pytest.mark.parametrize("seed", range(6))
def test_labels_that_are_very_dear_to_flip_leave_two_rows_proven(seed, norm):
    X = np.random.default_rng(seed).normal(size=(2, 1))
    for fit_intercept in (False, True):
        model = sf.RobustLogisticRegression(radius=0.06, label_weight=1e9, norm=norm, fit_intercept=fit_intercept).fit(
            X, [0, 1]
        )
        assert model.certificate_.verified, model.certificate_.claim


def test_columns_far_from_0_without_an_intercept_are_named_if_nothing_is_proven():
    case = STUCK["a_dear_column_beside_cheap_ones"]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3)) + np.array([3e15, 1.7e12, 0.0])
    y = [0, 1, 1, 0, 1, 0, 0, 1]
    with pytest.warns(sf.ConvergenceLimitWarning, match=r"Without an intercept, columns far from 0 \(x0, x1\)"):
        sf.RobustLogisticRegression(radius=0.002, fit_intercept=False).fit(X, y)
    with pytest.warns(sf.ConvergenceLimitWarning) as met:
        sf.RobustLogisticRegression(**case.parameters, max_iter=1).fit(np.array(case.X), np.array(case.y))
    assert "Without an intercept" not in str(met[0].message)


def test_whoever_checks_a_proof_repairs_nothing():
    case = UNLIMITED["flips_are_dear"]
    X, y = np.array(case.X), np.array(case.y)
    model = _fitted(case)
    assert sf.verify(model, X, y).verified
    with pytest.raises(sf.CertificateError, match="not the rows of the proof"):
        sf.verify(model, X[:-1], y[:-1])
