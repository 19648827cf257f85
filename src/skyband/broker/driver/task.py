"""What is handed to the core of a broker, and what comes of it."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from skyband.broker.wire.envelope import Parcel
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.event import Happening, Keep, Sync, Tell, Timer, Trim, Write


class ClientRequest:
    """What a client wants: an event, under a key by which it may ask again, and the answer when it is durable."""

    __slots__ = ("answer", "done", "event", "key")

    def __init__(self, event: Happening, key: str | None = None) -> None:
        self.event, self.key = event, key
        self.answer: dict[str, Any] = {}
        self.done: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        # Whoever asked may be gone by then.
        self.done.add_done_callback(lambda done: done.cancelled() or done.exception())


class Step(NamedTuple):
    """An event for the core, perhaps on behalf of a client."""

    event: Happening
    request: ClientRequest | None = None


class CoreRing(NamedTuple):
    """A timer of the core that may be due: time does not pass as fast here as elsewhere."""

    at: int
    timer: str


class Arrival(NamedTuple):
    """A parcel for this broker, from a peer, which may have passed it on."""

    peer: int
    parcel: Parcel


class CoreLook(NamedTuple):
    """Something to be read off the core between two events."""

    read: Callable[[Broker], Any]
    done: "asyncio.Future[Any]"


Task: TypeAlias = Step | CoreRing | Arrival | CoreLook


class PackedSend(NamedTuple):
    """A parcel to be sent to a broker."""

    target: int
    parcel: Parcel


Effect: TypeAlias = PackedSend | Write | Sync | Keep | Trim | Timer | Tell


class CoreOutcome(NamedTuple):
    """What came of a task: effects to be carried out, the answer of a look, or what went wrong."""

    task: Task
    effects: list[Effect]
    value: Any = None
    error: Exception | None = None
