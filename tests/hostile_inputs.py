"""Tables and options that go wrong, and the words that each of them gets.

``TEXT`` are 40 rows of a table with the columns x (numbers), c (categories) and y (yes or no); cases change it. The last entry
of each case is part of what is said: on standard error where the exit code is not 0, else anywhere.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass


def label(k: int) -> str:
    return "yes" if (k * 7) % 10 > 4 else "no"


def table(*columns: Callable[[int], object], header: str, delimiter: str = ",", rows: int = 40) -> str:
    lines = [delimiter.join(str(column(k)) for column in columns) for k in range(rows)]
    return "\n".join([header, *lines]) + "\n"


def one(column: Callable[[int], object], name: str = "x", rows: int = 40) -> str:
    """A table of one column in question, a number and the target."""
    return table(column, lambda k: k % 5, label, header=f"{name},z,y", rows=rows)


TEXT = table(lambda k: k % 9, lambda k: "ab"[k % 2], label, header="x,c,y")
BYTES = TEXT.encode()


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def json_lines(**changed: object) -> bytes:
    rows = [{"x": k % 9, "c": "ab"[k % 2], "y": label(k)} for k in range(40)]
    rows[6] |= changed
    return "\n".join(map(json.dumps, rows)).encode()


@dataclass(frozen=True)
class Case:
    name: str
    content: str | bytes
    code: int
    said: str
    options: tuple[str, ...] = ()
    target: str = "y"


def refused(name: str, content: str | bytes, said: str, *options: str, target: str = "y") -> Case:
    return Case(name, content, 1, said, options, target)


def done(name: str, content: str | bytes, said: str, *options: str, target: str = "y") -> Case:
    return Case(name, content, 0, said, options, target)


IRIS = table(lambda k: k % 9, lambda k: ["setosa", "versicolor", "virginica"][k % 3], header="x,y")
CODED = one(lambda k: -9 if k % 10 == 3 else k * 0.5, "income")

CASES = [
    # What is no table.
    refused("empty", b"", "is empty: there is neither a header nor a row"),
    refused("blank lines", b"\n\n\n", "is empty: there is neither a header nor a row"),
    refused("header alone", "x,c,y\n", "has a header but no rows"),
    refused("zero bytes", b"x,y\0\0\n1,2\n", "is no text: it has zero bytes"),
    refused("no names", ",,\n1,2,3\n", "column 1 has no name in the header"),
    refused("a name twice", TEXT.replace("x,c", "x,x"), "the name 'x' stands over columns 1 and 2. Rename one of them."),
    refused("an unnamed first column", TEXT.replace("x,c", ",c"), "--drop-unnamed"),
    done("an unnamed column that is left out", TEXT.replace("x,c", ",c"), "c       categorical", "--drop-unnamed"),
    refused("a row too long", TEXT + "1,a,yes,more\n", "line 42: 4 values, but the header has 3 names"),
    refused("a row too short", TEXT + "1,a\n", "line 42: 2 values, but the header has 3 names"),
    refused("an open quotation mark", TEXT + '1,"a,yes\n', "line 42: unexpected end of data. Check the quotation marks there"),
    refused("text behind a quotation mark", TEXT + '1,"a"b,yes\n', "line 42"),
    refused("latin-1", TEXT.replace("b,", "é,").encode("latin-1"), "is not utf-8: byte 0xe9 means nothing there"),
    done("latin-1, named", TEXT.replace("b,", "é,").encode("latin-1"), "delimiter ',', latin-1", "--encoding", "latin-1"),
    done("utf-16", TEXT.encode("utf-16"), "delimiter ',', utf-16"),
    done("a mark of utf-8", TEXT.encode("utf-8-sig"), "x       numeric"),
    refused("an unknown encoding", TEXT, "there is no encoding 'klingon'", "--encoding", "klingon"),
    refused("a delimiter of two", TEXT, "--delimiter '~~' must be one character, or tab.", "--delimiter", "~~"),
    done("semicolons", TEXT.replace(",", ";"), "delimiter ';'"),
    done("line ends of Windows", TEXT.replace("\n", "\r\n"), "40 rows"),
    done("line ends of old Macs", TEXT.replace("\n", "\r"), "40 rows"),
    done("blank lines between rows", TEXT.replace("yes\n", "yes\n\n"), "40 rows"),
    done("cells of several lines", TEXT.replace(",a,", ',"a\nb",'), "c       categorical       2"),
    # Files of other kinds.
    done("gzip", gzip.compress(BYTES), "(gzip, delimiter ',', utf-8)"),
    done("bzip2", bz2.compress(BYTES), "(bzip2, delimiter ',', utf-8)"),
    done("xz", lzma.compress(BYTES), "(xz, delimiter ',', utf-8)"),
    done("zip", zipped({"t.csv": BYTES}), "(zip, delimiter ',', utf-8)"),
    done("a zip of a Mac", zipped({"t.csv": BYTES, "__MACOSX/._t.csv": b"x"}), "(zip, delimiter ',', utf-8)"),
    refused(
        "a zip of two files",
        zipped({"a.csv": BYTES, "b.csv": BYTES}),
        "is an archive of 2 files ('a.csv', 'b.csv'); a table is one file",
    ),
    refused("an empty zip", zipped({}), "is no text"),
    refused("a cut gzip", gzip.compress(BYTES)[:60], "looks like a gzip file but cannot be unpacked"),
    refused("a cut xz", lzma.compress(BYTES)[:60], "looks like a xz file but cannot be unpacked"),
    refused("a cut bzip2", bz2.compress(BYTES)[:60], "looks like a bzip2 file but cannot be unpacked"),
    refused("a false zip", b"PK\x03\x04" + b"x" * 40, "looks like a zip file but cannot be unpacked"),
    refused("a false gzip", b"\x1f\x8b" + b"x" * 40, "looks like a gzip file but cannot be unpacked"),
    refused("zstandard", b"\x28\xb5\x2f\xfd" + b"x" * 40, "is compressed with zstandard: unpack it first, with 'unzstd'"),
    refused("7z", b"7z\xbc\xaf\x27\x1c" + b"x" * 40, "is a 7z archive: unpack it first"),
    refused("rar", b"Rar!\x1a\x07" + b"x" * 40, "is a rar archive: unpack it first"),
    refused(
        "an old workbook", b"\xd0\xcf\x11\xe0" + b"x" * 40, "is a workbook of the old kind (.xls): save it as .xlsx or as CSV"
    ),
    refused("a PDF document", b"%PDF-1.7\n", "is a PDF document"),
    refused("a database", b"SQLite format 3\0", "is a database: export the table as CSV"),
    refused("an SPSS file", b"$FL2@(#)", "is an SPSS file"),
    refused("a false Parquet file", b"PAR1 but not really", "is not a Parquet file that can be read"),
    refused("a false Feather file", b"ARROW1 but not really", "is not a Feather file that can be read"),
    refused("a compressed Parquet file", gzip.compress(b"PAR1"), "is a compressed Parquet or Feather file: unpack it first"),
    done("JSON lines", json_lines(), "(JSON lines)"),
    done("packed JSON lines", gzip.compress(json_lines()), "(gzip, JSON lines)"),
    done("a gap of JSON lines", json_lines(x=None), "x       numeric                 1"),
    refused("a list in JSON lines", json_lines(x=[1]), "line 7: the value of 'x' is a list itself"),
    refused("an object in JSON lines", json_lines(x={}), "line 7: the value of 'x' is an object itself"),
    refused("text among numbers of JSON lines", json_lines(x="many"), "line 7: 'many' is not a number", "--numeric", "x"),
    refused("a broken line of JSON", json_lines() + b'\n{"x": 1', "line 41: Expecting ',' delimiter"),
    refused("a number as a line of JSON", json_lines() + b"\n7", "line 41 is no object of names and values: 7"),
    refused(
        "an array of JSON", b'[{"x": 1}]', "is one JSON array. Write one object per line (JSON lines): jq -c '.[]' does it."
    ),
    refused("a delimiter for JSON", json_lines(), "--delimiter is for text files", "--delimiter", ";"),
    refused("a sheet of a text file", TEXT, "--sheet is for Excel workbooks", "--sheet", "Data"),
    # Targets.
    refused("no such target", TEXT, "has no column 'z', which --target names. Its columns are 'x', 'c', 'y'.", target="z"),
    refused("one class", one(lambda k: k).replace("yes", "no"), "holds 1 value ('no' (40 rows))"),
    refused("a gap in the target", TEXT + "1,a,\n", "the target 'y' is missing in 1 of 41 rows. Leave them out."),
    refused("three classes", IRIS, "Say --positive setosa to tell 'setosa' from all others"),
    done("one of three classes", IRIS, "target 'y'", "--positive", "virginica"),
    refused("no such class", IRIS, "--positive rose is no value of 'y', which holds 'setosa'", "--positive", "rose"),
    refused(
        "a number as the target",
        table(lambda k: k % 3, lambda k: k / 4, header="x,y"),
        "Compare a number with a threshold first",
    ),
    refused("only the target", table(label, header="y"), "no column of"),
    refused("the target as a column", TEXT, "no column 'q', which --drop names", "--drop", "q"),
    # Columns.
    refused("text among numbers", one(lambda k: "many" if k == 6 else k * 0.3, rows=200), "but 'many' in line 8"),
    done("a text that is a gap", one(lambda k: "many" if k == 6 else k * 0.3, rows=200), "numeric", "--missing-values", "many"),
    done("text among few numbers", one(lambda k: "A" if k == 5 else k % 4), "but 'A' in line 7"),
    refused(
        "text, said to be numbers", one(lambda k: "A" if k == 5 else k % 4), "line 7: 'A' is not a number", "--numeric", "x"
    ),
    refused("numbers of two readings", one(lambda k: f'"{k + 1},250"'), "which can be read in two ways"),
    done("numbers of two readings, named", one(lambda k: f'"{k + 1},250"'), "x       numeric (comma)", "--decimal", ","),
    done("percentages", one(lambda k: f"{k + 0.5} %"), "x       numeric (%)"),
    done("money", one(lambda k: f'"${1000 + 7 * k:,}.50"'), "x       numeric ($, thousands)"),
    done("money behind", one(lambda k: f'"{k + 1}.234,50 €"'), "x       numeric (€, comma)"),
    done("negative money", one(lambda k: f"-£{k + 0.25}"), "x       numeric (£)"),
    refused(
        "two currencies",
        one(lambda k: f"{'$€'[k % 2]}{k + 0.5}"),
        "holds numbers with $ and with €. Write all of them in one unit",
    ),
    refused("a unit at times", one(lambda k: f"{k + 0.5}{'%' if k else ''}"), "holds numbers without a unit and with %"),
    done("codes with a leading 0", one(lambda k: f"0{2100 + k % 4}"), "x       categorical       4"),
    done("codes, said to be numbers", one(lambda k: f"0{2100 + k % 4}"), "x       numeric", "--numeric", "x"),
    done("postal codes", one(lambda k: 90210 + k % 4, "zip_code"), "zip_code  categorical       4"),
    done(
        "numbers of rows",
        one(lambda k: 5000 + k, "case", rows=60),
        "'case' is left out: column 'case' holds another whole number in every row",
    ),
    done("numbers of rows, wanted", one(lambda k: 5000 + k, "case", rows=60), "case    numeric", "--numeric", "case"),
    done("names of rows", one(lambda k: f"P-{k:04d}", rows=120), "'x' is left out: column 'x' has 120 levels in 120 rows"),
    done("dates", one(lambda k: f"2024-01-{k % 28 + 1:02d}"), "'x' is left out: dates are neither numbers nor categories"),
    done("a constant", one(lambda k: 7), "'x' is left out: all rows have the same value"),
    done("an empty column", one(lambda k: ""), "'x' is left out: no row has a value"),
    done("codes of gaps, not named", CODED, "column 'income' holds -9 in 4 rows, and is at or above 0 in all others"),
    done("codes of gaps", CODED, "income  numeric             4", "--missing-codes", "income=-9"),
    done("codes of gaps everywhere", CODED, "income  numeric             4", "--missing-codes=-9,-8"),
    refused("codes of no column", CODED, "has no column 'wage', which --missing-codes names", "--missing-codes", "wage=-9"),
    refused("codes that are text", CODED, "'income=never' is not understood", "--missing-codes", "income=never"),
    refused("a gap, where none may be", CODED, "line 5", "--missing-codes", "income=-9", "--missing", "error"),
    done("infinity is text", one(lambda k: "inf" if k == 4 else k % 4), "but 'inf' in line 6"),
    done(
        "a copy of the label",
        table(label, lambda k: k % 5, label, header="copy,z,y", rows=120),
        "column 'copy' alone nearly decides the label",
    ),
    refused("a number beyond doubles", one(lambda k: "1e400" if k == 4 else k % 4), "'x', line 6 holds inf"),
    # Options.
    refused(
        "an option of cards",
        TEXT,
        "--max-features is for --model risk-score; --model robust does not know it",
        "--max-features",
        "3",
    ),
    refused("points of cards", TEXT, "--max-points is for --model risk-score", "--max-points", "3"),
    refused("an option of svm", TEXT, "--kernel is for --model svm", "--kernel", "rbf"),
    refused("a price of svm", TEXT, "--C is for --model svm", "--C", "1"),
    refused("a violation of svm", TEXT, "--violation is for --model svm", "--violation", "0.9"),
    refused("weights of classes", TEXT, "--class-weight is for --model svm", "--class-weight", "balanced"),
    refused("a radius of svm", TEXT, "--radius is for --model robust and risk-score", "--radius", "0.1", "--model", "svm"),
    refused("a range of cards", TEXT, "--range is for --model robust", "--range", "x=0:9", "--model", "risk-score"),
    refused("levels of cards", TEXT, "--levels is for --model robust", "--levels", "c=a,b", "--model", "risk-score"),
    refused("a choice of cards", TEXT, "--select is for --model robust", "--select", "worst", "--model", "risk-score"),
    refused(
        "unseen levels of svm", TEXT, "--unseen is for --model robust and risk-score", "--unseen", "error", "--model", "svm"
    ),
    refused(
        "filled gaps of svm", TEXT, "--missing fill is for --model robust and risk-score", "--missing", "fill", "--model", "svm"
    ),
    refused("threads of svm", TEXT, "--jobs is for --model robust and risk-score", "--jobs", "2", "--model", "svm"),
    refused("groups without a choice", TEXT, "--groups is for --model svm", "--groups", "c"),
    refused("two radii", TEXT, "--select chooses the radius, but --radius is 0.1", "--select", "mean", "--radius", "0.1"),
    refused("a radius of letters", TEXT, "--radius big must be a number at or above 0", "--radius", "big"),
    refused("a radius below 0", TEXT, "--radius -1.0 must be", "--radius=-1"),
    refused("text for svm", TEXT, "--model svm compares numbers, but column 'c' holds text", "--model", "svm"),
    refused("weights that are text", TEXT, "the column 'c' of --weights holds other than numbers", "--weights", "c"),
    refused("a tolerance of 2", TEXT, "--gap 2.0 must be", "--gap", "2", "--model", "risk-score"),
]
