"""What the state of a pipeline costs: the log of a batch, beside writing everything anew after each."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from skyband.bench.pipeline_course import ENGINE, FAMILY, CourseStep, PipelineCourse
from skyband.bench.row import Row, measured
from skyband.bench.runner import time_in_turn
from skyband.contract.family import FAMILIES
from skyband.table import Settings
from skyband.zoning import fit


def state_rows(course: PipelineCourse, folder: Path, parameters: dict[str, object]) -> Iterator[Row]:
    """A row for the log and one for snapshots, of the router and of one zone; both are written for the same batches."""
    from skyband.pipeline.runner import LOG_BYTES
    from skyband.pipeline.state.folder import write_log
    from skyband.pipeline.state.snapshot import save_router, save_zone

    pair = Pair(course)
    n_rounds = course.n_batches - 1

    def log(turn: int) -> None:
        write_log(folder / f"{turn}.arrow", pair.rows)

    def snapshot(turn: int) -> None:
        save_router(pair.router, folder / f"router-{turn}")
        save_zone(pair.zone, folder / f"zone-{turn}")

    def go_on(name: str, turn: int, answer: object) -> None:
        if name == "snapshot" and turn + 1 < course.n_batches:
            pair.take(course.batches[turn + 1])

    pair.take(course.batches[0])
    taken = time_in_turn({"log": log, "snapshot": snapshot}, n_rounds, after=go_on)
    bytes_log = float(np.mean([size_of(folder / f"{turn}.arrow") for turn in range(course.n_batches)]))
    bytes_snapshot = float(size_of(folder / f"router-{n_rounds}") + size_of(folder / f"zone-{n_rounds}"))
    # A snapshot is due once the log is half as large as it, and at least so large.
    n_between = max(LOG_BYTES, bytes_snapshot / 2) / bytes_log
    due_ms = float(np.median(taken["snapshot"])) / 1e6 / n_between
    measures = {"bytes": bytes_log, "bytes_row": bytes_log / course.batch, "due_ms": due_ms, "between": n_between}
    label = f"state, {course.batch:,} rows"
    yield measured(label, "log", parameters, taken["log"], course.batch, measures)
    measures = {"bytes": bytes_snapshot, "bytes_row": bytes_snapshot / course.batch}
    yield measured(label, "snapshot", parameters, taken["snapshot"], course.batch, measures)


class Pair:
    """A router and a zone in this process, which go through a course as the parts of a pipeline do."""

    def __init__(self, course: PipelineCourse) -> None:
        from skyband.pipeline.config import Ids
        from skyband.pipeline.stage.router import Router
        from skyband.pipeline.stage.zone import Zone
        from skyband.pipeline.state.spec import Shape

        family, settings = FAMILIES[FAMILY], Settings(None, course.window)
        assert family.parse_publications is not None
        assert family.publications is not None
        subscriptions = family.parse_subscriptions(family.subscriptions.empty_table(), settings).rows
        publications = family.parse_publications(family.publications.empty_table(), settings).rows
        zoning = fit(FAMILY, subscriptions, publications, 1, settings)
        ids = Ids("integers", "integers", "integers")
        self.shape = Shape(FAMILY, ENGINE, {}, settings, ids, "batch", zoning)
        self.router, self.zone = Router(self.shape), Zone(self.shape, 0)
        self.rows = self.shape.routed().empty_table()
        self._offset = 0
        self.spent = dict.fromkeys(("prepare", "route", "match"), 0.0)
        for step in course.opening:
            self.take(step)

    def take(self, step: CourseStep) -> pa.Table:
        """Prepare, route and match the rows of a step; how long each took is added up."""
        from skyband.pipeline.stage.prepare import prepare_rows
        from skyband.pipeline.state.spec import RAW

        n = len(step.rows)
        same = [pa.array([step.noun] * n), pa.array(["log"] * n), pa.array(np.arange(n) + self._offset)]
        raw = pa.Table.from_arrays([*same, pa.array(["json"] * n), step.texts], schema=RAW)
        self._offset += n
        version, moments = self.zone.version + 1, [time.perf_counter()]
        prepared = prepare_rows(raw, self.shape)
        moments.append(time.perf_counter())
        self.rows = self.router.route(version, prepared).rows
        moments.append(time.perf_counter())
        changes = self.zone.apply(version, self.rows).changes
        moments.append(time.perf_counter())
        for name, start, end in zip(self.spent, moments, moments[1:], strict=False):
            self.spent[name] += end - start
        return changes


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    return sum(each.stat().st_size for each in ([path] if path.is_file() else path.rglob("*")) if each.is_file())
