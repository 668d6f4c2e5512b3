"""Properties that are computed once and are no part of the object: neither its file, nor its copies, nor its mark hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

Value = TypeVar("Value")
_KNOWN: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


class remembered(Generic[Value]):  # noqa: N801
    """A property that remembers its value as long as its object lives."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> remembered[Value]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        known = _KNOWN.setdefault(owner, {})
        if self.name not in known:
            known[self.name] = self.compute(owner)
        return known[self.name]
