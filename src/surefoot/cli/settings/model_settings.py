"""The options of ``surefoot fit`` that are for some models only: refused beside others, and what each model is made of."""

from __future__ import annotations

import argparse
from typing import Any

from sklearn.pipeline import Pipeline

from surefoot.chancesvm.estimator.chance_svc import ChanceConstrainedSVC
from surefoot.cli.settings import levels_option, range_option
from surefoot.cli.table_source import ReadColumn
from surefoot.riskscore.estimator.risk_score import RiskScoreClassifier
from surefoot.robust.estimator.robust_logistic import RobustLogisticRegression
from surefoot.robust.estimator.robust_logistic_cv import RobustLogisticRegressionCV
from surefoot.sklearn_api.path_choice import SELECTS
from surefoot.sklearn_api.threshold_binarizer import ThresholdBinarizer

# By attribute: option, the models that it is for, and what holds where it is not given. None there: not given at all.
_OF_MODELS: dict[str, tuple[str, tuple[str, ...], Any]] = {
    "radius": ("--radius", ("robust", "risk-score"), None),
    "ranges": ("--range", ("robust",), None),
    "levels": ("--levels", ("robust",), None),
    "select": ("--select", ("robust",), None),
    "max_features": ("--max-features", ("risk-score",), 5),
    "max_points": ("--max-points", ("risk-score",), 5),
    "groups": ("--groups", ("svm", "robust"), None),
    "kernel": ("--kernel", ("svm",), "rbf"),
    "violation": ("--violation", ("svm",), 0.95),
    "price": ("--C", ("svm",), 1.0),
    "class_weight": ("--class-weight", ("svm",), None),
    "unseen": ("--unseen", ("robust", "risk-score"), "error"),
    "weights": ("--weights", ("robust", "risk-score", "svm"), None),
    "jobs": ("--jobs", ("robust", "risk-score"), None),
}


def add_model_settings(parser: argparse.ArgumentParser) -> Any:
    """The options of single models."""
    settings = parser.add_argument_group("settings of the model (an option of another model is refused)")
    settings.add_argument(
        "--radius",
        default=None,
        metavar="R",
        help="robust, risk-score: how far tables may shift; robust also 'auto', the default, or 'cv'",
    )
    settings.add_argument("--range", dest="ranges", action="append", metavar="RANGE", help=range_option.HELP)
    settings.add_argument("--levels", action="append", metavar="LEVELS", help=levels_option.HELP)
    settings.add_argument("--max-features", type=int, metavar="N", help="risk-score: most lines of the card; default 5")
    settings.add_argument("--max-points", type=int, metavar="N", help="risk-score: most points of a line; default 5")
    settings.add_argument(
        "--groups",
        metavar="NAME",
        help="svm: the column that says which rows are samples of one input; without, each is one of its own. robust, with "
        "--radius cv or --select: the site or period of each row; each is left out in turn",
    )
    settings.add_argument(
        "--select",
        choices=SELECTS,
        default=None,
        help="robust: choose the radius by the mean over what is left out (default), its worst, or its worst quarter, or the "
        "most robust within one standard error of the best mean",
    )
    settings.add_argument("--kernel", choices=["linear", "poly", "rbf"], help="svm: default rbf")
    settings.add_argument("--violation", type=float, metavar="P", help="svm: tolerated probability of an error; default 0.95")
    settings.add_argument("--C", dest="price", type=float, metavar="C", help="svm: price of slack; default 1")
    settings.add_argument(
        "--class-weight",
        default=None,
        metavar="W",
        help="svm: 'balanced', or what the price of each class is multiplied by, as in 'worn=5,new=1'",
    )
    return settings


def take_settings(args: argparse.Namespace) -> None:
    """Refuse options that the model does not have, and fill in what was not said.

    Raises
    ------
    ValueError
        For the first option that would change nothing.
    """
    for name, (option, models, default) in _OF_MODELS.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
        elif args.model not in models:
            raise ValueError(
                f"{option} is for --model {' and '.join(models)}; --model {args.model} does not know it, and it "
                "would change nothing. Leave it out."
            )
    if args.groups is not None and args.model == "robust" and not chooses_radius(args):
        raise ValueError(
            "--groups is for --model svm, where it says which rows are samples of one uncertain input, and for --model "
            "robust with --radius cv or --select, where it says which rows are of one site or period."
        )
    if args.select is not None and args.radius not in (None, "cv"):
        raise ValueError(f"--select chooses the radius, but --radius is {args.radius}. Give one of them.")
    if args.missing == "drop" and args.model != "svm":
        raise ValueError("--missing drop is for --model svm; other models fill gaps, or refuse them.")
    if args.missing == "fill" and args.model == "svm":
        raise ValueError("--missing fill is for --model robust and risk-score; svm leaves out rows with gaps (--missing drop).")
    args.missing = args.missing or ("error" if args.model == "svm" else "fill")


def chooses_radius(args: argparse.Namespace) -> bool:
    """Whether the radius is chosen by cross-validation."""
    return args.radius == "cv" or args.select is not None


def new_model(args: argparse.Namespace, columns: list[ReadColumn], pos_label: Any = None) -> Any:
    """The model that the options describe; ``pos_label`` is the positive one of two classes, for a score card."""
    verbose = 0 if args.quiet else 1
    shared: dict[str, Any] = {"time_limit": args.time_limit, "verbose": verbose}
    if args.gap is not None:
        shared["gap" if args.model == "risk-score" else "tol"] = args.gap
    if args.model == "svm":
        # Who names no column has been told by the help what that means.
        batches = "rows" if args.groups is None else "auto"
        # It puts columns into standard units itself.
        return ChanceConstrainedSVC(
            C=args.price,
            kernel=args.kernel,
            violation=args.violation,
            probability=True,
            batches=batches,
            missing="drop" if args.missing == "drop" else "raise",
            random_state=0,
            **shared,
        )
    shared["n_jobs"] = args.jobs
    fill, ignore = args.missing == "fill", args.unseen == "ignore"
    if args.model == "risk-score":
        binarizer = ThresholdBinarizer(missing="column" if fill else "error", unseen="zero" if ignore else "error")
        card = RiskScoreClassifier(
            max_features=args.max_features,
            max_points=args.max_points,
            radius=_radius(args.radius, 0.0),
            pos_label=pos_label,
            **shared,
        )
        return Pipeline([("columns", binarizer), ("card", card)])
    shared |= {
        "numeric_range": range_option.numeric_range(args.ranges),
        "category_levels": levels_option.category_levels(args.levels),
        "categorical_features": [column.name for column in columns if column.kind == "categorical"],
        "missing_numeric": "median" if fill else "error",
        "missing_categorical": "level" if fill else "error",
        "unseen_categories": "reference" if ignore else "error",
    }
    if chooses_radius(args):
        return RobustLogisticRegressionCV(select=args.select or "mean", **shared)
    radius = "auto" if args.radius in (None, "auto") else _radius(args.radius, 0.0)
    return RobustLogisticRegression(radius=radius, **shared)


def _radius(given: str | None, default: float) -> float:
    if given is None:
        return default
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"--radius {given} must be a number at or above 0, or for --model robust 'auto' or 'cv'.") from None
