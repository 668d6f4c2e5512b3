"""The trusted base is what ``trusted.py`` says: its imports, its size, and a second opinion on all that solvers use of it.

Everything here is read from the source. Which methods a solver calls is decided by their names: an attribute of that name in a
solver folder counts, whatever object it is of. That lists a few methods too many and misses none.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import trusted
from test_layers import TRUSTED_CORE, WITHIN, role_of
from trusted import CEILING, EXCEPTIONS, FOLDERS, MODULES, PACKAGE, executed_imports, foreign_imports, path_of, trusted_modules

TESTS = Path(__file__).resolve().parent
# Packages that only collect public names; what they import is for users, and certificates need none of it.
COLLECTORS = {"surefoot", "surefoot.inverse"}
# A printed form proves nothing.
UNTOLD = {"__repr__"}


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


def family_of(module: str) -> str:
    return module.split(".")[1]


def role(module: str) -> str | None:
    return role_of(path_of(module).relative_to(PACKAGE))


@cache
def imported_names(module: str) -> dict[str, tuple[str, str]]:
    """Local name -> (module of the package, name there, or "" for the module itself)."""
    found = {}
    for node in executed_imports(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "surefoot":
            assert node.level == 0 and node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found[alias.asname or alias.name] = (inner, "") if inner in all_modules() else (node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name.split(".")[0] != "surefoot", f"{module} imports {alias.name} as a whole; import its names"
    return found


def import_closure(seeds: list[str]) -> set[str]:
    """What these modules import, directly or through others; packages on the way there are executed as well."""
    seen: set[str] = set()
    open_ = list(seeds)
    while open_:
        module = open_.pop()
        if module in seen or module in COLLECTORS:
            continue
        seen.add(module)
        open_ += [target for target, _ in imported_names(module).values()]
        open_.append(module.rpartition(".")[0])
    return seen


def is_protocol(node: ast.ClassDef) -> bool:
    return any("Protocol" in ast.unparse(base) for base in node.bases)


@cache
def definitions(module: str) -> dict[str, ast.FunctionDef]:
    """Functions, and methods as Class.method."""
    found: dict[str, ast.FunctionDef] = {}
    if module == "surefoot.exceptions":  # messages
        return found
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef) and not is_protocol(node):
            found.update({f"{node.name}.{part.name}": part for part in node.body if isinstance(part, ast.FunctionDef)})
    return found


def is_private(name: str) -> bool:
    last = name.split(".")[-1]
    return last.startswith("_") and not last.startswith("__")


def body_of(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """All that running a function evaluates: its body and defaults, not its annotations."""
    for part in (*node.body, *node.args.defaults, *node.args.kw_defaults, *node.decorator_list):
        if part is not None:
            yield from ast.walk(part)


def special(method: str) -> str | None:
    """ "made" for methods that run when an object is made, "operator" for those behind a call or a sign."""
    if not (method.startswith("__") and method.endswith("__")):
        return None
    return "made" if method in ("__init__", "__post_init__") else "operator"


@cache
def executed() -> frozenset[tuple[str, str]]:
    """Functions of the base that certificates can reach, found by name."""
    modules = trusted_modules()
    methods = defaultdict(list)
    for module in modules:
        for name in definitions(module):
            if "." in name:
                methods[name.split(".")[1]].append((module, name))
    open_ = [(module, name) for module in modules if module.startswith(FOLDERS) for name in definitions(module)]
    open_ += [("surefoot.core.certificate", name) for name in definitions("surefoot.core.certificate") if "." not in name]
    # Operators have no name to be found by.
    open_ += [target for method, targets in methods.items() if special(method) == "operator" for target in targets]
    seen: set[tuple[str, str]] = set()
    while open_:
        module, name = open_.pop()
        if (module, name) in seen:
            continue
        seen.add((module, name))
        for node in body_of(definitions(module)[name]):
            if isinstance(node, ast.Name):
                target, there = imported_names(module).get(node.id, (module, node.id))
                if target in modules:
                    made = (f"{there}.__init__", f"{there}.__post_init__")
                    open_ += [(target, found) for found in (there, *made) if found in definitions(target)]
            elif isinstance(node, ast.Attribute):
                near = (family_of(module), "core")
                open_ += [target for target in methods[node.attr] if family_of(target[0]) in near]
    return frozenset(seen)


@cache
def used_by_solvers() -> frozenset[tuple[str, str]]:
    """Functions of the base's problem and core modules that solver folders name."""
    imported: set[tuple[str, str]] = set()
    attributes: dict[str, set[str]] = defaultdict(set)
    for module in all_modules():
        if role(module) != "solver" or module in COLLECTORS:
            continue
        targets = set(imported_names(module).values())
        imported |= targets
        names = {node.attr for node in ast.walk(tree_of(module)) if isinstance(node, ast.Attribute)}
        for family in {family_of(module), *(family_of(target) for target, _ in targets if target.count("."))}:
            attributes[family] |= names
    found = set()
    for module in MODULES:
        for name in definitions(module):
            owner, _, method = name.rpartition(".")
            if not owner:
                used = (module, name) in imported
            elif special(method):
                used = (module, owner) in imported
            else:
                # A core module that no solver imports lends its methods to none, whatever they are called.
                known = family_of(module) != "core" or any(target == module for target, _ in imported)
                used = known and method in attributes[family_of(module)]
            if used:
                found.add((module, name))
    return frozenset(found)


def listed(module: str) -> dict[str, str]:
    """What the table should hold for a module: its public functions, with "?" where an oracle is needed."""
    found = {}
    for name in definitions(module):
        if not is_private(name) and name.split(".")[-1] not in UNTOLD and not name.startswith("_"):
            if (module, name) in used_by_solvers():
                found[name] = "?"
            elif (module, name) in executed():
                found[name] = ""
    return found


def test_certificates_import_exactly_the_trusted_base() -> None:
    seeds = [module for module in all_modules() if module.startswith(FOLDERS)]
    assert seeds and set(seeds) == {module for module in trusted_modules() if module.startswith(FOLDERS)}
    found = {module for module in import_closure([*seeds, "surefoot.core.certificate"]) if not is_empty(module)}
    told = {module for module in trusted_modules() if not is_empty(module)}
    assert sorted(found - told) == [], "certificates import these, so list them in trusted.py, or better do without"
    assert sorted(told - found) == [], "no certificate imports these any more; take them out of trusted.py"


def is_empty(module: str) -> bool:
    """Whether a module, a package mostly, holds nothing but its docstring."""
    return not any(not isinstance(node, ast.Expr) for node in tree_of(module).body)


def test_the_base_of_the_layers_is_the_same() -> None:
    assert {module for module in MODULES if family_of(module) == "core"} == TRUSTED_CORE
    assert "certificate" not in WITHIN["solver"], "a solver that calls a certificate would need oracles for it"


def test_third_party_imports_are_numpy_and_the_listed_exceptions() -> None:
    found = {module: foreign_imports(module) for module in trusted_modules() if foreign_imports(module)}
    assert found == EXCEPTIONS, "the trusted base stands on NumPy and the standard library; EXCEPTIONS says what else, and why"


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
    libraries = tops - sys.stdlib_module_names - {"surefoot"}
    assert libraries <= {"numpy", *(name.split(".")[0] for names in EXCEPTIONS.values() for name in names)}


def test_the_base_stays_small() -> None:
    total = sum(map(trusted.line_count, trusted_modules()))
    assert total <= CEILING, f"the trusted base has {total} lines, more than {CEILING}: shorten it, or decide that it may grow"
    assert total > 0.9 * CEILING, f"the trusted base has shrunk to {total} lines; lower CEILING, so that it stays so"


@pytest.mark.parametrize("module", MODULES)
def test_every_function_of_a_shared_module_is_listed(module: str) -> None:
    wanted, told = listed(module), MODULES[module]
    assert sorted(told.keys() - wanted.keys()) == [], "these are neither executed by certificates nor called by solvers: delete"
    assert sorted(wanted.keys() - told.keys()) == [], f"list these in trusted.py under {module}"
    bare = sorted(name for name, oracle in wanted.items() if oracle and not told[name])
    assert bare == [], (
        f"solvers call these functions of {module}, so an error in them would certify itself. Write an oracle (slow, from the "
        f"mathematics) in tests/reference/trusted_{family_of(module)}.py, compare the two on ugly inputs in tests/"
        f"{oracle_folder(family_of(module)).relative_to(TESTS)}/test_{family_of(module)}_oracles.py, and name it in trusted.py"
    )
    idle = sorted(name for name, oracle in wanted.items() if told[name] and not oracle)
    assert idle == [], 'no solver calls these any more; their oracle may stay, but its name here becomes ""'


def oracle_folder(family: str) -> Path:
    return TESTS / family if family == "core" else TESTS / family / "problem"


def identifiers(node: ast.AST) -> set[str]:
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


@cache
def compared_together(family: str) -> tuple[frozenset[str], ...]:
    """The identifiers of every test of a family's oracles, those of the functions of its file that it calls included."""
    found = []
    for path in sorted(oracle_folder(family).glob(f"test_{family}_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name: identifiers(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
        for name, names in functions.items():
            if name.startswith("test_"):
                called = [functions[other] for other in names if other in functions]
                found.append(frozenset(names.union(*called)))
    return tuple(found)


PAIRS = [(module, name, oracle) for module, names in MODULES.items() for name, oracle in names.items() if oracle]


@pytest.mark.parametrize(("module", "name", "oracle"), PAIRS)
def test_every_oracle_exists_and_is_compared_with_its_function(module: str, name: str, oracle: str) -> None:
    family = family_of(module)
    reference = importlib.import_module(f"reference.trusted_{family}")
    assert callable(getattr(reference, oracle, None)), f"reference.trusted_{family} has no {oracle}"
    owner, _, last = name.rpartition(".")
    called = owner if special(last) else last
    together = [names for names in compared_together(family) if {called, oracle} <= names]
    assert together, f"no test in {oracle_folder(family).relative_to(TESTS)} names both {called} and {oracle}"


def test_oracles_do_not_call_what_they_judge() -> None:
    """Oracles read the arrays of a problem, and its records; they do not import functions of the base."""
    for family in {family_of(module) for module, _, _ in PAIRS}:
        path = TESTS / "reference" / f"trusted_{family}.py"
        for node in executed_imports(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in MODULES:
                functions = {alias.name for alias in node.names} & set(definitions(node.module))
                assert functions == set(), f"{path.name} imports {sorted(functions)} of {node.module}"
