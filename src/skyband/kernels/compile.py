"""The one decorator for compiled code, with a cache that cannot go stale.

Numba checks only the file that holds a function: after an edit to a helper in another file a new process would go on
running the old machine code. So every module with kernels has a folder of its own in the cache, named by a hash of all
that its kernels are made of: its source, those of all modules of the package that it imports, directly or on the way
(`skyband.kernels.closure` says which), and the compiler's version. An edit starts an empty folder for what depends on
it, and for nothing else. Nothing else tells two copies of the package apart: kernels are compiled once for a user,
wherever the package lies, also in the folder that an executor of Spark unpacks it into.
"""

import contextlib
import functools
import hashlib
import inspect
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import platformdirs
from numba.core.caching import UserProvidedCacheLocator
from numba.extending import intrinsic, overload

from skyband.kernels.closure import Sources
from skyband.kernels.dispatch import ByType, compiled

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

KEEP_SECONDS = 30 * 24 * 3600
SWEEP_SECONDS = 24 * 3600
# A file in the cache, as old as the last search for old folders.
SWEPT = ".swept"
COMPILER = f"numba {numba.__version__}"


def cache_root() -> Path:
    """Where caches of this project live: SKYBAND_CACHE_DIR, or the user's cache folder."""
    given = os.environ.get("SKYBAND_CACHE_DIR")
    return Path(given) if given else Path(platformdirs.user_cache_dir("skyband"))


def sources_digest(package: Path) -> str:
    """A hash of every kernel source of a package, whatever folder it is in, and of the compiler that will read them."""
    digest = hashlib.sha256(COMPILER.encode())
    for path in sorted(package.rglob("kernels/*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def open_cache(root: Path) -> Path | None:
    """The folder that has one for each module with kernels, or None where nothing can be written."""
    cache = root / "kernels"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache).close()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        _drop_old(root, cache / SWEPT)
    return cache


def _drop_old(root: Path, swept: Path) -> None:
    # An edit to what all kernels import leaves a folder for each of them behind, thousands in a month, so that they are
    # looked at once a day. Who still runs kernels of a folder that is removed makes it again.
    now = time.time()
    if swept.exists() and now - swept.stat().st_mtime < SWEEP_SECONDS:
        return
    swept.touch()
    # A version that had one folder for all kernels called it kernels-….
    for folder in (*root.glob("kernels-*"), *root.glob("kernels/*-*")):
        # Another process may have removed it by now.
        with contextlib.suppress(OSError):
            if now - folder.stat().st_mtime > KEEP_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


CACHE = open_cache(cache_root())
_PACKAGE = __name__.partition(".")[0]
_SOURCES = Sources()
_SOURCES.add(__name__, Path(__file__))


def kernel_folder(function: Callable[..., object]) -> Path | None:
    """Where the compiled code of a function is kept, which is made when there is some; None where it cannot be."""
    if CACHE is None:
        return None
    file = inspect.getfile(function)
    try:
        now = os.stat(file)
    except OSError:
        # Within a zip archive, and left to numba.
        return CACHE
    return _open_folder(CACHE, function.__module__, file, (now.st_mtime_ns, now.st_size, _SOURCES.n_edits))


# A module that is reloaded is another one after an edit, to its file or to that of a module that was reloaded before.
@functools.cache
def _open_folder(cache: Path, module: str, file: str, stamp: tuple[int, ...]) -> Path | None:
    _SOURCES.add(module, Path(file))
    folder = cache / f"{module.removeprefix(f'{_PACKAGE}.')}-{_SOURCES.digest(module, COMPILER)}"
    try:
        # What was used of late is not removed.
        os.utime(folder)
    except FileNotFoundError:
        return folder
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


# Numba has no types, so that to mypy this is a subclass of anything.
class AnyPlace(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where numba keeps a function: in the folder that names its sources, not by where they lie or how old they are."""

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> "AnyPlace | None":
        """The place of a function in a file; numba would write into the folder for each, to see whether it can."""
        return cls(py_func, py_file) if os.path.exists(py_file) else None

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Nothing: numba would add the path to the file."""
        return ""

    def get_source_stamp(self) -> str:
        """The name of the folder; some versions of numba take the time of the file, which another copy has not."""
        return Path(self.get_cache_path()).name


@contextlib.contextmanager
def _numba_cache(folder: Path) -> Iterator[None]:
    # Numba reads both when a function is decorated; other users of numba in this process keep their own. Sources within
    # a zip archive are no files, and left to numba.
    ours = {"CACHE_DIR": str(folder), "CACHE_LOCATOR_CLASSES": f"{__name__}.{AnyPlace.__name__},ZipCacheLocator"}
    before = {name: getattr(numba.config, name, "") for name in ours}
    for name, value in ours.items():
        setattr(numba.config, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(numba.config, name, value)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop over arrays: releases the interpreter lock, never reorders floating-point additions."""
    return _compile(function)


def allocating(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that makes arrays of its own, which other kernels must not."""
    return _compile(function, _nrt=True)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """A kernel that is copied into its callers, for the innermost calls."""
    return _compile(function, forceinline=True)


def overloads(function: Callable[..., object]) -> Callable[[F], F]:
    """Say how a plain function is compiled for given types; without the compiler the function itself runs.

    It has to be said in the function's own module, which is the one that callers import.
    """
    return cast("Callable[[F], F]", overload(function, inline="always"))


def by_type(kernels: Mapping[type, Any]) -> Callable[..., Any]:
    """Kernels that are called as one; the type of the first argument, a named tuple, says which it is."""
    return ByType(kernels)


def generates(function: Callable[..., object]) -> Callable[..., Any]:
    """A function for the compiler that writes instructions itself."""
    return cast("Callable[..., Any]", intrinsic(function))


def _compile(function: Callable[P, R], **more: bool) -> Callable[P, R]:
    # Kernels allocate nothing, so there is nothing to count references for (_nrt). Counting takes about 10 ns for each
    # array that is handed on: Scan runs 2.5 times as fast without it. Nobody calls kernels from C.
    options = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True} | more
    folder = kernel_folder(function)
    if folder is None:
        return cast("Callable[P, R]", compiled(function, options, is_cached=False))
    with _numba_cache(folder):
        return cast("Callable[P, R]", compiled(function, options, is_cached=True))
