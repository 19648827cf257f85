"""What is pushed: events with a kind, the id to resume from and data, written for either way of carrying them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from skyband.contract.tops import Id
from skyband.server.stream.numbered import StepId

PushKind = Literal["snapshot", "ready", "changes", "reset", "closing", "beat"]
# How many tops one snapshot event has at most: one of all tops of a stream might be larger than a reader's buffer.
TOPS_PER_EVENT = 200
# How many events are kept as they were written, for others who are sent the same in a moment.
SHARED = 16


class PushEvent(NamedTuple):
    """One event; whoever has seen it, and has an id, has seen everything up to that step."""

    kind: PushKind
    data: str
    id: str | None = None

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        return len(self.data) + 64

    def server_sent(self) -> bytes:
        """The event as text/event-stream has it. A beat has no data: browsers note its id and tell nobody."""
        return _server_sent(self)

    def message(self) -> str:
        """The event as one message of a WebSocket."""
        return f'{{"event":"{self.kind}","id":{json.dumps(self.id)},"data":{self.data or "null"}}}'


@lru_cache(maxsize=SHARED)
def _server_sent(event: PushEvent) -> bytes:
    if event.kind == "beat":
        return f"id: {event.id}\n\n".encode() if event.id else b":\n\n"
    named = f"id: {event.id}\n" if event.id else ""
    return f"event: {event.kind}\n{named}data: {event.data}\n\n".encode()


def changes_event(id: StepId, texts: Iterable[str], ended: Iterable[Id] = (), netted: bool = False) -> PushEvent:
    """The rows of a step, each a JSON object, and the subscriptions that are no more."""
    gone = f',"ended":{json.dumps(list(ended))}' if ended else ""
    net = ',"net":true' if netted else ""
    return PushEvent("changes", f'{{"step":"{id}","changes":[{",".join(texts)}]{gone}{net}}}', str(id))


def snapshot_events(id: StepId, tops: Mapping[Id, list[dict[str, Any]]]) -> Iterator[PushEvent]:
    """Whole tops, in parts. They have no id: whoever loses the connection between them begins anew."""
    listed = list(tops.items())
    for start in range(0, len(listed), TOPS_PER_EVENT):
        part = [{"subscription": key, "top": top} for key, top in listed[start : start + TOPS_PER_EVENT]]
        yield PushEvent("snapshot", dumps({"step": str(id), "tops": part}))


def ready_event(id: StepId, now: int | None) -> PushEvent:
    """From here on everything is news."""
    return PushEvent("ready", dumps({"step": str(id), "now": now}), str(id))


def reset_event(reason: str) -> PushEvent:
    """What was told before is to be forgotten: it cannot be gone on with."""
    return PushEvent("reset", dumps({"reason": reason}))


def closing_event(reason: str, detail: str, resumable: bool) -> PushEvent:
    """The last event of a connection."""
    return PushEvent("closing", dumps({"reason": reason, "detail": detail, "resumable": resumable}))


def dumps(value: Any) -> str:
    """A value as JSON, with infinite numbers as text, for which JSON has no number."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def finite(value: Any) -> Any:
    """A value of JSON in which no number is infinite."""
    if isinstance(value, float) and value - value != 0:
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, list | tuple) else value
