"""A file that is either there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


def require_free(path: Any, *, overwrite: bool) -> Path:
    """The path, if a file can be meant to be written there; before hours of work rather than after them.

    Raises
    ------
    FileExistsError
        If there is a file, and it is not to be replaced.
    OSError
        If the folder is missing or no folder, if the path is one, or if nothing can be written there.
    """
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder; name the file to write, for example {place / 'report.html'}.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {place.parent}; make it first, or name a file in another one.")
    if place.exists() and not overwrite:
        raise FileExistsError(f"{place} exists already; name another file, or pass overwrite=True to replace it.")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"nothing may be written to the folder {place.parent}; choose another one.")
    return place


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool, text: bool = True) -> Iterator[IO[Any]]:
    """A draft to write to, which takes its place in one step when the block ends.

    A disk that is full, or anything else that goes wrong, leaves what was there before, and no draft. Without ``overwrite`` a
    file that somebody else put there meanwhile is left alone too.
    """
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    form: dict[str, Any] = {"mode": "x", "encoding": "utf-8", "newline": "\n"} if text else {"mode": "xb"}
    try:
        with open(draft, **form) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            os.replace(draft, path)
        else:
            _take_free_place(draft, path)
    except FileExistsError:
        raise FileExistsError(f"{path} exists already; name another file, or pass overwrite=True to replace it.") from None
    except OSError as error:
        raise type(error)(error.errno, f"{path} could not be written ({error.strerror}); nothing was left there") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def write_new(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a text file by way of a draft, see :func:`new_file`."""
    with new_file(path, overwrite=overwrite) as file:
        file.write(text)


def _take_free_place(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)  # fails where something is; a rename would replace it
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(draft, path)
