"""``save`` and ``load``: fitted models as files that hold numbers and text, and no code."""

from __future__ import annotations

import os
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from surefoot.core.new_file import new_file, require_free
from surefoot.exceptions import ChangedModelWarning, ModelFileError
from surefoot.files.archive import read_archive, write_archive
from surefoot.files.model_state import KINDS, make_model, write_model
from surefoot.files.plain_values import PlainReader, PlainWriter
from surefoot.sklearn_api.proven_model import has_changed, refitted, told_change

FORMAT = "surefoot model"
VERSION = 1
# What load reads unless told otherwise: far above any model but those of millions of rows with all of their proof.
MOST_BYTES = 1 << 31


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False, witness: bool = True) -> None:
    """Write a model to a file that :func:`load` reads back bit for bit.

    The file is a zip archive of JSON and NumPy arrays with a digest of each. It holds parameters, what a fit has left, and the
    certificate with what proves it, but no code. It is read back before it takes its place, so a file by that name is whole.

    Parameters
    ----------
    model : estimator of surefoot, or a scikit-learn Pipeline of those and StandardScaler
        Fitted or not. An :class:`~surefoot.inverse.InverseOptimizer` if its forward problem is all data.
    path : path
    overwrite : bool, default=False
        Whether a file that is there may be replaced.
    witness : bool, default=True
        Whether what proves the lower bound goes into the file, so that :func:`verify` works on what :func:`load` returns. For
        robust models it takes about 30 bytes a row (a few times as much where rows are split between shifts), for support
        vector machines 8 bytes a sample, for costs as much as a few decisions, for score cards as much as their search had
        nodes, up to some megabytes. Without it the certificate stays, but nobody can check it again.

    Warns
    -----
    ChangedModelWarning
        If the model has changed since it was proven. Its certificate is kept, and refused by :func:`verify` and in reports. Of
        a pipeline the last step is looked at, and the names of the columns that it gets; whether the steps before it are those
        of the fit is told by :func:`verify`.

    Raises
    ------
    FileExistsError
        If there is a file and ``overwrite`` is False.
    ModelFileError
        If the model holds what a file cannot: a kernel, a scorer, a law of shifts, features or a forward problem that is a
        function, a random state that is not a number.
    OSError
        If the file cannot be written; one that was there before is left as it was.

    Notes
    -----
    ``checkpoint`` of :class:`~surefoot.RiskScoreClassifier` names a file of this machine and is not kept. What a fit from
    batches or on Dask proves its bound with was never in memory as a whole; its certificate is kept, ``outcome_.dual`` is None.
    A cost learned by ``partial_fit`` is kept; further steps begin there anew.

    Examples
    --------
    >>> import tempfile, pathlib, surefoot as sf
    >>> model = sf.RobustLogisticRegression(radius=0.05).fit([[1.0], [2.0], [3.0], [4.0]], ["no", "yes", "no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sf.save(model, pathlib.Path(folder) / "model.surefoot")
    ...     same = sf.load(pathlib.Path(folder) / "model.surefoot")
    >>> bool((same.predict_proba([[2.5]]) == model.predict_proba([[2.5]])).all())
    True
    """
    place = require_free(path, overwrite=overwrite, example="model.surefoot")
    if refitted(model) is not model:
        raise ModelFileError(f"a {type(model).__name__} is no model but a search for one. Save its best_estimator_.")
    writer = PlainWriter(write_model, witness=witness)
    try:
        content = writer.write(model, "the model")
    except RecursionError as error:
        raise ModelFileError("a parameter of the model contains itself, or is nested too deep for a file.") from error
    if not (isinstance(content, dict) and "model" in content):
        raise ModelFileError(f"{model!r:.80} is no estimator. {_what_is_saved()}")
    document = {"format": FORMAT, "version": VERSION, "surefoot": _own_version(), "content": content}
    with new_file(place, overwrite=overwrite, text=False) as file:
        write_archive(file, document, writer.arrays)
        file.flush()
        try:
            _load(file.name, 1 << 62)
        except ModelFileError as error:
            raise ModelFileError(f"the model cannot be saved, since no file of it could be read again: {error}") from error
    if has_changed(model):
        warnings.warn(
            f"{told_change(model)}. The file keeps its certificate, but verify and reports will not accept it.",
            ChangedModelWarning,
            stacklevel=2,
        )


def load(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Any:
    """Read a model that :func:`save` wrote.

    A file may come from a stranger: nothing in it is executed, and it takes no more memory than a small multiple of its size.
    Its digests tell damage. They do not tell who wrote it, nor whether its certificate is true: that takes the training data.

    Parameters
    ----------
    path : path
    max_bytes : int, default=2**31
        Files above this size are refused.

    Returns
    -------
    estimator
        Predictions, coefficients, parameters and certificate are those of the model that was saved.

    Raises
    ------
    ModelFileError
        If the file is broken, no model, or written by a later version; the message says which.
    OSError
        If it cannot be read.
    """
    try:
        return _load(path, max_bytes)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be read as a model: {error}") from error


def _load(path: str | os.PathLike[str], max_bytes: int) -> Any:
    try:
        document, arrays = read_archive(path, max_bytes)
        if document.get("format") != FORMAT:
            raise ModelFileError(f"its format is {document.get('format')!r:.80}, not {FORMAT!r}.")
        _require_known_version(document)
        content = document.get("content")
        if (
            set(document) != {"format", "version", "surefoot", "content"}
            or not isinstance(content, dict)
            or "model" not in content
        ):
            raise ModelFileError("it holds no estimator.")
        return PlainReader(arrays, make_model).read(content)
    except ModelFileError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        # Checks above speak in words; whatever passes them all and still makes no sense ends here.
        raise ModelFileError(f"its parts make no sense ({type(error).__name__}: {error!s:.200}).") from error


def _require_known_version(document: dict[str, Any]) -> None:
    found = document.get("version")
    if type(found) is not int or found < 1:
        raise ModelFileError(f"its version is {found!r:.80}, which none has.")
    if found > VERSION:
        raise ModelFileError(
            f"it has version {found} of the format, written by surefoot {document.get('surefoot')!r:.40}; this one reads up "
            f"to version {VERSION}. Upgrade surefoot to read it."
        )


def _own_version() -> str:
    try:
        return version("surefoot")
    except PackageNotFoundError:
        return "0+unknown"


def _what_is_saved() -> str:
    return f"What can be saved is a {', '.join(KINDS)}, or a Pipeline of those."
