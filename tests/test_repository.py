"""The files around the code agree with each other and with the tree: workflows, owners, hooks, versions, links."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
# A source archive has no workflows; a checkout has.
pytestmark = pytest.mark.skipif(not GITHUB.exists(), reason="the workflows are part of the repository, not of a source archive")

WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = METADATA["project"]
# Written by `make` and by the tools, so not in a checkout.
MADE = {".venv", "build", "dist", "htmlcov", "wheelhouse", "reports", "docs/_build/html"}
# A tag of an action: a release, or the branch that its authors move along with their releases.
PINNED = re.compile(r"^[\w-]+/[\w-]+@(v\d+(\.\d+)*|release/v\d+)$")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def events(workflow: dict[Any, Any]) -> dict[str, Any]:
    """What starts a workflow; YAML reads the key ``on`` as true."""
    found = workflow.get("on", workflow.get(True))
    assert isinstance(found, dict)
    return found


def steps(workflow: dict[Any, Any]) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def pythons_of_classifiers() -> list[str]:
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["classifiers"])
    return [match[1] for match in found if match]


def make_targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return {name for line in re.findall(r"^\.PHONY:(.*)$", text, re.MULTILINE) for name in line.split()}


def test_there_are_workflows_for_tests_wheels_docs_and_runtime() -> None:
    assert {path.stem for path in WORKFLOWS} >= {"test", "wheels", "docs", "runtime"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
class TestWorkflow:
    def test_it_asks_for_little_and_ends(self, path: Path) -> None:
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}, "a job that needs more asks for it itself"
        assert "cancel-in-progress" in workflow["concurrency"]
        for name, job in workflow["jobs"].items():
            assert job["timeout-minutes"] <= 60, name
            for permission, level in job.get("permissions", {}).items():
                assert (permission, level) in {("id-token", "write"), ("pages", "write")}, name

    def test_every_action_is_pinned_to_a_release(self, path: Path) -> None:
        used = [step["uses"] for step in steps(read(path)) if "uses" in step]
        assert used
        assert [name for name in used if not PINNED.fullmatch(name)] == []

    def test_every_target_of_make_and_every_script_exists(self, path: Path) -> None:
        for step in steps(read(path)):
            command = step.get("run", "")
            for target in re.findall(r"\bmake (?:-C \w+ )?([\w-]+)", command):
                assert target in make_targets(), command
            for script in re.findall(r"\bpython (?:head/|base/)?([\w/.-]+\.py)", command):
                assert (ROOT / script).is_file(), command

    def test_every_path_exists(self, path: Path) -> None:
        workflow = read(path)
        named = [p for event in events(workflow).values() for p in (event or {}).get("paths", [])]
        for step in steps(workflow):
            options = step.get("with", {})
            named += [options[key].removeprefix("head/") for key in ("cache-dependency-path",) if key in options]
            if "artifact" in step.get("uses", "") and "name" in options | {"name": ""}:
                named += [options["path"]]
        for name in named:
            plain = re.sub(r"/?\*.*$", "", name)
            assert plain in MADE or (ROOT / plain).exists(), name

    def test_secrets_are_not_used(self, path: Path) -> None:
        assert "secrets." not in path.read_text(encoding="utf-8")


def test_the_matrix_is_that_of_the_classifiers_and_wheels() -> None:
    pythons = pythons_of_classifiers()
    jobs = read(GITHUB / "workflows" / "test.yml")["jobs"]
    assert jobs["linux"]["strategy"]["matrix"]["python"] == pythons
    macos = jobs["macos"]["strategy"]["matrix"]["python"]
    assert [macos[0], macos[-1]] == [pythons[0], pythons[-1]]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert METADATA["tool"]["ruff"]["target-version"] == "py" + pythons[0].replace(".", "")
    assert METADATA["tool"]["cibuildwheel"]["build"] == [f"cp{python.replace('.', '')}-*" for python in pythons]


def test_every_version_of_python_is_a_string() -> None:
    """YAML reads 3.10 as 3.1: a number in a matrix tests another Python than it seems."""
    for path in WORKFLOWS:
        for step in steps(read(path)):
            assert isinstance(step.get("with", {}).get("python-version", ""), str), path.name


def test_wheels_are_tried_with_a_script_that_exists() -> None:
    scripts = re.findall(r"\{project\}/([\w/.]+)", METADATA["tool"]["cibuildwheel"]["test-command"])
    assert scripts
    assert all((ROOT / script).is_file() for script in scripts)


def test_wheels_are_repaired_and_tried_with_the_command() -> None:
    settings = METADATA["tool"]["cibuildwheel"]
    assert settings["linux"]["repair-wheel-command"].startswith("auditwheel repair")
    assert "packaging/smoke_test.py" in settings["test-command"] and settings["test-extras"] == ["cli"]
    assert METADATA["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312", (
        "older Pythons have no stable ABI that nanobind knows"
    )
    assert "STABLE_ABI" in (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'version: "{PROJECT["version"]}"' in text
    asked = {line.split("#")[0].strip(" -").replace(" ", "") for line in text.splitlines() if line.strip().startswith("- ")}
    extra = PROJECT["optional-dependencies"]["cli"]
    assert asked >= {*PROJECT["dependencies"], *extra, *METADATA["build-system"]["requires"]}
    assert f"surefoot={PROJECT['scripts']['surefoot']}" in asked


def test_every_door_says_what_the_command_needs() -> None:
    for name in ("README.md", "docs/install.rst", "docs/guide/command_line.rst"):
        assert 'pip install "surefoot[cli]"' in (ROOT / name).read_text(encoding="utf-8"), name


def test_owners_are_named_for_folders_that_exist_and_for_every_family() -> None:
    lines = [line.split() for line in (GITHUB / "CODEOWNERS").read_text(encoding="utf-8").splitlines()]
    owned = {line[0]: line[1:] for line in lines if line and not line[0].startswith("#")}
    for pattern, owners in owned.items():
        assert owners and all(owner.startswith("@surefoot/") for owner in owners), pattern
        assert pattern == "*" or (ROOT / pattern.strip("/")).is_dir(), pattern
    for family in ("robust", "riskscore", "chancesvm", "inverse"):
        for folder in (f"src/surefoot/{family}", f"tests/{family}", f"cpp/src/{family}", f"cpp/include/surefoot/{family}"):
            assert f"/{folder}/" in owned or not (ROOT / folder).exists(), folder
        assert "@surefoot/maintainers" in owned[f"/src/surefoot/{family}/certificate/"]


def test_hooks_come_from_the_package_index_at_the_versions_of_the_extra() -> None:
    repositories = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"], "nothing is fetched from elsewhere"
    tools = {requirement.split("==")[0]: requirement for requirement in PROJECT["optional-dependencies"]["lint"]}
    hooks = {hook["id"]: hook for hook in repositories[0]["hooks"]}
    assert set(hooks) == {"ruff-check", "ruff-format", "clang-format", "mypy"}
    for name in ("ruff-check", "ruff-format", "clang-format"):
        tool = hooks[name]["entry"].split()[0]
        assert hooks[name]["language"] == "python"
        assert hooks[name]["additional_dependencies"] == [tools[tool]]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_is_well_formed(path: Path) -> None:
    form = read(path)
    assert form["name"] and form["description"] and form["labels"]
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    assert all(part["attributes"].get("label") for part in form["body"] if part["type"] != "markdown")


def test_one_address_one_version_and_one_license() -> None:
    home = PROJECT["urls"]["Repository"]
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["repository-code"] == home
    files = [
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        ROOT / "CONTRIBUTING.md",
        *GITHUB.rglob("*.yml"),
        *(ROOT / "docs").glob("*.rst"),
    ]
    for path in files:
        for address in re.findall(r"https://github\.com/[\w.-]+/[\w.-]+", path.read_text(encoding="utf-8")):
            assert address == home or "/surefoot/" not in address, path.name


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_links_between_files_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert target.startswith(("https://", "mailto:")) or (ROOT / target.partition("#")[0]).exists(), target


def test_paths_that_contributors_are_told_exist() -> None:
    """Whatever stands in backquotes and looks like a path of this tree is one."""
    texts = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.rst"), *(ROOT / "docs" / "decisions").glob("*.rst")]
    for path in texts:
        for name in re.findall(
            r"`((?:src|cpp|tests|docs|benchmarks|examples|\.github)/[\w./-]*\w)/?`", path.read_text(encoding="utf-8")
        ):
            assert name in MADE or (ROOT / name).exists(), f"{path.name}: {name}"
