"""What happens to a broker, and what it wants done: the only two things that pass between it and the world.

A driver hands events in and carries effects out, in order. The broker has no clock, no socket, no file and no source of
chance but a seed, so that the same events give the same effects.
"""

from typing import Any, NamedTuple, TypeAlias

from skyband.contract.tops import Id
from skyband.overlay.broker.frame import Envelope


class Started(NamedTuple):
    """The broker begins, with what it finds on its disk: all that it ever synced, and perhaps more, perhaps torn."""

    records: tuple[bytes, ...] = ()


class Offered(NamedTuple):
    """A client publishes a row without a time: it gets that of the broker."""

    row: dict[str, Any]


class Subscribed(NamedTuple):
    """A client subscribes."""

    row: dict[str, Any]


class Unsubscribed(NamedTuple):
    """A client withdraws a subscription."""

    id: Id


class Retracted(NamedTuple):
    """A client takes back what was published here before it expires."""

    id: Id


class Resumed(NamedTuple):
    """The subscribers here have heard of changes up to this number, and want those after it."""

    heard: int


class Draining(NamedTuple):
    """The broker shall leave: it takes no publications and subscriptions any more, and says what it still has."""


class Received(NamedTuple):
    """An envelope has come, perhaps late, perhaps again, perhaps from another life of its sender."""

    envelope: Envelope


class Rang(NamedTuple):
    """A timer that the broker has set."""

    timer: str


class Synced(NamedTuple):
    """All that was written before this sync was asked for is durable."""

    number: int


Happening: TypeAlias = (
    Started | Offered | Retracted | Subscribed | Unsubscribed | Resumed | Draining | Received | Rang | Synced
)


class Send(NamedTuple):
    """Hand an envelope to the network, which may lose it."""

    target: int
    envelope: Envelope


class Write(NamedTuple):
    """Append a record to the disk; a crash before the next sync may lose or tear it."""

    record: bytes


class Sync(NamedTuple):
    """Make what was written durable, and say so by `Synced`."""

    number: int


class Keep(NamedTuple):
    """Cut the disk off after so many records: what follows is torn, or comes after what is."""

    n_records: int


class Trim(NamedTuple):
    """Forget so many first records of the disk: the one after them, which is durable, says all that they do."""

    n_records: int


class Timer(NamedTuple):
    """Ring at this time."""

    at: int
    timer: str


class Tell(NamedTuple):
    """Say something to the clients of this broker."""

    what: "Told"


class Accepted(NamedTuple):
    """A publication is durable: its number, and its id."""

    number: int
    id: Id


class TakenBack(NamedTuple):
    """A retraction is durable: the number of the publication, and its id."""

    number: int
    id: Id


class Taken(NamedTuple):
    """A subscription is durable."""

    id: Id


class Refused(NamedTuple):
    """What a client wanted cannot be done, or what a broker said cannot be taken; the sentence says why."""

    reason: str


class Changed(NamedTuple):
    """Changes of the tops of this broker, numbered from `first` on; durable when they are told."""

    first: int
    rows: tuple[tuple[Any, ...], ...]


class Heard(NamedTuple):
    """A delivery that a rendezvous broker found for a subscriber here."""

    subscription: Id
    id: Id


class Lapsed(NamedTuple):
    """The home here was away for too long: its answers between two times may have missed so many publications.

    So many were given up by others before all homes had acknowledged them, whether they would have mattered or not.
    """

    since: int
    until: int
    n_lost: int


class Drained(NamedTuple):
    """What a broker that shall leave still has; it is free to go when that is nothing and nothing is on its way."""

    n_subscriptions: int
    n_publications: int
    is_free: bool


Told: TypeAlias = Accepted | TakenBack | Taken | Refused | Changed | Heard | Lapsed | Drained
Effect: TypeAlias = Send | Write | Sync | Keep | Trim | Timer | Tell
