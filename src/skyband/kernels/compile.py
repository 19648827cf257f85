"""The one decorator for compiled code, with a cache that cannot go stale.

Numba checks only the file that holds a function: after an edit to a helper in another file a new process would go on
running the old machine code. So the cache folder is named by the hash of every kernel source, the compiler's version
included: any edit starts an empty folder. Nothing else tells two copies of the package apart: kernels are compiled once
for a user, wherever the package lies, also in the folder that an executor of Spark unpacks it into.
"""

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import platformdirs
from numba.core.caching import UserProvidedCacheLocator
from numba.extending import intrinsic, overload

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

KEEP_SECONDS = 30 * 24 * 3600


def cache_root() -> Path:
    """Where caches of this project live: SKYBAND_CACHE_DIR, or the user's cache folder."""
    given = os.environ.get("SKYBAND_CACHE_DIR")
    return Path(given) if given else Path(platformdirs.user_cache_dir("skyband"))


def sources_digest(folder: Path) -> str:
    """A hash of every kernel source in a folder and of the compiler that will read them."""
    digest = hashlib.sha256(f"numba {numba.__version__}".encode())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def open_cache(root: Path, digest: str) -> Path | None:
    """The writable cache folder for these sources, or None where nothing can be written."""
    folder = root / f"kernels-{digest}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        with contextlib.suppress(OSError):
            _drop_old(root)
        return folder if os.access(folder, os.W_OK) else None
    except OSError:
        return None


def _drop_old(root: Path) -> None:
    oldest = time.time() - KEEP_SECONDS
    for other in root.glob("kernels-*"):
        if other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)


CACHE = open_cache(cache_root(), sources_digest(Path(__file__).parent))


# Numba has no types, so that to mypy this is a subclass of anything.
class AnyPlace(UserProvidedCacheLocator):  # type: ignore[misc]
    """Where numba keeps a function: by the folder that names all sources, not by where they happen to lie."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The name of the folder alone, without the path to it that numba would add."""
        return Path(py_file).parent.name


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
    """Say how a plain function is compiled for given types; without the compiler the function itself runs."""
    return cast("Callable[[F], F]", overload(function, inline="always"))


def generates(function: Callable[..., object]) -> Callable[..., Any]:
    """A function for the compiler that writes instructions itself."""
    return cast("Callable[..., Any]", intrinsic(function))


def _compile(function: Callable[P, R], **more: bool) -> Callable[P, R]:
    # Kernels allocate nothing, so there is nothing to count references for (_nrt). Counting takes about 10 ns for each
    # array that is handed on: Scan runs 2.5 times as fast without it. Nobody calls kernels from C.
    options = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True} | more
    if CACHE is None:
        return cast("Callable[P, R]", numba.njit(**options)(function))
    with _numba_cache(CACHE):
        return cast("Callable[P, R]", numba.njit(cache=True, **options)(function))
