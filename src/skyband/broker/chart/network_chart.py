"""What a chart says: the brokers with their addresses, how they work, and what each site has to have in its files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from skyband.broker.chart.field import Address, BadChart
from skyband.broker.chart.nats_system import NatsSystem
from skyband.broker.wire.body import FrameFamily
from skyband.contract import FAMILIES
from skyband.overlay.broker.options import BrokerOptions

Ways = Literal["direct", "links"]


class BrokerPlace(NamedTuple):
    """Where a broker is: what others dial and what it listens at, if they dial each other, and its other two ports."""

    name: str
    number: int
    address: Address | None
    listen: Address | None
    clients: Address | None
    operations: Address | None


class TlsFiles(NamedTuple):
    """The files of one site: whom to trust, and who this broker is."""

    authority: Path
    certificate: Path
    key: Path


class ClientAccess(NamedTuple):
    """Who is let in at the ports for clients: hashes of tokens by name, or whom the authority has signed."""

    tokens: Mapping[str, str] = MappingProxyType({})
    authority: Path | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody has to show anything."""
        return not self.tokens and self.authority is None


class LinkLimits(NamedTuple):
    """How much is taken and kept for others, in bytes, times in microseconds.

    `frame` is the longest body of a frame, `buffer` what may wait to be written to one peer, `pending` how many
    publications may wait until they are durable or have gone their way. A peer that takes nothing, or a client that
    reads nothing, for `stall` is dropped. `connections` counts clients.
    """

    frame: int = 2**20
    buffer: int = 4 * 2**20
    pending: int = 10_000
    connections: int = 1_000
    stall: int = 15_000_000


class NetworkChart(NamedTuple):
    """Everything that is written in a chart.

    `version` counts on with each change, and `digest` stands for all that brokers have to agree on: everything but
    addresses, files, access and limits of clients. `ways` says whether brokers connect to each other directly, or only
    along links, with those between passing frames on.
    """

    version: int
    places: tuple[BrokerPlace, ...]
    options: BrokerOptions
    ways: Ways
    tls: TlsFiles | None
    access: ClientAccess
    limits: LinkLimits
    data: Path
    agreed: Mapping[str, Any]
    nats: NatsSystem | None = None

    @property
    def digest(self) -> str:
        """A hash of what brokers have to agree on."""
        return digest_of(self.agreed)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of brokers by number."""
        return tuple(place.name for place in self.places)

    def place(self, name: str) -> BrokerPlace:
        """Where a broker is; `BadChart` if there is none with this name."""
        for place in self.places:
            if place.name == name:
                return place
        raise BadChart(f"The chart has no broker {name!r}: there are {', '.join(self.names)}.")

    def peers_of(self, number: int) -> tuple[int, ...]:
        """The brokers that one of them is connected with."""
        if self.ways == "links":
            return self.options.chart.neighbours[number]
        return tuple(other for other in range(len(self.places)) if other != number)

    @property
    def frame_family(self) -> FrameFamily:
        """What frames are read by."""
        return FrameFamily(FAMILIES[self.options.family].routing, self.options.settings, self.names)

    def files_of(self, name: str) -> "SiteFiles":
        """The files of one site: its folder, and its certificate where there is TLS."""
        tls = None if self.tls is None else TlsFiles(*(Path(str(each).replace("{name}", name)) for each in self.tls))
        return SiteFiles(Path(str(self.data).replace("{name}", name)), tls)


class SiteFiles(NamedTuple):
    """What one broker has in its files."""

    data: Path
    tls: TlsFiles | None


def digest_of(agreed: Mapping[str, Any]) -> str:
    """A hash of what brokers have to agree on, the same whatever the order of keys in a file."""
    plain = json.dumps(agreed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:32]
