"""Tables whose rows come from several sites or periods: every site can be held out in turn.

acs                 survey of 2019, people from 16 years on in five areas of Massachusetts: an income above 50,000?
bank                calls of a Portuguese bank from May 2008 to November 2010, by quarter; thin quarters join the next.
                    ``duration`` is known only after the call and is left out. Rates and prices, which nearly name the quarter,
                    stay.
compas              defendants of Broward County by quarter of screening, January 2013 to March 2014; of later ones the file has
                    only those who reoffended. Columns are what is known at the screening: not ``is_recid``, ``event``, ``end``
                    or ``r_*``, which tell the label, and no score of the vendor.
diabetes_source     hospital stays of diabetics, the first of each patient, by source of admission: readmitted within 30 days?
diabetes_specialty  the same by specialty of the admitting physician. Many rows are those of diabetes_source.
heloc               credit lines: ever 90 days late? By fifths of ``ExternalRiskEstimate``, as others have split this table.
adult               census of 1994, by region of birth; the United States are one of them.
shoppers            visits of a web shop by month: does the visitor buy?
framingham          coronary disease within ten years, by age in bands of five or more years. Age stays a column.
german              consumer credit by purpose.
cylinder            faults in rotogravure printing, by press.

A column that names the site is left out, age apart: nobody predicts heart disease without it. A missing category is a level of
its own, a missing number the median of the others, with a column of flags where more than ``FLAG_SHARE`` are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from problems import MISSING, Columns, data_directory, read_columns

from surefoot.core.arrays import AnyArray, BoolArray, FloatArray
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
ACS_NUMBERS = ("AGEP", "NOC", "NPF", "EDU")
ACS_CATEGORIES = (
    "SEX", "MSP", "HISP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "INDP_CAT", "DVET", "DREM", "DPHY", "DEYE", "DEAR"
)  # fmt: skip
ADULT_NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
ADULT_CATEGORIES = ("workclass", "marital_status", "occupation", "relationship", "race", "sex")
SHOPPER_NUMBERS = (
    "Administrative", "Administrative_Duration", "Informational", "Informational_Duration", "ProductRelated",
    "ProductRelated_Duration", "BounceRates", "ExitRates", "PageValues", "SpecialDay",
)  # fmt: skip
SHOPPER_CATEGORIES = ("OperatingSystems", "Browser", "Region", "TrafficType", "VisitorType", "Weekend")
HEART_NUMBERS = ("age", "cigsPerDay", "totChol", "sysBP", "diaBP", "BMI", "heartRate", "glucose")
HEART_CATEGORIES = ("male", "education", "currentSmoker", "BPMeds", "prevalentStroke", "prevalentHyp", "diabetes")
GERMAN_NUMBERS = (
    "duration", "credit_amount", "installment_rate", "residence_since", "age", "existing_credits", "num_dependents"
)  # fmt: skip
GERMAN_CATEGORIES = (
    "checking_status", "credit_history", "savings_status", "employment", "personal_status", "other_parties",
    "property_magnitude", "other_payment_plans", "housing", "job", "own_telephone", "foreign_worker",
)  # fmt: skip
CYLINDER_NUMBERS = (
    "proof_cut", "viscosity", "caliper", "ink_temperature", "humidity", "roughness", "blade_pressure", "varnish_pct",
    "press_speed", "ink_pct", "solvent_pct", "esa_voltage", "esa_amperage", "wax", "hardener", "roller_durometer",
    "current_density", "anode_space_ratio", "chrome_content",
)  # fmt: skip
CYLINDER_CATEGORIES = (
    "grain_screened", "proof_on_ctd_ink", "blade_mfg", "paper_type", "ink_type", "direct_steam", "solvent_type",
    "type_on_cylinder", "cylinder_size", "paper_mill_location", "plating_tank",
)  # fmt: skip
ADMISSION_SOURCES = {
    "1": "physician", "2": "clinic", "3": "insurer", "4": "hospital", "5": "nursing home", "6": "other facility",
    "7": "emergency room", "17": "unknown", "20": "not mapped",
}  # fmt: skip
REGIONS = {
    "United States": ("United-States",),
    "Mexico": ("Mexico",),
    "Central America": ("El-Salvador", "Guatemala", "Nicaragua", "Honduras"),
    "Caribbean": ("Puerto-Rico", "Cuba", "Jamaica", "Dominican-Republic", "Haiti", "Trinadad&Tobago"),
    "South America": ("Columbia", "Ecuador", "Peru"),
    "Western Europe and Canada": ("Germany", "England", "Canada", "France", "Ireland", "Scotland", "Holand-Netherlands"),
    "Southern and Eastern Europe": ("Italy", "Poland", "Portugal", "Greece", "Yugoslavia", "Hungary"),
    "East Asia": ("China", "Taiwan", "Japan", "Hong", "South"),
    "South-East Asia": ("Philippines", "Vietnam", "Cambodia", "Thailand", "Laos"),
    "India and Iran": ("India", "Iran"),
    "not known": (MISSING,),
}
# Quarters of the calls of the bank: the month names where one ends. The file is in the order of dates and holds no years.
BANK_QUARTERS = (
    ("2008 Q2", "jun"), ("2008 Q3", "aug"), ("2008 Q4", "dec"), ("2009 Q1-2", "jun"), ("2009 Q3", "sep"), ("2009 Q4", "dec"),
    ("2010 Q1-2", "jun"), ("2010 Q3", "sep"), ("2010 Q4", "nov"),
)  # fmt: skip
LAST_COMPAS = "2014-04-01"
AGE_BANDS = ("40", "45", "50", "55", "60")
# A site with fewer rows says too little about a model when it is held out.
LEAST_ROWS = 25
FLAG_SHARE = 0.05


@dataclass(frozen=True)
class SitedTable:
    """A table with a site or a period for every row."""

    name: str
    by: str
    X: Any
    y: BoolArray
    sites: AnyArray

    def rows(self, chosen: AnyArray) -> SitedTable:
        """Some of the rows, by position."""
        return SitedTable(self.name, self.by, self.X.iloc[chosen], self.y[chosen], self.sites[chosen])

    def largest_sites(self, most_sites: int) -> SitedTable:
        """The rows of so many sites."""
        names, place, counts = np.unique(self.sites, return_inverse=True, return_counts=True)
        chosen = np.zeros(len(names), dtype=bool)
        chosen[np.argsort(-counts, kind="stable")[:most_sites]] = True
        return self.rows(np.flatnonzero(chosen[place]))

    def with_both_labels(self) -> SitedTable:
        """Without sites that have one label only, on which nothing can be ranked."""
        _, place = np.unique(self.sites, return_inverse=True)
        share = np.bincount(place, weights=self.y) / np.bincount(place)
        return self.rows(np.flatnonzero(((share > 0) & (share < 1))[place]))

    def capped(self, most_rows: int, random_state: int) -> SitedTable:
        """At most so many rows in all: large sites give rows away first, drawn at random."""
        names, place, counts = np.unique(self.sites, return_inverse=True, return_counts=True)
        limit, left = int(counts.max()), most_rows
        for at, count in enumerate(np.sort(counts).tolist()):
            if count > (even := left // (len(counts) - at)):
                limit = even
                break
            left -= count
        generator = np.random.default_rng(random_state)
        kept = [generator.permutation(np.flatnonzero(place == at))[:limit] for at in range(len(names))]
        return self.rows(np.sort(np.concatenate(kept)))


def acs() -> SitedTable:
    columns = _read("shift", "acs2019_massachusetts.csv.gz")
    # "N" says "not applicable"; where a column counts, nobody is 0.
    columns = {
        name: np.where(values == "N", "0", values) if name in ACS_NUMBERS else values for name, values in columns.items()
    }
    columns = _chosen(columns, (columns["AGEP"].astype(float) >= 16) & (columns["PINCP"] != "N"))
    label = columns["PINCP"].astype(float) > 50_000
    return _table("acs", "area", columns, label, columns["PUMA"], ACS_NUMBERS, ACS_CATEGORIES)


def bank() -> SitedTable:
    columns = _read("uci", "bank_additional_full.csv.gz")
    month = columns["month"]
    first_of_run = np.flatnonzero(np.append(True, month[1:] != month[:-1]))
    quarters = np.empty(len(month), dtype="U9")
    at = iter(BANK_QUARTERS)
    quarter, last = next(at)
    for start, end in zip(first_of_run, [*first_of_run[1:], len(month)], strict=True):
        quarters[start:end] = quarter
        if month[start] == last:
            quarter, last = next(at, (quarter, last))
    return _table("bank", "quarter", columns, columns["y"] == "yes", quarters, BANK_NUMBERS, BANK_CATEGORIES)


def compas() -> SitedTable:
    columns = _read("shift", "compas_two_years.csv.gz")
    columns = _chosen(columns, columns["compas_screening_date"] < LAST_COMPAS)
    quarters = np.array([f"{date[:4]} Q{(int(date[5:7]) + 2) // 3}" for date in columns["compas_screening_date"]])
    label = columns["two_year_recid"] == "1"
    return _table("compas", "quarter", columns, label, quarters, COMPAS_NUMBERS, COMPAS_CATEGORIES)


def diabetes_source() -> SitedTable:
    columns = _first_stays()
    sources = np.array([ADMISSION_SOURCES.get(source, "") for source in columns["admission_source_id"]])
    return _diabetes("diabetes_source", "source of admission", columns, sources)


def diabetes_specialty() -> SitedTable:
    columns = _first_stays()
    specialty = columns["medical_specialty"]
    names, counts = np.unique(specialty[specialty != MISSING], return_counts=True)
    ten_largest = names[np.argsort(-counts, kind="stable")[:10]]
    return _diabetes("diabetes_specialty", "specialty", columns, np.where(np.isin(specialty, ten_largest), specialty, ""))


def heloc() -> SitedTable:
    columns = _read("shift", "heloc_fico.csv.gz")
    label = columns.pop("RiskPerformance") == "Bad"
    estimate = columns.pop("ExternalRiskEstimate").astype(float)
    # -9: no record in the bureau, which is so for whole rows; -7 and -8 in single columns: nothing to report.
    known = estimate >= 0
    columns = {name: np.where(values.astype(float) < 0, MISSING, values) for name, values in _chosen(columns, known).items()}
    ends = np.quantile(estimate[known], (0.2, 0.4, 0.6, 0.8))
    fifths = np.array(["lowest", "low", "middle", "high", "highest"])[np.searchsorted(ends, estimate[known], side="right")]
    return _table("heloc", "fifth of the external risk estimate", columns, label[known], fifths, tuple(columns), ())


def adult() -> SitedTable:
    parts = [_read("uci", f"adult_{part}.csv.gz") for part in ("train", "test")]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    region = {country: name for name, countries in REGIONS.items() for country in countries}
    regions = np.array([region.get(country, "") for country in columns["native_country"]])
    return _table("adult", "region of birth", columns, columns["income"] == ">50K", regions, ADULT_NUMBERS, ADULT_CATEGORIES)


def shoppers() -> SitedTable:
    columns = _read("uci", "online_shoppers.csv.gz")
    label = np.char.upper(columns["Revenue"]) == "TRUE"
    return _table("shoppers", "month", columns, label, columns["Month"], SHOPPER_NUMBERS, SHOPPER_CATEGORIES)


def framingham() -> SitedTable:
    columns = {name: np.where(values == "NA", MISSING, values) for name, values in _read("uci", "framingham.csv").items()}
    names = np.array(["to 39", *(f"from {age}" for age in AGE_BANDS)])
    bands = names[np.searchsorted(np.array(AGE_BANDS, dtype=float), columns["age"].astype(float), side="right")]
    return _table("framingham", "age band", columns, columns["TenYearCHD"] == "1", bands, HEART_NUMBERS, HEART_CATEGORIES)


def german() -> SitedTable:
    columns = _read("uci", "german_credit.csv")
    purpose = columns["purpose"]
    names, counts = np.unique(purpose, return_counts=True)
    sites = np.where(np.isin(purpose, names[counts >= LEAST_ROWS]), purpose, "other")
    return _table("german", "purpose", columns, columns["class"] == "2", sites, GERMAN_NUMBERS, GERMAN_CATEGORIES)


def cylinder() -> SitedTable:
    columns = {name: np.char.lower(values) for name, values in _read("uci", "cylinder_bands.csv").items()}
    label = columns["band_type"] == "band"
    return _table("cylinder", "press", columns, label, columns["press"], CYLINDER_NUMBERS, CYLINDER_CATEGORIES)


DEVELOPMENT: Mapping[str, Callable[[], SitedTable]] = {"acs": acs, "bank": bank}
CONFIRMATION: Mapping[str, Callable[[], SitedTable]] = {
    "compas": compas,
    "diabetes_source": diabetes_source,
    "diabetes_specialty": diabetes_specialty,
    "heloc": heloc,
    "adult": adult,
    "shoppers": shoppers,
    "framingham": framingham,
    "german": german,
    "cylinder": cylinder,
}
TABLES = {**DEVELOPMENT, **CONFIRMATION}


def _first_stays() -> Columns:
    columns = _read("shift", "diabetes_130_hospitals.csv.gz")
    order = np.argsort(columns["encounter_id"].astype(np.int64), kind="stable")
    _, first = np.unique(columns["patient_nbr"][order], return_index=True)
    columns = _chosen(columns, np.sort(order[first]))
    columns["discharged"] = np.where(columns["discharge_disposition_id"] == "1", "home", "elsewhere")
    return columns


def _diabetes(name: str, by: str, columns: Columns, sites: AnyArray) -> SitedTable:
    categories = (*DIABETES_CATEGORIES, "discharged")
    return _table(name, by, columns, columns["readmitted"] == "<30", sites, DIABETES_NUMBERS, categories)


def _read(folder: str, file: str) -> Columns:
    return read_columns(data_directory() / folder / file)


def _chosen(columns: Columns, rows: Any) -> Columns:
    return {name: values[rows] for name, values in columns.items()}


def _table(
    name: str,
    by: str,
    columns: Columns,
    label: BoolArray,
    sites: AnyArray,
    numbers: Sequence[str],
    categories: Sequence[str],
) -> SitedTable:
    """Rows whose site has a name and enough rows, both labels among them."""
    named, place, counts = np.unique(sites, return_inverse=True, return_counts=True)
    positives = np.bincount(place, weights=label)
    large = (named != "") & (counts >= LEAST_ROWS) & (positives > 0) & (positives < counts)
    kept = large[place]
    label, sites, columns = label[kept], sites[kept], _chosen(columns, kept)
    found: dict[str, Any] = {}
    for column in numbers:
        missing = columns[column] == MISSING
        found[column] = _numbers(columns[column], missing)
        if missing.mean() > FLAG_SHARE:
            found[f"{column} missing"] = missing.astype(np.float64)
    found = {column: values for column, values in found.items() if values.std() > 0}
    texts = [column for column in categories if np.unique(columns[column]).size > 1]
    frame = build_frame(found | {column: columns[column].tolist() for column in texts}, "pandas")
    # Gradient boosting sees categories by their type.
    return SitedTable(name, by, frame.astype(dict.fromkeys(texts, "category")), label, sites)


def _numbers(values: AnyArray, missing: BoolArray) -> FloatArray:
    numbers = np.where(missing, "nan", values).astype(np.float64)
    numbers[missing] = np.median(numbers[~missing])
    return numbers
