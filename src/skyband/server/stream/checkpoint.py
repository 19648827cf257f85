"""Checkpoints: all streams as they were after a number of records, so that recovery does not begin at the beginning.

A checkpoint is a folder named by that number. It is written beside its place and renamed when all of it is on disk, so
that it is there whole or not at all. The last two are kept, and the log from the older one on.
"""

import contextlib
import json
import os
import shutil
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

import skyband
from skyband.contract import UnreadableSnapshot
from skyband.log.segment import sync_folder
from skyband.server.stream.numbered import steps_of
from skyband.server.stream.registry import Registry
from skyband.server.stream.served import ServedStream
from skyband.server.stream.spec import StreamSpec

KEPT = 2
FORMAT = 1
MANIFEST = "manifest.json"


class Checkpoints:
    """The checkpoints in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for rest in folder.glob(".*"):
            shutil.rmtree(rest)

    def offsets(self) -> list[int]:
        """After how many records there is one, the latest first."""
        return sorted((int(path.name) for path in self.folder.iterdir() if path.name.isdecimal()), reverse=True)

    def write(self, offset: int, streams: Iterable[ServedStream]) -> None:
        """Write a checkpoint and remove those that are no longer needed."""
        fresh, target = self.folder / f".{offset:020}", self.folder / f"{offset:020}"
        if target.exists():
            return
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            fresh.mkdir()
            told = [_write_stream(stream, fresh / str(place)) for place, stream in enumerate(streams)]
            (fresh / MANIFEST).write_text(json.dumps({"format": FORMAT, "offset": offset, "streams": told}))
            _sync_all(fresh)
            os.replace(fresh, target)
            sync_folder(self.folder)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        for old in self.offsets()[KEPT:]:
            shutil.rmtree(self.folder / f"{old:020}", ignore_errors=True)

    def oldest(self) -> int:
        """The number of the record from which on the log is needed."""
        offsets = self.offsets()
        return offsets[-1] if len(offsets) == KEPT else 0

    def read(self, offset: int, most_rows: int) -> list[ServedStream]:
        """The streams of a checkpoint; one that is damaged raises `UnreadableSnapshot`."""
        folder = self.folder / f"{offset:020}"
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            if manifest["format"] != FORMAT:
                raise UnreadableSnapshot(f"{folder} has format {manifest['format']}, and {FORMAT} is read here.")
            return [_read_stream(folder / str(i), told, most_rows) for i, told in enumerate(manifest["streams"])]
        except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
            if isinstance(error, UnreadableSnapshot):
                raise
            raise UnreadableSnapshot(f"{folder} is damaged: {error}.") from error


def _write_stream(stream: ServedStream, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    if stream.damaged is None:
        stream.engine.snapshot(folder / "engine")
    feather.write_feather(stream.registry.table(), folder / "subscriptions.arrow", compression="zstd")
    ring = stream.ring.table()
    if ring is not None:
        feather.write_feather(ring, folder / "ring.arrow", compression="zstd")
    return {
        "tenant": stream.tenant,
        "name": stream.name,
        "spec": stream.spec.plain(),
        "epoch": stream.epoch,
        "step": stream.step,
        "begins": stream.ring.begins,
        "ended": stream.ring.ended(),
        "keys": [[key, *told] for key, told in stream.keys.items()],
        "damaged": stream.damaged,
        "integer_ids": stream.integer_ids,
        "integer_objects": stream.integer_objects,
    }


def _read_stream(folder: Path, told: dict[str, Any], most_rows: int) -> ServedStream:
    stream = ServedStream(told["tenant"], told["name"], StreamSpec(**told["spec"]), told["epoch"], most_rows)
    stream.damaged = told["damaged"]
    if stream.damaged is None:
        stream.engine = skyband.restore(folder / "engine")
    stream.registry = Registry.of(feather.read_table(folder / "subscriptions.arrow"))
    stream.step = told["step"]
    stream.integer_ids, stream.integer_objects = told["integer_ids"], told.get("integer_objects")
    stream.ring.begin_after(told["begins"])
    ring = None
    with contextlib.suppress(FileNotFoundError):
        ring = feather.read_table(folder / "ring.arrow")
    for step in steps_of(told["epoch"], ring, told["ended"]):
        stream.ring.add(step)
    stream.keys = OrderedDict((key, (sign, answer)) for key, sign, answer in told["keys"])
    return stream


def _sync_all(folder: Path) -> None:
    """Wait until all files below a folder are on disk."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())
