"""Small workloads of every family, and what the oracle makes of them."""

from typing import Any

import pyarrow as pa

from skyband.contract import find_engine
from skyband.geotext import workload as geotext
from skyband.ranges import workload as ranges
from skyband.ranked import workload as ranked
from skyband.table import Settings
from skyband.window import workload as window
from skyband.workload import Workload

FAMILIES = ("window", "geotext", "ranges", "ranked")


def small(family: str, seed: int = 1) -> Workload:
    """A workload of a few dozen rows."""
    if family == "window":
        points = window.Options(
            seed=seed, n_publications=40, n_subscriptions=6, k=3, dims=2, window_n=12, score="mixed"
        )
        return window.generate(points)
    if family == "geotext":
        messages = geotext.Options(
            seed=seed, n_publications=40, n_subscriptions=6, vocabulary=20, keywords=4.0, k=3, window_n=12
        )
        return geotext.generate(messages)
    if family == "ranges":
        events = ranges.Options(seed=seed, n_objects=10, n_events=30, n_subscriptions=6, k=3, delete_share=0.2)
        return ranges.generate(events)
    return ranked.generate(ranked.Options(seed=seed, n_publications=15, n_subscriptions=30, dims=2))


def oracle_changes(work: Workload, granularity: Any, batch: int) -> list[dict[str, Any]]:
    """Every row that the oracle answers with."""
    oracle = find_engine(work.family, "oracle")(Settings(), granularity=granularity)
    rows: list[dict[str, Any]] = oracle.subscribe(work.subscriptions).to_pylist()
    for start in range(0, len(work.publications), batch):
        rows += oracle.publish(work.publications.slice(start, batch)).to_pylist()
    return rows


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.schema: pa.Schema | None = None
        self.tables: list[pa.Table] = []

    def begin(self, schema: pa.Schema) -> None:
        self.schema = schema

    def write(self, table: pa.Table) -> None:
        self.tables.append(table)

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables([self.schema.empty_table(), *self.tables]) if self.schema else pa.table({})

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows
