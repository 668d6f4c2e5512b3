"""The settings of a shift model as others want them: by name, as a data frame, in print and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Self

from surefoot.design.write.output_frame import build_frame
from surefoot.design.write.shown_table import shown_table

# Columns that are named in print.
_NAMED = 5


def _is(value: Any, usual: Any) -> bool:
    return value is usual or (isinstance(value, (str, float)) and isinstance(usual, type(value)) and value == usual)


def _short(value: Any) -> str:
    """A setting on one line; of settings by column the first few."""
    if not isinstance(value, Mapping) or len(value) <= _NAMED:
        return repr(value)
    first = ", ".join(f"{name!r}: {own!r}" for name, own in list(value.items())[:_NAMED])
    return f"{{{first}, ... {len(value) - _NAMED} more}}"


class ShiftSettings:
    """What a shift model, which is a dataclass, offers beside its mathematics."""

    def _fields(self) -> tuple[Any, ...]:
        own: Any = self
        return fields(own)

    def to_frame(self, library: str | None = None) -> Any:
        """What is said, a line each: ``parameter``, ``column`` (or "(all)") and ``value``; of pandas, where none is named."""
        said = self._said()
        heads = ("parameter", "column", "value")
        return build_frame({head: [line[at] for line in said] for at, head in enumerate(heads)}, library)

    def _said(self) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = []
        for one in self._fields():
            value = getattr(self, one.name)
            if value is None or (isinstance(value, str) and value == one.default):
                continue
            by_column = value.items() if isinstance(value, Mapping) else [("(all)", value)]
            found += [(one.name, str(column), str(own)) for column, own in by_column]
        return found

    def __repr__(self) -> str:
        given = [(one.name, getattr(self, one.name)) for one in self._fields()]
        usual = {one.name: one.default for one in self._fields()}
        told = [(name, value) for name, value in given if name == "robustness" or not _is(value, usual[name])]
        shown = [f"{name}={_short(value)}" for name, value in told]
        return f"ShiftModel({', '.join(shown)})"

    def _repr_html_(self) -> str:
        return shown_table("What may shift", ("parameter", "column", "value"), self._said())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them: a search may go over ``shift__numeric_certainty``."""
        return {one.name: getattr(self, one.name) for one in self._fields()}

    def set_params(self, **params: Any) -> Self:
        """Give some parameters other values, as the searches of scikit-learn do with their own copy."""
        wrong = sorted(set(params) - {one.name for one in self._fields()})
        if wrong:
            raise ValueError(f"a ShiftModel has no parameter {wrong[0]!r}; it has {', '.join(self.get_params())}.")
        own: Any = self
        found = replace(own, **params)  # all of them are checked before one is taken
        for name in params:
            object.__setattr__(self, name, getattr(found, name))
        return self
