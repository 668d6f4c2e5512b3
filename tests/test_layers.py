"""The rooms of the house and who may walk where, read from the import statements of every file.

    cli, studio -> files -> estimators -> {solvers | certificates | shift} -> problems -> design -> numpy, scipy, narwhals
                   estimators -> reports -> problems, design

A report is a view of plain data: an estimator hands it names and numbers (``score_card()``), so it needs to know no estimator,
and nothing below the estimators knows reports.

Imports that only run for type checkers, inside functions, or through ``importlib.import_module("...")`` count like any other: a
room that needs a name knows the room it comes from.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "surefoot"

BELOW_ESTIMATORS = {"solvers", "certificates", "shift", "problems", "design"}
BELOW_FILES = {"estimators", "reports", *BELOW_ESTIMATORS}
BELOW_DOORS = {"files", "datasets", *BELOW_FILES}

# Which rooms a room may import, apart from itself and from what FOR_ALL names.
ROOMS: dict[str, set[str]] = {
    "design": set(),
    "problems": {"design"},
    "solvers": {"problems", "design"},
    "certificates": {"problems"},
    "shift": {"problems", "design"},
    "estimators": {"reports", *BELOW_ESTIMATORS},
    "datasets": {"problems", "design"},
    "reports": {"problems", "design"},
    "inverse": {"estimators", "problems", "reports"},  # public names of inverse optimization, nothing else
    "files": {"constraints", *BELOW_FILES},  # models are written as they are, down to the records of every room
    "cli": {"", *BELOW_DOORS},  # "" is the package itself: a door for people may use the public names
    "studio": {"", *BELOW_DOORS},
}
# The package's own __init__ and its public modules collect names from the rooms; they are no rooms of their own.
ROOT_MODULES: dict[str, set[str]] = {
    "__init__": {"constraints", "export", "inverse", *BELOW_DOORS},
    "constraints": {"estimators"},
    "export": {"files"},
    "exceptions": set(),
}

# Names that every room may import, except the rooms listed with them. Array types live in problems, above design.
FOR_ALL: dict[str, set[str]] = {"surefoot.exceptions": set(), "surefoot.problems.arrays": {"design"}}

# Third-party packages per room; rooms that are not listed are free.
THIRD_PARTY: dict[str, set[str]] = {
    "__init__": set(),
    "exceptions": set(),
    "design": {"numpy", "scipy", "narwhals", "pyarrow", "dask", "distributed"},
    "problems": {"numpy", "scipy"},
    "solvers": {"numpy", "scipy", "threadpoolctl", "clarabel", "highspy", "pyscipopt"},
    "certificates": {"numpy"},
    "shift": {"numpy", "scipy", "sklearn", "joblib"},
    "estimators": {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"},
    "reports": {"numpy", "scipy", "matplotlib"},
}
# Modules with a single door: a folder or a file.
ONLY_IMPORTED_BY: dict[str, str] = {
    "surefoot._native": "solvers",
    "clarabel": "solvers/conic.py",
    "highspy": "solvers/milp.py",
    "pyscipopt": "solvers/lazy_cuts.py",
    "narwhals": "design",
    "pyarrow": "design/parquet.py",
    "dask": "design",
    "distributed": "design",
}
# Tables come in and go out through narwhals, so that none of these need be installed; pyarrow is there for its Parquet reader.
BARRED = {"pandas", "polars"}


@dataclass(frozen=True)
class Import:
    """One imported module, as an absolute dotted name, and where the statement stands."""

    file: Path  # relative to the package
    line: int
    target: str

    @property
    def room(self) -> str:
        """The folder of the file, or the file's own name if it lies in no folder."""
        return self.file.parts[0] if len(self.file.parts) > 1 else self.file.stem

    @property
    def target_room(self) -> str | None:
        """The room the statement reaches into, "" for the package itself, None for foreign modules."""
        package, *path = self.target.split(".")
        if package != "surefoot":
            return None
        return path[0] if path else ""


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(module + ".")


def modules_of_tree(package: Path) -> set[str]:
    """Dotted names of all modules and packages of the tree; the compiled one has no source file there."""
    parts = [path.relative_to(package).with_suffix("").parts for path in package.rglob("*.py")]
    names = {".".join(("surefoot", *part[: k + 1])) for part in parts for k in range(len(part))}
    return {*names, "surefoot", "surefoot._native"}


def imports_of_file(package: Path, path: Path, modules: set[str]) -> Iterator[Import]:
    file = path.relative_to(package)
    here = ["surefoot", *file.parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            source = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                # "from surefoot import _native" imports a module, "from surefoot.exceptions import InvalidTableError" does not.
                inner = f"{source}.{alias.name}"
                yield Import(file, node.lineno, inner if inner in modules else source)
        elif isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
            first = node.args[0]
            if called in {"import_module", "__import__"} and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield Import(file, node.lineno, first.value)


def fault(statement: Import) -> str | None:
    """What is wrong with an import, or None."""
    room, target, target_room = statement.room, statement.target, statement.target_room
    for module, door in ONLY_IMPORTED_BY.items():
        if is_within(target, module) and not statement.file.is_relative_to(door):
            return f"only {door} may import {module}"
    for module, barred in FOR_ALL.items():
        if is_within(target, module) and room not in barred:
            return None
    if target_room is None:
        top = target.split(".")[0]
        if top in BARRED:
            return f"nobody may import {top}: tables come and go through narwhals, in design"
        allowed = THIRD_PARTY.get(room)
        if allowed is not None and top not in sys.stdlib_module_names and top not in allowed:
            return f"{room} may import only {', '.join(sorted(allowed)) or 'the standard library'}, not {top}"
        return None
    if target == "surefoot._native" or target_room == room:
        return None
    permitted = ROOMS[room] if room in ROOMS else ROOT_MODULES[room]
    if target_room not in permitted:
        return f"{room} may not import {target_room or 'the package itself'}"
    return None


def violations(package: Path) -> list[str]:
    """One line per broken rule, with file and line number; empty if the house is in order."""
    found = []
    modules = modules_of_tree(package)
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package)
        room = file.parts[0] if len(file.parts) > 1 else file.stem
        if room not in (ROOMS if len(file.parts) > 1 else ROOT_MODULES):
            found.append(f"{file.as_posix()}: '{room}' is no room of this house; move the file to the noun it is about")
            continue
        for statement in imports_of_file(package, path, modules):
            wrong = fault(statement)
            if wrong is not None:
                found.append(f"{file.as_posix()}:{statement.line}: {wrong} (imports {statement.target})")
    return found


def test_every_import_stays_within_the_rules_of_the_house() -> None:
    assert (PACKAGE / "exceptions.py").exists(), "the checker must be looking at the real package"
    assert violations(PACKAGE) == []


LAWFUL = {
    "__init__.py": "from surefoot.estimators.robust import Model\n",
    "exceptions.py": "class SurefootError(Exception): ...\n",
    "design/__init__.py": "",
    "design/encode.py": "import narwhals as nw\nimport scipy.sparse\nfrom surefoot.exceptions import SurefootError\n",
    "problems/__init__.py": "",
    "problems/arrays.py": "import numpy as np\nfrom numpy.typing import NDArray\n",
    "problems/robust.py": "from surefoot.problems.arrays import NDArray\nfrom ..design import encode\n",
    "solvers/__init__.py": "",
    "solvers/sqp.py": "from surefoot import _native\nfrom surefoot._native import step\nfrom .conic import solve\n",
    "solvers/conic.py": "import clarabel\nimport threadpoolctl\nfrom surefoot.problems.robust import NDArray\n",
    "certificates/__init__.py": "",
    "certificates/robust.py": "import hashlib\nimport numpy as np\nfrom surefoot.problems import robust\n",
    "shift/__init__.py": "",
    "shift/calibrate.py": "from surefoot.design.encode import nw\nfrom surefoot.problems.arrays import NDArray\n",
    "estimators/__init__.py": "",
    "estimators/robust.py": (
        "from sklearn.base import BaseEstimator\nfrom surefoot.solvers import sqp\nfrom surefoot.certificates import robust\n"
        "from surefoot.design import encode\nfrom surefoot.problems import arrays\nclass Model(BaseEstimator): ...\n"
    ),
    "reports/__init__.py": "",
    "estimators/card.py": "from surefoot.reports.card import Card\n",
    "reports/card.py": "import matplotlib.pyplot\nfrom surefoot.design import encode\nclass Card: ...\n",
    "cli/__init__.py": "",
    "cli/fit.py": "import argparse\nimport surefoot as sf\n",
}


def plant(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "surefoot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root / "surefoot"


def test_a_lawful_house_has_no_violations(tmp_path: Path) -> None:
    assert violations(plant(tmp_path, LAWFUL)) == []


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("design/encode.py", "from surefoot.problems.robust import x", "design may not import problems"),
        ("design/encode.py", "from surefoot.problems.arrays import FloatArray", "design may not import problems"),
        ("design/encode.py", "import sklearn.utils", "design may import only dask, distributed, narwhals, numpy"),
        ("design/encode.py", "import pandas as pd", "nobody may import pandas"),
        ("design/encode.py", "import pyarrow as pa", "only design/parquet.py may import pyarrow"),
        ("problems/robust.py", "from surefoot.solvers.sqp import x", "problems may not import solvers"),
        ("problems/robust.py", "import surefoot", "problems may not import the package itself"),
        ("solvers/sqp.py", "import dask.array", "only design may import dask"),
        ("problems/robust.py", "import narwhals", "only design may import narwhals"),
        ("solvers/sqp.py", "from surefoot.certificates.robust import x", "solvers may not import certificates"),
        ("solvers/sqp.py", "from ..certificates import robust", "solvers may not import certificates"),
        ("solvers/sqp.py", "from .. import certificates", "solvers may not import certificates"),
        ("solvers/sqp.py", "from clarabel import DefaultSolver", "only solvers/conic.py may import clarabel"),
        ("solvers/conic.py", "import highspy", "only solvers/milp.py may import highspy"),
        ("solvers/lcpa.py", "import pyscipopt", "only solvers/lazy_cuts.py may import pyscipopt"),
        ("certificates/robust.py", "from surefoot.solvers.outcome import x", "certificates may not import solvers"),
        ("certificates/robust.py", "from surefoot.design import encode", "certificates may not import design"),
        ("certificates/robust.py", "from surefoot import _native", "only solvers may import surefoot._native"),
        ("certificates/robust.py", "import scipy.special", "certificates may import only numpy, not scipy"),
        ("certificates/robust.py", "def f():\n    import surefoot.solvers.sqp", "certificates may not import solvers"),
        ("estimators/robust.py", "from surefoot._native import step", "only solvers may import surefoot._native"),
        ("solvers/sqp.py", "from surefoot.reports import card", "solvers may not import reports"),
        ("problems/robust.py", "import importlib\nimportlib.import_module('surefoot.reports')", "may not import reports"),
        ("reports/card.py", "from surefoot.estimators.robust import Model", "reports may not import estimators"),
        ("reports/card.py", "from surefoot.solvers import sqp", "reports may not import solvers"),
        ("reports/card.py", "import sklearn.metrics", "reports may import only matplotlib, numpy, scipy"),
        ("estimators/robust.py", "import polars", "nobody may import polars"),
        ("estimators/robust.py", "import cvxpy", "not cvxpy"),
        ("exceptions.py", "from surefoot.problems.robust import x", "exceptions may not import problems"),
        ("utils/strings.py", "import numpy", "'utils' is no room of this house"),
        ("helpers.py", "import numpy", "'helpers' is no room of this house"),
    ],
)
def test_a_planted_violation_is_the_only_one_found(tmp_path: Path, file: str, text: str, expected: str) -> None:
    found = violations(plant(tmp_path, {**LAWFUL, file: text + "\n"}))
    assert len(found) == 1
    assert expected in found[0]
    assert found[0].startswith(file)


def test_type_checking_imports_count(tmp_path: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from surefoot.solvers.outcome import SolveOutcome\n"
    found = violations(plant(tmp_path, {**LAWFUL, "certificates/robust.py": text}))
    assert found == ["certificates/robust.py:3: certificates may not import solvers (imports surefoot.solvers.outcome)"]
