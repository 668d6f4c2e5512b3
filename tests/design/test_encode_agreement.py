"""The same table gives the same numbers whatever library holds it, and the numbers give back the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design.encode.table_encoder import TableEncoder

FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Surrogates are no text in UTF-8, and so cannot be in the tables of polars and pyarrow; pandas 2 ends text at a NUL.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=3)


@st.composite
def columns(draw: st.DrawFn) -> dict[str, list[Any]]:
    rows = draw(st.integers(1, 12))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    return {
        "real": column(FINITE),
        "word": column(TEXT),
        "whole": column(st.integers(-(2**63), 2**63 - 1)),
        "flag": column(st.booleans()),
        "gap": column(st.one_of(st.none(), st.sampled_from(["", "a", "None", "nan"]))),
    }


def tables(content: dict[str, list[Any]]) -> list[Any]:
    words = {"word": pl.Categorical, "gap": pl.Categorical}
    frame = pl.DataFrame(content, schema_overrides={"gap": pl.String})
    return [
        pd.DataFrame(content),
        pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in content.items()}),
        pd.DataFrame(content).astype({"word": "category", "gap": "category", "whole": "Int64", "flag": "boolean"}),
        pd.DataFrame(content).astype({"word": "string[python]", "gap": "string[python]"}),
        frame,
        frame.cast(words),
        pa.table(content | {"gap": pa.array(content["gap"], pa.string())}),
        frame.cast(words).to_arrow(),
        np.array(list(content.values()), dtype=object).T,
        list(zip(*content.values(), strict=True)),
    ]


@settings(deadline=None)
@given(columns())
def test_all_libraries_agree_and_codes_lead_back_to_the_values(content: dict[str, list[Any]]) -> None:
    for table in tables(content):
        design = TableEncoder(missing_categorical="level", categorical_features=[1, 2, 3, 4]).fit_encode(table)
        assert design.numeric[:, 0].tolist() == content["real"]
        for at, name in enumerate(["word", "whole", "flag", "gap"]):
            assert design.level_values(at) == content[name]
            levels = design.schema.categorical_columns[at].levels
            present = set(content[name]) - {None}
            assert levels == (*sorted(present), *([None] if None in content[name] else []))
            assert {type(level) for level in levels} == {type(value) for value in content[name]}


@settings(deadline=None, max_examples=50)
@given(columns(), st.randoms(use_true_random=False))
def test_the_schema_does_not_depend_on_the_order_of_rows(content: dict[str, list[Any]], random: Any) -> None:
    order = list(range(len(content["real"])))
    random.shuffle(order)
    shuffled = {name: [values[at] for at in order] for name, values in content.items()}
    encoder = TableEncoder(missing_categorical="level", missing_numeric="median", categorical_features=[1, 2, 3, 4])
    for table, other in zip(tables(content), tables(shuffled), strict=True):
        design, again = encoder.fit_encode(table), encoder.fit_encode(other)
        assert design.schema == again.schema
        np.testing.assert_array_equal(design.codes[order], again.codes)
        np.testing.assert_array_equal(design.numeric[order], again.numeric)


@settings(deadline=None, max_examples=50)
@given(columns())
def test_an_encoder_fitted_on_one_library_encodes_all_others_alike(content: dict[str, list[Any]]) -> None:
    encoder = TableEncoder(missing_categorical="level", categorical_features=[1, 2, 3, 4])
    design = encoder.fit_encode(tables(content)[0])
    for table in tables(content):
        again = encoder.encode(table)
        np.testing.assert_array_equal(design.codes, again.codes)
        np.testing.assert_array_equal(design.numeric, again.numeric)
