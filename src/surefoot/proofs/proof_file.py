"""Proof files: a problem, an answer and what proves it best, for those who check them without the program that found them.

A proof file is an archive as ``numpy.savez`` writes it. Its member ``proof`` is a text, a JSON document:

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

Reading makes records of plain fields and no methods: nothing in a file is executed, and names that it brings mean nothing.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.core.arrays import AnyArray
from surefoot.exceptions import CertificateError
from surefoot.proofs.compressed_rows import CompressedRows
from surefoot.proofs.plane_answer import plane_answer

FORMAT, VERSION = "surefoot proof", 1
# How the certificates of all families call what they judge, and what proves it best.
ANSWERS = ("coefficients", "card", "plane", "theta", "cost")
WITNESSES = ("plan", "proof", "tangent", "mix")
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_DEEPEST = 60


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
            What differs: ``intercept``, ``numeric``, ``levels`` and ``price`` of coefficients, ``points``, ``intercept`` and
            ``multiplier`` of a card, ``coefficients`` and ``intercept`` of a plane, ``theta`` of a cost.
        """
        name = next(name for name in ANSWERS if name in self.arguments)
        given = self.arguments[name]
        answer = fields["theta"] if isinstance(given, np.ndarray) else dataclasses.replace(given, **fields)
        return Proof(self.kind, {**self.arguments, name: answer}, self.problem_digest)

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


def write_proof(path: str | os.PathLike[str], proof: Proof) -> None:
    """Write a proof file.

    Raises
    ------
    CertificateError
        If an argument is, or holds, a function or anything else that is no data.
    """
    arrays: dict[str, AnyArray] = {}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kind": proof.kind,
        "problem_digest": proof.problem_digest,
        "model_digest": proof.model_digest,
        "arguments": {name: _written(value, name, arrays) for name, value in proof.arguments.items()},
    }
    packed = io.BytesIO()
    np.savez_compressed(packed, proof=np.array(json.dumps(document, allow_nan=False)), **arrays)  # type: ignore[arg-type]
    Path(path).write_bytes(packed.getvalue())


def read_proof_file(path: str | os.PathLike[str]) -> Proof:
    """Read a proof file.

    Raises
    ------
    CertificateError
        If it is none.
    OSError
        If it cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            document = json.loads(str(archive["proof"][()]))
            if document.get("format") != FORMAT or document.get("version") != VERSION:
                raise CertificateError(
                    f"its format is {document.get('format')!r:.40}, version {document.get('version')!r:.40}."
                )
            arguments = {str(name): _read(value, archive, 0) for name, value in document["arguments"].items()}
            marks = [document.get(name, "") for name in ("problem_digest", "model_digest")]
            return Proof(str(document["kind"]), arguments, *map(str, marks))
    except (ValueError, TypeError, KeyError, AttributeError, EOFError, zipfile.BadZipFile, RecursionError) as error:
        raise CertificateError(f"{os.fspath(path)!r} is no proof file: {error!s:.200}") from error


def _written(value: Any, place: str, arrays: dict[str, AnyArray]) -> Any:
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


def _stored(array: AnyArray, place: str, arrays: dict[str, AnyArray]) -> str:
    if array.dtype.kind not in "biuf":
        raise CertificateError(f"{place} is an array of type {array.dtype}, which a proof file does not hold.")
    known = next((name for name, other in arrays.items() if other is array), None)
    if known is None:
        known = f"a{len(arrays)}"
        arrays[known] = array
    return known


def _read(content: Any, archive: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("values are nested too deep.")
    if content is None or isinstance(content, bool | int | float | str):
        return content
    if "number" in content:
        return _NUMBERS[content["number"]]
    if "array" in content:
        array = archive[content["array"]]
        if array.dtype.kind not in "biuf":
            raise ValueError(f"array {content['array']!r} holds no numbers.")
        return array
    if "list" in content:
        return tuple(_read(item, archive, depth + 1) for item in content["list"])
    fields = {str(name): _read(value, archive, depth + 1) for name, value in content["fields"].items()}
    if "sparse" in content:
        rows, columns = content["sparse"]
        return CompressedRows((fields["data"], fields["indices"], fields["indptr"]), shape=(int(rows), int(columns)))
    # A record can be read and copied with changes, and does nothing; its name tells kinds apart, as the records' own names do.
    kind = dataclasses.make_dataclass(str(content["record"]), [(name, Any) for name in fields], frozen=True, eq=False)
    return kind(**fields)
