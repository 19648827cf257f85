"""Snapshots: a folder of Arrow files, with a manifest that carries the version of the format."""

import json
import os
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from skyband.table import Bounds, Settings, Window, WindowKind
from skyband.table.words import Words

FORMAT = 1
MANIFEST = "manifest.arrow"


class UnreadableSnapshot(ValueError):
    """A folder that cannot be restored, with the reason in one sentence."""


def write(
    folder: Path,
    family: str,
    name: str,
    settings: Settings,
    state: dict[str, Any],
    tables: dict[str, pa.Table],
) -> None:
    """Write everything to a neighbouring folder first, then rename it: a snapshot is there whole or not at all."""
    if folder.exists():
        raise FileExistsError(f"A snapshot is written to a new folder, and {folder} exists already.")
    if settings.words is not None and not isinstance(settings.words, Words):
        raise TypeError("A snapshot can hold a model of class skyband.table.words.Words only; this engine has another.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        words = settings.words
        if isinstance(words, Words):
            words.save(fresh / "words.json")
        plain = {
            "dims": settings.dims,
            "window": [int(settings.window.kind), settings.window.size],
            "bounds": settings.bounds.plain,
        }
        manifest: dict[str, list[Any]] = {
            "format": [FORMAT],
            "family": [family],
            "engine": [name],
            "settings": [json.dumps(plain)],
            "state": [json.dumps(state)],
        }
        for table_name, table in tables.items():
            feather.write_feather(table, fresh / f"{table_name}.arrow", compression="zstd")
        manifest["files"] = [json.dumps({path.name: _checksum(path) for path in sorted(fresh.iterdir())})]
        manifest["checksum"] = [_manifest_checksum({name: told[0] for name, told in manifest.items()})]
        feather.write_feather(pa.table(manifest), fresh / MANIFEST, compression="uncompressed")
        os.replace(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _checksum(path: Path) -> int:
    """A checksum of a file, which tells damage, not intent."""
    checksum = 0
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            checksum = zlib.crc32(part, checksum)
    return checksum


def _manifest_checksum(manifest: dict[str, Any]) -> int:
    """A checksum of what a manifest says, but for its format and the checksum itself."""
    told = [manifest.get(name) for name in ("family", "engine", "settings", "state", "files")]
    return zlib.crc32(json.dumps(told).encode())


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = feather.read_table(folder / MANIFEST).to_pylist()[0]
        found = int(manifest["format"])
    except Exception as error:  # a damaged file may fail in any way
        raise UnreadableSnapshot(f"{folder} holds no readable snapshot: {error}.") from error
    if found != FORMAT:
        raise UnreadableSnapshot(f"{folder} has format {found}, and this version of Skyband reads format {FORMAT}.")
    # Older snapshots have no checksums.
    if manifest.get("checksum", _manifest_checksum(manifest)) != _manifest_checksum(manifest):
        raise _damaged(folder, MANIFEST)
    return manifest


def _damaged(folder: Path, name: str) -> UnreadableSnapshot:
    return UnreadableSnapshot(f"{folder} is damaged: {name} is not as it was written.")


def _check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Raise if a file is missing or has another content than when it was written."""
    for name, checksum in json.loads(manifest.get("files", "{}")).items():
        if not (folder / name).is_file() or _checksum(folder / name) != checksum:
            raise _damaged(folder, name)


def snapshot_of(folder: str | Path) -> tuple[str, str]:
    """The family and the name of the engine that wrote a snapshot."""
    manifest = _manifest(Path(folder))
    return manifest["family"], manifest["engine"]


def read(folder: Path, family: str, name: str) -> tuple[Settings, dict[str, Any], dict[str, pa.Table]]:
    """Settings, state and tables of a snapshot of this engine."""
    manifest = _manifest(folder)
    if (manifest["family"], manifest["engine"]) != (family, name):
        raise UnreadableSnapshot(
            f"{folder} is a snapshot of {manifest['family']}/{manifest['engine']}, not of {family}/{name}."
        )
    _check_files(folder, manifest)
    plain = json.loads(manifest["settings"])
    words = folder / "words.json"
    settings = Settings(
        dims=plain["dims"],
        window=Window(WindowKind(plain["window"][0]), plain["window"][1]),
        bounds=Bounds.of(plain["bounds"]),
        words=Words.load(words) if words.exists() else None,
    )
    tables = {path.stem: feather.read_table(path) for path in sorted(folder.glob("*.arrow")) if path.name != MANIFEST}
    return settings, json.loads(manifest["state"]), tables
