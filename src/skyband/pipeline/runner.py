"""One micro-batch from raw rows to delivered changes, and the parts that are due for a snapshot.

A batch is done in this order: the router sends rows to zones, the zones answer, the answers are staged, the batch is
committed, the sinks are given it. What is killed before the commit is done again from the same rows; what is killed
after it is only delivered again, and sinks keep a batch once.
"""

import json
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession

from skyband.pipeline.config import Config
from skyband.pipeline.processor import DELIVER, MERGE, Account
from skyband.pipeline.sink import Sink, What, open_sink
from skyband.pipeline.stage import frames as stages
from skyband.pipeline.stage.merge import delivered_schema, merged, merged_tops
from skyband.pipeline.stage.worker import CHANGES, DEAD_LETTERS, LOG, SNAPSHOT, Job
from skyband.pipeline.state.folder import ROUTER, Commit, State, StateError, move, write_parquet
from skyband.pipeline.state.progress import sink_folders
from skyband.pipeline.state.spec import Shape
from skyband.table import WindowKind

# A part is written anew once the log since its last snapshot is so large, in bytes, and half as large as the snapshot,
# or once it is so many batches long, or once going through it takes so many seconds, and so many times as long as
# writing: a few seconds are worth a quick snapshot, many are worth any. One part at a time, so that no batch waits for
# all, and none in the first batch of a run, which has been waited for.
LOG_BYTES = 8 << 20
LOG_BATCHES = 600
LOG_SECONDS = ((5.0, 10.0), (20.0, 2.0))
# After so many batches the engines tell the router anew what can still reach them.
REFRESH_EVERY = 64
# From this many rows on, a batch is worth preparing in several tasks.
MANY_ROWS = 50_000
# What Spark says when an executor was lost that held routed rows, or a worker that held a part; and how often in a
# batch that may be.
LOST = ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Python worker exited unexpectedly")
MOST_LOST = 2


class Due(NamedTuple):
    """How much log there is since the last snapshot of a part, how large that was, and how long both took."""

    batches: int
    log_bytes: int
    snapshot_bytes: int
    seconds: float = 0.0
    save_seconds: float = 0.0

    def is_due(self) -> bool:
        """Whether rebuilding the part from the log is getting dearer than writing it."""
        if any(self.seconds >= max(seconds, times * self.save_seconds) for seconds, times in LOG_SECONDS):
            return True
        return self.batches >= LOG_BATCHES or self.log_bytes >= max(LOG_BYTES, self.snapshot_bytes // 2)

    def after(self, log_bytes: int, report: Mapping[str, Any]) -> "Due":
        """One more batch, of which the part has told this; what routers do is quickly gone through again."""
        worked = report["seconds"] - report["rebuilt_seconds"] - report.get("save_seconds", 0.0)
        seconds = self.seconds + (worked if "counters" in report else 0.0)
        return self._replace(batches=self.batches + 1, log_bytes=self.log_bytes + log_bytes, seconds=seconds)


class Runner:
    """Does batch after batch; knows the last committed one."""

    def __init__(self, spark: SparkSession, config: Config, state: State, shape: Shape) -> None:
        self.spark = spark
        self.config = config
        self.state = state
        self.shape = shape
        self._lock: int | None = state.claim()
        self.last = state.last()
        self.parts = [ROUTER, *(f"zone-{number}" for number in range(shape.n_zones))]
        self._due = {who: self._due_of(who) for who in self.parts}
        self._interests: tuple[tuple[int, str, str], ...] = ()
        self._token = secrets.token_hex(8)
        self._copy: str | None = None
        self._is_first = True
        self._account = Account(spark)
        self._sinks: list[tuple[str, Sink]] = []
        try:
            self._open_sinks()
        except BaseException:
            self.close()
            raise

    @property
    def base(self) -> int:
        """The last committed batch, -1 before any."""
        return -1 if self.last is None else self.last.batch

    @property
    def snapshots(self) -> dict[str, int]:
        """The latest snapshot of each part that has one."""
        return {} if self.last is None else self.last.snapshots

    def _open_sinks(self) -> None:
        kinds: tuple[What, What] = ("changes", "tops")
        for what, endpoints in zip(kinds, (self.config.changes, self.config.tops), strict=True):
            schema = delivered_schema(self.shape) if what == "changes" else self.shape.rankings()
            folders = sink_folders(self.state, what, endpoints)
            for endpoint, folder in zip(endpoints, folders, strict=True):
                self._sinks.append((what, open_sink(endpoint, what, spark=self.spark, folder=folder, schema=schema)))

    def close(self) -> None:
        """Let go of the sinks, and of the state."""
        for _, sink in self._sinks:
            sink.close()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def run(self, raw: DataFrame, batch: int) -> Commit:
        """Do a batch, or what is left of it to do."""
        self._account.begin()
        if not self.state.is_committed(batch):
            self._check_next(batch)
            self._do(raw, batch)
        assert self.last is not None
        if self.state.delivered < batch:
            self.deliver(self.state.read(batch))
        self._account.lap(DELIVER)
        if batch % 16 == 0:
            self.state.prune(self.last, len(self.parts))
        return self.last

    def _check_next(self, batch: int) -> None:
        if batch != self.base + 1:
            raise StateError(
                f"The stream goes on with batch {batch}, but the state in {self.state.folder} ends with batch "
                f"{self.base}: what is between them would be lost. Restore the state folder with its checkpoint."
            )

    def _do(self, raw: DataFrame, batch: int) -> None:
        """Do a batch; once more from its rows if an executor or a worker is lost together with what it held."""
        for left in reversed(range(MOST_LOST + 1)):
            began, saving = time.perf_counter(), self._most_due()
            try:
                routed = self._route(raw, batch, saving)
                n_changes = self._match(routed, batch, saving)
            except Exception as error:
                if not left or not any(sign in str(error) for sign in LOST):
                    raise
                # The parts may have gone through rows that do not count: they are rebuilt.
                self._token = secrets.token_hex(8)
                continue
            routed.unpersist()
            self.commit(batch, n_changes, saving, began)
            return

    def _route(self, raw: DataFrame, batch: int, saving: str | None) -> DataFrame:
        """The routed rows; where several zones read them, computed once and held until all have."""
        prepared = stages.prepare_parcels(raw, str(self.state.folder))
        one = prepared.repartition(1) if self.config.batch > MANY_ROWS else prepared.coalesce(1)
        job = self.job(ROUTER, batch, saving)._replace(interests=self._interests)
        self._interests = ()
        routed = stages.route(one, job)
        return routed.localCheckpoint(eager=True) if self.shape.n_zones > 1 else routed

    def _match(self, routed: DataFrame, batch: int, saving: str | None) -> int:
        """Have all zones answer, and what they answer in one file; returns how many rows it has."""
        jobs = [self.job(who, batch, saving) for who in self.parts if who != ROUTER]
        left = self.state.attempt(batch, self._token)
        told = sorted((row["zone"], row["rows"]) for row in stages.match(routed, jobs).collect())
        wanted = [n_rows for _, n_rows in told]
        if self.shape.n_zones == 1:
            # The zone has written the file itself.
            self._check_answers([pa.parquet.read_metadata(left / CHANGES).num_rows], wanted, left)
            return sum(wanted)
        tables = [feather.read_table(left / f"answers-{zone}.arrow", memory_map=True) for zone, _ in told]
        self._check_answers([len(table) for table in tables], wanted, left)
        changes = merged(pa.concat_tables(tables), self.shape)
        write_parquet(left / CHANGES, changes)
        return len(changes)

    @staticmethod
    def _check_answers(found: list[int], wanted: list[int], left: Path) -> None:
        if found != wanted:
            raise StateError(f"The answers in {left} are not those that the zones have given. Run again.")

    def job(self, who: str, batch: int, saving: str | None = None) -> Job:
        """What a part is to do in a batch."""
        refresh = who != ROUTER and self.shape.n_zones > 1 and batch % REFRESH_EVERY == REFRESH_EVERY - 1
        return Job(
            state=str(self.state.folder),
            who=who,
            batch=batch,
            base=self.base,
            snapshot=self.snapshots.get(who),
            save=who == saving,
            tops=bool(self.config.tops),
            refresh=refresh and self.shape.settings.window.kind != WindowKind.COUNT,
            run=self._token,
            copy=self._copy,
        )

    def commit(self, batch: int, n_changes: int, saving: str | None, began: float) -> None:
        """Stage what is to be delivered, and make the batch count."""
        folder, left = self.state.staged(batch), self.state.attempt(batch, self._token)
        reports = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(left.glob("*.json"))}
        staged = {"changes": n_changes}
        if self.config.tops:
            staged["tops"] = self.stage_tops(left, folder)
        self._copy = reports[ROUTER].pop("copy")
        self._interests = tuple(
            (number, *reports[f"zone-{number}"].pop("interests"))
            for number in range(self.shape.n_zones)
            if "interests" in reports[f"zone-{number}"]
        )
        snapshots = self.snapshots | ({saving: batch} if saving else {})
        report = {"at": time.time(), "seconds": time.perf_counter() - began, "changes": n_changes, "parts": reports}
        self._put_in_place(left, batch, saving)
        report["processor"] = self._spent(reports)
        self.last = Commit(batch, report, snapshots, staged)
        self.state.commit(self.last)
        self._is_first = False
        self._count(reports, saving, batch)

    def _spent(self, reports: Mapping[str, Any]) -> dict[str, float]:
        """The processor seconds of each stage since the report before; what the sinks take now is in the next one."""
        self._account.lap(MERGE)
        self._account.add(reports.values())
        return self._account.take()

    def _put_in_place(self, left: Path, batch: int, saving: str | None) -> None:
        """Take over what the tasks of this run have left; what those of another run write late is never looked at."""
        move(left / LOG, self.state.log(batch))
        move(left / CHANGES, self.state.staged(batch) / CHANGES)
        self.state.dead(batch).unlink(missing_ok=True)
        if (left / DEAD_LETTERS).exists():
            move(left / DEAD_LETTERS, self.state.dead(batch))
        if saving is not None:
            move(left / SNAPSHOT, self.state.snapshot(saving, batch))

    def stage_tops(self, left: Path, folder: Path) -> int:
        """Put the tops of all zones into one file in a folder; returns how many rows it has."""
        files = sorted(left.glob("tops-*.parquet"))
        tables = [self.shape.rankings().empty_table(), *(pa.parquet.read_table(path) for path in files)]
        tops = merged_tops(pa.concat_tables(tables))
        write_parquet(folder / "tops.parquet", tops)
        return len(tops)

    def deliver(self, commit: Commit) -> None:
        """Give the sinks what a committed batch has for them."""
        folder = self.state.staged(commit.batch)
        for what, n_rows in commit.staged.items():
            self.give(what, commit.batch, folder / f"{what}.parquet", n_rows)
        self.state.note_delivered(commit.batch)

    def give(self, what: str, batch: int, staged: Path, n_rows: int) -> None:
        """Give every sink for changes, or for tops, a staged file; nothing where it holds nothing."""
        for its_kind, sink in self._sinks:
            if its_kind == what and n_rows:
                sink.deliver(batch, staged, n_rows)

    def _due_of(self, who: str) -> Due:
        since = self.snapshots.get(who, -1)
        sizes = [self.state.log(batch) for batch in range(since + 1, self.base + 1)]
        log_bytes = sum(path.stat().st_size for path in sizes if path.exists())
        due = Due(len(sizes), log_bytes, self._snapshot_bytes(who, since))
        # Nothing is known of batches whose manifests are gone: they were small, or there would be a snapshot.
        told = [commit.report["parts"].get(who) for commit in self.state.commits(LOG_BATCHES) if commit.batch > since]
        seconds = sum(Due(0, 0, 0).after(0, report).seconds for report in told if report)
        saved = self.state.read(since).report["parts"].get(who, {}) if self.state.is_committed(since) else {}
        return due._replace(seconds=seconds, save_seconds=saved.get("save_seconds", 0.0))

    def _snapshot_bytes(self, who: str, batch: int) -> int:
        folder = self.state.snapshot(who, batch) if batch >= 0 else None
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder else 0

    def _most_due(self) -> str | None:
        if self._is_first:
            return None
        due = [who for who in self.parts if self._due[who].is_due()]
        return max(due, key=lambda who: (self._due[who].seconds, self._due[who].log_bytes)) if due else None

    def _count(self, reports: Mapping[str, Any], saved: str | None, batch: int) -> None:
        for who, due in self._due.items():
            self._due[who] = due.after(reports[ROUTER]["log_bytes"], reports[who])
        if saved is not None:
            took = reports[saved].get("save_seconds", 0.0)
            self._due[saved] = Due(0, 0, self._snapshot_bytes(saved, batch), 0.0, took)
