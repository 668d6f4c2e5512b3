"""Values of a model as JSON and arrays, and back.

Null, truth values, whole numbers, finite floats and text stand for themselves. Everything else is an object with one entry:

    {"float": "inf"}                      numbers that JSON does not have
    {"list": [...]}, {"tuple": [...]}     sequences                        {"dict": [[key, value], ...]}
    {"array": "a0"}                       an array of numbers or text, in a member of the archive
    {"objects": [shape, [...]]}           an array of Python values, such as names of columns
    {"scalar": "a1"}                      a number with a type of NumPy, as an array without dimensions
    {"record": [name, {...}]}             one of :mod:`surefoot.files.records`
    {"status": "optimal"}                 how a solve ended
    {"splitter": [name, {...}]}           folds of scikit-learn
    {"forward": [name, {...}]}            a forward problem of inverse optimization that is all data
    {"model": [name, {...}, {...}]}       an estimator: parameters and what a fit has left; see ``model_state``

Floats come back as the same bits, since Python writes as many digits as it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedGroupKFold, StratifiedKFold

from surefoot.core.arrays import AnyArray
from surefoot.core.certificate import Certificate
from surefoot.core.outcome import SolveOutcome, Status
from surefoot.exceptions import ModelFileError
from surefoot.files.forward_problems import FORWARDS, forward_fields, make_forward
from surefoot.files.records import RECORDS, make_record, record_fields
from surefoot.inverse.forward.programs import ForwardProblem
from surefoot.proofs.packed_array import allowed_type

# Of our own values none is deeper than a dozen; parameters of users may be.
_DEEPEST = 100
_NUMBERED = ("n_splits", "shuffle", "random_state")
# Which folds of scikit-learn a file may hold, with what they are made of.
_SPLITTERS: dict[Any, tuple[str, ...]] = {
    GroupKFold: _NUMBERED,
    KFold: _NUMBERED,
    LeaveOneGroupOut: (),
    StratifiedGroupKFold: _NUMBERED,
    StratifiedKFold: _NUMBERED,
}
_SPLITTERS_BY_NAME: dict[str, Any] = {kind.__name__: kind for kind in _SPLITTERS}
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_LONGEST_WHOLE = 1 << 64


class PlainWriter:
    """Turns values into JSON; arrays are collected in ``arrays``.

    Parameters
    ----------
    write_model : callable
        ``write_model(model, place, writer)`` returns the entry of an estimator, or None for what is none.
    witness : bool, default=True
        Whether what proves the bounds of certificates and outcomes is written too.
    """

    def __init__(self, write_model: Callable[[Any, str, PlainWriter], Any], *, witness: bool = True) -> None:
        self._witness = witness
        self.arrays: dict[str, AnyArray] = {}
        self._names: dict[int, str] = {}
        self._write_model = write_model

    def write(self, value: Any, place: str) -> Any:
        """A value as JSON; ``place`` is how messages call it."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            if abs(value) >= _LONGEST_WHOLE:
                raise ModelFileError(f"{place} is a whole number of more than 64 bits, which a model file does not hold.")
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, place)
        if isinstance(value, np.generic):
            return {"scalar": self._store(np.asarray(value), place)}
        if kind in (list, tuple):
            items = [self.write(item, f"{place}[{at}]") for at, item in enumerate(value)]
            return {kind.__name__: items}
        if kind is Certificate and not self._witness:
            return self._record("Certificate", {**record_fields(value), "witness": None}, place)
        if kind is SolveOutcome and not (self._witness and _is_savable_proof(value.dual)):
            # What a solver kept for itself alone, or a witness that nobody wants.
            return self._record("SolveOutcome", {**record_fields(value), "dual": None}, place)
        if FORWARDS.get(kind.__name__) is kind:
            fields = {name: self.write(getattr(value, name), f"{place}.{name}") for name in forward_fields(kind)}
            return {"forward": [kind.__name__, fields]}
        if RECORDS.get(kind.__name__) is kind:
            return self._record(kind.__name__, record_fields(value), place)
        if isinstance(value, Status):
            return {"status": value.value}
        if isinstance(value, Mapping):
            pairs = [
                [self.write(key, f"a key of {place}"), self.write(item, f"{place}[{key!r:.80}]")] for key, item in value.items()
            ]
            return {"dict": pairs}
        if isinstance(value, PurePath):
            return str(value)
        if kind in _SPLITTERS:
            fields = {name: self.write(getattr(value, name), f"{place}.{name}") for name in _SPLITTERS[kind]}
            return {"splitter": [kind.__name__, fields]}
        entry = self._write_model(value, place, self)
        if entry is None:
            raise ModelFileError(_why_not(value, place))
        return entry

    def _record(self, name: str, fields: Mapping[str, Any], place: str) -> Any:
        return {"record": [name, {key: self.write(value, f"{place}.{key}") for key, value in fields.items()}]}

    def _array(self, array: AnyArray, place: str) -> Any:
        if array.dtype.kind != "O":
            return {"array": self._store(array, place)}
        items = [self.write(item, f"{place}[{at}]") for at, item in enumerate(array.ravel().tolist())]
        return {"objects": [list(array.shape), items]}

    def _store(self, array: AnyArray, place: str) -> str:
        known = self._names.get(id(array))
        if known is not None:
            return known
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if type(array) is not np.ndarray or not allowed_type(little.dtype):
            raise ModelFileError(f"{place} is an array of type {array.dtype}, which a model file does not hold.")
        name = f"a{len(self.arrays)}"
        # Kept here, so that no other array can have its id while this writer lives.
        self.arrays[name] = array
        self._names[id(array)] = name
        return name


class PlainReader:
    """Turns what a :class:`PlainWriter` wrote into values again.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    make_model : callable
        ``make_model(name, parameters, fitted)`` returns an estimator.
    """

    def __init__(self, arrays: Mapping[str, AnyArray], make_model: Callable[[str, Any, Any], Any]) -> None:
        self._arrays = arrays
        self._make_model = make_model

    def read(self, content: Any, depth: int = 0) -> Any:
        """The value of a piece of JSON; anything that a writer does not write raises ``ModelFileError``."""
        if depth > _DEEPEST:
            raise ModelFileError("its values are nested deeper than those of any model.")
        if content is None or type(content) in (bool, str, float):
            return content
        if type(content) is int and abs(content) < _LONGEST_WHOLE:
            return content
        if type(content) is not dict or len(content) != 1:
            raise ModelFileError(f"{content!r:.80} is no value of a model.")
        ((tag, inner),) = content.items()
        read = getattr(self, f"_read_{tag}", None) if tag in _TAGS else None
        if read is None:
            raise ModelFileError(f"{tag!r:.80} is no kind of value of a model.")
        return read(inner, depth + 1)

    def _read_float(self, inner: Any, depth: int) -> float:
        if type(inner) is not str or inner not in _FLOATS:
            raise ModelFileError(f"{inner!r:.80} is no number.")
        return _FLOATS[inner]

    def _read_list(self, inner: Any, depth: int) -> list[Any]:
        return [self.read(item, depth) for item in _list(inner)]

    def _read_tuple(self, inner: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self._read_list(inner, depth))

    def _read_dict(self, inner: Any, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in _list(inner):
            key, value = (self.read(item, depth) for item in _list(pair, 2))
            # Rules name columns that are measured together by a tuple.
            if not all(map(_is_plain, key if type(key) is tuple else (key,))):
                raise ModelFileError(f"{key!r:.80} is no key of a mapping.")
            found[key] = value
        return found

    def _read_array(self, inner: Any, depth: int) -> AnyArray:
        if type(inner) is not str or inner not in self._arrays:
            raise ModelFileError(f"there is no array {inner!r:.80}.")
        return self._arrays[inner]

    def _read_scalar(self, inner: Any, depth: int) -> Any:
        array = self._read_array(inner, depth)
        if array.ndim:
            raise ModelFileError(f"array {inner!r:.80} is no single number.")
        return array[()]

    def _read_objects(self, inner: Any, depth: int) -> AnyArray:
        shape, items = _list(inner, 2)
        values = self._read_list(items, depth)
        if not all(type(length) is int and length >= 0 for length in _list(shape)) or math.prod(shape) != len(values):
            raise ModelFileError(f"{len(values)} values do not have the shape {shape!r:.80}.")
        flat = np.empty(len(values), dtype=object)
        flat[:] = values
        return flat.reshape(shape)

    def _read_record(self, inner: Any, depth: int) -> Any:
        name, fields = _list(inner, 2)
        return make_record(_text(name), {key: self.read(value, depth) for key, value in _dict(fields).items()})

    def _read_status(self, inner: Any, depth: int) -> Status:
        try:
            return Status(inner)
        except ValueError as error:
            raise ModelFileError(f"{inner!r:.80} is no way in which a solve ends.") from error

    def _read_splitter(self, inner: Any, depth: int) -> Any:
        name, fields = _list(inner, 2)
        values = {key: self.read(value, depth) for key, value in _dict(fields).items()}
        kind = _SPLITTERS_BY_NAME.get(_text(name))
        if kind is None or set(values) != set(_SPLITTERS[kind]):
            raise ModelFileError(f"{name!r:.80} is no way to make folds.")
        try:
            return kind(**values)
        except (ValueError, TypeError) as error:
            raise ModelFileError(f"{name} in the file makes no sense: {error!s:.200}") from error

    def _read_forward(self, inner: Any, depth: int) -> Any:
        name, fields = _list(inner, 2)
        return make_forward(_text(name), {key: self.read(value, depth) for key, value in _dict(fields).items()})

    def _read_model(self, inner: Any, depth: int) -> Any:
        name, parameters, fitted = _list(inner, 3)
        values = [{key: self.read(value, depth) for key, value in _dict(part).items()} for part in (parameters, fitted)]
        return self._make_model(_text(name), *values)


_TAGS = ("float", "list", "tuple", "dict", "array", "scalar", "objects", "record", "status", "splitter", "forward", "model")


def _list(content: Any, length: int | None = None) -> list[Any]:
    if type(content) is not list or (length is not None and len(content) != length):
        raise ModelFileError(f"{content!r:.80} is not a list{'' if length is None else f' of {length} entries'}.")
    return content


def _dict(content: Any) -> dict[str, Any]:
    if type(content) is not dict:
        raise ModelFileError(f"{content!r:.80} does not list values by name.")
    return content


def _text(content: Any) -> str:
    if type(content) is not str:
        raise ModelFileError(f"{content!r:.80} is not a name.")
    return content


def _is_savable_proof(dual: Any) -> bool:
    return dual is None or RECORDS.get(type(dual).__name__) is type(dual)


def _why_not(value: Any, place: str) -> str:
    if isinstance(value, ForwardProblem):
        return (
            f"{place} is a {type(value).__name__}, a forward problem of your own program: a model file holds no code. What can "
            f"be saved is one of {', '.join(FORWARDS)}. Of this model, keep cost_."
        )
    if callable(value) and not isinstance(value, type):
        return (
            f"{place} is the function {value!r:.80}. A model file holds numbers and text but no code, so that a file from a "
            "stranger cannot run any: functions cannot be saved. Use what has a name, or keep the function in your own program."
        )
    return (
        f"{place} is {value!r:.80} of type {type(value).__name__}, which a model file does not hold. It holds numbers, text, "
        "lists, mappings, arrays and surefoot's own records."
    )


def _is_plain(key: Any) -> bool:
    return type(key) in (bool, int, float, str, type(None)) or isinstance(key, np.generic)
