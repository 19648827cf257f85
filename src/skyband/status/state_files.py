"""The files of a state folder that tell where a pipeline stands; `skyband.pipeline.state.folder` writes them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

from skyband.zoning import Zoning

FORMAT = 1


class UnreadableState(ValueError):
    """A state folder that tells nothing, with the reason and what to do in plain sentences."""


class CommittedBatch(NamedTuple):
    """What is known of a committed batch."""

    batch: int
    report: dict[str, Any]
    snapshots: dict[str, int]
    staged: dict[str, int]


class BegunWith(NamedTuple):
    """What a pipeline was begun with."""

    family: str
    engine: str
    n_zones: int


def has_state(folder: Path) -> bool:
    """Whether a pipeline was begun in a folder."""
    return (folder / "pipeline.json").exists()


def begun_with(folder: Path) -> BegunWith:
    """What the pipeline in a folder was begun with."""
    path = folder / "pipeline.json"
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["format"] != FORMAT:
            raise UnreadableState(
                f"{folder} has state of version {plain['format']}, and version {FORMAT} is read here."
            )
        shape = json.loads(plain["shape"])
        return BegunWith(shape["family"], shape["engine"], Zoning.from_json(shape["zoning"]).n_zones)
    except FileNotFoundError:
        raise UnreadableState(f"There is no state of a pipeline in {folder}.") from None
    except (OSError, KeyError, TypeError) as error:
        raise UnreadableState(f"{path} cannot be read: {error}.") from None
    except ValueError as error:
        if isinstance(error, UnreadableState):
            raise
        raise UnreadableState(f"{path} cannot be read: {error}.") from None


def commits(folder: Path, most: int) -> list[CommittedBatch]:
    """The last committed batches, oldest first."""
    return [_commit(path) for path in sorted((folder / "batches").glob("*.json"))[-most:]]


def delivered(folder: Path) -> int:
    """The last batch that all sinks have, -1 before any."""
    return _number(folder / "delivered", -1)


def log_file(folder: Path, batch: int) -> Path:
    """The routed rows of a batch."""
    return folder / "log" / f"{batch:012d}.arrow"


def dead_files(folder: Path, last: int | None) -> list[Path]:
    """The files of dead letters, in the order of their batches; those after the last committed batch are left out."""
    if last is None:
        return []
    return [path for path in sorted((folder / "dead").glob("*.parquet")) if int(path.stem) <= last]


def last_letters(files: list[Path], most: int) -> list[dict[str, Any]]:
    """The last dead letters, in order, without the rows that they are about."""
    found: list[dict[str, Any]] = []
    for path in reversed(files):
        table: pa.Table = pyarrow.parquet.read_table(path)
        found = table.drop_columns(["row"]).to_pylist() + found
        if len(found) >= most:
            break
    return found[max(0, len(found) - most) :]


def offsets(folder: Path, last: int) -> dict[str, int]:
    """How many records of each embedded log Spark has noted as read by the last committed batch."""
    path = folder / "checkpoint" / "offsets" / str(last - _number(folder / "base", 0))
    if not path.exists():
        return {}
    # A version, what Spark wants to remember, and then a line for each source in the order of the stream.
    lines = path.read_text(encoding="utf-8").splitlines()[2:]
    found = {}
    for noun, line in zip(("subscriptions", "publications"), lines, strict=False):
        offset = json.loads(line) if line.startswith("{") else None
        if isinstance(offset, dict) and isinstance(offset.get("record"), int):
            found[noun] = offset["record"]
    return found


def _commit(path: Path) -> CommittedBatch:
    try:
        return CommittedBatch(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise UnreadableState(f"{path} cannot be read: {error}. Restore the state folder from a copy.") from None


def _number(path: Path, unless_there: int) -> int:
    try:
        return int(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return unless_there
    except (OSError, ValueError) as error:
        raise UnreadableState(f"{path} cannot be read: {error}. Restore the state folder from a copy.") from None
