"""Streams of rows that collide on purpose, cut into batches, and what one engine over all subscriptions answers."""

import itertools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from skyband.contract import find_engine
from skyband.pipeline.config import Ids
from skyband.pipeline.state.spec import RAW, Shape
from skyband.ranked.draw import DIMS as RANKED_DIMS
from skyband.table import UNBOUNDED, Settings, Window
from skyband.testing.data import IDS
from skyband.workload.draw import draws_of
from skyband.zoning import Zoning, fit

Row = dict[str, Any]
DIMS = {"window": 2, "ranges": 1, "ranked": RANKED_DIMS}
WINDOWS = {"time": Window.time(5), "count": Window.count(4), "none": UNBOUNDED}


class Batch(NamedTuple):
    """Commands, then publications and retractions."""

    commands: list[Row]
    publications: list[Row]


def shape_of(
    family: str,
    n_zones: int,
    *,
    window: str = "none",
    engine: str = "scan",
    granularity: str = "batch",
    zoning: Zoning | None = None,
) -> Shape:
    """A shape for rows of this module."""
    settings = Settings(dims=DIMS.get(family), window=WINDOWS[window])
    return Shape(
        family=family,
        engine=engine,
        options={},
        settings=settings,
        ids=Ids("text", "text", "integers"),
        granularity=granularity,  # type: ignore[arg-type]  # one of its two words
        zoning=zoning or zoning_of(family, n_zones, settings),
    )


def zoning_of(family: str, n_zones: int, settings: Settings) -> Zoning:
    """Zones fitted to a few subscriptions that differ."""
    from skyband.contract.family import FAMILIES

    chosen = FAMILIES[family]
    assert chosen.parse_publications is not None
    rows = [SAMPLE[family](i) | {"id": f"s{i}"} for i in range(24)]
    subscriptions = chosen.parse_subscriptions(_table(rows), settings).rows
    assert chosen.publications is not None
    publications = chosen.parse_publications(chosen.publications.empty_table(), settings).rows
    return fit(family, subscriptions, publications, n_zones, settings)


SAMPLE: dict[str, Any] = {
    "window": lambda i: {"k": 1, "score": "euclidean", "point": [i % 5 - 2.0, i // 5 - 2.0]},
    "geotext": lambda i: {"k": 1, "alpha": 0.5, "x": i % 3 / 2, "y": i // 3 % 3 / 2, "terms": ["a"], "weights": [1.0]},
    "ranges": lambda i: {"k": 1, "lo": float(i % 3), "hi": float(i % 3 + i % 2)},
    "ranked": lambda i: {"lo": [float(i % 3)] * RANKED_DIMS, "hi": [3.0] * RANKED_DIMS},
}


def _table(rows: list[Row]) -> pa.Table:
    from skyband.table import read_table

    return read_table(rows).table


@st.composite
def streams(draw: st.DrawFn, family: str, window: str = "none") -> list[Batch]:
    """Batches of commands and publications: ids that recur, times that repeat and go back, withdrawals, other ks.

    Publications of families that can are retracted, before they are there, twice, and to be published again.
    """
    names = st.sampled_from(IDS["text"][:12])
    now = draw(st.integers(-3, 3))
    batches = []
    for _ in range(draw(st.integers(1, 6))):
        commands = [draw(_commands(family, window, names, now)) for _ in range(draw(st.integers(0, 5)))]
        publications = []
        for _ in range(draw(st.integers(0, 6))):
            now += draw(st.sampled_from([-3, -1, 0, 0, 1, 1, 2, 6]))
            if family in ("window", "geotext") and draw(st.integers(0, 3)) == 0:
                times: Row = draw(st.sampled_from([{}, {}, {"ts": None}, {"ts": now}]))
                publications.append({"op": "retract", "id": draw(names)} | times)
            else:
                publications.append({"id": draw(names), "ts": now} | draw(draws_of(family).publications))
        batches.append(Batch(commands, publications))
    return batches


@st.composite
def _commands(draw: st.DrawFn, family: str, window: str, names: st.SearchStrategy[str], now: int) -> Row:
    op = draw(st.sampled_from(["subscribe"] * 5 + ["unsubscribe", "resize", "advance"]))
    row: Row = {"op": op, "id": draw(names)}
    if op == "advance":
        return {"op": op, "ts": now + draw(st.integers(-1, 2))}
    if op == "resize":
        return row | {"k": draw(st.sampled_from([1, 2, 7]))}
    if op == "subscribe":
        row |= draw(draws_of(family).subscriptions)
        kind = {"time": "window_us", "count": "window_n", "none": None}[window]
        for name in ("window_us", "window_n"):
            if window != "none" and name in row and row[name] is not None:
                row[name] = min(row[name], WINDOWS[window].size) if name == kind else None
        if family == "ranked":
            row["budget"] = None
    return row


def raw(batch: Batch) -> pa.Table:
    """A batch as sources yield it."""
    rows = []
    for noun, values in (("subscriptions", batch.commands), ("publications", batch.publications)):
        for offset, value in enumerate(values):
            rows.append({"noun": noun, "origin": "o", "offset": offset, "form": "json", "value": json.dumps(value)})
    return pa.Table.from_pylist(rows, schema=RAW)


class Alone:
    """One engine over all subscriptions, fed like a pipeline; what it refuses, it leaves out."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.engine = find_engine(shape.family, shape.engine)(
            shape.settings, granularity=shape.granularity, on_error="collect", **shape.options
        )

    def apply(self, batch: Batch) -> list[Row]:
        """The changes of a batch, in order."""
        parts = [self._command(row) for row in batch.commands]
        for op, rows in itertools.groupby(batch.publications, key=lambda row: row.get("op") or "publish"):
            run = list(rows)
            parts += self._retract(run) if op == "retract" else [self.engine.publish(run)]
        return [row for part in parts if part is not None for row in part.to_pylist()]

    def _retract(self, rows: list[Row]) -> Iterator[pa.Table]:
        """One call for all, but where time advances: what came before is withdrawn before."""
        ids: list[str] = []
        for row in rows:
            if row.get("ts") is not None and (self.engine.now is None or row["ts"] > self.engine.now):
                if ids:
                    yield self.engine.retract(ids)
                yield self.engine.advance(row["ts"])
                ids = []
            ids.append(row["id"])
        yield self.engine.retract(ids)

    def _command(self, row: Row) -> pa.Table | None:
        engine = self.engine
        if row["op"] == "subscribe":
            return engine.subscribe([{name: value for name, value in row.items() if name != "op"}])
        if row["op"] == "advance":
            return None if engine.now is not None and row["ts"] < engine.now else engine.advance(row["ts"])
        if row["op"] == "unsubscribe":
            return engine.unsubscribe([row["id"]])
        return None if self.shape.family == "ranked" else engine.resize([row["id"]], row["k"])
