"""The trusted base: everything that a certificate executes.

A certificate recomputes what a solver claims. It says nothing if both make the same mistake, so three things are kept in
this file and enforced by ``test_trusted.py``:

- what a certificate imports, directly or through others, is listed here and nothing else; it is small (``CEILING``);
- it imports NumPy and the standard library only;
- no solver, and no problem that solvers work on, imports any of it but the names in ``SHARED``, which compute no bound.

``python tests/trusted.py`` prints the size of it all.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "surefoot"

FOLDERS = (
    "surefoot.robust.certificate",
    "surefoot.riskscore.certificate",
    "surefoot.chancesvm.certificate",
    "surefoot.inverse.certificate",
)
MODULES = (
    "surefoot.exceptions",
    "surefoot.core.arrays",
    "surefoot.core.certificate",
    "surefoot.core.enclosure",
)
# Types and messages; a fingerprint names the rows of a search, and nothing follows from it.
SHARED = {
    "surefoot.exceptions": None,
    "surefoot.core.arrays": None,
    "surefoot.core.certificate": {"digest"},
}

# Lines of all modules together, comments and docstrings included. A little above what there is: to let the trusted base grow
# is a decision.
CEILING = 4900


def path_of(module: str) -> Path:
    """The file of a module of the package."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def trusted_modules() -> list[str]:
    """All trusted modules, those of the folders first."""
    inside = []
    for folder in FOLDERS:
        inside += [folder, *(f"{folder}.{path.stem}" for path in sorted(path_of(folder).parent.glob("[!_]*.py")))]
    return [*inside, *MODULES]


def executed_imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements anywhere in a module, apart from those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from executed_imports(ast.Module(body=[other], type_ignores=[]))
        else:
            yield from executed_imports(node)


def foreign_imports(module: str) -> set[str]:
    """Third-party modules that a module imports, NumPy apart."""
    found = set()
    for node in executed_imports(ast.parse(path_of(module).read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        found |= {name for name in names if name.split(".")[0] not in {*sys.stdlib_module_names, "numpy", "surefoot"}}
    return found


def line_count(module: str) -> int:
    return len(path_of(module).read_text(encoding="utf-8").splitlines())


def size_table() -> str:
    """Lines of every trusted module, as text."""
    modules = trusted_modules()
    rows = [*((module, line_count(module)) for module in modules), ("total", sum(map(line_count, modules)))]
    width = max(len(module) for module, _ in rows)
    return "\n".join(f"{module:<{width}}  {lines:>5}" for module, lines in rows) + f"  (ceiling {CEILING})"


if __name__ == "__main__":
    print(size_table())
