"""Tables that did shift: rows from before, in an earlier and a later (or another) part, and rows from after.

bank        calls of a Portuguese bank in the order of their dates, May 2008 to November 2010. Before: up to December 2008, in
            halves. After: 2009 and 2010, when interest rates fell from 5 % to 1 % and the share of subscribers rose fivefold.
            ``duration`` is known only after the call, and the calls of 2008 cover half a year only: both it and ``month`` are
            left out.
compas      defendants of Broward County by screening date. Before: January to September 2013, the first quarter and the rest.
            After: October 2013 to March 2014. Later ones are left out: the file holds only those of them who reoffended.
diabetes    hospital stays of diabetics, the first of each patient. Before: referrals by a physician, clinic or insurer, and
            transfers and other sources. After: the emergency room. The label is readmission within 30 days.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from problems import Columns, data_directory, read_columns

from surefoot.core.arrays import BoolArray
from surefoot.design.write.output_frame import build_frame

BANK_NUMBERS = (
    "age", "campaign", "pdays", "previous", "emp_var_rate", "cons_price_idx", "cons_conf_idx", "euribor3m", "nr_employed"
)  # fmt: skip
BANK_CATEGORIES = ("job", "marital", "education", "default", "housing", "loan", "contact", "day_of_week", "poutcome")
COMPAS_NUMBERS = ("age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")
COMPAS_CATEGORIES = ("sex", "c_charge_degree")
DIABETES_NUMBERS = (
    "time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications", "number_outpatient", "number_emergency",
    "number_inpatient", "number_diagnoses",
)  # fmt: skip
DIABETES_CATEGORIES = ("race", "gender", "age", "max_glu_serum", "A1Cresult", "metformin", "insulin", "change", "diabetesMed")
EMERGENCY_ROOM = "7"
REFERRALS = ("1", "2", "3")
# The run of calls of March 2009 is the first of that month in the file.
FIRST_MONTH_AFTER = "mar"


@dataclass(frozen=True)
class ShiftedTable:
    """A table with three parts: ``early`` and ``late`` are before, ``after`` is what came then."""

    name: str
    X: Any
    y: BoolArray
    early: BoolArray
    late: BoolArray
    after: BoolArray

    @property
    def before(self) -> BoolArray:
        return self.early | self.late


def bank() -> ShiftedTable:
    columns = read_columns(data_directory() / "uci" / "bank_additional_full.csv.gz")
    place = np.arange(len(columns["y"]))
    first_after = int(np.argmax(columns["month"] == FIRST_MONTH_AFTER))
    early = place < first_after // 2
    return ShiftedTable(
        "bank",
        _frame(columns, BANK_NUMBERS, BANK_CATEGORIES),
        columns["y"] == "yes",
        early,
        ~early & (place < first_after),
        place >= first_after,
    )


def compas() -> ShiftedTable:
    columns = read_columns(data_directory() / "shift" / "compas_two_years.csv.gz")
    columns = _chosen(columns, columns["compas_screening_date"] < "2014-04-01")
    date = columns["compas_screening_date"]
    return ShiftedTable(
        "compas",
        _frame(columns, COMPAS_NUMBERS, COMPAS_CATEGORIES),
        columns["two_year_recid"] == "1",
        date < "2013-04-01",
        (date >= "2013-04-01") & (date < "2013-10-01"),
        date >= "2013-10-01",
    )


def diabetes() -> ShiftedTable:
    columns = read_columns(data_directory() / "shift" / "diabetes_130_hospitals.csv.gz")
    stays = columns["encounter_id"].astype(np.int64)
    order = np.argsort(stays, kind="stable")
    _, first = np.unique(columns["patient_nbr"][order], return_index=True)
    columns = _chosen(columns, np.sort(order[first]))
    source = columns["admission_source_id"]
    columns["discharged"] = np.where(columns["discharge_disposition_id"] == "1", "home", "elsewhere")
    referred = np.isin(source, REFERRALS)
    return ShiftedTable(
        "diabetes",
        _frame(columns, DIABETES_NUMBERS, (*DIABETES_CATEGORIES, "discharged")),
        columns["readmitted"] == "<30",
        referred,
        ~referred & (source != EMERGENCY_ROOM),
        source == EMERGENCY_ROOM,
    )


TABLES: dict[str, Callable[[], ShiftedTable]] = {"bank": bank, "compas": compas, "diabetes": diabetes}


def _chosen(columns: Columns, rows: Any) -> Columns:
    return {name: values[rows] for name, values in columns.items()}


def _frame(columns: Columns, numbers: Sequence[str], categories: Sequence[str]) -> Any:
    found: dict[str, Any] = {name: columns[name].astype(np.float64) for name in numbers}
    frame = build_frame(found | {name: columns[name].tolist() for name in categories}, "pandas")
    # Gradient boosting sees categories by their type, and the levels of all parts.
    return frame.astype(dict.fromkeys(categories, "category"))
