"""A table of measurements: printed for the eye, saved as CSV for programs and as Markdown for readers."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Cell = str | int | float | bool | None
Row = Mapping[str, Cell]


@dataclass(frozen=True)
class Table:
    """Rows with the same columns under one title.

    Attributes
    ----------
    name : str
        Stem of the file the table is saved to.
    title : str
    rows : sequence of mappings from column to value
        Every row has the columns of the first, in its order.
    on_page : bool
        Whether people see the table; a long one is saved as CSV only.
    origins : sequence of mappings or None
        Facts of the run that each row comes from, where that is an earlier one; empty if all are of this run.
    """

    name: str
    title: str
    rows: Sequence[Row]
    on_page: bool = True
    origins: Sequence[Mapping[str, str] | None] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.rows[0]) if self.rows else ()

    def __post_init__(self) -> None:
        for at, row in enumerate(self.rows):
            if tuple(row) != self.columns:
                raise ValueError(f"row {at} of table {self.name!r} has columns {tuple(row)}, the first row {self.columns}.")

    def text(self) -> str:
        """The table in aligned plain text."""
        return "\n".join([self.title, *_aligned(self.columns, self.rows)])

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"## {self.title}", "", _bars(self.columns), _bars(["---"] * len(self.columns))]
        return "\n".join(lines + [_bars([shown(value) for value in row.values()]) for row in self.rows])

    def save_csv(self, directory: Path, facts: Mapping[str, str]) -> Path:
        """Write every digit; each row also carries ``facts``, so that rows of several machines can be put together."""
        path = directory / f"{self.name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*self.columns, *facts])
            # None is written as an empty cell.
            origins = self.origins or [None] * len(self.rows)
            writer.writerows(
                [*row.values(), *(origin or facts).values()] for row, origin in zip(self.rows, origins, strict=True)
            )
        return path


@dataclass(frozen=True)
class Picture:
    """A figure of a report; ``draw`` saves it to the path it is given.

    Attributes
    ----------
    name : str
        Stem of the file.
    title : str
    draw : callable
    """

    name: str
    title: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Report:
    """What one benchmark found.

    Attributes
    ----------
    name : str
    title : str
    tables : sequence of Table
    findings : sequence of str
        The figures that answer the question of the benchmark, one sentence each.
    method : sequence of str
        How the numbers came about.
    not_measured : sequence of str
        What a reader might take for granted and should not.
    pictures : sequence of Picture
    """

    name: str
    title: str
    tables: Sequence[Table]
    findings: Sequence[str] = field(default=())
    method: Sequence[str] = field(default=())
    not_measured: Sequence[str] = field(default=())
    pictures: Sequence[Picture] = field(default=())

    def text(self) -> str:
        """Tables and findings in plain text."""
        parts = [table.text() for table in self.tables if table.on_page]
        for heading, lines in (("Findings", self.findings), ("Not measured", self.not_measured)):
            parts += ["\n".join([heading, *(f"  - {line}" for line in lines)])] if lines else []
        return "\n\n".join(parts)

    def markdown(self, command: str, facts: Mapping[str, str]) -> str:
        """The whole report as Markdown, with the command and the machine it comes from."""
        parts = [f"# {self.title}", f"Made by `{command}`."]
        parts += [_listed("Findings", self.findings)]
        parts += [table.markdown() if table.on_page else f"{table.title}: `{table.name}.csv`." for table in self.tables]
        parts += [f"![{picture.title}]({picture.name}.png)" for picture in self.pictures]
        parts += [_listed("How it was measured", self.method), _listed("Not measured", self.not_measured)]
        machine = [_bars(pair) for pair in (("", ""), ("---", "---"), *facts.items())]
        parts += ["\n".join(["## Versions and machine", "", *machine])]
        return "\n\n".join(part for part in parts if part) + "\n"

    def save(self, directory: Path, command: str, facts: Mapping[str, str]) -> list[Path]:
        """Write one CSV file per table, one PNG file per picture and one Markdown file; return their paths."""
        directory.mkdir(parents=True, exist_ok=True)
        page = directory / f"{self.name}.md"
        page.write_text(self.markdown(command, facts), encoding="utf-8")
        drawn = [directory / f"{picture.name}.png" for picture in self.pictures]
        for picture, path in zip(self.pictures, drawn, strict=True):
            picture.draw(path)
        return [*(table.save_csv(directory, facts) for table in self.tables), *drawn, page]


def geometric_mean(values: Sequence[float]) -> float:
    """Geometric mean of positive values; NaN of none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else math.nan


def shown(value: Cell) -> str:
    """A cell as people read it: three significant digits, times and gaps alike."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def _aligned(columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    body = [[shown(value) for value in row.values()] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(columns, *body, strict=True)]
    lines = [list(columns), ["-" * width for width in widths], *body]
    # The first column names the row; everything after it is figures, which line up on the right.
    return ["  ".join(_padded(line, widths)) for line in lines]


def _padded(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]


def _bars(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _listed(heading: str, lines: Sequence[str]) -> str:
    return "\n".join([f"## {heading}", "", *(f"- {line}" for line in lines)]) if lines else ""
