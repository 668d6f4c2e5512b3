"""Directives that show files of the repository, so that no figure and no change is typed a second time.

``published-table``  some columns and rows of a table in benchmarks/results/published
``findings``         what a benchmark found, in the words of its report
``every-benchmark``  all benchmarks with their findings
``changelog``        CHANGELOG.md
``citation``         CITATION.cff
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "benchmarks" / "results" / "published"
SOURCE = "https://github.com/surefoot/surefoot/blob/main"


def as_rst(line: str) -> str:
    """A line of Markdown, as our reports and the changelog write it, as reStructuredText."""
    parts = re.split(r"(`[^`]+`|\[[^\]]+\]\([^)]+\)|\*\*[^*]+\*\*)", line)
    return "".join(_span(part) if at % 2 else re.sub(r"([\\*|_`])", r"\\\1", part) for at, part in enumerate(parts))


def _span(part: str) -> str:
    if part.startswith("`"):
        return f"``{part[1:-1].strip()}``\\ "
    if part.startswith("["):
        text, address = part[1:-1].split("](")
        return f"`{text} <{address}>`__" if "://" in address else text
    return part


def markdown_as_rst(text: str, marks: str) -> str:
    """Headings, bullets and paragraphs; ``marks`` underline headings from level 2 downwards."""
    lines: list[str] = []
    for line in text.splitlines():
        heading = re.match(r"(#{2,4}) (.*)", line)
        if heading:
            title = as_rst(heading[2])
            lines += ["", title, marks[len(heading[1]) - 2] * (len(title) + 2), ""]
        elif line.startswith("- "):
            lines += ["", f"- {as_rst(line[2:])}"]
        else:
            lines.append(" " * (len(line) - len(line.lstrip())) + as_rst(line.lstrip()))
    return "\n".join(lines)


def report_parts(name: str) -> tuple[str, str, list[str]]:
    """Title, command and findings of a published report."""
    text = (PUBLISHED / f"{name}.md").read_text(encoding="utf-8")
    title = text.splitlines()[0].removeprefix("# ")
    command = re.search(r"^Made by `([^`]+)`", text, re.MULTILINE)
    found = re.search(r"^## Findings\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    lines = [] if found is None else re.findall(r"^- (.*)$", found[1], re.MULTILINE)
    return title, "" if command is None else command[1], lines


class _Repository(SphinxDirective):
    def watch(self, path: Path) -> Path:
        self.env.note_dependency(str(path))
        return path

    def parsed(self, text: str) -> list[nodes.Node]:
        return list(self.parse_text_to_nodes(text, allow_section_headings=True))


class PublishedTable(_Repository):
    """``columns``: ``name = heading | name = heading``; ``where``: ``name = value | name = value, value``."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "columns": directives.unchanged_required,
        "where": directives.unchanged,
        "caption": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        with self.watch(PUBLISHED / self.arguments[0]).open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        wanted = [[word.strip() for word in part.rpartition("=")[::2]] for part in self.options["columns"].split("|")]
        for part in filter(str.strip, self.options.get("where", "").split("|")):
            name, values = (word.strip() for word in part.rpartition("=")[::2])
            rows = [row for row in rows if row[name] in {value.strip() for value in values.split(",")}]
        if not rows:
            raise self.error(f"no row of {self.arguments[0]} is left")
        lines = [f".. list-table:: {self.options.get('caption', '')}", "   :header-rows: 1", ""]
        for cells in ([heading for _, heading in wanted], *([_shown(row[name]) for name, _ in wanted] for row in rows)):
            lines += [f"   {'* -' if at == 0 else '  -'} {as_rst(cell)}" for at, cell in enumerate(cells)]
        first = rows[0]
        lines += ["", f"*{first['cpu']}, {first['cores']} cores, {first['date']}; all of it:* {_link(self.arguments[0])}"]
        return self.parsed("\n".join(lines))


def _link(name: str) -> str:
    return f"`{name} <{SOURCE}/benchmarks/results/published/{name}>`__"


def _shown(cell: str) -> str:
    """Numbers with three significant digits, or as many as stand before the point; all else as it is."""
    if not re.fullmatch(r"-?\d+\.\d+(e[-+]?\d+)?", cell) or len(cell) <= 6:
        return cell or "\u2013"
    number = float(cell)
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


class Findings(_Repository):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.watch(PUBLISHED / f"{self.arguments[0]}.md")
        _, _, found = report_parts(self.arguments[0])
        return self.parsed("\n".join(f"- {as_rst(line)}" for line in found))


class EveryBenchmark(_Repository):
    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        for path in sorted(PUBLISHED.glob("*.md")):
            title, command, found = report_parts(self.watch(path).stem)
            shown = as_rst(title)
            lines += ["", shown, "-" * (len(shown) + 2), ""]
            lines += [f"- {as_rst(line)}" for line in found]
            lines += ["", f"Tables, and how it was measured: {_link(path.name)}" + (f"; ``{command}``" if command else ""), ""]
        return self.parsed("\n".join(lines))


class Changelog(_Repository):
    def run(self) -> list[nodes.Node]:
        text = self.watch(ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n", 1)[1]
        return self.parsed(markdown_as_rst(text, "-~^"))


class Citation(_Repository):
    def run(self) -> list[nodes.Node]:
        text = self.watch(ROOT / "CITATION.cff").read_text(encoding="utf-8")
        return [nodes.literal_block(text, text, language="yaml")]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("published-table", PublishedTable)
    app.add_directive("findings", Findings)
    app.add_directive("every-benchmark", EveryBenchmark)
    app.add_directive("changelog", Changelog)
    app.add_directive("citation", Citation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
