"""A table in a file, whatever its format: its first bytes say what it is."""

from __future__ import annotations

from pathlib import Path

from surefoot.design.stored.arrow_file import FEATHER_MARK, OLD_FEATHER_MARK, PARQUET_MARK, open_arrow_file
from surefoot.design.stored.compressed import first_bytes, is_workbook, require_readable, stored_bytes
from surefoot.design.stored.delimited import open_delimited
from surefoot.design.stored.json_lines import looks_like_json, open_json_lines
from surefoot.design.stored.stored_table import StoredTable
from surefoot.design.stored.workbook import open_workbook
from surefoot.exceptions import InvalidTableError

_SAMPLE_BYTES = 4096


def open_stored(
    path: Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    drop_unnamed: bool = False,
    sheet: str | None = None,
) -> StoredTable:
    """Look at the beginning of a file.

    Parameters
    ----------
    path : Path
    delimiter, encoding : str, optional
        Of a text file; None: found out.
    drop_unnamed : bool
        Whether columns without a name in the header are left out, or are an error.
    sheet : str, optional
        Of a workbook; None: the only one with values.

    Raises
    ------
    InvalidTableError
        If it is no table, or an option says what such a file does not have.
    """
    require_readable(path)
    found = _by_mark(path, drop_unnamed, sheet)
    if found is None:
        found = open_delimited(path, delimiter=delimiter, encoding=encoding, drop_unnamed=drop_unnamed)
    elif delimiter is not None or encoding is not None:
        option = "--delimiter" if delimiter is not None else "--encoding"
        raise InvalidTableError(f"{option} is for text files, and {path} is none ({found.described}). Leave it out.")
    if sheet is not None and not found.described.startswith("Excel"):
        raise InvalidTableError(f"--sheet is for Excel workbooks, and {path} is none ({found.described}). Leave it out.")
    return found


def _by_mark(path: Path, drop_unnamed: bool, sheet: str | None) -> StoredTable | None:
    """The table of a file that is no delimited text, or None."""
    start = first_bytes(path)
    if start.startswith(PARQUET_MARK):
        return open_arrow_file(path, "Parquet")
    if start.startswith(FEATHER_MARK):
        return open_arrow_file(path, "Feather")
    if start.startswith(OLD_FEATHER_MARK):
        raise InvalidTableError(f"{path} is a Feather file of the first version. Write it again with a newer library.")
    if is_workbook(path):
        return open_workbook(path, sheet=sheet, drop_unnamed=drop_unnamed)
    with stored_bytes(path) as file:
        sample = file.read(_SAMPLE_BYTES)
    if sample.startswith((PARQUET_MARK, FEATHER_MARK)):
        raise InvalidTableError(f"{path} is a compressed Parquet or Feather file: unpack it first. They are compressed inside.")
    json = looks_like_json(sample)
    if json == "array":
        raise InvalidTableError(f"{path} is one JSON array. Write one object per line (JSON lines): jq -c '.[]' does it.")
    return open_json_lines(path) if json == "lines" else None
