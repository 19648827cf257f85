"""What must hold of every run, by number: a run that has come to its end, compared with one central engine.

Numbers 4, 8 and 9 have been watched all along (`skyband.overlay.simulate.watcher`). Numbers 5, 6 and 10 take a second
run of the same scenario and are in `skyband.overlay.simulate.twin`. Number 7 is about painted messages, which these
brokers do not carry, and number 12 is that brokers which are wrong on purpose are found.
"""

from collections.abc import Callable, Collection, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from skyband.overlay.broker.record import whole_records
from skyband.overlay.simulate.central import central_changes, central_engine, read_disks
from skyband.overlay.simulate.count import check_counts
from skyband.overlay.simulate.gossip_bound import check_gossip
from skyband.overlay.simulate.watcher import RunWatcher, retainers
from skyband.overlay.simulate.world import BrokerWorld
from skyband.overlay.strategy import strategy_named

MOST_SHOWN = 3


class Property(NamedTuple):
    """Something that must hold of a run, by its number; `check` yields a sentence for each way in which it does not."""

    number: int
    name: str
    check: Callable[[BrokerWorld, RunWatcher], Iterable[str]]


def promises_all(world: BrokerWorld) -> bool:
    """Whether the brokers of a run promise to answer as one engine does."""
    options = world.scenario.options
    strategy = strategy_named(options.strategy)
    return strategy.exact and (options.gates == "staircase" or not strategy.filters)


def check_changes(world: BrokerWorld) -> Iterable[str]:
    """With watermarks, what every home tells is what one engine tells, row for row, up to the time it has come to.

    A home that has lapsed has said so, and what it tells need not be that.
    """
    if world.scenario.options.mode != "watermark":
        return
    ledger = read_disks(world)
    wanted = central_changes(world, ledger)
    end = min(broker.home.applied for broker in world.brokers if broker is not None)
    for number, audience in enumerate(world.audiences):
        if audience.lapses:
            continue
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
    for number, broker in enumerate(world.brokers[: len(world.members)]):
        if broker is None:
            yield f"Broker {number} is down at the end."
        elif broker.home.subscriptions and broker.home.applied < world.scenario.settled - world.scenario.options.tick:
            yield f"Broker {number} has come no further than {broker.home.applied}."


def check_tops(world: BrokerWorld, publications: list[dict[str, Any]] | None = None) -> Iterable[str]:
    """When all is quiet, tops are those of one engine, given what is on the disks or what is known to be live."""
    engine = central_engine(world)
    rows = read_disks(world).left if publications is None else publications
    engine.publish(sorted(rows, key=lambda row: (row["ts"], row["id"])))
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
        records = whole_records(disk.history)
        published = {fields[1]: fields[3]["id"] for fields in records if fields[0] == "published"}
        known |= {(number, each, id) for each, id in published.items()}
        retracted = {fields[1] for fields in records if fields[0] == "retracted"}
        for id, each in audience.taken_back.items():
            if each not in retracted:
                yield f"Broker {number} has taken the publication {id} back, and has lost that."
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
    yield from check_order(world)


def check_order(world: BrokerWorld) -> Iterable[str]:
    """The publications of a broker are numbered 1, 2, 3 and so on, by times that never go back, and so accepted."""
    for number, (disk, audience) in enumerate(zip(world.disks, world.audiences, strict=True)):
        published = [fields[1:3] for fields in whole_records(disk.history) if fields[0] == "published"]
        if [each[0] for each in published] != list(range(1, len(published) + 1)):
            yield f"Broker {number} does not number its publications one after the other."
        if any(after[1] < before[1] for before, after in pairwise(published)):
            yield f"Broker {number} has publications whose times go back."
        accepted = list(audience.accepted.values())
        if accepted != sorted(accepted):
            yield f"Broker {number} accepts publications in another order than it numbers them."


def _first_wrong(numbers: list[int]) -> str:
    wrong = next(i for i, number in enumerate(numbers) if number != i)
    return ", ".join(map(str, numbers[max(wrong - 1, 0) : wrong + 2]))


COUNTS = Property(11, "counts", check_counts)
PROPERTIES = (
    Property(3, "durability", lambda world, watcher: check_promises(world)),
    Property(4, "gates", lambda world, watcher: watcher.wrong_gates[:MOST_SHOWN]),
    Property(8, "gossip", check_gossip),
    Property(9, "credit", lambda world, watcher: watcher.wrong_queues[:MOST_SHOWN]),
    COUNTS,
)
EXACT_PROPERTIES = (
    Property(0, "progress", lambda world, watcher: check_progress(world)),
    Property(1, "tops", lambda world, watcher: check_tops(world)),
    Property(2, "changes", lambda world, watcher: check_changes(world)),
)
"""Those that hold where brokers promise to answer as one engine does; one that fails ends the list."""


def check_run(world: BrokerWorld, watcher: RunWatcher | None = None, left_out: Collection[Property] = ()) -> list[str]:
    """All that does not hold of a run that has come to its end, with the number of each property."""
    watcher = RunWatcher() if watcher is None else watcher
    wrongs = [wrong for each in PROPERTIES if each not in left_out for wrong in _named(each, world, watcher)]
    for each in EXACT_PROPERTIES if promises_all(world) else ():
        if wrongs:
            break
        wrongs += _named(each, world, watcher)
    return wrongs


def _named(each: Property, world: BrokerWorld, watcher: RunWatcher) -> list[str]:
    number = f"{each.number} ({each.name})" if each.number else each.name
    return [f"Property {number}: {wrong}" for wrong in each.check(world, watcher)]
