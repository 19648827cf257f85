"""Beginning to listen: what comes first, worked out between two steps, so that what follows neither lacks nor repeats.

Without an id to resume from that is a snapshot of the tops. With one it is what has changed since, from the ring; where
the ring does not reach back so far, or the id is of another epoch, a `reset` and then a snapshot.
"""

from collections.abc import Iterable
from typing import Any

from skyband.contract.tops import Id
from skyband.server.push.listener import AttachedTo
from skyband.server.push.net import RankedTop, difference, ranked_top, top_before
from skyband.server.push.push_event import (
    PushEvent,
    changes_event,
    dumps,
    ready_event,
    reset_event,
    snapshot_events,
)
from skyband.server.push.push_request import PushRequest
from skyband.server.stream.numbered import NumberedStep, StepId
from skyband.server.stream.served import NotRegistered, ServedStream


class NoLatest(ValueError):
    """The latest top was asked for where there are no tops."""


def attach(stream: ServedStream, request: PushRequest) -> AttachedTo:
    """What one is told who begins to listen now; one who names what is not there is refused."""
    if request.mode == "latest" and not stream.family.answers_stand:
        raise NoLatest(f"Subscriptions of the family {stream.family.name} have no tops: use the mode every.")
    ids = None if request.names is None else frozenset(_named(stream, request.names, request.last is not None))
    seen = [id for id in (stream.registry if ids is None else ids) if request.sees(id)]
    missed = None if request.last is None else missed_steps(stream, request.last)
    whole = not isinstance(missed, list)
    # One who resumes in the mode `every` needs no tops, and working out those of many takes long.
    tops = stream.top([id for id in seen if id in stream.registry]) if whole or request.mode == "latest" else {}
    ranked = {id: ranked_top(top) for id, top in tops.items()} if request.mode == "latest" else {}
    events = _first_events(stream, request, ids, tops, missed)
    return AttachedTo(ids, stream.last, [*events, ready_event(stream.last, stream.engine.now)], ranked)


def _named(stream: ServedStream, names: Iterable[str], resumes: bool) -> list[Id]:
    """The ids that are meant. One who resumes may name a subscription that has ended meanwhile."""
    found: list[Id] = []
    for name in dict.fromkeys(names):
        id = stream.registry.find(name)
        if id is None and not resumes:
            raise NotRegistered(f"There is no subscription {name!r} in the stream {stream.name}.")
        found += [id] if id is not None else _spellings(name)
    return found


def _spellings(name: str) -> list[Id]:
    """The ids that are written so: which type ids have cannot be told from one that has ended."""
    return [name, int(name)] if name.removeprefix("-").isdecimal() and name.isascii() else [name]


def _first_events(
    stream: ServedStream,
    request: PushRequest,
    ids: frozenset[Id] | None,
    tops: dict[Id, list[dict[str, Any]]],
    missed: list[NumberedStep] | str | None,
) -> list[PushEvent]:
    if missed is None:
        return list(snapshot_events(stream.last, tops))
    if isinstance(missed, str):
        return [reset_event(missed), *snapshot_events(stream.last, tops)]
    if request.mode == "latest":
        return _netted(stream, request, ids, tops, missed)
    found = []
    for step in missed:
        heard = step.heard_by(ids, request.prefix)
        ended = [id for id in step.ended if (ids is None or id in ids) and request.sees(id)]
        if heard or ended:
            found.append(changes_event(step.id, [text for texts in heard.values() for text in texts], ended))
    return found


def missed_steps(stream: ServedStream, last: str) -> list[NumberedStep] | str:
    """The steps after an id, or why they cannot be told."""
    seen = StepId.parse(last)
    if seen is None:
        return "That is no id of a step."
    if seen.epoch != stream.epoch:
        return "The id is of another epoch: the stream was opened anew, or restored from a backup."
    if seen.number > stream.step:
        return "The id is of a step that there has not been."
    missed = stream.ring.since(seen.number)
    return "The id is too old: the changes since are no longer kept." if missed is None else missed


def _netted(
    stream: ServedStream,
    request: PushRequest,
    ids: frozenset[Id] | None,
    tops: dict[Id, list[dict[str, Any]]],
    missed: list[NumberedStep],
) -> list[PushEvent]:
    """One event with the net difference of all tops since."""
    changed: dict[Id, list[dict[str, Any]]] = {}
    for step in missed:
        for row in step.rows_for(ids, request.prefix).to_pylist():
            changed.setdefault(row["subscription"], []).append(row)
    rows: list[dict[str, Any]] = []
    for id, its in changed.items():
        now: RankedTop = ranked_top(tops.get(id, ()))
        before, firsts = top_before(its, now)
        rows += difference(id, before, now, firsts, stream.engine.now)
    gone = dict.fromkeys(id for step in missed for id in step.ended if ids is None or id in ids)
    ended = [id for id in gone if id not in stream.registry and request.sees(id)]
    return [changes_event(stream.last, map(dumps, rows), ended, netted=True)] if rows or ended else []
