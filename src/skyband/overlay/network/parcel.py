"""What brokers of zones say to each other, and its bytes.

Bundles of messages and reports of changes are plain binary, since they are nearly all of the traffic. What is said
about subscriptions and zones is JSON, in which numbers keep all their digits. Each has a head of `HEAD` bytes: its
kind, the length of the rest, and a number.
"""

import json
from base64 import b64decode, b64encode
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from skyband.overlay.network.paint_rows import NUMBER, BytesReader, PaintRows, pack_ids, pack_rows, unpack_rows
from skyband.overlay.network.paint_server import RankedObject, Sighting
from skyband.overlay.network.region import Region
from skyband.ranges.kernels.message import GONE

HEAD = 16
"""Kind and length in 4 bytes each, and the number of an event, or 0."""

Row = dict[str, Any]


class Bundle(NamedTuple):
    """All messages of an event that lead to the receiver or beyond."""

    event: int
    rows: PaintRows


class ChangeReport(NamedTuple):
    """A change on its way to the server."""

    sighting: Sighting


class Ask(NamedTuple):
    """A subscription on its way to the gateway of its zone; its key is nobody else's."""

    key: int
    row: Row


class GiveUp(NamedTuple):
    """A subscription that is not wanted any more, on its way to its gateway."""

    key: int
    row: Row


class Enter(NamedTuple):
    """A subscription on its way from its gateway to the server."""

    key: int
    row: Row
    gateway: int


class Quit(NamedTuple):
    """The server need not paint for a subscription any more."""

    key: int


class FirstTop(NamedTuple):
    """The answer of the server, straight to the gateway: the subscription is painted for after this event."""

    key: int
    row: Row
    event: int
    top: list[RankedObject]


class StandingList(NamedTuple):
    """A subscription that is handed over, with its top; until `event` has passed, messages are not for it."""

    key: int
    row: Row
    event: int
    top: list[RankedObject]


class WaitingList(NamedTuple):
    """A subscription that is handed over before the server has answered, with what has come for it so far."""

    key: int
    row: Row
    bundles: list[Bundle]


class Estate(NamedTuple):
    """What a broker hands over: a region, the subscriptions in it as of an event, and links that lead on."""

    region: Region
    event: int
    standing: list[StandingList]
    waiting: list[WaitingList]
    links: dict[int, Region]
    given_up: list[int]


class Found(NamedTuple):
    """To a broker that is new: the part of its region that the gateway before it gives away."""

    parent: int
    estate: Estate


class Leave(NamedTuple):
    """A broker wants to leave, on its way to the one before it."""

    broker: int


class Close(NamedTuple):
    """The last word to a broker that leaves: nothing comes after it."""


class Bequest(NamedTuple):
    """Everything that a broker which leaves had."""

    broker: int
    estate: Estate


class Rehang(NamedTuple):
    """What comes from now on comes from another broker."""

    parent: int


Parcel: TypeAlias = (
    Bundle | ChangeReport | Ask | GiveUp | Enter | Quit | FirstTop | Found | Leave | Close | Bequest | Rehang
)  # fmt: skip
KINDS: tuple[type[Any], ...] = (
    Bundle, ChangeReport, Ask, GiveUp, Enter, Quit, FirstTop, Found, Leave, Close, Bequest, Rehang,
)  # fmt: skip


def pack(parcel: Parcel) -> bytes:
    """A parcel as bytes."""
    event = 0
    if isinstance(parcel, Bundle):
        event, body = parcel.event, pack_rows(parcel.rows)
    elif isinstance(parcel, ChangeReport):
        body = _pack_sighting(parcel.sighting)
    else:
        body = json.dumps(_plain(parcel), separators=(",", ":")).encode()
    head = np.array([KINDS.index(type(parcel)), len(body)], "<u4").tobytes()
    return head + np.array([event], "<i8").tobytes() + body


def unpack(data: bytes) -> Parcel:
    """A parcel from its bytes."""
    kind, length = np.frombuffer(data[:8], "<u4").tolist()
    body, its = data[HEAD:], KINDS[kind]
    if len(body) != length:
        raise ValueError(f"A parcel of {length} bytes has come with {len(body)}.")
    if its is Bundle:
        return Bundle(int(np.frombuffer(data[8:HEAD], "<i8")[0]), unpack_rows(body))
    if its is ChangeReport:
        return ChangeReport(_unpack_sighting(body))
    fields = json.loads(body)
    if its is FirstTop:
        key, row, event, top = fields
        return FirstTop(key, row, event, _top(top))
    if its in (Found, Bequest):
        *first, estate = fields
        fields = [*first, _estate(estate)]
    parcel: Parcel = its(*fields)
    return parcel


def _pack_sighting(sighting: Sighting) -> bytes:
    y = GONE if sighting.y is None else sighting.y
    head = np.array([sighting.ts, len(sighting.x)], "<i8").tobytes()
    return head + np.array([*sighting.x, y], NUMBER).tobytes() + pack_ids(pa.array([sighting.object]))


def _unpack_sighting(body: bytes) -> Sighting:
    reader = BytesReader(body)
    ts, dims = (int(number) for number in reader.numbers("<i8", 2))
    *x, y = reader.numbers(NUMBER, dims + 1).tolist()
    return Sighting(ts, reader.ids(1)[0].as_py(), tuple(x), None if y == GONE else y)


def _plain(value: Any) -> Any:
    """A value in lists, texts and numbers alone."""
    if isinstance(value, Bundle):
        return b64encode(pack(value)).decode()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value


def _unpack_bundle(text: str) -> Bundle:
    bundle = unpack(b64decode(text))
    if not isinstance(bundle, Bundle):
        raise ValueError(f"A {type(bundle).__name__.lower()} has come among the bundles that a list waits for.")
    return bundle


def _top(fields: list[Any]) -> list[RankedObject]:
    return [RankedObject(*each) for each in fields]


def _region(fields: list[Any]) -> Region:
    return Region(*(np.array(side, np.float64).reshape(len(side), -1) for side in fields))


def _estate(fields: list[Any]) -> Estate:
    region, event, standing, waiting, links, given_up = fields
    stand = [StandingList(key, row, asof, _top(top)) for key, row, asof, top in standing]
    wait = [WaitingList(key, row, [_unpack_bundle(each) for each in bundles]) for key, row, bundles in waiting]
    return Estate(_region(region), event, stand, wait, {int(at): _region(its) for at, its in links.items()}, given_up)
