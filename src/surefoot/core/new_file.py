"""A file that is either there as a whole or not at all: the one writer of models, reports, tables and checkpoints.

A draft is written beside its place, brought to disk, and takes its place in one step. Whatever goes wrong before that step
leaves what was there before, and no draft.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

# Characters of a name that its draft repeats, for people who find one. Names may have 255 bytes, and a character can take 4.
_NAME_IN_DRAFT = 40


def require_free(path: Any, *, overwrite: bool, example: str = "report.html") -> Path:
    """The path, if a file can be meant to be written there; before hours of work rather than after them.

    ``example`` is a name such as the file could have.

    Raises
    ------
    FileExistsError
        If there is a file, and it is not to be replaced.
    OSError
        If the folder is missing or no folder, if the path is one, or a device, or if nothing can be written there.
    """
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder; name the file to write, for example {place / example}.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {place.parent}; make it first, or name a file in another one.")
    if place.exists() and not overwrite:
        raise FileExistsError(_taken(place))
    _require_replaceable(place)
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"nothing may be written to the folder {place.parent}; choose another one.")
    return place


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool, text: bool = True, private: bool = False) -> Iterator[IO[Any]]:
    """A draft to write to, which takes its place in one step when the block ends.

    A disk that is full, or anything else that goes wrong, leaves what was there before, and no draft. Without ``overwrite`` a
    file that somebody else put there meanwhile is left alone too. A file that is replaced keeps its permissions, and a link to
    it stays a link. A ``private`` file that is new can be read by its owner alone.
    """
    place = Path(os.path.realpath(path)) if overwrite and path.is_symlink() else path
    _require_replaceable(place)
    draft = place.with_name(f".{place.name[:_NAME_IN_DRAFT]}.{secrets.token_hex(4)}.part")
    form: dict[str, Any] = {"mode": "x", "encoding": "utf-8", "newline": "\n"} if text else {"mode": "xb"}
    try:
        with open(draft, **form, opener=_private_opener if private else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            if place.exists():
                shutil.copymode(place, draft)
            os.replace(draft, place)
        else:
            _take_free_place(draft, place)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(draft), str(place)):
            raise  # about a file that the block read, or already in our words
        raise type(error)(error.errno, f"{path} could not be written ({error.strerror}); nothing there was changed") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def write_new(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a text file by way of a draft, see :func:`new_file`."""
    with new_file(path, overwrite=overwrite) as file:
        file.write(text)


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _take_free_place(draft: Path, place: Path) -> None:
    try:
        os.link(draft, place)  # fails where something is; a rename would replace it
    except FileExistsError:
        raise FileExistsError(_taken(place)) from None
    except OSError:  # a file system without hard links
        if place.exists():
            raise FileExistsError(_taken(place)) from None
        os.replace(draft, place)


def _taken(place: Path) -> str:
    return f"{place} exists already; name another file, or pass overwrite=True to replace it."


def _require_replaceable(place: Path) -> None:
    """A rename would put a file in the place of a device or a pipe, for the whole machine."""
    if place.exists() and not place.is_file():
        raise OSError(f"{place} is no ordinary file and is not replaced; name another one.")
