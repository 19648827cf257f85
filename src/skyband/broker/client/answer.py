"""What a broker answers and tells, as plain values."""

from typing import Any, NamedTuple, TypeAlias

from skyband.contract.tops import Id


class PublishedRow(NamedTuple):
    """A publication that is durable: its number at the broker, and the time that it was given, in microseconds."""

    id: Id
    number: int
    ts: int


class PublicationRow(NamedTuple):
    """A publication of a broker: its number and its time there, and the row that a client has given."""

    number: int
    ts: int
    row: dict[str, Any]


class BrokerPublications(NamedTuple):
    """Publications of a broker in their order: `cursor` is that of the next one, and `end` that of the next to come."""

    rows: list[PublicationRow]
    cursor: str
    end: str


class RowRefused(NamedTuple):
    """A row that was not taken, and why."""

    id: Id
    reason: str


class HomeTopEntry(NamedTuple):
    """A publication in a top, ranks from 1, and the broker at which it was published."""

    subscription: Id
    rank: int
    publication: Id
    score: float
    origin: str


class BrokerTops(NamedTuple):
    """Tops as of the time `applied`; the changes that follow are those from `cursor` on."""

    rows: list[HomeTopEntry]
    cursor: str
    applied: int


class HomeChange(NamedTuple):
    """A change of a top, with its number at its home, and the broker at which the publication was published."""

    number: int
    subscription: Id
    publication: Id
    op: str
    score: float
    rank: int | None
    at: int
    first: bool
    origin: str


class ChangesTold(NamedTuple):
    """Changes in their order; whoever has taken them in goes on from the cursor."""

    changes: list[HomeChange]
    cursor: str


class TopsTold(NamedTuple):
    """Tops to begin with, in place of all that was told before; `why` says why."""

    rows: list[HomeTopEntry]
    why: str
    cursor: str
    applied: int


class LapseTold(NamedTuple):
    """Answers between two times may have missed so many publications."""

    since: int
    until: int
    n_lost: int


class DeliveryTold(NamedTuple):
    """A publication that a rendezvous broker has found for a subscription here."""

    subscription: Id
    publication: Id


class DrainState(NamedTuple):
    """What a broker that shall leave still has; it is free to go when that is nothing."""

    n_subscriptions: int
    n_publications: int
    is_free: bool


HomeEvent: TypeAlias = ChangesTold | TopsTold | LapseTold | DeliveryTold


def event_in(told: dict[str, Any]) -> HomeEvent | None:
    """What a line tells, None for what this version knows nothing of."""
    if "changes" in told:
        return ChangesTold([HomeChange(**change) for change in told["changes"]], told["cursor"])
    if "tops" in told:
        return TopsTold(top_entries(told["tops"]), told["why"], told["cursor"], told["applied"])
    if "lapsed" in told:
        return LapseTold(**told["lapsed"])
    if "heard" in told:
        return DeliveryTold(**told["heard"])
    return None


def top_entries(rows: list[dict[str, Any]]) -> list[HomeTopEntry]:
    """The rows of tops."""
    return [HomeTopEntry(**row) for row in rows]
