"""Growing out of one machine: the package goes to the executors with the pipeline, as an archive that Spark unpacks.

An archive and not a file for `--py-files`: Spark leaves those packed, and compiled kernels are cached by their sources.
Nothing here needs Spark.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import skyband
from skyband.kernels.compile import cache_root
from skyband.table.write import replacing

# The name under which executors find the unpacked archive, in the folder that they run in.
PACKAGE = "skyband_package"
ARCHIVES = "spark.archives"
PYTHONPATH = "spark.executorEnv.PYTHONPATH"
# The earliest time that a zip file can tell: the same sources give the same archive.
EPOCH = (1980, 1, 1, 0, 0, 0)


def build_archive(target: Path) -> Path:
    """Write the package that runs here as a zip file to ship to executors; what it depends on is not in it."""
    with replacing(target) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in _sources().items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def is_local(master: str) -> bool:
    """Whether all of Spark runs in processes of this machine that share its Python."""
    return master == "local" or master.startswith(("local[", "local-cluster["))


def shipping(master: str, options: Mapping[str, str]) -> dict[str, str]:
    """The settings that bring the package to the executors of a cluster; none where the options see to that.

    With `spark.archives` or `spark.executorEnv.PYTHONPATH` in the options, executors are expected to have the package.
    """
    if is_local(master) or ARCHIVES in options or PYTHONPATH in options:
        return {}
    target = cache_root() / f"package-{_digest()}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        build_archive(target)
    return shipped(target)


def shipped(archive: Path | str) -> dict[str, str]:
    """The settings that let executors unpack an archive of the package and import it from there."""
    return {ARCHIVES: f"{archive}#{PACKAGE}", PYTHONPATH: PACKAGE}


def _sources() -> dict[str, Path]:
    """All files of the package by their names in the archive."""
    folder = Path(skyband.__file__).resolve().parent
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"skyband/{path.relative_to(folder).as_posix()}": path for path in files}


def _digest() -> str:
    digest = hashlib.sha256()
    for name, path in _sources().items():
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
