"""The bodies of frames: JSON arrays, one kind of array for each kind of frame, checked value by value when read.

A publication travels as its row, and a proxy with the row of its subscription. The broker that reads them makes of
rows what their family makes of them, to the last bit as the sender did.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from skyband.broker.wire.header import BadFrame
from skyband.broker.wire.value import (
    MOST_ROUNDS,
    column_named,
    flag,
    id_of,
    maybe_whole,
    met_of,
    row_of,
    shown,
    steps_of,
    whole,
)
from skyband.covering.routed import RoutedFamily
from skyband.overlay.broker.frame import (
    Acknowledge,
    Delivered,
    Deregister,
    Forwarded,
    Frame,
    GivenUp,
    Hello,
    Proxy,
    Publication,
    PublicationFrame,
    Recall,
    Register,
    Silence,
    Want,
    Withdraw,
    fields_size,
)
from skyband.table import Settings

NOTHING = 0
_TAKEN_BACK_OR_NOT = 4


class FrameFamily(NamedTuple):
    """What rows are read by, and the names of the brokers: what is published at one has an id that begins with it."""

    routing: RoutedFamily
    settings: Settings
    names: tuple[str, ...]

    def publication(self, given: Any) -> Publication:
        """A publication from its values."""
        origin, number, row, retracted = _fields(given, _TAKEN_BACK_OR_NOT)
        row = row_of(row)
        spoken = self.routing.spoken(row, self.settings)
        if not str(spoken.id).startswith(f"{self.names[self.broker(origin)]}/"):
            raise BadFrame(f"The publication {shown(spoken.id)} is not one of broker {origin}.")
        return Publication(origin, whole(number, 1), spoken, row, fields_size(row), maybe_whole(retracted))

    def broker(self, given: Any) -> int:
        """The number of a broker."""
        return whole(given, 0, len(self.names) - 1)


class FrameKind(NamedTuple):
    """One kind of frame: its number in headers, its values, and how it is made of them."""

    number: int
    frame: type[Any]
    values: Callable[[Any], list[Any]]
    make: Callable[[FrameFamily, Any], Frame]


def _publication_values(each: Publication) -> list[Any]:
    return [each.origin, each.number, each.row, each.retracted]


def _make_publication_frame(family: FrameFamily, given: Any) -> Frame:
    publication, column, rounds, doubts = _fields(given, 4)
    doubted = None if doubts is None else id_of(doubts)
    return PublicationFrame(
        family.publication(publication), column_named(column), whole(rounds, 0, MOST_ROUNDS), doubted
    )


def _make_proxy(family: FrameFamily, given: Any) -> Frame:
    row, home, version, steps, closes, column, widens = _fields(given, 7)
    asked = family.routing.subscription(row_of(row), family.settings)
    closes = maybe_whole(closes)
    return Proxy(
        asked, family.broker(home), whole(version, 0), steps_of(steps), closes, column_named(column), flag(widens)
    )


def _make_withdraw(family: FrameFamily, given: Any) -> Frame:
    id, column = _fields(given, 2)
    return Withdraw(id_of(id), column_named(column))


def _make_recall(family: FrameFamily, given: Any) -> Frame:
    id, n = _fields(given, 2)
    return Recall(id_of(id), whole(n, 0))


def _make_silence(family: FrameFamily, given: Any) -> Frame:
    until, asked = _fields(given, 2)
    return Silence(whole(until), met_of(asked))


def _make_acknowledge(family: FrameFamily, given: Any) -> Frame:
    (until,) = _fields(given, 1)
    return Acknowledge(whole(until))


def _make_want(family: FrameFamily, given: Any) -> Frame:
    since, until = _fields(given, 2)
    return Want(whole(since), whole(until))


def _make_given_up(family: FrameFamily, given: Any) -> Frame:
    since, n_lost = _fields(given, 2)
    return GivenUp(whole(since), whole(n_lost, 0))


def _make_register(family: FrameFamily, given: Any) -> Frame:
    row, subscriber, target = _fields(given, 3)
    row = row_of(row)
    # It is read again by the broker that answers it, which relies on that.
    family.routing.subscription(row, family.settings)
    return Register(row, family.broker(subscriber), family.broker(target))


def _make_deregister(family: FrameFamily, given: Any) -> Frame:
    id, target = _fields(given, 2)
    return Deregister(id_of(id), family.broker(target))


def _make_forwarded(family: FrameFamily, given: Any) -> Frame:
    publication, target = _fields(given, 2)
    return Forwarded(family.publication(publication), family.broker(target))


def _make_delivered(family: FrameFamily, given: Any) -> Frame:
    subscription, publication = _fields(given, 2)
    return Delivered(id_of(subscription), family.publication(publication))


def _make_hello(family: FrameFamily, given: Any) -> Frame:
    (knows,) = _fields(given, 1)
    return Hello(whole(knows, 0))


KINDS = (
    FrameKind(
        1,
        PublicationFrame,
        lambda frame: [_publication_values(frame.publication), *frame[1:]],
        _make_publication_frame,
    ),
    FrameKind(2, Proxy, lambda frame: [frame.asked.row, *frame[1:]], _make_proxy),
    FrameKind(3, Withdraw, list, _make_withdraw),
    FrameKind(4, Recall, list, _make_recall),
    FrameKind(5, Silence, list, _make_silence),
    FrameKind(6, Acknowledge, list, _make_acknowledge),
    FrameKind(7, Want, list, _make_want),
    FrameKind(8, GivenUp, list, _make_given_up),
    FrameKind(9, Register, list, _make_register),
    FrameKind(10, Deregister, list, _make_deregister),
    FrameKind(11, Forwarded, lambda frame: [_publication_values(frame.publication), frame.target], _make_forwarded),
    FrameKind(
        12, Delivered, lambda frame: [frame.subscription, _publication_values(frame.publication)], _make_delivered
    ),
    FrameKind(13, Hello, list, _make_hello),
)
_BY_TYPE = {kind.frame: kind for kind in KINDS}
_BY_NUMBER = {kind.number: kind for kind in KINDS}


def pack_body(frame: Frame | None) -> tuple[int, bytes]:
    """The kind of a frame and its body; none has an empty one."""
    if frame is None:
        return NOTHING, b""
    kind = _BY_TYPE[type(frame)]
    return kind.number, json.dumps(kind.values(frame), separators=(",", ":"), ensure_ascii=False).encode()


def unpack_body(number: int, body: bytes, family: FrameFamily) -> Frame | None:
    """A frame from its kind and body; whatever is wrong with them raises `BadFrame` and nothing else."""
    if number == NOTHING and not body:
        return None
    kind = _BY_NUMBER.get(number)
    if kind is None:
        raise BadFrame(f"There is no kind {number} of frames with a body of {len(body)} bytes.")
    try:
        return kind.make(family, json.loads(body.decode()))
    except BadFrame:
        raise
    except Exception as error:  # whatever the reader of a family says to rows that nobody would send in earnest
        raise BadFrame(f"A frame of kind {number} cannot be read: {shown(str(error))}") from None


def _fields(given: Any, n: int) -> list[Any]:
    if not isinstance(given, list) or len(given) != n:
        raise BadFrame(f"An array of {n} values was expected, not {shown(given)}.")
    return given
