"""What happens to a broker of a zone, and what it wants done: all that passes between it and the world."""

from typing import NamedTuple, TypeAlias

from skyband.contract.tops import Id
from skyband.overlay.broker.event import Offered, Refused, Subscribed, Unsubscribed
from skyband.overlay.network.paint_server import Sighting
from skyband.table.answer_rows import AnswerRows


class Arrived(NamedTuple):
    """Bytes have come from another broker."""

    source: int
    data: bytes


class Divide(NamedTuple):
    """A new broker shall take a part of this one's region."""

    newcomer: int


class Retire(NamedTuple):
    """This broker shall leave the network."""


class Pass(NamedTuple):
    """Hand bytes to the link to another broker."""

    target: int
    data: bytes


class Stands(NamedTuple):
    """A client's subscription is answered, as of an event; its changes go by its key from now on."""

    key: int
    id: Id
    event: int


class Ordered(NamedTuple):
    """A change has its place in the order of all events."""

    event: int
    sighting: Sighting


class TopsMoved(NamedTuple):
    """How the lists of a gateway have changed by an event, by key."""

    event: int
    changes: AnswerRows


ZoneEvent: TypeAlias = Offered | Subscribed | Unsubscribed | Arrived | Divide | Retire
ZoneEffect: TypeAlias = Pass | Stands | Ordered | TopsMoved | Refused
