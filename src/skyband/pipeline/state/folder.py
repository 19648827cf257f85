"""The state of a pipeline: a folder on a file system that the driver and all executors share.

    pipeline.json        the shape it was begun with, and the version of this layout
    checkpoint/          Spark's own: how far the sources were read
    batches/<batch>.json a batch that is committed; written last, whole or not at all
    log/<batch>.arrow    what was sent to which zone in the batch
    snapshots/<who>/<batch>/  the router or a zone as it was after the batch
    staged/<batch>/      what is to be delivered, kept until it is; by-<run>/ in it is what the tasks of a run made
    dead/<batch>.parquet rows that were good for nothing: the dead letters
    delivered            the last batch that all sinks have
    lock                 held by the run that goes on here

A part is rebuilt from its latest snapshot and the log since. The log goes when every part has a later snapshot.
"""

import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet

from skyband.contract import AUTO
from skyband.pipeline.config import Config
from skyband.pipeline.state.spec import Shape, make_shape, parse_shape
from skyband.table.write import replacing
from skyband.zoning import Zoning

FORMAT = 1
ROUTER = "router"
# What a folder that a pipeline was begun in may hold, and a new one must not.
LASTING = ("checkpoint", "batches", "log", "snapshots", "delivered", "base")


class StateError(RuntimeError):
    """A state folder that a pipeline cannot go on from, with the reason and what to do in plain sentences."""


class Commit(NamedTuple):
    """What is known of a committed batch."""

    batch: int
    report: dict[str, Any]
    snapshots: dict[str, int]
    staged: dict[str, int]


class State:
    """The folder of one pipeline."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()

    @property
    def shape_file(self) -> Path:
        """Where the shape is."""
        return self.folder / "pipeline.json"

    @property
    def checkpoint(self) -> Path:
        """Spark's own folder."""
        return self.folder / "checkpoint"

    def exists(self) -> bool:
        """Whether a pipeline was begun here."""
        return self.shape_file.exists()

    def check_new(self) -> None:
        """Raise where the folder has something left of a pipeline, which a new one would take for its own."""
        left = [name for name in LASTING if _holds(self.folder / name)]
        if left:
            raise StateError(
                f"{self.folder} holds {' and '.join(left)} of a pipeline, but no {self.shape_file.name}: something was "
                "removed. Restore it from a copy, or name a new folder."
            )

    def begin(self, shape: Shape) -> None:
        """Make the folder; what was there of another pipeline is an error."""
        if self.exists():
            raise StateError(f"{self.folder} holds the state of a pipeline already.")
        self.check_new()
        for name in ("batches", "log", "snapshots", "staged", "dead", "sinks"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        write_text(self.shape_file, json.dumps({"format": FORMAT, "shape": shape.to_json()}, ensure_ascii=False))

    def shape(self) -> Shape:
        """The shape the state was begun with; a `StateError` if it cannot be read."""
        try:
            plain = json.loads(self.shape_file.read_text(encoding="utf-8"))
            if plain["format"] != FORMAT:
                raise StateError(
                    f"{self.folder} has state of version {plain['format']}, and this version of Skyband reads version "
                    f"{FORMAT}. Go on with the Skyband that wrote it, or begin anew: name a new state folder and run "
                    "`skyband pipeline backfill` over the history."
                )
            return parse_shape(plain["shape"])
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise StateError(f"{self.shape_file} cannot be read: {error}. Restore it, or name a new folder.") from None

    def check(self, config: Config, zoning: Zoning | None = None) -> Shape:
        """The shape, if the configuration fits it; an error that names what differs if not."""
        shape = self.shape()
        if config.engine == AUTO:
            # Whoever names no engine goes on with the one that the state was begun with.
            config = config._replace(engine=shape.engine)
        if zoning is None and (config.family, config.zones) != (shape.family, shape.n_zones):
            told = f"{_differs('family', shape.family, config.family)}{_differs('zones', shape.n_zones, config.zones)}"
            raise self._unfit(told.removesuffix("; "))
        wanted = json.loads(make_shape(config, shape.zoning if zoning is None else zoning).to_json())
        kept = json.loads(shape.to_json())
        if kept != wanted:
            raise self._unfit("".join(_differs(name, kept[name], wanted[name]) for name in kept).removesuffix("; "))
        return shape

    def _unfit(self, told: str) -> StateError:
        return StateError(
            f"The configuration does not fit the state in {self.folder}: {told}. Put these back, or name a new state "
            "folder and run `skyband pipeline backfill` over the history."
        )

    def claim(self) -> int:
        """Keep other runs away: the descriptor of a file that is locked until it is closed, or this process is gone."""
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise StateError(f"Another run goes on with the state in {self.folder}: end that one first.") from None
        except OSError:
            # There are file systems that know no locks. Spark finds two runs of one checkpoint too, if later.
            pass
        return lock

    def log(self, batch: int) -> Path:
        """The routed rows of a batch."""
        return self.folder / "log" / f"{batch:012d}.arrow"

    def staged(self, batch: int) -> Path:
        """What a batch has to deliver."""
        return self.folder / "staged" / f"{batch:012d}"

    def dead(self, batch: int) -> Path:
        """The dead letters of a batch."""
        return self.folder / "dead" / f"{batch:012d}.parquet"

    def attempt(self, batch: int, run: str) -> Path:
        """Where the tasks of a run leave what they make of a batch, until the driver puts it in its place."""
        return self.staged(batch) / f"by-{run}"

    def snapshot(self, who: str, batch: int) -> Path:
        """Where a part was written to after a batch."""
        return self.folder / "snapshots" / who / f"{batch:012d}"

    def commit(self, commit: Commit) -> None:
        """Make a batch count: from now on it is never done again."""
        write_text(self.folder / "batches" / f"{commit.batch:012d}.json", json.dumps(commit._asdict()))

    def last(self) -> Commit | None:
        """The last committed batch."""
        names = sorted(path.name for path in (self.folder / "batches").glob("*.json"))
        return self.read(int(names[-1].removesuffix(".json"))) if names else None

    def read(self, batch: int) -> Commit:
        """A committed batch."""
        path = self.folder / "batches" / f"{batch:012d}.json"
        try:
            commit = Commit(**json.loads(path.read_text(encoding="utf-8")))
            if commit.batch != batch:
                raise ValueError(f"it tells of batch {commit.batch}")
            return commit
        except (OSError, TypeError, ValueError) as error:
            raise StateError(f"{path} cannot be read: {error}. Restore the state folder from a copy.") from None

    def is_committed(self, batch: int) -> bool:
        """Whether a batch counts."""
        return (self.folder / "batches" / f"{batch:012d}.json").exists()

    def commits(self, most: int) -> list[Commit]:
        """The last committed batches, oldest first."""
        names = sorted(path.name for path in (self.folder / "batches").glob("*.json"))[-most:]
        return [self.read(int(name.removesuffix(".json"))) for name in names]

    @property
    def delivered(self) -> int:
        """The last batch that all sinks have, -1 before any."""
        return self._number("delivered", -1)

    def note_delivered(self, batch: int) -> None:
        """All sinks have it."""
        write_text(self.folder / "delivered", str(batch))
        shutil.rmtree(self.staged(batch), ignore_errors=True)

    def prune(self, commit: Commit, n_parts: int, keep: int = 100) -> None:
        """Remove what nobody needs to rebuild anything any more; the last manifests are kept to look at."""
        covered = min(commit.snapshots.values()) if len(commit.snapshots) == n_parts else -1
        for path in (self.folder / "log").glob("*.arrow"):
            if int(path.stem) <= covered:
                path.unlink(missing_ok=True)
        for who, batch in commit.snapshots.items():
            for path in (self.folder / "snapshots" / who).iterdir():
                if path.name.isdigit() and int(path.name) < batch:
                    shutil.rmtree(path, ignore_errors=True)
        for path in (self.folder / "staged").iterdir():
            # Tasks of a run that was killed may end after the batch is delivered, and leave what nobody wants.
            if path.name.isdigit() and int(path.name) <= self.delivered:
                shutil.rmtree(path, ignore_errors=True)
        names = sorted((self.folder / "batches").glob("*.json"))
        for path in names[:-keep]:
            path.unlink(missing_ok=True)

    def has_backfill_to_deliver(self) -> bool:
        """Whether a backfill is committed that the sinks have not got."""
        last = self.last()
        return last is not None and "history" in last.staged and self.delivered < last.batch

    def check_checkpoint(self) -> None:
        """Raise where Spark's checkpoint and the state cannot belong together: the stream would leave batches out."""
        if self.has_backfill_to_deliver():
            raise StateError(
                f"The backfill in {self.folder} has not been delivered to all sinks: run `skyband pipeline backfill` "
                "again to do that, with the configuration it was begun with."
            )
        last, base = self.last(), self.checkpoint_base()
        coming, done = next_batch(self.checkpoint) + base, -1 if last is None else last.batch
        if coming == base <= done and not _holds(self.checkpoint / "offsets"):
            raise StateError(
                f"The checkpoint {self.checkpoint} is missing or empty, but the state has batch {done}: nobody knows "
                "how far the sources were read. Restore the checkpoint, or name a new state folder and run "
                "`skyband pipeline backfill` over the history."
            )
        if coming < done:
            raise StateError(
                f"The checkpoint {self.checkpoint} is older than the state: it goes on with batch {coming}, and the "
                f"state has batch {done}. Restore the one that belongs to it."
            )
        if coming > done + 1:
            had = "has no batch" if last is None else f"ends with batch {done}"
            raise StateError(
                f"The state in {self.folder} is older than its checkpoint: it {had}, and the checkpoint goes on with "
                f"batch {coming}, so that what is between them would be lost. Restore the state folder from a copy, or "
                "name a new one and run `skyband pipeline backfill` over the history."
            )

    def checkpoint_base(self) -> int:
        """How many batches were done before the stream began, by a backfill; its batches are numbered from here."""
        return self._number("base", 0)

    def _number(self, name: str, unless_there: int) -> int:
        path = self.folder / name
        try:
            return int(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return unless_there
        except (OSError, ValueError) as error:
            raise StateError(f"{path} cannot be read: {error}. Restore the state folder from a copy.") from None

    def set_base(self, batches: int) -> None:
        """Let the stream begin after this many batches."""
        write_text(self.folder / "base", str(batches))


def next_batch(checkpoint: Path) -> int:
    """The number that Spark gives the next batch; a `StateError` if it could not read its own files."""
    offsets, commits = _newest(checkpoint / "offsets"), _newest(checkpoint / "commits")
    if offsets is None:
        return 0
    return offsets + 1 if commits == offsets else offsets


def _newest(folder: Path) -> int | None:
    """The number of the newest file of Spark's, which is found to be whole: a version, then lines of JSON."""
    numbers = [int(path.name) for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []
    if not numbers:
        return None
    path = folder / str(max(numbers))
    try:
        version, *lines = path.read_text(encoding="utf-8").splitlines()
        if version[:1] != "v" or not lines:
            raise ValueError("it is not whole")
        for line in lines:
            # A source that has no rows yet is a dash.
            json.loads("null" if line == "-" else line)
    except (OSError, ValueError) as error:
        raise StateError(
            f"{path} of the checkpoint cannot be read: {error}. Restore the state folder from a copy, or name a new "
            "one and run `skyband pipeline backfill` over the history."
        ) from None
    return max(numbers)


def write_log(path: Path, rows: pa.Table) -> None:
    """Write the routed rows of a batch, whole or not at all."""
    with replacing(path) as temporary:
        feather.write_feather(rows, temporary, compression="zstd" if len(rows) > 1000 else "uncompressed")
        sync(temporary)


def read_log(path: Path) -> pa.Table:
    """The routed rows of a batch; a `StateError` if they are gone."""
    try:
        return feather.read_table(path, memory_map=False)
    except (OSError, pa.ArrowException) as error:
        raise StateError(f"The log {path} cannot be read: {error}. Restore the state folder from a copy.") from None


def move(source: Path, target: Path) -> None:
    """Put a file or a folder in its place, instead of what a run that did not end has left there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        shutil.rmtree(target)
    os.replace(source, target)


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write a table, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        # Whole numbers as differences, which are quicker to write and smaller.
        encodings = {field.name: "DELTA_BINARY_PACKED" for field in table.schema if pa.types.is_integer(field.type)}
        texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
        pa.parquet.write_table(table, temporary, compression="zstd", use_dictionary=texts, column_encoding=encodings)
        sync(temporary)


def write_text(path: Path, text: str) -> None:
    """Write a small file so that it is there whole or not at all, also after a crash."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Have a file on the disk before anything says that it is there."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _holds(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists()


def _differs(name: str, before: object, now: object) -> str:
    return f"{name} was {_short(before)} and is now {_short(now)}; " if before != now else ""


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
