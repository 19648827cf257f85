"""Snapshots of the router and of zones: folders that are there whole or not at all, and in which any harm is found."""

import contextlib
import json
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.feather as feather

from skyband.contract import UnreadableSnapshot
from skyband.pipeline.stage.router import Router
from skyband.pipeline.stage.zone import Zone
from skyband.pipeline.state.folder import StateError, move, sync, write_text
from skyband.pipeline.state.spec import Shape

# In every snapshot: the length and checksum of each of its files.
CONTENTS = "contents.json"


def save_router(router: Router, folder: Path) -> None:
    """Write a router to a new folder."""
    with _placing(folder) as beside:
        _write_each(beside, router.save())


def load_router(shape: Shape, folder: Path) -> Router:
    """The router that `save_router` wrote."""
    router = Router(shape)
    with _loading(folder):
        router.load(_read_tables(folder))
    return router


def save_zone(zone: Zone, folder: Path) -> None:
    """Write a zone to a new folder: its engine as the engine does, and beside it what the zone knows."""
    with _placing(folder) as beside:
        zone.engine.snapshot(beside / "engine")
        _write_each(beside, zone.save())


def load_zone(shape: Shape, number: int, folder: Path, version: int) -> Zone:
    """The zone that `save_zone` wrote."""
    import skyband

    zone = Zone(shape, number)
    try:
        with _loading(folder):
            zone.load(skyband.restore(folder / "engine", threads=1), _read_tables(folder), version)
    except UnreadableSnapshot as error:
        raise StateError(
            f"Zone {number} cannot be restored: {error} Go on with the Skyband that wrote it, or begin anew: name a "
            "new state folder and run `skyband pipeline backfill` over the history."
        ) from None
    return zone


@contextlib.contextmanager
def _placing(folder: Path) -> Iterator[Path]:
    """A folder to write to, which takes the place of the other one at the end: what was left there is not whole."""
    beside = folder.with_name(f".{folder.name}")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    yield beside
    seal(beside)
    move(beside, folder)


def seal(folder: Path) -> None:
    """Note what a snapshot holds, once it is on the disk, so that any harm to it is found."""
    for path in folder.rglob("*"):
        if path.is_file():
            sync(path)
    write_text(folder / CONTENTS, json.dumps(_contents(folder)))


def _contents(folder: Path) -> dict[str, list[int]]:
    """The length and the checksum of every file in a snapshot."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != CONTENTS)
    told = {}
    for path in files:
        with path.open("rb") as file:
            told[path.relative_to(folder).as_posix()] = [path.stat().st_size, _checksum(file)]
    return told


def _checksum(file: BinaryIO) -> int:
    found = 0
    while part := file.read(1 << 20):
        found = zlib.crc32(part, found)
    return found


def _write_each(folder: Path, tables: dict[str, pa.Table]) -> None:
    for name, table in tables.items():
        feather.write_feather(table, folder / f"{name}.arrow", compression="zstd")


def _read_tables(folder: Path) -> dict[str, pa.Table]:
    return {path.stem: feather.read_table(path, memory_map=False) for path in folder.glob("*.arrow")}


@contextlib.contextmanager
def _loading(folder: Path) -> Iterator[None]:
    """Find a snapshot to be as it was written, and turn what goes wrong in reading it into a `StateError`."""
    try:
        told, found = json.loads((folder / CONTENTS).read_text(encoding="utf-8")), _contents(folder)
        harmed = sorted(name for name in told.keys() | found.keys() if told.get(name) != found.get(name))
        if harmed:
            raise OSError(f"{harmed[0]} is not as it was written")
        yield
    except UnreadableSnapshot:
        raise
    except (OSError, LookupError, ValueError) as error:
        raise StateError(
            f"The snapshot {folder} cannot be read: {error}. Restore the state folder from a copy."
        ) from None
