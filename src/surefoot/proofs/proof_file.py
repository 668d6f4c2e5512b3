"""Proof files: a problem, an answer and what proves it best, for those who check them without the program that found them.

A proof file is an archive as ``numpy.savez_compressed`` writes it. Its member ``proof`` is a text, a JSON document:

    {"format": "surefoot proof", "version": 1,
     "kind": "robust",                              which certificate judges
     "problem_digest": "...", "model_digest": "...",  what the certificate is to find; "" where nothing is known
     "arguments": {"problem": ..., ...}}            what the certificate of that kind takes, by name

A value of ``arguments`` is null, true, false, a number, a text, or one of

    {"number": "inf"}                                       inf, -inf or nan
    {"array": "a0"}                                         the member a0 of the archive
    {"list": [...]}                                         a sequence
    {"record": "ShiftPlan", "fields": {"row": ..., ...}}    a record with named fields
    {"sparse": [rows, columns], "fields": {"data": ..., "indices": ..., "indptr": ...}}     a matrix in compressed rows

and nothing else. Reading makes records of plain fields and no methods: nothing in a file is executed, and fields that the
certificate does not ask for mean nothing.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray
from surefoot.exceptions import CertificateError
from surefoot.proofs.packed_array import allowed_type
from surefoot.proofs.plane_answer import plane_answer
from surefoot.proofs.proof_archive import MOST_BYTES, read_members
from surefoot.proofs.proof_values import FORMAT, VERSION, ProofValues

# How the certificates of all families call what they judge, and what proves it best.
ANSWERS = ("coefficients", "card", "plane", "theta", "cost")
WITNESSES = ("plan", "proof", "tangent", "mix")
# Arrays to write and their names, by the id of the array: one that is there twice is written once.
Stored = dict[int, tuple[str, AnyArray]]


@dataclass(frozen=True)
class Proof:
    """What a proof file holds; see the module docstring."""

    kind: str
    arguments: Mapping[str, Any]
    problem_digest: str = ""
    model_digest: str = ""

    def answered(self, **fields: Any) -> Proof:
        """The same problem and witness with another answer: one of another program, or of your own.

        Parameters
        ----------
        **fields
            What differs: ``intercept``, ``numeric``, ``levels`` and ``price`` of coefficients (``numeric`` and ``levels``
            only together, where there are both kinds of columns), ``points``, ``intercept`` and
            ``multiplier`` of a card, ``coefficients`` and ``intercept`` of a plane, ``theta`` of a cost. Under a shift a card
            also has a ``price``, that of its worst loss: without a good one its upper bound is valid, but weak.
        """
        name = next(name for name in ANSWERS if name in self.arguments)
        given = self.arguments[name]
        known = {"theta": given} if isinstance(given, np.ndarray) else {key: getattr(given, key) for key in _field_names(given)}
        beside = {"price": self.arguments["price"]} if self.arguments.get("price") else {}
        strange = set(fields) - set(known) - set(beside)
        if strange or not fields:
            raise CertificateError(f"an answer of the kind {self.kind!r:.80} has the fields {', '.join(known)}, not {strange}.")
        arrays = {key for key, value in known.items() if isinstance(value, np.ndarray) and value.size}
        left = sorted(arrays - set(fields)) if arrays & set(fields) else []
        if left:
            raise CertificateError(f"an answer with {', '.join(arrays & set(fields))} needs {', '.join(left)} of its own too.")
        more = {key: _like(beside[key], fields.pop(key), key) for key in set(beside) & set(fields)}
        fresh = {key: _like(known[key], value, key) for key, value in fields.items()}
        answer = fresh["theta"] if isinstance(given, np.ndarray) else dataclasses.replace(given, **fresh)
        return Proof(self.kind, {**self.arguments, **more, name: answer}, self.problem_digest)

    def answered_by_plane(self, *, support: Any, dual_coef: Any, intercept: Any) -> Proof:
        """The same problem and witness with a plane as scikit-learn's SVC writes it; for proofs of support vector machines.

        Parameters
        ----------
        support : array-like of shape (n_support,)
            Places of the support vectors among the samples: those of the rows, if every row is an input of its own.
        dual_coef : array-like of shape (n_support,) or (1, n_support)
            Their coefficients, which add up to 0.
        intercept : float or array-like of one number
        """
        if "plane" not in self.arguments:
            raise CertificateError(f"a proof of the kind {self.kind!r:.80} is not about a plane.")
        coefficients, shifted = plane_answer(self.arguments["problem"], support, dual_coef, intercept)
        return self.answered(coefficients=coefficients, intercept=shifted)

    def without_witness(self) -> Proof:
        """The same problem and answer alone: whatever bound needs no witness is left."""
        return Proof(self.kind, {**self.arguments, **{name: None for name in WITNESSES if name in self.arguments}})


def write_proof(path: str | os.PathLike[str], proof: Proof, *, overwrite: bool = True) -> None:
    """Write a proof file; whatever goes wrong leaves what was there before.

    Raises
    ------
    CertificateError
        If an argument is, or holds, a function or anything else that is no data.
    OSError
        If it cannot be written.
    """
    from surefoot.core.new_file import new_file  # the program that reads does without

    arrays: Stored = {}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kind": proof.kind,
        "problem_digest": proof.problem_digest,
        "model_digest": proof.model_digest,
        "arguments": {name: _written(value, name, arrays) for name, value in proof.arguments.items()},
    }
    packed = io.BytesIO()
    text = np.array(json.dumps(document, allow_nan=False))
    np.savez_compressed(packed, proof=text, **dict(arrays.values()))  # type: ignore[arg-type]
    with new_file(Path(path), overwrite=overwrite, text=False) as file:
        file.write(packed.getvalue())


def read_proof_file(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Proof:
    """Read a proof file, which may come from a stranger.

    Parameters
    ----------
    path : path
    max_bytes : int, default=2**30
        Files that are larger than this when unpacked are refused.

    Raises
    ------
    CertificateError
        If it is none.
    OSError
        If it cannot be read.
    """
    try:
        values = ProofValues(read_members(path, max_bytes), max_bytes)
        return Proof(values.kind, values.arguments, *values.digests)
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{os.fspath(path)!r} is no proof file: {error!s:.400}") from error
    except MemoryError as error:
        raise CertificateError(f"{os.fspath(path)!r} does not fit into the memory of this machine.") from error


def _field_names(record: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(record)]


def _like(known: Any, value: Any, name: str) -> Any:
    """The value as the answer in the file has it: of the same shape, and whole where that is whole."""
    array, form = np.asarray(value), np.asarray(known)
    if array.dtype.kind not in "biuf" or array.shape != form.shape:
        raise CertificateError(f"{name} is {value!r:.80}; numbers of shape {form.shape} belong here.")
    if form.dtype.kind in "iu":
        wrong = array[~((np.abs(array) < 2**31) & (array == np.round(array)))]
        if wrong.size:
            raise CertificateError(
                f"{name} holds {wrong.flat[0]}, which is not a whole number below 2**31, as all of it must be."
            )
    changed = array.astype(form.dtype)
    return changed if isinstance(known, np.ndarray) else changed.item()


def _written(value: Any, place: str, arrays: Stored) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Enum):
        return _written(value.value, place, arrays)
    if isinstance(value, np.generic):
        return _written(value.item(), place, arrays)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, np.ndarray):
        return {"array": _stored(value, place, arrays)}
    if isinstance(value, list | tuple):
        return {"list": [_written(item, f"{place}[{at}]", arrays) for at, item in enumerate(value)]}
    if all(hasattr(value, name) for name in ("data", "indices", "indptr", "shape")):
        fields = {name: {"array": _stored(getattr(value, name), place, arrays)} for name in ("data", "indices", "indptr")}
        return {"sparse": [int(length) for length in value.shape], "fields": fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        fields = {name: _written(part, f"{place}.{name}", arrays) for name, part in own.items()}
        return {"record": type(value).__name__, "fields": fields}
    raise CertificateError(
        f"{place} is {value!r:.80}, which a proof file cannot hold: it has data and no code. Problems with functions of your "
        "own program (kernels, features, forward solvers) can be verified by that program only."
    )


def _stored(array: AnyArray, place: str, arrays: Stored) -> str:
    if not allowed_type(array.dtype) or array.dtype.kind == "U":
        raise CertificateError(f"{place} is an array of type {array.dtype}, which a proof file does not hold.")
    # Kept here, so that no other array can have its id.
    return arrays.setdefault(id(array), (f"a{len(arrays)}", array))[0]
