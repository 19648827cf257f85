"""Snapshots: a folder of Arrow files, with a manifest that carries the version of the format; or bytes, for whoever
keeps them elsewhere, beside the settings.

Folders are written to a hidden one beside, which is locked meanwhile, and renamed at the end. What a process that was
killed has left of one is nobody's: whoever writes or reads the next snapshot there removes it.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from skyband.table import Bounds, Settings, Window, WindowKind
from skyband.table.words import Words

# Windows has no such locks, so that nothing is known to be nobody's there.
if sys.platform != "win32":
    import fcntl

FORMAT = 1
MANIFEST = "manifest.arrow"
# The end of the name of a folder that is being written, but for a few letters that differ.
UNFINISHED = ".unfinished-snapshot-"


class UnreadableSnapshot(ValueError):
    """A folder that cannot be restored, with the reason in one sentence."""


class UnwritableSnapshot(ValueError, OSError):
    """A snapshot cannot be written to a folder, with the reason in one sentence."""


class SnapshotExists(UnwritableSnapshot, FileExistsError):
    """A snapshot is to be written where something lies already."""


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
        raise SnapshotExists(f"A snapshot is written to a new folder, and {folder} exists already.")
    if settings.words is not None and not isinstance(settings.words, Words):
        raise TypeError("A snapshot can hold a model of class skyband.table.words.Words only; this engine has another.")
    with _beside(folder) as fresh:
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


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A new folder beside this one, that becomes it in the end, or is removed."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        fresh, lock = _locked(folder)
    except OSError as error:
        raise UnwritableSnapshot(f"A snapshot cannot be written to {folder}: {error.strerror or error}.") from error
    try:
        yield fresh
        os.replace(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> tuple[Path, int | None]:
    """A hidden folder that is locked, and the lock, which lasts as long as the process at most."""
    while True:
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}{UNFINISHED}", dir=folder.parent))
        lock = _lock(fresh)
        # Between the two, another process may have taken it for one that was left behind.
        if lock is None or fresh.exists():
            return fresh, lock
        os.close(lock)


def _lock(folder: Path) -> int | None:
    """A lock of a folder; None where somebody else has it, or nobody can have one."""
    if sys.platform == "win32":
        return None
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened


def sweep(folder: Path) -> None:
    """Remove what processes that were killed have left of snapshots in this folder."""
    for left in folder.glob(f".*{UNFINISHED}*"):
        lock = _lock(left)
        if lock is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


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
    with contextlib.suppress(OSError):
        sweep(folder.parent)
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


def pack(family: str, name: str, state: dict[str, Any], tables: dict[str, pa.Table]) -> bytes:
    """State and tables as bytes: the length of a header, the header, and a stream of Arrow for each table."""
    streams = {table_name: _stream(table) for table_name, table in tables.items()}
    sizes = [(table_name, len(stream)) for table_name, stream in streams.items()]
    header = {"format": FORMAT, "family": family, "engine": name, "state": state, "tables": sizes}
    head = json.dumps(header).encode()
    body = head + b"".join(streams.values())
    return zlib.crc32(body).to_bytes(4, "little") + len(head).to_bytes(4, "little") + body


def unpack(data: bytes, family: str, name: str) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """State and tables that an engine of this family and name has packed."""
    if len(data) < 8 or zlib.crc32(data[8:]) != int.from_bytes(data[:4], "little"):
        raise UnreadableSnapshot("These bytes are no snapshot, or are damaged.")
    at = 8 + int.from_bytes(data[4:8], "little")
    header = json.loads(data[8:at])
    made_by = header["format"], header["family"], header["engine"]
    if made_by != (FORMAT, family, name):
        raise UnreadableSnapshot(
            f"These bytes are a snapshot of {made_by[1]}/{made_by[2]} in format {made_by[0]}, and not of "
            f"{family}/{name} in format {FORMAT}."
        )
    tables = {}
    for table_name, size in header["tables"]:
        tables[table_name] = pa.ipc.open_stream(data[at : at + size]).read_all()
        at += size
    return header["state"], tables


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found
