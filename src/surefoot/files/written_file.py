"""Files that are either whole or not there.

Content is written beside its place and moved there in one step, so that a full disk, a crash or a second writer leaves an old
file as it was and no half of a new one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any


def require_free(path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """The path, if a file may be written there.

    Raises
    ------
    FileExistsError
        If there is one and ``overwrite`` is False.
    OSError
        If the folder does not exist, or the path is a folder itself.
    """
    place = Path(path)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(place.parent)!r} to write {place.name!r} to. Create it first.")
    if place.is_dir():
        raise IsADirectoryError(f"{str(place)!r} is a folder; name a file.")
    if not overwrite and place.exists():
        raise FileExistsError(
            f"{str(place)!r} exists already, and is left as it is. Name another file, or ask to overwrite it."
        )
    return place


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, overwrite: bool, text: bool = False) -> Iterator[IO[Any]]:
    """A file to write to that takes its place when the block ends, and vanishes if the block fails."""
    place = require_free(path, overwrite=overwrite)
    # Not from tempfile, whose files are for their owner alone: this one is to have the rights of any file of its folder.
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}.part")
    try:
        with draft.open("x" if text else "xb", encoding="utf-8" if text else None, newline="" if text else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _move(draft, place, overwrite=overwrite)
    finally:
        draft.unlink(missing_ok=True)


def _move(draft: Path, place: Path, *, overwrite: bool) -> None:
    if overwrite:
        os.replace(draft, place)
        return
    try:
        os.link(draft, place)  # unlike a move, a link never replaces what came into being meanwhile
    except FileExistsError:
        require_free(place, overwrite=False)
        raise
    except OSError:  # a file system without links
        require_free(place, overwrite=False)
        os.replace(draft, place)
