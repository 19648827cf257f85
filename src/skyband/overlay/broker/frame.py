"""What brokers say to each other: small immutable frames, each counted in one column and measured in bytes.

A size is that of the fields as plain binary: eight bytes for each number, and four more than its UTF-8 for each text,
after a header of `HEADER` bytes. What a transport adds to that is not counted.
"""

from typing import Any, NamedTuple, TypeAlias

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription, Spoken

HEADER = 48
"""Kind, schema and chart, source, incarnation, session, lane, number, acknowledged numbers and length."""

SUBSCRIBING, PUBLISHING, DELIVERING, UPDATING = "subscribing", "publishing", "delivering", "updating"
RECALLING, UPKEEP = "recalling", "upkeep"
COLUMNS = (SUBSCRIBING, PUBLISHING, DELIVERING, UPDATING, RECALLING, UPKEEP)
"""What messages are counted under: the paper's four columns, recalls, and what keeps the protocol going."""

CONTROL, FLOW, HOMEWARD = 0, 1, 2
"""Lanes, each in order for itself: what is told of subscriptions, publications to be matched, and those that match."""

Steps = tuple[tuple[int, float], ...]

LIFE = 1 << 32
"""Versions of proxies count on from the incarnation of their home times this."""


class Publication(NamedTuple):
    """What was published: the broker it was published at, its number there, and how subscriptions read it.

    One that was taken back says when. It travels once more then, so that whoever has it hears of that.
    """

    origin: int
    number: int
    spoken: Spoken
    row: dict[str, Any]
    size: int
    retracted: int | None = None

    @property
    def key(self) -> tuple[int, int]:
        """What no other publication has."""
        return self[:2]

    @property
    def ts(self) -> int:
        """When it was published."""
        return self.spoken.ts

    @property
    def since(self) -> int:
        """When it was published, or taken back if it was: what is said to be complete up to then has it so."""
        return self.ts if self.retracted is None else self.retracted


class PublicationFrame(NamedTuple):
    """A publication on its way; `rounds` are those of gossip that are left.

    One that `doubts` a subscription is the best of several that an old lease is about to let in: is it still right?
    """

    publication: Publication
    column: str
    rounds: int = 0
    doubts: Id | None = None


class Proxy(NamedTuple):
    """What stands for a subscription elsewhere: its score, and its gate by the time from which each step holds.

    A Boolean one has its threshold for ever. One with a lease lets nothing in from `closes` on: its home knows that.
    One that `widens` asks for more than the one before it, and its sender waits until that is sent.
    Versions of a later life of the home are larger than all of an earlier one, whose last steps may have been lost.
    """

    asked: RoutedSubscription
    home: int
    version: int
    steps: Steps
    closes: int | None
    column: str
    widens: bool = True


class Withdraw(NamedTuple):
    """A subscription is not wanted here any more."""

    id: Id
    column: str = SUBSCRIBING


class Recall(NamedTuple):
    """Asks for so many of the best that were held back from a subscription."""

    id: Id
    n: int


class Silence(NamedTuple):
    """All that was published up to a time, and was wanted by what the receiver has asked for so far, has been sent.

    `asked` is how many of the receiver's widening requests are already met.
    """

    until: int
    asked: Any


class Acknowledge(NamedTuple):
    """All homes behind the sender, in the tree, have taken their steps up to a time: the least over the subtree."""

    until: int


class Want(NamedTuple):
    """A home that was away for too long wants to know what was given up that it may have needed."""

    since: int
    until: int


class GivenUp(NamedTuple):
    """So many publications of the sender were given up before all homes had acknowledged them."""

    since: int
    n_lost: int


class Register(NamedTuple):
    """A subscription on its way to the broker that shall answer it, for the one that is to be told."""

    row: dict[str, Any]
    subscriber: int
    target: int


class Deregister(NamedTuple):
    """The same broker need not answer it any more."""

    id: Id
    target: int


class Forwarded(NamedTuple):
    """A publication on its way through the overlay to one broker."""

    publication: Publication
    target: int


class Delivered(NamedTuple):
    """A publication that entered a top at another broker than that of the subscriber."""

    subscription: Id
    publication: Publication


class Hello(NamedTuple):
    """Who speaks, by its incarnation; `knows` is the incarnation of the receiver that it knows, and 0 if none."""

    knows: int


Frame: TypeAlias = (
    PublicationFrame
    | Proxy
    | Withdraw
    | Recall
    | Silence
    | Acknowledge
    | Want
    | GivenUp
    | Register
    | Deregister
    | Forwarded
    | Delivered
    | Hello
)

_COLUMNS: dict[type[Any], str] = {
    Recall: RECALLING,
    Silence: UPKEEP,
    Acknowledge: UPKEEP,
    Want: UPKEEP,
    GivenUp: UPKEEP,
    Register: SUBSCRIBING,
    Deregister: SUBSCRIBING,
    Forwarded: PUBLISHING,
    Delivered: DELIVERING,
    Hello: UPKEEP,
}


class Envelope(NamedTuple):
    """A frame between two brokers, or none where numbers are only acknowledged; numbers count by lane from 1.

    `chart` is the version of the sender's.
    """

    source: int
    incarnation: int
    target_incarnation: int
    lane: int
    number: int
    frame: Frame | None
    acknowledged: tuple[int, int, int]
    chart: int


def column_of(frame: Frame | None) -> str:
    """What a frame is counted under."""
    if frame is None:
        return UPKEEP
    return _COLUMNS.get(type(frame)) or frame.column  # type: ignore[union-attr]  # what is not in the table has its own


def size_of(envelope: Envelope) -> int:
    """The bytes of an envelope with its frame."""
    frame = envelope.frame
    return HEADER if frame is None else HEADER + _body(frame)


def _body(frame: Frame) -> int:
    if isinstance(frame, PublicationFrame):
        doubts = 0 if frame.doubts is None else fields_size(frame.doubts)
        return frame.publication.size + 16 + doubts
    if isinstance(frame, Forwarded):
        return frame.publication.size + 16
    if isinstance(frame, Delivered):
        return frame.publication.size + fields_size(frame.subscription)
    if isinstance(frame, Proxy):
        return fields_size(frame.asked.row) + 16 * len(frame.steps) + 32
    return sum(fields_size(field) for field in frame)


def fields_size(value: Any) -> int:
    """The bytes of a value as plain fields; names of columns are sent once for each link and not counted."""
    if isinstance(value, str):
        return 4 + len(value.encode())
    if isinstance(value, dict):
        return sum(fields_size(each) for each in value.values())
    if isinstance(value, list | tuple):
        return 4 + sum(fields_size(each) for each in value)
    return 8
