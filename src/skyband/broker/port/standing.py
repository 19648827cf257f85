"""How things stand at a broker: its tops, and a status that says what there is to watch."""

import time
from typing import Any, NamedTuple

from skyband.broker.driver.driver import Driver
from skyband.broker.driver.naming import broker_in, id_in
from skyband.broker.port.cursor import Cursor
from skyband.contract.tops import Id
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.retainer import Retainer
from skyband.overlay.strategy.proxy_tree import ProxyTree


class StandingHomeTops(NamedTuple):
    """Tops as of a number of changes, and the time up to which they are answered."""

    rows: list[dict[str, Any]]
    n_changes: int
    applied: int


async def tops_of(driver: Driver) -> StandingHomeTops:
    """The tops of the clients of this broker, all of them durable."""
    mine = f"{driver.place.name}/"

    def read(broker: Broker) -> StandingHomeTops:
        home = broker.home
        names = [] if not home.has_engine else home.engine.top().column_names
        rows = [dict(zip(names, row, strict=True)) for row in home.top() if str(row[0]).startswith(mine)]
        rows = [row | by_id(row["subscription"], row["publication"]) for row in rows]
        return StandingHomeTops(rows, home.n_changes, home.applied)

    return await driver.look_durably(read)


def by_id(subscription: Id, publication: Id) -> dict[str, Any]:
    """A subscription, and a publication with the broker at which it was published, as clients call them."""
    return {"subscription": id_in(subscription), "publication": id_in(publication), "origin": broker_in(publication)}


def cursor_at(driver: Driver, number: int) -> str:
    """The cursor of a number of changes of this home."""
    return str(Cursor(driver.place.name, driver.journal.name, number))


async def status_of(driver: Driver) -> dict[str, Any]:
    """All that there is to know of a broker and of its links."""
    core = await driver.look(_core_status)
    chart, place, clock = driver.chart, driver.place, driver.clock
    return {
        "broker": place.name,
        "chart": {"version": chart.version, "digest": chart.digest, "brokers": list(chart.names)},
        "strategy": chart.options.strategy,
        "mode": chart.options.mode,
        "is_live": core.pop("is_live"),
        "uptime_seconds": round(time.time() - driver.began, 3),
        "clock": {"now": clock.last, "offset_us": clock.offset, "is_off": clock.is_off},
        "home": core.pop("home") | {"lag_us": _lag(core["applied"], clock.last, core["n_subscriptions"])},
        "changes": {
            "first": driver.ring.first,
            "next": driver.ring.next,
            "cursor": cursor_at(driver, driver.ring.next),
        },
        "journal": {
            "name": driver.journal.name,
            "records": driver.journal.n_records,
            "bytes": driver.journal.n_bytes,
            "commits": driver.journal.n_commits,
            "trouble": driver.trouble,
        },
        "queues": {
            "tasks": driver.n_queued,
            "unsynced": len(driver.outstanding),
            "delayed": core.pop("delayed"),
            "is_held_up": driver.is_held_up,
        },
        "proxies": core.pop("proxies"),
        "covered": core.pop("covered"),
        "engine": core.pop("engine"),
        "incarnation": core.pop("incarnation"),
        "links": [_link_status(driver, peer, core["sessions"].get(peer, {})) for peer in chart.peers_of(place.number)],
        "sent": _sent(driver),
    }


def _core_status(broker: Broker) -> dict[str, Any]:
    home = broker.home
    sessions = {each.peer: _session_status(each, broker.options.credit) for each in broker.sessions.all()}
    n_subscriptions = len(broker.registrations.known)
    return {
        "is_live": broker.is_live,
        "incarnation": broker.sessions.incarnation,
        "applied": home.applied,
        "n_subscriptions": n_subscriptions,
        "home": {
            "applied": max(home.applied, 0),
            "subscriptions": n_subscriptions,
            "publications": len(broker.origin.own),
            "changes": home.n_changes,
        },
        "delayed": broker.origin.n_delayed,
        "proxies": sum(len(held.proxies) for each in _retainers(broker) for held in each.destinations.values()),
        "covered": _n_covered(broker),
        "engine": {name: int(n) for name, n in home.engine.counters.items()} if home.has_engine else {},
        "sessions": sessions,
    }


def _session_status(session: Any, credit: int) -> dict[str, Any]:
    flow, homeward = session.lanes[1:]
    return {
        "incarnation": session.incarnation,
        "unacknowledged": sum(len(lane.unacknowledged) for lane in session.lanes),
        "waiting": session.n_waiting,
        "credit_left": credit - max(len(flow.unacknowledged), len(homeward.unacknowledged)),
        "sequence": {
            "sent": [lane.n_sent for lane in session.lanes],
            "taken": [lane.n_taken for lane in session.lanes],
        },
    }


def _link_status(driver: Driver, peer: int, session: dict[str, Any]) -> dict[str, Any]:
    assert driver.links is not None
    counts = driver.links.counts(peer)
    return {
        "peer": driver.chart.places[peer].name,
        "is_connected": counts.is_connected,
        "connections": counts.n_connected,
        "frames_in": counts.parcels_in,
        "frames_out": counts.parcels_out,
        "bytes_in": counts.bytes_in,
        "bytes_out": counts.bytes_out,
        "dropped": counts.n_dropped,
        "bad": counts.n_bad,
        "queued_bytes": counts.queued_bytes,
        "trouble": counts.last_trouble,
    } | session


def _sent(driver: Driver) -> list[dict[str, Any]]:
    traffic = driver.traffic
    return [
        {"peer": driver.chart.places[peer].name, "kind": kind, "frames": n, "bytes": traffic.bytes[peer, kind]}
        for (peer, kind), n in sorted(traffic.frames.items())
    ]


def _retainers(broker: Broker) -> list[Retainer]:
    strategy = broker.strategy
    found = [getattr(strategy, "retainer", None), getattr(getattr(strategy, "zone", None), "retainer", None)]
    return [each for each in found if each is not None]


def _n_covered(broker: Broker) -> int:
    proxies = getattr(broker.strategy, "proxies", None)
    return proxies.n_covered if isinstance(proxies, ProxyTree) else 0


def _lag(applied: int, now: int, n_subscriptions: int) -> int:
    return max(now - applied, 0) if n_subscriptions else 0
