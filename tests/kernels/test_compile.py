"""The cache of compiled code cannot go stale."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skyband.kernels.compile import KEEP_SECONDS, cache_root, open_cache, sources_digest


def test_an_edit_to_any_kernel_names_another_folder(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("a = 1")
    (tmp_path / "two.py").write_text("b = 1")
    before = sources_digest(tmp_path)
    assert sources_digest(tmp_path) == before
    (tmp_path / "two.py").write_text("b = 2")
    after = sources_digest(tmp_path)
    assert after != before
    (tmp_path / "three.py").write_text("")
    assert sources_digest(tmp_path) not in (before, after)


def test_a_folder_that_cannot_be_written_means_no_cache(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    assert open_cache(in_the_way, "digest") is None


def test_old_folders_are_removed(tmp_path: Path) -> None:
    old, recent = tmp_path / "kernels-old", tmp_path / "kernels-recent"
    old.mkdir()
    recent.mkdir()
    past = time.time() - KEEP_SECONDS - 60
    os.utime(old, (past, past))
    fresh = open_cache(tmp_path, "fresh")
    assert fresh is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels-fresh", "kernels-recent"]


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(tmp_path))
    assert cache_root() == tmp_path


def write_package(place: Path, constant: int) -> None:
    """A package whose one kernel calls a helper in another file, which adds a constant."""
    package = place / "edited"
    package.mkdir(parents=True, exist_ok=True)
    source = Path(sys.modules["skyband.kernels.compile"].__file__ or "").read_text()
    (package / "__init__.py").write_text("")
    (package / "compile.py").write_text(source)
    (package / "caller.py").write_text(
        "from edited.compile import kernel\nfrom edited.helper import helper\n\n\n"
        "@kernel\ndef caller(x: int) -> int:\n    return helper(x)\n"
    )
    (package / "helper.py").write_text(
        f"from edited.compile import kernel\n\n\n@kernel\ndef helper(x: int) -> int:\n    return x + {constant}\n"
    )


def answer_of(place: Path, cache: Path) -> tuple[int, int]:
    """What the package's kernel makes of 1 in a process of its own, and how many kernels that process compiled."""
    program = "from edited.caller import caller; print(caller(1), sum(caller.stats.cache_misses.values()))"
    # Python itself takes a source of the same length and second for the same.
    own = {"PYTHONPATH": str(place), "SKYBAND_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **own}, capture_output=True, text=True, check=True
    )
    answer, compiled = run.stdout.split()
    return int(answer), int(compiled)


@pytest.mark.jit_only
def test_an_edited_helper_is_not_run_from_the_cache(tmp_path: Path) -> None:
    """The case that numba's own cache gets wrong: the caller's file is the same, a helper in another file is not."""
    answers = []
    for constant in (1, 2):
        write_package(tmp_path, constant)
        answers.append(answer_of(tmp_path, tmp_path / "cache"))
    assert answers == [(2, 1), (3, 1)]


@pytest.mark.jit_only
def test_another_copy_of_the_package_has_nothing_to_compile(tmp_path: Path) -> None:
    """Spark unpacks the package that it is shipped into a new folder for each program."""
    answers = []
    for place in ("here", "there"):
        write_package(tmp_path / place, 1)
        answers.append(answer_of(tmp_path / place, tmp_path / "cache"))
    assert answers == [(2, 1), (2, 0)]
