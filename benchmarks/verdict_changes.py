"""Changes to what a proof is made of: arrays, the fields of a witness, the bytes and fields of a model file."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


def changed(rng: np.random.Generator, values: NDArray[Any]) -> NDArray[Any]:
    """An array with one or all of its entries changed, a little or much."""
    found = np.array(values, dtype=np.float64)
    if not found.size:
        return found
    how = int(rng.integers(7))
    one = np.unravel_index(int(rng.integers(found.size)), found.shape)
    step = float(rng.choice([-1.0, 1.0])) * float(10.0 ** rng.uniform(-8, 1))
    if how == 0:
        found = found * 3.0
    elif how == 1:
        found[one] = -found[one]
    elif how == 2:
        found[one] += step * max(abs(float(found[one])), 1e-3)
    elif how == 3:
        found = found * (1.0 + step)
    elif how == 4:
        found[one] = 0.0
    elif how == 5:
        found = rng.permutation(found.ravel()).reshape(found.shape)
    else:
        found = found + step * np.abs(found).max() * rng.normal(size=found.shape)
    return found


def changed_witness(rng: np.random.Generator, witness: Any) -> Any:
    """The witness with one of its arrays or numbers changed, or none at all."""
    places = [path for path, _ in _leaves(witness)]
    if not places or rng.random() < 0.05:
        return None
    path = places[int(rng.integers(len(places)))]
    try:
        return _with(witness, path, lambda leaf: other(rng, leaf))
    except ValueError:
        # A part of it cannot even be made with such numbers.
        return None


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    elif isinstance(value, tuple | list):
        parts = list(enumerate(value))
    elif isinstance(value, np.ndarray | float | int) and not isinstance(value, bool):
        return [(path, value)] if np.size(value) else []
    else:
        return []
    return [leaf for name, part in parts for leaf in _leaves(part, (*path, name))]


def _with(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    if isinstance(value, tuple | list):
        parts = list(value)
        parts[path[0]] = _with(parts[path[0]], path[1:], change)
        return type(value)(parts)
    return replace(value, **{path[0]: _with(getattr(value, path[0]), path[1:], change)})


def other(rng: np.random.Generator, leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "b":
        found = leaf.copy()
        found[np.unravel_index(int(rng.integers(leaf.size)), leaf.shape)] ^= True
        return found
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "iu":
        found = leaf.copy()
        found[np.unravel_index(int(rng.integers(leaf.size)), leaf.shape)] += rng.choice([-1, 1])
        return found[:-1] if leaf.ndim == 1 and rng.random() < 0.1 else found
    if isinstance(leaf, np.ndarray):
        return changed(rng, leaf)
    moved = float(changed(rng, np.array([float(leaf)]))[0])
    return round(moved) if isinstance(leaf, int) else moved


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    found = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        found[int(rng.integers(len(found)))] ^= 1 << int(rng.integers(8))
    return bytes(found)


def resealed(rng: np.random.Generator, content: bytes) -> bytes:
    """One array or number of a file changed, and every digest made to fit."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name.endswith(".npy")]
    document = members["model.json"].decode()
    name = str(rng.choice(arrays))
    array = np.load(io.BytesIO(members[name]))
    if array.dtype.kind in "fiub" and array.size:
        file = io.BytesIO()
        np.save(file, np.asarray(other(rng, array)).astype(array.dtype))
        document = document.replace(hashlib.sha256(members[name]).hexdigest(), hashlib.sha256(file.getvalue()).hexdigest())
        members[name] = file.getvalue()
    members["model.sha256"] = members["model.sha256"].replace(
        hashlib.sha256(members["model.json"]).hexdigest().encode(), hashlib.sha256(document.encode()).hexdigest().encode()
    )
    members["model.json"] = document.encode()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for member, part in members.items():
            archive.writestr(member, part)
    return written.getvalue()
