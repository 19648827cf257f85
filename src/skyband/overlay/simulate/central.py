"""One central engine that gets everything, and the steps in which it gets it: what brokers are held against.

It is given what is on the disks at the end, in the steps that homes have taken: at each tick t some subscriptions end,
time passes to t, what was taken back since the tick before is retracted, all publications since then come, and others
begin.
"""

from collections import defaultdict
from typing import Any, NamedTuple

import skyband
from skyband.contract import FAMILIES, AnyEngine
from skyband.contract.tops import Id
from skyband.overlay.broker.home import Row
from skyband.overlay.broker.record import whole_records
from skyband.overlay.broker.step import NEVER
from skyband.overlay.simulate.world import BrokerWorld, last_tick
from skyband.table import Window

REFERENCE = "scan"


class DiskContents(NamedTuple):
    """What is on the disks: all publications, and by tick which subscriptions begin and end, by brokers in order.

    `retracted` has the times at which publications were taken back, by their ids.
    """

    publications: list[dict[str, Any]]
    begins: dict[int, list[dict[str, Any]]]
    ends: dict[int, list[Id]]
    homes: dict[Id, int]
    retracted: dict[Id, int]

    @property
    def left(self) -> list[dict[str, Any]]:
        """The publications that were not taken back."""
        return [row for row in self.publications if row["id"] not in self.retracted]


def read_disks(world: BrokerWorld) -> DiskContents:
    """What the disks hold."""
    ledger = DiskContents([], defaultdict(list), defaultdict(list), {}, {})
    for number, disk in enumerate(world.disks):
        ids: dict[int, Id] = {}
        for kind, *fields in whole_records(disk.history):
            if kind == "retracted":
                ledger.retracted[ids[fields[0]]] = fields[1]
            elif kind == "published":
                ids[fields[0]] = fields[2]["id"]
                ledger.publications.append(fields[2] | {"ts": fields[1]})
            elif kind == "step":
                ledger.begins[fields[0]] += fields[3]
                ledger.ends[fields[0]] += fields[4]
                ledger.homes.update((row["id"], number) for row in fields[3])
    return ledger


def central_engine(world: BrokerWorld) -> AnyEngine:
    """An empty engine with the settings of the brokers' own."""
    options = world.scenario.options
    bounds = options.settings.bounds if FAMILIES[options.family].has_bounds else None
    window = Window.time(options.horizon)
    return skyband.open(options.family, REFERENCE, window=window, bounds=bounds, words=options.settings.words)


def central_changes(world: BrokerWorld, ledger: DiskContents) -> dict[int, list[Row]]:
    """The changes of one engine that takes the same steps, by home."""
    engine, tick, found = central_engine(world), world.scenario.options.tick, defaultdict(list)
    by_tick, retracted = defaultdict(list), defaultdict(list)
    for row in ledger.publications:
        at, gone = (-(-ts // tick) * tick for ts in (row["ts"], ledger.retracted.get(row["id"], NEVER)))
        # What was taken back in the same step has never been there.
        if gone != at:
            by_tick[at].append(row)
            retracted[gone].append(row["id"])
    for at in range(0, last_tick(world) + 1, tick):
        tables = [engine.unsubscribe(ledger.ends[at])] if ledger.ends.get(at) else []
        tables.append(engine.advance(at))
        if retracted[at]:
            tables.append(engine.retract(sorted(retracted[at], key=lambda id: (ledger.retracted[id], id))))
        if by_tick[at]:
            tables.append(engine.publish(sorted(by_tick[at], key=lambda row: (row["ts"], row["id"]))))
        if ledger.begins.get(at):
            tables.append(engine.subscribe(ledger.begins[at]))
        for table in tables:
            for row in table.to_pylist():
                found[ledger.homes[row["subscription"]]].append(tuple(row.values()))
    return found
