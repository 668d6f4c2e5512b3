"""The rooms of the house and who may walk where, read from the import statements of every file.

    cli, studio -> files, reports, shift -> families -> sklearn_api, design, core
    inside a family:  estimator -> { solvers | certificate } -> problem

Two tables say it all: FAMILIES, whose folders have ROLES, and ROOMS for everything else. Solvers and certificates never meet
and no family knows another, except that the worst shift of a score card is that of a robust model.

Imports that only run for type checkers, inside functions, or through ``importlib.import_module("...")`` count like any other: a
room that needs a name knows the room it comes from.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "surefoot"
CORE_CPP = PACKAGE.parents[1] / "cpp"

# Which role a folder of a family plays; folders that are not listed, and files beside the folders, are solvers.
ROLES = {
    "problem": "problem",
    "forward": "problem",
    "measures": "problem",
    "certificate": "certificate",
    "estimator": "estimator",
    "inputs": "estimator",
}
FAMILIES: dict[str, set[str]] = {  # which other families a family may know
    "robust": set(),
    "riskscore": {"robust"},
    "chancesvm": set(),
    "inverse": set(),
}
# Which roles of a family a role may import, and which rooms outside.
WITHIN: dict[str, set[str]] = {
    "problem": {"problem"},
    "certificate": {"problem", "certificate"},
    "solver": {"problem", "solver"},
    "estimator": {"problem", "solver", "certificate", "estimator"},
}
OUTSIDE: dict[str, set[str]] = {
    "problem": {"core", "design"},
    "certificate": {"core"},
    "solver": {"core", "design"},
    "estimator": {"core", "design", "sklearn_api"},
}
# What certificates may use of core: types, sums and the verdict, nothing that solves.
TRUSTED_CORE = {
    "surefoot.core.arrays",
    "surefoot.core.certificate",
    "surefoot.core.definite",
    "surefoot.core.enclosure",
}

EVERY_FAMILY = {"robust", "riskscore", "chancesvm", "inverse"}
BELOW_DOORS = {"core", "design", "sklearn_api", "shift", "reports", "files", "datasets", "proofs", *EVERY_FAMILY}
# Which rooms a room may import, apart from itself and from the exceptions.
ROOMS: dict[str, set[str]] = {
    "core": set(),
    "design": set(),
    "sklearn_api": {"core", "design"},
    "shift": {"core", "design", "sklearn_api"},
    "datasets": {"core", "design", *EVERY_FAMILY},
    "reports": {"core", "design", "sklearn_api", "shift", *EVERY_FAMILY},
    # Records of every room are written.
    "files": {"constraints", "core", "design", "proofs", "sklearn_api", "shift", *EVERY_FAMILY},
    "cli": {"", *BELOW_DOORS},  # "" is the package itself: a door for people may use the public names
    "studio": {"", *BELOW_DOORS},
    "proofs": {"core", *EVERY_FAMILY},  # the verifier alone: certificates, and nothing that finds anything
}
# Folders that may do more than their room: stress tests look into fitted models, a comparison takes the prices of one and draws
# itself, a fitted card prints itself.
ALSO: dict[str, set[str]] = {
    "shift/stress": {"robust", "riskscore"},
    "shift/comparison": {"robust", "reports"},
    "riskscore/estimator": {"reports"},
}
# The package's own __init__ and its public modules collect names from the rooms; they are no rooms of their own.
COLLECTORS: dict[str, set[str]] = {
    "__init__.py": {"constraints", "export", *BELOW_DOORS},
    "constraints.py": {"riskscore"},
    "export.py": {"files"},
    "verify.py": {"proofs", "sklearn_api"},
    "exceptions.py": set(),
    "inverse/__init__.py": {"inverse", "reports"},
}

# Third-party packages per room or role; those that are not listed are free.
THIRD_PARTY: dict[str, set[str]] = {
    "__init__.py": set(),
    "exceptions.py": set(),
    "core": {"numpy", "scipy", "sklearn", "threadpoolctl", "clarabel", "highspy", "pyscipopt", "flint"},
    "design": {"numpy", "scipy", "narwhals", "pyarrow", "openpyxl", "dask", "distributed"},
    "sklearn_api": {"numpy", "scipy", "sklearn", "joblib"},
    "shift": {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"},
    "problem": {"numpy", "scipy", "cvxpy", "pyomo"},
    "certificate": {"numpy"},
    "solver": {"numpy", "scipy", "threadpoolctl"},
    "estimator": {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"},
    "reports": {"numpy", "scipy", "matplotlib", "sklearn"},
    "proofs": {"numpy"},
    "verify.py": set(),
}
# Modules with a single door: a folder or a file.
ONLY_IMPORTED_BY: dict[str, str] = {
    "clarabel": "core/backends/clarabel.py",
    "highspy": "core/backends/highs.py",
    "pyscipopt": "core/backends/scip.py",
    "flint": "core/flint_enclosure.py",
    "cvxpy": "inverse/forward/models/from_cvxpy.py",
    "pyomo": "inverse/forward/models/from_pyomo.py",
    "sklearn.svm": "core/backends/libsvm.py",
    "narwhals": "design",
    "pyarrow": "design",
    "openpyxl": "design/stored/workbook.py",
    "dask": "design",
    "distributed": "design",
}
# Tables come in and go out through narwhals, so that none of these need be installed; pyarrow is there for its readers.
BARRED = {"pandas", "polars"}
# Base names that say a role, and so may occur in every family.
ROLE_NAMES = {"__init__", "__main__", "problem", "certificate", "registry", "automatic", "parameters"}
MOST_FILES = 20  # in one folder: what a newcomer can take in at a glance


def role_of(file: Path) -> str | None:
    """The role of a file of a family, None for files of other rooms."""
    if file.parts[0] not in FAMILIES:
        return None
    return ROLES.get(file.parts[1], "solver") if len(file.parts) > 2 else "solver"


@dataclass(frozen=True)
class Import:
    """One imported module, as an absolute dotted name, and where the statement stands."""

    file: Path  # relative to the package
    line: int
    target: str

    @property
    def room(self) -> str:
        """The folder of the file, or the file's own name if it lies in no folder."""
        return self.file.parts[0]

    @property
    def target_room(self) -> str | None:
        """The room the statement reaches into, "" for the package itself, None for foreign modules."""
        package, *path = self.target.split(".")
        if package != "surefoot":
            return None
        return path[0] if path else ""

    @property
    def target_role(self) -> str | None:
        """The role the statement reaches, None outside the families."""
        path = self.target.split(".")[1:]
        if not path or path[0] not in FAMILIES:
            return None
        return ROLES.get(path[1], "solver") if len(path) > 1 else "solver"


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


def article(role: str | None) -> str:
    return "an" if role == "estimator" else "a"


def fault(statement: Import) -> str | None:
    """What is wrong with an import, or None."""
    file, room, target, target_room = statement.file, statement.room, statement.target, statement.target_room
    role = role_of(file)
    for module, door in ONLY_IMPORTED_BY.items():
        if is_within(target, module) and not file.is_relative_to(door):
            return f"only {door} may import {module}"
    if is_within(target, "surefoot._native"):
        return None if role == "solver" else "only solvers may import surefoot._native"
    if is_within(target, "surefoot.exceptions"):
        return None
    if target_room is None:
        return foreign_fault(statement, role or room)
    if file.as_posix() in COLLECTORS:
        allowed = COLLECTORS[file.as_posix()]
        return None if target_room in allowed else f"{file.stem} may not import {target_room or 'the package itself'}"
    if any(file.is_relative_to(folder) and target_room in more for folder, more in ALSO.items()):
        return None
    if role is not None:
        return family_fault(statement, role)
    if target_room == room or target_room in ROOMS[room]:
        return None
    return f"{room} may not import {target_room or 'the package itself'}"


def foreign_fault(statement: Import, who: str) -> str | None:
    top = statement.target.split(".")[0]
    if top in BARRED:
        return f"nobody may import {top}: tables come and go through narwhals, in design"
    allowed = THIRD_PARTY.get(who)
    if allowed is not None and top not in sys.stdlib_module_names and top not in allowed:
        return f"{who} may import only {', '.join(sorted(allowed)) or 'the standard library'}, not {top}"
    return None


def family_fault(statement: Import, role: str) -> str | None:
    room, target_room = statement.room, statement.target_room
    if target_room in FAMILIES:
        if target_room != room and target_room not in FAMILIES[room]:
            return f"{room} may not import {target_room}"
        if statement.target_role not in WITHIN[role]:
            return f"{article(role)} {role} of {room} may not import {article(statement.target_role)} {statement.target_role}"
        return None
    if target_room not in OUTSIDE[role]:
        return f"{article(role)} {role} of {room} may not import {target_room or 'the package itself'}"
    if role == "certificate" and statement.target not in TRUSTED_CORE:
        return f"a certificate may not import {statement.target}, which is not part of the trusted base"
    return None


def violations(package: Path) -> list[str]:
    """One line per broken rule, with file and line number; empty if the house is in order."""
    found = []
    modules = modules_of_tree(package)
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package)
        known = file.parts[0] in ({*ROOMS, *FAMILIES} if len(file.parts) > 1 else COLLECTORS)
        if not known:
            name = file.parts[0] if len(file.parts) > 1 else file.stem
            found.append(f"{file.as_posix()}: '{name}' is no room of this house; move the file to the noun it is about")
            continue
        for statement in imports_of_file(package, path, modules):
            wrong = fault(statement)
            if wrong is not None:
                found.append(f"{file.as_posix()}:{statement.line}: {wrong} (imports {statement.target})")
    return found


def test_every_import_stays_within_the_rules_of_the_house() -> None:
    assert (PACKAGE / "exceptions.py").exists(), "the checker must be looking at the real package"
    assert violations(PACKAGE) == []


def crowded(root: Path) -> list[str]:
    """Folders that hold more files than a newcomer can take in."""
    counts = Counter(path.parent for path in root.rglob("*") if path.suffix in {".py", ".hpp", ".cpp"})
    return [f"{folder.relative_to(root).as_posix()}: {n} files" for folder, n in sorted(counts.items()) if n > MOST_FILES]


def repeated_names(root: Path, pattern: str) -> list[str]:
    """Base names of files that stand in more than one folder, role names apart."""
    counts = Counter(path.stem for path in root.rglob(pattern))
    return sorted(name for name, n in counts.items() if n > 1 and name not in ROLE_NAMES)


def test_no_folder_is_crowded_and_no_name_means_two_things() -> None:
    assert crowded(PACKAGE) == []
    assert repeated_names(PACKAGE, "*.py") == []
    if not CORE_CPP.exists():
        pytest.skip("the C++ sources are not beside the package")
    assert crowded(CORE_CPP) == []
    for folder in ("include", "src", "tests"):
        assert repeated_names(CORE_CPP / folder, "*.[ch]pp") == []


def test_crowds_and_repeated_names_are_noticed(tmp_path: Path) -> None:
    files = {f"core/part_{n}.py": "" for n in range(MOST_FILES + 1)} | {"robust/problem.py": "", "riskscore/problem.py": ""}
    package = plant(tmp_path, {**files, "design/part_0.py": ""})
    assert crowded(package) == [f"core: {MOST_FILES + 1} files"]
    assert repeated_names(package, "*.py") == ["part_0"]


LAWFUL = {
    "__init__.py": "from surefoot.robust.estimator.robust_logistic import Model\n",
    "exceptions.py": "class SurefootError(Exception): ...\n",
    "core/__init__.py": "",
    "core/arrays.py": "import numpy as np\nfrom numpy.typing import NDArray\n",
    "core/registry.py": "",
    "core/backends/clarabel.py": "import clarabel\nimport threadpoolctl\nfrom surefoot.core.arrays import NDArray\n",
    "design/__init__.py": "",
    "design/encode.py": "import narwhals as nw\nimport scipy.sparse\nfrom surefoot.exceptions import SurefootError\n",
    "sklearn_api/rows.py": "import sklearn\nfrom surefoot.design import encode\n",
    "robust/__init__.py": "",
    "robust/registry.py": "from surefoot.core import registry\nfrom surefoot.robust.problem import terms\n",
    "robust/problem/terms.py": "from surefoot.core.arrays import NDArray\nfrom ...design import encode\n",
    "robust/sqp/sqp.py": "from surefoot import _native\nfrom surefoot._native import step\nfrom ..conic.graph import solve\n",
    "robust/conic/graph.py": "from surefoot.core.backends import clarabel\nfrom surefoot.robust.problem.terms import NDArray\n",
    "robust/certificate/certificate.py": "import hashlib\nimport numpy as np\nfrom surefoot.robust.problem import terms\n",
    "robust/estimator/robust_logistic.py": (
        "from sklearn.base import BaseEstimator\nfrom surefoot.robust.sqp import sqp\nfrom surefoot.sklearn_api import rows\n"
        "from surefoot.robust.certificate import certificate\nclass Model(BaseEstimator): ...\n"
    ),
    "riskscore/estimator/card.py": "from surefoot.robust.estimator import robust_logistic\nfrom surefoot.reports import card\n",
    "shift/model.py": "from surefoot.design.encode import nw\nfrom surefoot.core.arrays import NDArray\n",
    "shift/stress/test.py": "from surefoot.robust.estimator import robust_logistic\nfrom surefoot.shift import model\n",
    "inverse/__init__.py": "from surefoot.reports import card\nfrom surefoot.inverse.problem import problem\n",
    "inverse/problem/problem.py": "",
    "inverse/exact/master.py": "from surefoot.inverse.problem import problem\n",
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


SQP, CERTIFICATE, MODEL = "robust/sqp/sqp.py", "robust/certificate/certificate.py", "robust/estimator/robust_logistic.py"


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("design/encode.py", "from surefoot.robust.problem.terms import x", "design may not import robust"),
        ("design/encode.py", "from surefoot.core.arrays import FloatArray", "design may not import core"),
        ("design/encode.py", "import sklearn.utils", "design may import only dask, distributed, narwhals, numpy"),
        ("design/encode.py", "import pandas as pd", "nobody may import pandas"),
        ("design/encode.py", "import openpyxl", "only design/stored/workbook.py may import openpyxl"),
        ("core/arrays.py", "import pyarrow as pa", "only design may import pyarrow"),
        ("core/arrays.py", "from surefoot.robust.problem import terms", "core may not import robust"),
        ("robust/problem/terms.py", "from surefoot.robust.sqp.sqp import x", "a problem of robust may not import a solver"),
        ("robust/problem/terms.py", "from surefoot.robust.registry import x", "a problem of robust may not import a solver"),
        ("robust/problem/terms.py", "import surefoot", "a problem of robust may not import the package itself"),
        ("robust/problem/terms.py", "import narwhals", "only design may import narwhals"),
        ("robust/problem/terms.py", "import importlib\nimportlib.import_module('surefoot.reports')", "may not import reports"),
        (SQP, "import dask.array", "only design may import dask"),
        (SQP, "from surefoot.robust.certificate.certificate import x", "a solver of robust may not import a certificate"),
        (SQP, "from ..certificate import certificate", "a solver of robust may not import a certificate"),
        (SQP, "from ... import sklearn_api", "a solver of robust may not import sklearn_api"),
        (SQP, "from surefoot.inverse.exact import master", "robust may not import inverse"),
        (SQP, "from surefoot.riskscore.estimator import card", "robust may not import riskscore"),
        (SQP, "from clarabel import DefaultSolver", "only core/backends/clarabel.py may import clarabel"),
        (SQP, "from surefoot.reports import card", "a solver of robust may not import reports"),
        ("core/backends/clarabel.py", "import highspy", "only core/backends/highs.py may import highspy"),
        ("riskscore/lattice/lcpa.py", "import pyscipopt", "only core/backends/scip.py may import pyscipopt"),
        ("riskscore/search/exact.py", "from surefoot.robust.certificate import certificate", "may not import a certificate"),
        (CERTIFICATE, "from surefoot.robust.sqp.sqp import x", "a certificate of robust may not import a solver"),
        (CERTIFICATE, "from surefoot.design import encode", "a certificate of robust may not import design"),
        (CERTIFICATE, "from surefoot.core.registry import x", "not part of the trusted base"),
        (CERTIFICATE, "from surefoot.core.backends import clarabel", "not part of the trusted base"),
        (CERTIFICATE, "from surefoot import _native", "only solvers may import surefoot._native"),
        (CERTIFICATE, "import scipy.special", "certificate may import only numpy, not scipy"),
        (CERTIFICATE, "def f():\n    import surefoot.robust.sqp.sqp", "a certificate of robust may not import a solver"),
        (MODEL, "from surefoot._native import step", "only solvers may import surefoot._native"),
        (MODEL, "from surefoot.reports import card", "an estimator of robust may not import reports"),
        (MODEL, "from surefoot.shift import model", "an estimator of robust may not import shift"),
        (MODEL, "import polars", "nobody may import polars"),
        (MODEL, "import cvxpy", "only inverse/forward/models/from_cvxpy.py may import cvxpy"),
        ("shift/model.py", "from surefoot.robust.estimator import robust_logistic", "shift may not import robust"),
        ("shift/stress/test.py", "from surefoot.inverse.problem import problem", "shift may not import inverse"),
        ("reports/card.py", "from surefoot.files import archive", "reports may not import files"),
        ("reports/card.py", "import joblib", "reports may import only matplotlib, numpy, scipy"),
        ("sklearn_api/rows.py", "from surefoot.robust.problem import terms", "sklearn_api may not import robust"),
        ("exceptions.py", "from surefoot.robust.problem.terms import x", "exceptions may not import robust"),
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
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from surefoot.robust.registry import RobustOutcome\n"
    found = violations(plant(tmp_path, {**LAWFUL, CERTIFICATE: text}))
    assert found == [f"{CERTIFICATE}:3: a certificate of robust may not import a solver (imports surefoot.robust.registry)"]
