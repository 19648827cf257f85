"""Where a number comes from: the commit, the machine and the versions, and nothing that names a host or a person."""

import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

import skyband
from skyband.kernels.compile import sources_digest

PACKAGES = ("numpy", "numba", "pyarrow")
HERE = Path(__file__).resolve().parent
# Taken when this is imported: tells kernels apart that were edited since the commit, and after the run began.
KERNELS = sources_digest(HERE.parent)


def provenance() -> dict[str, Any]:
    """What every row of a run carries."""
    return {"at": datetime.now(UTC), "commit": commit(), "machine": machine(), "versions": versions()}


def commit() -> str:
    """What git calls this checkout, or the version of the package outside of one."""
    command = ["git", "describe", "--always", "--dirty", "--tags"]
    try:
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return skyband.__version__
    return done.stdout.strip() or skyband.__version__


def machine() -> dict[str, Any]:
    """Cores, bytes of memory and the model of the processor."""
    memory = int(psutil.virtual_memory().total)
    return {"cores": psutil.cpu_count() or 1, "memory": memory, "processor": processor()}


def processor(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The model name that Linux gives, or what Python knows elsewhere."""
    try:
        lines = listing.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """The versions of Python, of Skyband and of the packages that do the work, and the hash of the kernels."""
    found = {"python": platform.python_version(), "skyband": skyband.__version__, "kernels": KERNELS}
    return found | {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def free_memory() -> int:
    """Bytes that can be taken without driving others out."""
    return int(psutil.virtual_memory().available)
