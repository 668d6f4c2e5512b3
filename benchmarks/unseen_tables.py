"""Tables on which no constant was chosen: what helps on the 13 of :mod:`problems` must not hurt here.

mushroom    8,124 rows, 21 categorical columns, separable without shift
adult       32,561 rows, 6 numeric and 8 categorical columns
heloc       10,459 rows, 23 numeric columns with codes -7, -8 and -9 left in
diabetes    every fifth hospital stay, 20,354 rows, 8 numeric and 9 categorical columns
diagnoses   every 200th of these stays, 509 rows, with diagnosis codes and specialties: most levels have a row or two
acs         Massachusetts 2019, 6,429 people from 16 years on, 5 numeric and 13 categorical columns
"""

from __future__ import annotations

import numpy as np
from problems import Columns, MixedTable, coded_table, data_directory, read_columns
from shifted_tables import DIABETES_CATEGORIES, DIABETES_NUMBERS

from surefoot.core.arrays import AnyArray

UNSEEN = ("mushroom", "adult", "heloc", "diabetes", "diagnoses", "acs")
ADULT_NUMBERS = ("age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week")
DIAGNOSES = ("diag_1", "diag_2", "diag_3", "medical_specialty", "payer_code", "discharge_disposition_id")
ACS_NUMBERS = ("AGEP", "NOC", "NPF", "DENSITY", "EDU")
# The income itself, what was computed from it, and weights of the survey.
ACS_LEFT_OUT = ("PINCP", "PINCP_DECILE", "POVPIP", "PWGTP", "WGTP", "INDP")


def load_unseen(name: str) -> MixedTable:
    """One of the tables of the module docstring; numeric columns in the units of the file."""
    columns, label, numeric = _READERS[name]()
    labels = np.where(label, 1.0, -1.0)
    return coded_table(name, columns, labels, numeric)


def _chosen(columns: Columns, rows: AnyArray) -> Columns:
    return {name: values[rows] for name, values in columns.items()}


def _read(folder: str, file: str) -> Columns:
    return read_columns(data_directory() / folder / file)


def _mushroom() -> tuple[Columns, AnyArray, tuple[str, ...]]:
    columns = _read("uci", "mushroom.csv.gz")
    return columns, columns.pop("class") == "p", ()


def _adult() -> tuple[Columns, AnyArray, tuple[str, ...]]:
    columns = _read("uci", "adult_train.csv.gz")
    return columns, columns.pop("income") == ">50K", ADULT_NUMBERS


def _heloc() -> tuple[Columns, AnyArray, tuple[str, ...]]:
    columns = _read("shift", "heloc_fico.csv.gz")
    return columns, columns.pop("RiskPerformance") == "Bad", tuple(columns)


def _diabetes() -> tuple[Columns, AnyArray, tuple[str, ...]]:
    columns = _read("shift", "diabetes_130_hospitals.csv.gz")
    columns = _chosen(columns, np.arange(0, len(columns["readmitted"]), 5))
    label = columns["readmitted"] == "<30"
    return {name: columns[name] for name in (*DIABETES_NUMBERS, *DIABETES_CATEGORIES)}, label, DIABETES_NUMBERS


def _diagnoses() -> tuple[Columns, AnyArray, tuple[str, ...]]:
    columns = _read("shift", "diabetes_130_hospitals.csv.gz")
    columns = _chosen(columns, np.arange(0, len(columns["readmitted"]), 200))
    label = columns["readmitted"] != "NO"
    return {name: columns[name] for name in (*DIABETES_NUMBERS, *DIAGNOSES)}, label, DIABETES_NUMBERS


def _acs() -> tuple[Columns, AnyArray, tuple[str, ...]]:
    columns = _read("shift", "acs2019_massachusetts.csv.gz")
    # "N" says "not applicable"; where a column counts, nobody is 0.
    columns = {
        name: np.where(values == "N", "0", values) if name in ACS_NUMBERS else values for name, values in columns.items()
    }
    columns = _chosen(columns, (columns["AGEP"].astype(float) >= 16) & (columns["PINCP"] != "N"))
    label = columns["PINCP"].astype(float) > 50_000
    return {name: values for name, values in columns.items() if name not in ACS_LEFT_OUT}, label, ACS_NUMBERS


_READERS = {
    "mushroom": _mushroom,
    "adult": _adult,
    "heloc": _heloc,
    "diabetes": _diabetes,
    "diagnoses": _diagnoses,
    "acs": _acs,
}
