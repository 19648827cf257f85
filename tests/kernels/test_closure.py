"""What a kernel module imports is found without importing it, and nothing is missed."""

import ast
import importlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

import grimp
import pytest

import skyband
from skyband.kernels.closure import Sources, imports_of

PACKAGE = Path(skyband.__file__).parent
DECORATED = re.compile(r"^@(kernel|allocating|inlined)$", re.MULTILINE)


def write(place: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def sources_of(place: Path, files: Mapping[str, str], *modules: str) -> Sources:
    """The sources of a package that is written first, with the named modules as if they were being imported."""
    write(place, files)
    sources = Sources()
    for module in modules:
        sources.add(module, place / f"{module.replace('.', '/')}.py")
    return sources


def closure_of(place: Path, module: str, files: Mapping[str, str]) -> set[str]:
    return sources_of(place, files, module).closure(module)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import a", {("a", ())}),
        ("import a.b as c, d", {("a.b", ()), ("d", ())}),
        ("from a.b import c as d, e  # not f", {("a.b", ("c", "e"))}),
        ("from a import (\n    b,  # one (of two), and more\n    c,\n)\n", {("a", ("b", "c"))}),
        ("from a \\\n    import b, \\\n    c\n", {("a", ("b", "c"))}),
        ("from . import a", {(".", ("a",))}),
        ("from ..a.b import(c)", {("..a.b", ("c",))}),
        ("from .import a", {(".", ("a",))}),
        ("from a import *", {("a", ("*",))}),
        ("def f():\n    from a import b\n    return b", {("a", ("b",))}),
        ("def f(): import a; from b import c", {("a", ()), ("b", ("c",))}),
        ("try: raise A from b; import c\nfinally: pass", {("c", ())}),
        ("important = import_module('a')  # which is no import.", set()),
    ],
)
def test_every_way_to_import(text: str, found: set[tuple[str, tuple[str, ...]]]) -> None:
    assert set(imports_of(text)) == found


def test_a_closure_is_what_is_imported_at_any_remove(tmp_path: Path) -> None:
    files = {
        "own/one/a.py": "import numpy\nfrom own.two.b import x",
        "own/two/b.py": "from own.two import c\nimport other.d",
        "own/two/c.py": "",
        "own/two/unused.py": "",
        "other/d.py": "",
    }
    assert closure_of(tmp_path, "own.one.a", files) == {"own.one.a", "own.two.b", "own.two.c"}


def test_relative_imports(tmp_path: Path) -> None:
    files = {
        "own/one/a.py": "from . import b\nfrom ..two import c\nfrom ..two.d import x\nfrom .... import beyond",
        "own/one/b.py": "from .e import x",
        "own/one/e.py": "",
        "own/two/__init__.py": "from . import f",
        "own/two/c.py": "from . import x",
        "own/two/d.py": "",
        "own/two/f.py": "",
    }
    found = {"own.one.a", "own.one.b", "own.one.e", "own.two", "own.two.c", "own.two.d", "own.two.f"}
    assert closure_of(tmp_path, "own.one.a", files) == found


def test_a_package_counts_where_a_name_is_taken_from_it(tmp_path: Path) -> None:
    """And not where it is on the way to a module: all of the public API is in some `__init__`."""
    files = {
        "own/__init__.py": "from own.api import x",
        "own/api.py": "",
        "own/sub/__init__.py": "from own.sub.home import NAME",
        "own/sub/home.py": "",
        "own/sub/b.py": "",
        "own/through.py": "from own.sub import b\nimport own.sub.b",
        "own/taken.py": "from own.sub import NAME",
        "own/bound.py": "import own",
    }
    sources = sources_of(tmp_path, files, "own.through", "own.taken", "own.bound")
    assert sources.closure("own.through") == {"own.through", "own.sub.b"}
    assert sources.closure("own.taken") == {"own.taken", "own.sub", "own.sub.home"}
    assert sources.closure("own.bound") == {"own.bound", "own", "own.api"}


def test_a_package_goes_before_a_module_of_its_name(tmp_path: Path) -> None:
    files = {"own/a.py": "import own.b", "own/b.py": "import own.c", "own/b/__init__.py": "", "own/c.py": ""}
    assert closure_of(tmp_path, "own.a", files) == {"own.a", "own.b"}


def test_modules_that_import_one_another_have_one_closure(tmp_path: Path) -> None:
    files = {"own/a.py": "import own.b", "own/b.py": "import own.c", "own/c.py": "from own import a, c"}
    sources = sources_of(tmp_path, files, "own.a")
    assert sources.closure("own.a") == sources.closure("own.c") == {"own.a", "own.b", "own.c"}
    assert sources.digest("own.a", "") == sources.digest("own.c", "")


def test_kernels_of_others_are_followed_into_both_packages(tmp_path: Path) -> None:
    files = {"own/a.py": "", "plug/k.py": "from plug.h import h\nfrom own.a import x", "plug/h.py": ""}
    sources = sources_of(tmp_path, files, "own.a", "plug.k")
    sources.add("__main__", tmp_path / "plug/k.py")
    assert sources.closure("plug.k") == {"plug.k", "plug.h", "own.a"}
    assert sources.closure("__main__") == {"__main__", "plug.h", "own.a"}


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    sources = Sources()
    sources.add("own.a", tmp_path / "package.zip" / "own" / "a.py")
    assert sources.closure("own.a") == set()


def test_a_digest_follows_its_closure_and_the_compiler(tmp_path: Path) -> None:
    files = {"own/a.py": "import own.b", "own/b.py": "x = 1", "own/c.py": ""}

    def digests(**edited: str) -> list[str]:
        sources = sources_of(tmp_path, files | {f"own/{name}.py": text for name, text in edited.items()}, "own.a")
        return [sources.digest(f"own.{name}", "numba") for name in "abc"]

    before, after = digests(), digests(b="x = 2")
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, False, True]
    assert before == digests()
    assert sources_of(tmp_path, files, "own.a").digest("own.a", "another") != before[0]


def test_a_digest_does_not_follow_the_place_or_the_time(tmp_path: Path) -> None:
    files = {"own/a.py": "import own.b", "own/b.py": ""}
    here = sources_of(tmp_path / "here", files, "own.a").digest("own.a", "")
    there = sources_of(tmp_path / "there", files, "own.a")
    os.utime(tmp_path / "there/own/b.py", (0, 0))
    assert there.digest("own.a", "") == here


def test_a_file_is_read_once_unless_its_module_is_run_again(tmp_path: Path) -> None:
    """A helper that was edited since runs as it was; one that is reloaded runs as it is."""
    files = {"own/a.py": "import own.b", "own/b.py": "x = 1"}
    sources = sources_of(tmp_path, files, "own.a")
    before = sources.digest("own.a", "")
    write(tmp_path, {"own/b.py": "x = 2"})
    assert sources.digest("own.a", "") == before
    sources.add("own.b", tmp_path / "own/b.py")
    assert sources.digest("own.a", "") != before


def kernel_modules() -> list[str]:
    """Every module of Skyband that has a kernel, whatever folder it is in."""
    paths = (path for path in PACKAGE.rglob("*.py") if DECORATED.search(path.read_text("utf-8")))
    return sorted(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in paths)


def own_closures(modules: Iterable[str]) -> dict[str, set[str]]:
    sources = Sources()
    sources.add("skyband.kernels.closure", PACKAGE / "kernels" / "closure.py")
    return {module: sources.closure(module) for module in modules}


def test_nothing_is_missed_that_the_layers_are_checked_with() -> None:
    """Import-linter reads the syntax tree of every file, which would take longer than the kernels take to import."""
    graph = grimp.build_graph("skyband", cache_dir=None)
    closures = own_closures(kernel_modules())
    assert len(closures) > 80
    for module, closure in closures.items():
        assert {module, *graph.find_upstream_modules(module)} <= closure, module
        assert {"skyband.kernels.compile", "skyband.kernels.closure"} <= closure


def homes_in(module: ModuleType) -> set[str]:
    """Where all that a module knows by name was defined."""
    values = vars(module).values()
    homes = {value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") for value in values}
    return {home for home in homes if str(home).startswith("skyband.")}


def test_nothing_is_missed_that_a_kernel_knows_by_name() -> None:
    modules = kernel_modules()
    for name, closure in own_closures(modules).items():
        assert homes_in(importlib.import_module(name)) <= closure, name


def test_all_imports_of_the_package_are_found() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        assert wanted_imports(text) <= set(imports_of(text)), path


def wanted_imports(text: str) -> set[tuple[str, tuple[str, ...]]]:
    """What the syntax tree says."""
    wanted: set[tuple[str, tuple[str, ...]]] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            wanted |= {(alias.name, ()) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            wanted.add(("." * node.level + (node.module or ""), tuple(alias.name for alias in node.names)))
    return wanted
