"""A schema names coefficients, lays them out, and survives storage."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.design.encode.schema import ColumnSchema, Schema

AGE = ColumnSchema("age", "numeric")
COLOUR = ColumnSchema("colour", "categorical", ("blue", "green", "red"))
CONSTANT = ColumnSchema("constant", "categorical", (True,))
SIZE = ColumnSchema("size", "numeric")
GRADE = ColumnSchema("grade", "categorical", (1, 2.5, None))
MIXED = Schema((COLOUR, AGE, CONSTANT, GRADE, SIZE), missing_categorical="level")


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    level = st.one_of(st.text(max_size=3), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
    columns = []
    for at in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            columns.append(ColumnSchema(f"c{at}", "numeric", median=draw(st.floats(-1e9, 1e9))))
        else:
            levels = tuple(draw(st.lists(level, min_size=1, max_size=4, unique=True)))
            columns.append(ColumnSchema(f"c{at}", "categorical", (*levels, None) if draw(st.booleans()) else levels))
    return Schema(tuple(columns), draw(st.booleans()), "median", "level", draw(st.sampled_from(["error", "reference"])))


def test_coefficients_are_named_in_input_order_without_references() -> None:
    assert MIXED.coefficient_names() == [
        ("colour", "green"),
        ("colour", "red"),
        ("age", None),
        ("grade", 2.5),
        ("grade", "(missing)"),
        ("size", None),
    ]
    assert MIXED.n_coefficients == 6


def test_references_are_named_on_request() -> None:
    assert MIXED.coefficient_names(include_reference=True) == [
        ("colour", "blue"),
        ("colour", "green"),
        ("colour", "red"),
        ("age", None),
        ("constant", True),
        ("grade", 1),
        ("grade", 2.5),
        ("grade", "(missing)"),
        ("size", None),
    ]


def test_a_missing_level_is_not_mistaken_for_a_level_of_that_text() -> None:
    column = ColumnSchema("c", "categorical", ("(missing)", "a", None))
    assert column.level_labels == ("(missing)", "a", "((missing))")


def test_joined_coefficients_stand_where_their_names_stand() -> None:
    flat = MIXED.join_coefficients([10.0, 20.0], [0.0, 1.0, 2.0, 0.0, 0.0, 3.0, 4.0])
    assert flat.tolist() == [1.0, 2.0, 10.0, 3.0, 4.0, 20.0]


def test_splitting_puts_zeros_at_the_references() -> None:
    numeric, levels = MIXED.split_coefficients([1.0, 2.0, 10.0, 3.0, 4.0, 20.0])
    assert numeric.tolist() == [10.0, 20.0]
    assert levels.tolist() == [0.0, 1.0, 2.0, 0.0, 0.0, 3.0, 4.0]


@settings(deadline=None)
@given(schemas(), st.integers(0, 2**32 - 1))
def test_split_undoes_join(schema: Schema, seed: int) -> None:
    flat = np.random.default_rng(seed).normal(size=schema.n_coefficients)
    numeric, levels = schema.split_coefficients(flat)
    assert levels.size == schema.n_levels.sum()
    assert len(schema.coefficient_names()) == flat.size
    np.testing.assert_array_equal(schema.join_coefficients(numeric, levels), flat)


def test_a_nonzero_reference_cannot_be_joined() -> None:
    with pytest.raises(ValueError, match="reference level must be 0"):
        MIXED.join_coefficients([10.0, 20.0], [0.5, 1.0, 2.0, 0.0, 0.0, 3.0, 4.0])


def test_coefficients_of_the_wrong_number_are_refused() -> None:
    with pytest.raises(ValueError, match="2 numeric and 7 level"):
        MIXED.join_coefficients([10.0], [0.0] * 7)
    with pytest.raises(ValueError, match="expected 6 coefficients"):
        MIXED.split_coefficients(np.zeros((1, 6)))


@settings(deadline=None)
@given(schemas())
def test_a_schema_survives_json_and_pickle(schema: Schema) -> None:
    stored = json.dumps(schema.to_dict(), allow_nan=False)
    for back in (Schema.from_dict(json.loads(stored)), pickle.loads(pickle.dumps(schema))):
        assert back == schema
        # True == 1 == 1.0, but a level must come back as what it was.
        assert [[type(level) for level in column.levels] for column in back.columns] == [
            [type(level) for level in column.levels] for column in schema.columns
        ]


def test_a_schema_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        MIXED.unseen_categories = "reference"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ColumnSchema("c", "ordinal"), "'ordinal' is not a policy"),  # type: ignore[arg-type]
        (lambda: ColumnSchema("c", "numeric", ("a",)), "cannot have levels"),
        (lambda: ColumnSchema("c", "numeric", median=float("nan")), "not a finite number"),
        (lambda: ColumnSchema("c", "categorical"), "at least one level"),
        (lambda: ColumnSchema("c", "categorical", ("a",), 1.0), "cannot have a median"),
        (lambda: ColumnSchema("c", "categorical", ("a", "a")), "twice"),
        (lambda: ColumnSchema("c", "categorical", (None, "a")), "missing level last"),
        (lambda: ColumnSchema("c", "categorical", (float("inf"),)), "neither text nor a finite number"),
        (lambda: ColumnSchema("c", "categorical", (("a",),)), "neither text nor a finite number"),  # type: ignore[arg-type]
        (lambda: Schema((AGE, AGE)), "unique"),
        (lambda: Schema((AGE,), unseen_categories="zero"), "unseen_categories = 'zero'"),  # type: ignore[arg-type]
        (lambda: Schema((AGE,), missing_numeric="median"), "median of column 'age'"),
        (lambda: Schema((GRADE,)), "missing level although"),
    ],
)
def test_inconsistent_schemas_are_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("content", [{}, {"columns": 3}, {"columns": [{"name": "a"}]}, {**MIXED.to_dict(), "columns": [1]}])
def test_content_that_is_no_schema_is_refused(content: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="not a table schema"):
        Schema.from_dict(content)
