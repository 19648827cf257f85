"""One central engine that gets what is in the journals: what a network of brokers is held against."""

from collections import defaultdict
from typing import Any

import skyband
from skyband.broker.chart.network_chart import NetworkChart
from skyband.overlay.broker.home import Row
from skyband.overlay.broker.step import NEVER
from skyband.table import Window

Records = dict[str, list[list[Any]]]


class Contents:
    """What the journals hold: publications, retractions, and which subscriptions begin and end with which step."""

    def __init__(self, records: Records) -> None:
        self.publications: list[dict[str, Any]] = []
        self.retracted: dict[Any, int] = {}
        self.begins: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.ends: dict[int, list[Any]] = defaultdict(list)
        for of_one in records.values():
            self._read(of_one)

    def _read(self, records: list[list[Any]]) -> None:
        ids: dict[int, Any] = {}
        for kind, *fields in records:
            if kind == "published":
                ids[fields[0]] = fields[2]["id"]
                self.publications.append(fields[2] | {"ts": fields[1]})
            elif kind == "retracted":
                self.retracted[ids[fields[0]]] = fields[1]
            elif kind == "step":
                self.begins[fields[0]] += fields[3]
                self.ends[fields[0]] += fields[4]


def central_changes(chart: NetworkChart, contents: Contents, until: int) -> dict[str, list[Row]]:
    """The changes of one engine that takes the same steps up to a time, by the broker of each subscription."""
    tick = chart.options.tick
    engine = skyband.open("window", "scan", window=Window.time(chart.options.horizon))
    came, gone = defaultdict(list), defaultdict(list)
    for row in contents.publications:
        at, over = (-(-ts // tick) * tick for ts in (row["ts"], contents.retracted.get(row["id"], NEVER)))
        if over != at:
            came[at].append(row)
            gone[over].append(row["id"])
    found: dict[str, list[Row]] = defaultdict(list)
    # Between these only members expire, which is told with the time at which it happens.
    times = sorted({*came, *gone, *contents.begins, *contents.ends})
    for at in [each for each in times if 0 < each <= until]:
        tables = []
        if contents.ends.get(at):
            # Subscriptions end at the time of the step before, whether anything else has happened then or not.
            tables += [engine.advance(at - tick), engine.unsubscribe(contents.ends[at])]
        tables.append(engine.advance(at))
        if gone[at]:
            tables.append(engine.retract(sorted(gone[at], key=lambda id: (contents.retracted[id], id))))
        if came[at]:
            tables.append(engine.publish(sorted(came[at], key=lambda row: (row["ts"], row["id"]))))
        if contents.begins.get(at):
            tables.append(engine.subscribe(contents.begins[at]))
        for table in tables:
            for row in table.to_pylist():
                found[row["subscription"].partition("/")[0]].append(tuple(row.values()))
    return found


def central_tops(chart: NetworkChart, contents: Contents, rows: list[dict[str, Any]], at: int) -> list[Row]:
    """The tops that one engine has for subscriptions as of a time."""
    engine = skyband.open("window", "scan", window=Window.time(chart.options.horizon))
    left = [row for row in contents.publications if row["id"] not in contents.retracted]
    engine.publish(sorted(left, key=lambda row: (row["ts"], row["id"])))
    engine.advance(max(at, engine.now or 0))
    engine.subscribe(rows)
    return sorted(tuple(row.values()) for row in engine.top().to_pylist())
