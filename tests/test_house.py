"""The house itself: the lock, the dependencies page, names, docstrings, make targets."""

import ast
import os
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import counts

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "src" / "skyband").rglob("*.py"))
SHAPELESS = {"utils", "util", "common", "helpers", "helper", "core", "manager", "misc"}
TARGETS = {
    "help",
    "demo",
    "test",
    "quick",
    "check",
    "warm",
    "fast",
    "coverage",
    "spark",
    "bench",
    "peers",
    "soak",
    "docs",
    "lock",
    "clean",
}

# Letters in brackets keep the patterns from matching this file.
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:[w]ork|[t]mp|[r]oot|[h]ome|[U]sers|[f]arm|[m]nt|[o]pt)/\w")
REGISTRY = re.compile(r"[p]ypi\.|[p]ythonhosted\.|[n]pmjs\.|[c]rates\.io|[m]aven\.org|[p]roxy\.golang")


def project() -> dict[str, Any]:
    """The [project] table of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


def package_name(requirement: str) -> str:
    """The name a requirement starts with, without extras and bounds."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, f"{requirement!r} is not a requirement"
    return match.group()


def declared() -> list[str]:
    """What docs/dependencies.md has to explain: every package, and every extra as skyband[extra]."""
    extras: dict[str, list[str]] = project()["optional-dependencies"]
    groups: list[list[str]] = [project()["dependencies"], *extras.values()]
    packages = [package_name(requirement) for group in groups for requirement in group]
    return [name for name in packages if name != "skyband"] + [f"skyband[{extra}]" for extra in extras]


def own_files() -> list[Path]:
    """Every file that is, or would be, committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("This is not a git checkout, so no file list is to be had.")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_lock_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    for word in ("http:", "https:", "://", "-index", "--find-links", "--trusted-host", " @ "):
        assert word not in lock, f"requirements.lock contains {word!r}"


def test_every_locked_package_is_pinned_and_hashed() -> None:
    lock = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    entries = [line for line in lock.splitlines() if line and not line.startswith("#")]
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry), f"pin or hash: {entry}"


def test_every_declared_package_is_locked() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    locked = set(re.findall(r"^([a-z0-9.-]+)==", lock, re.MULTILINE))
    assert {name.lower() for name in declared() if "[" not in name} | {"hatchling"} <= locked


def test_every_dependency_has_one_line_with_its_reason() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` +\| *(.*?) *\|$", page, re.MULTILINE)
    assert Counter(name for name, _ in rows) == Counter([*declared(), "hatchling"])
    assert all(reason for _, reason in rows)


def test_no_file_names_a_machine_path_or_a_registry() -> None:
    found = []
    for path in own_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        for pattern in (MACHINE_PATH, REGISTRY):
            found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in pattern.finditer(text)]
    assert found == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_names_its_idea(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), "the module has no docstring"
    named = set(path.relative_to(ROOT).with_suffix("").parts)
    assert not named & SHAPELESS, "the name says nothing of what is inside"


def test_every_package_has_an_init() -> None:
    folders = {path.parent for path in MODULES}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_help_lists_every_target() -> None:
    # Without MAKE*: the tests themselves are mostly run by make.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFL"))}
    done = subprocess.run(["make", "help"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    listed = re.findall(r"^ +make (\w+) +\S.*\.$", done.stdout, re.MULTILINE)
    assert Counter(listed) == Counter(TARGETS)


def test_ci_runs_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"


def test_a_class_name_means_one_thing() -> None:
    """The rows and the options of a family are called the same in every room; all other names are used once."""
    assert set(counts.shared_names(counts.parsed(ROOT))) == {"Options", "Publications", "Subscriptions"}


def test_functions_fit_on_a_screen() -> None:
    assert counts.long_functions(counts.parsed(ROOT)) == []
