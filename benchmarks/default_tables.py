"""Tables for the question what a default gives: those on which the automatic radius was found, and others.

Each is a data frame and a truth value per row. CHOSEN are the tables that the rule of
:mod:`surefoot.robust.estimator.automatic_radius` was found on, CONFIRMED had no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
from problems import NAMES, MixedTable, coded_table, data_directory, load, read_columns
from shifted_tables import bank, compas
from unseen_tables import UNSEEN, load_unseen

from surefoot.core.arrays import BoolArray
from surefoot.design.write.output_frame import build_frame

Frame = tuple[Any, BoolArray]
CHOSEN = (
    "breast-cancer", "credit-approval", "german", "car", "tic-tac-toe", "cylinder", "voting", "wdbc", "spambase",
    "mammographic", "compas", "bupa", "adult", "online-shopper", "nursery",
)  # fmt: skip
CONFIRMED = (
    "audiology", "balance-scale", "hayes-roth", "spect", "hepatitis", "heloc", "diabetes", "diagnoses", "acs", "bank",
    "framingham", "ionosphere", "sonar", "wpbc", "wisconsin", "mushroom",
)  # fmt: skip


def load_frame(name: str) -> Frame:
    """One table of CHOSEN or CONFIRMED."""
    if name in NAMES:
        return _frame(load(name))
    if name in UNSEEN:
        return _frame(load_unseen(name))
    return _READERS[name]()


def _frame(table: MixedTable) -> Frame:
    columns: dict[str, Any] = {name: table.numeric[:, at] for at, name in enumerate(table.numeric_names)}
    for at, name in enumerate(table.categorical_names):
        columns[name] = np.array(table.levels[at], dtype=object)[table.codes[:, at]].tolist()
    return build_frame(columns, "pandas"), table.labels > 0


def _read(
    folder: str, file: str, label: str, positive: str, *, text: Collection[str] = (), drop: Collection[str] = ()
) -> Frame:
    """A file whose columns are numbers but for those in ``text``; rows with gaps are left out."""
    columns = read_columns(data_directory() / folder / file)
    for name in drop:
        del columns[name]
    whole = np.all([(values != "NA") & (values != "?") & (values != "") for values in columns.values()], axis=0)
    columns = {name: values[whole] for name, values in columns.items()}
    labels = np.where(columns.pop(label) == positive, 1.0, -1.0)
    return _frame(coded_table(file, columns, labels, [name for name in columns if name not in text]))


def _german() -> Frame:
    columns = read_columns(data_directory() / "uci" / "german_credit.csv")
    labels = np.where(columns.pop("class") == "2", 1.0, -1.0)
    numbers = [name for name, values in columns.items() if not values[0].startswith("A")]
    return _frame(coded_table("german", columns, labels, numbers))


def _shifted(read: Callable[[], Any]) -> Frame:
    table = read()
    return table.X.astype({name: object for name in table.X.select_dtypes("category").columns}), np.asarray(table.y)


_READERS: dict[str, Callable[[], Frame]] = {
    "german": _german,
    "wdbc": partial(_read, "uci", "wdbc.csv", "diagnosis", "M", drop=("id",)),
    "sonar": partial(_read, "uci", "sonar.csv", "class", "M"),
    "ionosphere": partial(_read, "uci", "ionosphere.csv", "class", "g"),
    "mammographic": partial(_read, "uci", "mammographic_masses.csv", "severity", "1", text=("shape", "margin", "density")),
    "bupa": partial(_read, "uci", "bupa_liver.csv", "selector", "1"),
    "wisconsin": partial(_read, "uci", "breast_cancer_wisconsin_original.csv", "class", "4", drop=("sample_code",)),
    "wpbc": partial(_read, "uci", "wpbc.csv", "outcome", "R", drop=("id", "time")),
    "framingham": partial(_read, "uci", "framingham.csv", "TenYearCHD", "1", text=("education",)),
    "spambase": partial(_read, "riskslim", "spambase_data.csv.gz", "Spam", "1"),
    "bank": partial(_shifted, bank),
    "compas": partial(_shifted, compas),
}
