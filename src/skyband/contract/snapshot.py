"""Snapshots: a folder of Arrow files, with a manifest that carries the version of the format."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from skyband.model import Bounds, Settings, Window, WindowKind
from skyband.scoring import Words

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
        raise TypeError("A snapshot can hold a model of class skyband.scoring.Words only; this engine has another.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        words = settings.words
        if isinstance(words, Words):
            words.save(fresh / "words.json")
        plain = {
            "dims": settings.dims,
            "window": [int(settings.window.kind), settings.window.size],
            "bounds": list(settings.bounds),
        }
        manifest = {
            "format": [FORMAT],
            "family": [family],
            "engine": [name],
            "settings": [json.dumps(plain)],
            "state": [json.dumps(state)],
        }
        feather.write_feather(pa.table(manifest), fresh / MANIFEST, compression="uncompressed")
        for table_name, table in tables.items():
            feather.write_feather(table, fresh / f"{table_name}.arrow", compression="zstd")
        os.replace(fresh, folder)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = feather.read_table(folder / MANIFEST).to_pylist()[0]
    except (OSError, pa.ArrowInvalid, IndexError) as error:
        raise UnreadableSnapshot(f"{folder} holds no readable snapshot: {error}.") from error
    if manifest["format"] != FORMAT:
        raise UnreadableSnapshot(
            f"{folder} has format {manifest['format']}, and this version of Skyband reads format {FORMAT}."
        )
    return manifest


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
    plain = json.loads(manifest["settings"])
    words = folder / "words.json"
    settings = Settings(
        dims=plain["dims"],
        window=Window(WindowKind(plain["window"][0]), plain["window"][1]),
        bounds=Bounds(*plain["bounds"]),
        words=Words.load(words) if words.exists() else None,
    )
    tables = {path.stem: feather.read_table(path) for path in sorted(folder.glob("*.arrow")) if path.name != MANIFEST}
    return settings, json.loads(manifest["state"]), tables
