"""Proof files and model files with one thing changed, as an enemy or a broken disk would.

Whatever a file holds: it is read and judged, or refused with a sentence, within seconds and little memory. A sample of the
changes is a test; ``python tests/changed_files.py 2000`` tries so many of every kind of file and prints what went wrong.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from proven_models import KINDS, Proven, proven_model

import surefoot as sf
from surefoot.proofs.judge import judge
from surefoot.proofs.proof_file import read_proof_file

# Values for any place of a document: of both formats, so that each meets those of the other.
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2.5, 1e308, -1e308, 5e-324, 10**18, 10**30, "", "x", "\ud800", [], {}, [1, 2],
    {"number": "inf"}, {"number": "nan"}, {"number": "7"}, {"number": []}, {"float": "inf"}, {"float": "nan"},
    {"list": []}, {"list": [1, 2]}, {"list": {}}, {"tuple": [1, 2]}, {"dict": []}, {"dict": [[1, 2]]}, {"scalar": "a0"},
    {"array": "a0"}, {"array": "a1"}, {"array": "zz"}, {"array": "proof"}, {"array": ["a0"]}, {"record": "X", "fields": {}},
    {"record": "X", "fields": {"__dict__": 1}}, {"record": "class", "fields": {}}, {"record": ["X", {}]},
    {"sparse": [3, 10**15], "fields": {}}, {"objects": [[3], ["a", "b", "c"]]}, {"objects": [[10**12], []]},
)  # fmt: skip
NUMBERS = (np.nan, np.inf, -np.inf, 1e308, 5e-324, 1e-300, 0.0, -0.0, 1.0, -1.0, 0.5, 1e15, 2.0**31, -(2.0**31), 2.0**63, 3.0)


class TooLong(BaseException):
    """A file that takes longer than it may; no ``Exception``, so that nothing catches it on the way."""


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a document."""
    yield at
    inner = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


def changed_document(document: Any, rng: np.random.Generator) -> tuple[str, Any]:
    """A document with one value changed, left out, repeated or renamed."""
    ways = list(places(document))
    *way, last = ways[int(rng.integers(1, len(ways)))]
    found = copy.deepcopy(document)
    holder = found
    for key in way:
        holder = holder[key]
    old = holder[last]
    choice = int(rng.integers(8))
    if choice == 0:
        del holder[last]
    elif choice == 1 and isinstance(old, list) and old:
        holder[last] = [*old, old[-1]] if rng.random() < 0.5 else old[:-1]
    elif choice == 2 and isinstance(old, dict):
        holder[last] = {**old, str(rng.choice(["more", "__len__", "n_jobs", "max_claims"])): 1}
    elif choice == 3 and isinstance(old, int | float) and not isinstance(old, bool):
        holder[last] = [old + 1, -old, old * 1e6, old * (1 + 1e-9)][int(rng.integers(4))]
    elif choice == 4 and isinstance(holder, dict):
        holder[str(last) + "z"] = holder.pop(last)
    else:
        holder[last] = VALUES[int(rng.integers(len(VALUES)))]
    return (
        f"{'.'.join(map(str, (*way, last)))} by {choice}: {holder.get(last) if isinstance(holder, dict) else ''!r:.60}",
        found,
    )


def changed_array(content: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """An array with other numbers, of another type or shape, or with a broken header."""
    choice = int(rng.integers(9))
    if choice == 0:
        broken = bytearray(content)
        broken[int(rng.integers(min(len(content), 128)))] ^= 1 << int(rng.integers(8))
        return "a bit of the header", bytes(broken)
    if choice == 1:
        return "cut or longer", content[:-3] if rng.random() < 0.5 else content + b"xxx"
    array = np.load(io.BytesIO(content))
    if array.dtype.kind == "U":
        return "text", npy(array.reshape(-1)[:0])
    if choice == 2:
        kind = str(rng.choice(["f4", "f2", "i1", "u8", "?", "c16", "U3", "M8[s]", ">f8", "O"]))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return f"type {kind}", npy(array.astype("i8" if kind == "M8[s]" else array.dtype).astype(kind))
    if choice == 3:
        shapes = [array.ravel(), array[None], array.T, array[:-1] if array.ndim else array, np.zeros((0, 1 << 40)), array.sum()]
        return "shape", npy(np.asarray(shapes[int(rng.integers(len(shapes)))]))
    with np.errstate(all="ignore"):
        real = array.astype(float)
        number = NUMBERS[int(rng.integers(len(NUMBERS)))]
        if choice == 4 or array.size == 0:
            real[...] = number
        elif choice == 5:
            real.flat[int(rng.integers(array.size))] = number
        elif choice == 6:
            real = rng.permutation(real.ravel()).reshape(real.shape)
        elif choice == 7:
            real = real * rng.choice([1 + 1e-9, 0.999, 2.0, 1e10])
        else:
            real = rng.normal(size=real.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f"numbers by {choice}: {number}", npy(real.astype(array.dtype) if rng.random() < 0.8 else real)


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content.items():
            archive.writestr(zipfile.ZipInfo(name), text)


def changed_file(source: Path, target: Path, rng: np.random.Generator) -> str:
    """Write the file with one change, and say which; digests of a model file are made to fit."""
    content = members(source)
    arrays = [name for name in content if name.endswith(".npy") and name != "proof.npy"]
    choice = rng.random()
    if choice < 0.15:
        broken = bytearray(source.read_bytes())
        at, bit = int(rng.integers(len(broken))), int(rng.integers(8))
        broken[at] ^= 1 << bit
        target.write_bytes(broken if rng.random() < 0.9 else broken[:at])
        return f"bit {bit} of byte {at}"
    proof = "proof.npy" in content
    document = json.loads(str(np.load(io.BytesIO(content["proof.npy"]))) if proof else content["model.json"])
    if choice < 0.55 and arrays:
        name = arrays[int(rng.integers(len(arrays)))]
        change, content[name] = changed_array(content[name], rng)
        change = f"{name}: {change}"
    else:
        change, document = changed_document(document, rng)
    if proof and rng.random() < 0.5:
        document |= {"problem_digest": "", "model_digest": ""}
    if not proof and isinstance(document.get("arrays"), dict):
        for name in arrays:
            document["arrays"][name.removesuffix(".npy")] = hashlib.sha256(content[name]).hexdigest()
    text = json.dumps(document)
    if proof:
        content["proof.npy"] = npy(np.array(text))
    else:
        content |= {"model.json": text.encode(), "model.sha256": hashlib.sha256(text.encode()).hexdigest().encode()}
    pack(target, content)
    return change


def judge_proof(path: Path) -> str:
    return "verified" if judge(read_proof_file(path)).verified else "not verified"


def judge_model(path: Path, proven: Proven) -> str:
    """Load a model and verify it as it is, and as a forger would have sealed it."""
    model = sf.load(path)
    if not hasattr(model, "certificate_"):
        return "no certificate"
    try:
        proven.verify(model)
    except sf.CertificateError:
        model._seal_proof()
    return "verified" if proven.verify(model).verified else "not verified"


def outcome(judged: Callable[[], str], seconds: float = 30.0) -> tuple[str, str]:
    """What became of a file: "refused" with a sentence, "verified", "not verified", or "CRASH" and where."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return judged(), ""
    except (sf.ModelFileError, sf.CertificateError) as error:
        return "refused", str(error)
    except BaseException as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return "CRASH", f"{type(error).__name__}: {error!s:.150} ({Path(at.filename).name}:{at.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def write_files(kind: str, folder: Path) -> dict[str, Path]:
    """A proof file and a model file of a kind."""
    proven = proven_model(kind)
    found = {"proof": folder / f"{kind}.npz", "model": folder / f"{kind}.surefoot"}
    sf.export_proof(proven.model, proven.X, proven.y, found["proof"], **proven.more)
    sf.save(proven.model, found["model"])
    return found


def try_changes(kind: str, what: str, source: Path, n_changes: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Change, outcome and reason of so many files."""
    rng = np.random.default_rng(seed)
    target = source.with_name("changed")
    proven = proven_model(kind)
    for _ in range(n_changes):
        change = changed_file(source, target, rng)
        yield change, *outcome(lambda: judge_proof(target) if what == "proof" else judge_model(target, proven))


def main() -> None:
    """Try many changes of every kind of file; print crashes, and how often what happened."""
    n_changes, seed, kinds = int(sys.argv[1]), int((*sys.argv, "0")[2]), sys.argv[3:] or KINDS
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            for what, source in write_files(kind, Path(folder)).items():
                counts: Counter[str] = Counter()
                for change, result, reason in try_changes(kind, what, source, n_changes, seed):
                    counts[result] += 1
                    if result == "CRASH":
                        print(f"{kind} {what}: {change}: {reason}")
                print(kind, what, dict(counts), flush=True)


if __name__ == "__main__":
    main()
