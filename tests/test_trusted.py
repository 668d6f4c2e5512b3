"""The trusted base is what ``trusted.py`` says: its imports, its size, and nothing in common with solvers."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import trusted
from test_layers import TRUSTED_CORE, WITHIN, role_of
from trusted import CEILING, FOLDERS, MODULES, PACKAGE, SHARED, executed_imports, foreign_imports, path_of, trusted_modules

# Packages that only collect public names; what they import is for users, and certificates need none of it.
COLLECTORS = {"surefoot", "surefoot.inverse"}


@cache
def all_modules() -> frozenset[str]:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found.add(".".join(("surefoot", *(parts[:-1] if parts[-1] == "__init__" else parts))))
    return frozenset(found)


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


@cache
def imported_names(module: str) -> frozenset[tuple[str, str]]:
    """Pairs of a module of the package and a name there, or "" for the module itself."""
    found = set()
    for node in executed_imports(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "surefoot":
            assert node.level == 0 and node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add((inner, "") if inner in all_modules() else (node.module, alias.name))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name.split(".")[0] != "surefoot", f"{module} imports {alias.name} as a whole; import its names"
    return frozenset(found)


def import_closure(seeds: list[str]) -> set[str]:
    """What these modules import, directly or through others; packages on the way there are executed as well."""
    seen: set[str] = set()
    open_ = list(seeds)
    while open_:
        module = open_.pop()
        if module in seen or module in COLLECTORS:
            continue
        seen.add(module)
        open_ += [target for target, _ in imported_names(module)]
        open_.append(module.rpartition(".")[0])
    return seen


def is_empty(module: str) -> bool:
    """Whether a module, a package mostly, holds nothing but its docstring."""
    return not any(not isinstance(node, ast.Expr) for node in tree_of(module).body)


def test_certificates_import_exactly_the_trusted_base() -> None:
    seeds = [module for module in all_modules() if module.startswith(FOLDERS)]
    assert seeds and set(seeds) == {module for module in trusted_modules() if module.startswith(FOLDERS)}
    found = {module for module in import_closure([*seeds, "surefoot.core.certificate"]) if not is_empty(module)}
    told = {module for module in trusted_modules() if not is_empty(module)}
    assert sorted(found - told) == [], "certificates import these, so list them in trusted.py, or better do without"
    assert sorted(told - found) == [], "no certificate imports these any more; take them out of trusted.py"


def test_the_base_of_the_layers_is_the_same() -> None:
    assert {module for module in MODULES if module.startswith("surefoot.core")} == TRUSTED_CORE
    assert "certificate" not in WITHIN["solver"]


def test_solvers_and_problems_have_no_bound_in_common_with_certificates() -> None:
    """An error in a function that both execute would certify itself."""
    base = set(trusted_modules())
    judged = [module for module in all_modules() if role_of(path_of(module).relative_to(PACKAGE)) in ("solver", "problem")]
    assert len(judged) > 100
    for module in judged:
        for target, name in imported_names(module):
            allowed = SHARED.get(target, set()) if target in base else None
            assert allowed is None or name in allowed, f"{module} imports {name} of {target}"


def test_the_base_imports_numpy_and_the_standard_library_only() -> None:
    assert {module: foreign_imports(module) for module in trusted_modules() if foreign_imports(module)} == {}


IMPORTS_ALONE = """
import importlib, sys, types
before = set(sys.modules)
for name, path in {collectors!r}.items():
    package = types.ModuleType(name)
    package.__path__ = [path]
    sys.modules[name] = package
for name in {modules!r}:
    importlib.import_module(name)
for name, module in sys.modules.items():
    if name not in before and getattr(module, "__file__", None):
        print(name)
"""


def test_the_base_runs_on_its_own() -> None:
    """Imported without the rest of the package, it brings in no solver, no table and no other library."""
    collectors = {name: str(path_of(name).parent) for name in sorted(COLLECTORS)}
    code = IMPORTS_ALONE.format(collectors=collectors, modules=trusted_modules())
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    ours = {name for name in loaded if name.split(".")[0] == "surefoot" and not is_empty(name)}
    assert ours == {module for module in trusted_modules() if not is_empty(module)}
    # Names with an underscore are compiled parts of the others, under names of their own.
    tops = {name.split(".")[0] for name in loaded if not name.startswith("_")}
    assert tops - sys.stdlib_module_names - {"surefoot"} <= {"numpy"}


def test_the_base_stays_small() -> None:
    total = sum(map(trusted.code_count, trusted_modules()))
    assert total <= CEILING, (
        f"the trusted base has {total} lines of code, more than {CEILING}: shorten it, or decide that it may grow"
    )
    assert total > 0.8 * CEILING, f"the trusted base has shrunk to {total} lines of code; lower CEILING, so that it stays so"


def test_lines_of_code_are_those_that_are_neither_blank_nor_comments_nor_docstrings() -> None:
    lines = ['"""A module', 'of two lines."""', "", "# why", 'X = """no', 'docstring"""', "", "def f():", '    """Says."""']
    text = "\n".join([*lines, "    return (  # all", "        1", "    )", ""])
    assert trusted.count_code(text) == 6


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(Path(path).relative_to(PACKAGE)))
def test_verified_is_set_in_one_place(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Certificate":
            assert path == PACKAGE / "core" / "certificate.py"
