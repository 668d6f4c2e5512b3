"""The trusted base: everything that a certificate executes, and the second opinion on whatever a solver executes too.

A certificate recomputes what a solver claims. It says nothing if both make the same mistake, so three things are kept in
this file and enforced by ``test_trusted.py``:

- what a certificate imports, directly or through others, is listed here and nothing else; it is small (``CEILING``);
- it imports NumPy and the standard library only, apart from the ``EXCEPTIONS``;
- every function of it that solver folders call as well has an oracle in ``reference/trusted_<family>.py``: slow, written from
  the mathematics, and compared with the function on ugly inputs in ``<family>/problem/test_<family>_*.py``.

``python tests/trusted.py`` prints the size of it all.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "surefoot"

# Everything in these folders is trusted. Solvers cannot call it (test_layers.py), so it needs no second opinion here.
FOLDERS = (
    "surefoot.robust.certificate",
    "surefoot.riskscore.certificate",
    "surefoot.chancesvm.certificate",
    "surefoot.inverse.certificate",
)

# The other modules. A name is a function that certificates execute, or that solvers call; its value is the oracle, a function
# of reference/trusted_<family>.py, or "" if no solver calls it. Private functions stand behind those that call them.
MODULES: dict[str, dict[str, str]] = {
    "surefoot.exceptions": {},  # messages
    "surefoot.core.array_checks": {
        "require_dimensions": "",
    },
    "surefoot.core.arrays": {},
    "surefoot.core.certificate": {
        "verdict": "",
        "rounded_down": "",
        "rounded_up": "",
        "digest": "",
        "require_tolerance": "",
    },
    "surefoot.core.enclosure": {
        "sum_error": "",
        "Enclosure.__init__": "",
        "Enclosure.between": "",
        "Enclosure.choose": "",
        "Enclosure.join": "",
        "Enclosure.of_fraction": "",
        "Enclosure.shape": "",
        "Enclosure.low": "",
        "Enclosure.high": "",
        "Enclosure.size": "",
        "Enclosure.__getitem__": "",
        "Enclosure.reshape": "",
        "Enclosure.transposed": "",
        "Enclosure.__neg__": "",
        "Enclosure.__add__": "",
        "Enclosure.__sub__": "",
        "Enclosure.__mul__": "",
        "Enclosure.__truediv__": "",
        "Enclosure.__rsub__": "",
        "Enclosure.__rtruediv__": "",
        "Enclosure.__matmul__": "",
        "Enclosure.__rmatmul__": "",
        "Enclosure.__abs__": "",
        "Enclosure.sum": "",
        "Enclosure.inner": "",
        "Enclosure.sqrt": "",
        "Enclosure.exp": "",
        "Enclosure.expm1": "",
        "Enclosure.log": "",
        "Enclosure.softplus": "",
        "Enclosure.entropy": "",
        "Enclosure.maximum": "",
        "Enclosure.max": "",
        "Enclosure.sums_by_place": "",
        "Enclosure.cumsum": "",
        "enclose": "",
        "between": "",
        "choose": "",
        "join": "",
        "exact_dot": "",
    },
}

# Third-party imports beside NumPy, each with its reason. None is added without one.
EXCEPTIONS: dict[str, set[str]] = {}

# Lines of all modules together, comments and docstrings included. A little above what there was when it was last raised: to
# let the trusted base grow is a decision. Last raised at 7,546 lines, 160 more than before: 91 are the records that say what
# each tolerance of an inverse certificate bounds, 38 the canonical form of sparse columns, now a module of its own so that
# dense tables need no SciPy; a multiplier of a ball is checked here and searched for elsewhere, at about the same length.
CEILING = 6100


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
    """Lines and third-party imports of every trusted module, as text."""
    modules = trusted_modules()
    rows = [(module, str(line_count(module)), ", ".join(sorted(foreign_imports(module)))) for module in modules]
    rows.append(("total", str(sum(map(line_count, modules))), f"ceiling {CEILING}"))
    width = max(len(module) for module, _, _ in rows)
    return "\n".join(f"{module:<{width}}  {lines:>5}  {foreign}".rstrip() for module, lines, foreign in rows)


if __name__ == "__main__":
    print(size_table())
