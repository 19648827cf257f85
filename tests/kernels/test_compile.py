"""The cache of compiled code cannot go stale, and an edit empties no more of it than depends on it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skyband.kernels import compile as compiler
from skyband.kernels import compiling
from skyband.kernels.compile import (
    KEEP_SECONDS,
    AnyPlace,
    cache_root,
    kernel,
    kernel_folder,
    open_cache,
    sources_digest,
)


def test_the_digest_of_all_kernels_follows_each_of_them(tmp_path: Path) -> None:
    one, two = tmp_path / "kernels" / "one.py", tmp_path / "window" / "kernels" / "one.py"
    for path in (one, two, tmp_path / "engine.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a = 1")
    seen = [sources_digest(tmp_path)]
    (tmp_path / "engine.py").write_text("a = 2")
    assert sources_digest(tmp_path) == seen[0]
    for path in (one, two, two.with_name("three.py")):
        path.write_text("a = 2")
        seen.append(sources_digest(tmp_path))
    two.unlink()
    assert len({*seen, sources_digest(tmp_path)}) == 5


def test_a_folder_that_cannot_be_written_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert open_cache(in_the_way) is None
    monkeypatch.setattr(compiler, "CACHE", None)
    assert kernel_folder(test_the_folder_can_be_chosen) is None
    assert kernel(double)(2) == 4


def double(x: int) -> int:
    return x + x


def test_the_folder_of_another_user_means_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "CACHE", tmp_path)
    folder = kernel_folder(double)
    assert folder is not None
    folder.mkdir()
    assert kernel_folder(double) == folder

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(os, "utime", refuse)
    compiler._open_folder.cache_clear()
    assert kernel_folder(double) is None


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """A root with folders of now and of long ago, of this layout and of the former one."""
    past = time.time() - KEEP_SECONDS - 60
    for age in ("old", "recent"):
        for name in (f"kernels-{age}", f"kernels/window.kernels.grid-{age}", f"jars/{age}"):
            (tmp_path / name / "inner").mkdir(parents=True)
            if age == "old":
                os.utime(tmp_path / name, (past, past))
    return tmp_path


def names_in(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in (*root.glob("kernels-*"), *root.glob("*/*-*")))


def test_old_folders_are_removed(folders: Path) -> None:
    assert open_cache(folders) == folders / "kernels"
    assert names_in(folders) == ["kernels-recent", "kernels/window.kernels.grid-recent"]
    assert (folders / "jars" / "old").exists()


def test_old_folders_are_looked_for_once_a_day(folders: Path) -> None:
    open_cache(folders)
    folder = folders / "kernels" / "scan-old"
    folder.mkdir()
    os.utime(folder, (0, 0))
    open_cache(folders)
    assert folder.exists()
    os.utime(folders / "kernels" / compiler.SWEPT, (0, 0))
    open_cache(folders)
    assert not folder.exists()


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(tmp_path))
    assert cache_root() == tmp_path


def folder_of(place: Path, module: str, text: str) -> Path | None:
    """The folder of a function in a module that is run, or run again, with a text."""
    path = place / f"{module.replace('.', '/')}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    names: dict[str, Callable[..., object]] = {}
    exec(compile(text, path, "exec"), {"__name__": module}, names)
    return kernel_folder(names["f"])


def test_a_module_that_is_reloaded_has_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an edit keeps the bytecode, in which numbers are not, and where it is one to a helper."""
    monkeypatch.setattr(compiler, "CACHE", tmp_path)
    helpers, callers = set(), set()
    for number in (1, 22):
        helpers.add(folder_of(tmp_path, "reloaded.helper", f"def f(): return {number}"))
        callers |= {folder_of(tmp_path, "reloaded.caller", "def f(): import reloaded.helper") for _ in range(2)}
    assert (len(helpers), len(callers)) == (2, 2)


def test_numba_is_told_the_digest_and_not_the_time_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions of numba take a file for another when its time is."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "scan-digest"))
    path = tmp_path / "scan.py"
    path.write_text("")
    place = AnyPlace.from_function(double, str(path))
    assert place is not None
    assert (place.get_source_stamp(), Path(place.get_cache_path())) == ("scan-digest", tmp_path / "scan-digest")
    assert AnyPlace.from_function(double, str(tmp_path / "package.zip" / "scan.py")) is None


KERNEL = """from edited.kernels.compile import kernel
{imports}

@kernel
def work(x: int) -> int:
    return {answer}
"""


def write_package(place: Path, constant: int) -> None:
    """A package of three packages with kernels: a caller, its helper, which adds a constant, and one of neither."""
    here = Path(compiler.__file__ or "").parent
    written = {
        **{f"kernels/{name}": (here / name).read_text().replace("skyband", "edited") for name in OWN},
        "kernels/helper.py": KERNEL.format(imports="", answer=f"x + {constant}"),
        "window/kernels/grid.py": KERNEL.format(
            imports="from edited.kernels.helper import work as help", answer="help(x)"
        ),
        "covering/kernels/grid.py": KERNEL.format(imports="", answer="x * 10"),
    }
    for name, text in written.items():
        path = place / "edited" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").write_text("")
        path.write_text(text)


# All that the decorator needs.
OWN = ("compile.py", "compiling.py", "closure.py", "dispatch.py")
PROGRAM = """
import json
from edited.kernels import helper
from edited.covering.kernels import grid as covering
from edited.window.kernels import grid as window

works = [module.work for module in (window, helper, covering)]
answers = [work(1) for work in works]
print(json.dumps([[answer, sum(work.stats.cache_misses.values())] for answer, work in zip(answers, works)]))
"""


def answers_of(place: Path, cache: Path) -> list[tuple[int, int]]:
    """What caller, helper and the third make of 1 in a process of its own, and how often each was compiled there."""
    # Python itself takes a source of the same length and second for the same.
    own = {"PYTHONPATH": str(place), "SKYBAND_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **own}, capture_output=True, text=True, check=True
    )
    return [(answer, compiled) for answer, compiled in json.loads(run.stdout)]


@pytest.mark.jit_only
def test_an_edited_helper_compiles_its_caller_and_nothing_else(tmp_path: Path) -> None:
    """The case that numba's own cache gets wrong: the caller's file is the same, a helper in another file is not."""
    cache = tmp_path / "cache"
    write_package(tmp_path, 1)
    assert answers_of(tmp_path, cache) == [(2, 1), (2, 1), (10, 1)]
    write_package(tmp_path, 2)
    assert answers_of(tmp_path, cache) == [(3, 1), (3, 1), (10, 0)]
    write_package(tmp_path, 1)
    assert answers_of(tmp_path, cache) == [(2, 0), (2, 0), (10, 0)]
    modules = sorted(path.name.partition("-")[0] for path in (cache / "kernels").iterdir() if path.is_dir())
    twice = [name for name in ("kernels.helper", "window.kernels.grid") for _ in range(2)]
    assert modules == ["covering.kernels.grid", *twice]


@pytest.mark.jit_only
def test_another_copy_of_the_package_has_nothing_to_compile(tmp_path: Path) -> None:
    """Spark unpacks the package that it is shipped into a new folder for each program."""
    answers = []
    for place in ("here", "there"):
        write_package(tmp_path / place, 1)
        for path in (tmp_path / place).rglob("*.py"):
            os.utime(path, (len(place), len(place)))
        answers.append(answers_of(tmp_path / place, tmp_path / "cache"))
    assert answers == [[(2, 1), (2, 1), (10, 1)], [(2, 0), (2, 0), (10, 0)]]


def test_compiling_is_told_once_to_a_terminal_and_to_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiling, "_is_told", False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with caplog.at_level("INFO", "skyband"):
        compiling.tell_of_compiling()
        compiling.tell_of_compiling()
    assert capsys.readouterr().err == f"{compiling.NOTICE}\n"
    assert caplog.messages == [compiling.NOTICE]
