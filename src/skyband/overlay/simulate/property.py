"""What must hold of a run, compared with one central engine that gets everything.

The central engine is given what is on the disks at the end, in the steps that homes have taken: at each tick t some
subscriptions end, time passes to t, all publications after the tick before come, and others begin.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import skyband
from skyband.contract import FAMILIES, AnyEngine
from skyband.contract.tops import Id
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.frame import LIFE
from skyband.overlay.broker.home import Row
from skyband.overlay.broker.record import whole_records
from skyband.overlay.broker.retainer import Retainer, gate_at
from skyband.overlay.broker.session import N_LANES
from skyband.overlay.simulate.world import BrokerWorld, last_tick
from skyband.overlay.strategy import strategy_named
from skyband.table import Window

REFERENCE = "scan"


class DiskContents(NamedTuple):
    """What is on the disks: all publications, and by tick which subscriptions begin and end, by brokers in order."""

    publications: list[dict[str, Any]]
    begins: dict[int, list[dict[str, Any]]]
    ends: dict[int, list[Id]]
    homes: dict[Id, int]


def read_disks(world: BrokerWorld) -> DiskContents:
    """What the disks hold."""
    ledger = DiskContents([], defaultdict(list), defaultdict(list), {})
    for number, disk in enumerate(world.disks):
        for kind, *fields in whole_records(disk.records):
            if kind == "published":
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
    by_tick = defaultdict(list)
    for row in ledger.publications:
        by_tick[-(-row["ts"] // tick) * tick].append(row)
    for at in range(0, last_tick(world) + 1, tick):
        tables = [engine.unsubscribe(ledger.ends[at])] if ledger.ends.get(at) else []
        tables.append(engine.advance(at))
        if by_tick[at]:
            tables.append(engine.publish(sorted(by_tick[at], key=lambda row: (row["ts"], row["id"]))))
        if ledger.begins.get(at):
            tables.append(engine.subscribe(ledger.begins[at]))
        for table in tables:
            for row in table.to_pylist():
                found[ledger.homes[row["subscription"]]].append(tuple(row.values()))
    return found


def check_changes(world: BrokerWorld) -> Iterable[str]:
    """With watermarks, what every home tells is what one engine tells, row for row, up to the time it has come to."""
    ledger = read_disks(world)
    wanted = central_changes(world, ledger)
    end = min(broker.home.applied for broker in world.brokers if broker is not None)
    for number, audience in enumerate(world.audiences):
        got = [row for _, row in audience.changes if row[5] is None or row[5] <= end]
        right = [row for row in wanted[number] if row[5] is None or row[5] <= end]
        for i, (mine, its) in enumerate(zip(got, right, strict=False)):
            if mine != its:
                yield f"Broker {number} tells {mine} as change {i}, and one engine tells {its}."
                break
        else:
            if len(got) != len(right):
                yield f"Broker {number} tells {len(got)} changes, and one engine {len(right)}."


def check_progress(world: BrokerWorld) -> Iterable[str]:
    """All brokers are up, and all homes have come to the end."""
    for number, broker in enumerate(world.brokers):
        if broker is None:
            yield f"Broker {number} is down at the end."
        elif broker.home.subscriptions and broker.home.applied < world.scenario.settled - world.scenario.options.tick:
            yield f"Broker {number} has come no further than {broker.home.applied}."


def check_tops(world: BrokerWorld) -> Iterable[str]:
    """When all is quiet, tops are those of one engine."""
    engine = central_engine(world)
    ledger = read_disks(world)
    engine.publish(sorted(ledger.publications, key=lambda row: (row["ts"], row["id"])))
    homes = [broker for broker in world.brokers if broker is not None and broker.home.begun]
    for broker in sorted(homes, key=lambda broker: broker.home.applied):
        at = broker.home.applied
        begun = [
            broker.home.subscriptions[id].row for id in sorted(broker.home.begun & broker.home.subscriptions.keys())
        ]
        engine.advance(max(at, engine.now or 0))
        engine.subscribe(begun)
        right = sorted(tuple(row.values()) for row in engine.top().to_pylist())
        mine = sorted(row for row in broker.home.top() if row[0] in broker.home.subscriptions)
        engine.unsubscribe([row["id"] for row in begun])
        if mine != right:
            yield f"At broker {broker.number} the tops are {mine}, and those of one engine {right}."


def check_promises(world: BrokerWorld) -> Iterable[str]:
    """What was accepted is durable, numbers are told once and in order, and what was sent is on its sender's disk."""
    known = set()
    for number, (disk, audience) in enumerate(zip(world.disks, world.audiences, strict=True)):
        records = whole_records(disk.records)
        published = {fields[1]: fields[3]["id"] for fields in records if fields[0] == "published"}
        known |= {(number, each, id) for each, id in published.items()}
        for id, each in audience.accepted.items():
            if published.get(each) != id:
                yield f"Broker {number} has accepted the publication {id}, and has lost it."
        wanted = {fields[1]["id"] for fields in records if fields[0] == "wanted"}
        for lost in sorted(set(audience.taken) - wanted, key=str):
            yield f"Broker {number} has taken the subscription {lost}, and has lost it."
        numbers = [change[0] for change in audience.changes]
        if numbers != list(range(len(numbers))):
            yield f"Broker {number} tells changes with the numbers {_first_wrong(numbers)}, not one after the other."
    for broker in world.brokers:
        for retainer in retainers(broker):
            for held in retainer.publications():
                if (held.origin, held.number, held.spoken.id) not in known:
                    yield f"The publication {held.spoken.id} is not on the disk of broker {held.origin}, which sent it."


def _first_wrong(numbers: list[int]) -> str:
    wrong = next(i for i, number in enumerate(numbers) if number != i)
    return ", ".join(map(str, numbers[max(wrong - 1, 0) : wrong + 2]))


def retainers(broker: Broker | None) -> list[Retainer]:
    """What a broker holds back."""
    if broker is None:
        return []
    strategy = broker.strategy
    found = [getattr(strategy, "retainer", None), getattr(getattr(strategy, "zone", None), "retainer", None)]
    return [retainer for retainer in found if retainer is not None]


class RunWatcher:
    """What must hold after every event: queues stay within credit, and proxies let in what the true gates do."""

    def __init__(self) -> None:
        self.wrongs: list[str] = []
        self.n_compared = 0

    def __call__(self, world: BrokerWorld, broker: Broker) -> None:
        """Look at the broker that something has happened to, and at the proxies for its subscriptions elsewhere."""
        self._check_credit(world, broker)
        if world.now % world.scenario.options.tick == 0 and world.scenario.options.gates == "staircase":
            self._check_gates(world, broker)

    def _check_credit(self, world: BrokerWorld, broker: Broker) -> None:
        credit = world.scenario.options.credit
        for session in broker.sessions.all():
            for lane in range(1, N_LANES):
                its = session.lanes[lane]
                if max(len(its.unacknowledged), len(its.early)) > credit:
                    self.wrongs.append(f"Broker {broker.number} has more than {credit} frames on the way.")

    def _check_gates(self, world: BrokerWorld, broker: Broker) -> None:
        home = broker.home
        ranked = [id for id in home.begun & home.subscriptions.keys() if home.subscriptions[id].threshold is None]
        if not ranked:
            return
        at = home.applied
        gates = home.gates(at)
        for other in world.brokers:
            for retainer in retainers(other):
                for destination in retainer.destinations.values():
                    for proxy in destination.proxies.values():
                        id = proxy.asked.id
                        if proxy.version < broker.sessions.incarnation * LIFE or (proxy.closes or at + 1) <= at:
                            continue
                        if proxy.home != broker.number or id not in ranked:
                            continue
                        self.n_compared += 1
                        if proxy.asked.narrower(gate_at(proxy.steps, at), gates[id]):
                            found = gate_at(proxy.steps, at)
                            self.wrongs.append(f"At {world.now} a proxy of {id} has {found}, and its gate {gates[id]}.")


def check_run(world: BrokerWorld, watcher: RunWatcher | None = None) -> list[str]:
    """All that does not hold of a run that has come to its end."""
    options = world.scenario.options
    wrongs = list(watcher.wrongs[:3]) if watcher is not None else []
    strategy = strategy_named(options.strategy)
    wrongs += check_promises(world)
    if strategy.exact and (options.gates == "staircase" or not strategy.filters):
        wrongs += check_progress(world)
        if not wrongs:
            wrongs += check_tops(world)
            if options.mode == "watermark":
                wrongs += check_changes(world)
    return wrongs
