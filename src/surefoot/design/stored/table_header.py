"""The names over the columns of a file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from surefoot.exceptions import InvalidTableError


def require_header(path: Path, header: tuple[str, ...], drop_unnamed: bool) -> None:
    """Raise unless each column has a name of its own; those without may be left out."""
    blank = [at for at, name in enumerate(header, 1) if not name]
    if blank and not drop_unnamed:
        raise InvalidTableError(
            f"{path}: column {blank[0]} has no name in the header (perhaps row numbers that were written along). Name it, or "
            "leave such columns out with --drop-unnamed."
        )
    repeated = [name for name, count in Counter(name for name in header if name).items() if count > 1]
    if repeated:
        places = [at for at, name in enumerate(header, 1) if name == repeated[0]]
        raise InvalidTableError(
            f"{path}: the name {repeated[0]!r} stands over columns {' and '.join(map(str, places))}. Rename one of them."
        )
    if not any(header):
        raise InvalidTableError(f"{path}: no column has a name. The first line must be a header.")
