"""What a driver asks of the network, and what it is told: any transport that has this can carry the frames of brokers.

Nothing is promised: a parcel may get lost, come twice, or come late, and sessions of the core make up for it. What must
hold is that a parcel is handed on as it was sent or not at all, and that `received` names a peer that was proven to be
the one that sent it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from skyband.broker.wire.envelope import Parcel


class LinkListener(Protocol):
    """What is told of links, on the loop that they were started on."""

    def connected(self, peer: int) -> None:
        """Parcels can be sent to a peer."""

    def disconnected(self, peer: int, why: str) -> None:
        """Parcels to a peer are lost until it is connected again."""

    async def received(self, peer: int, parcels: Sequence[Parcel]) -> None:
        """Parcels have come from a peer, in their order; nothing more is read from it until this returns."""


@dataclass
class LinkCounts:
    """What has passed between this broker and a peer since it was started."""

    is_connected: bool = False
    since: float = 0.0
    n_connected: int = 0
    parcels_in: int = 0
    parcels_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    n_dropped: int = 0
    n_bad: int = 0
    queued_bytes: int = 0
    last_trouble: str = ""


class Links(ABC):
    """All links of one broker."""

    @abstractmethod
    async def start(self, listener: LinkListener) -> None:
        """Begin to connect and to listen; an OSError or ValueError says why that cannot be."""

    @abstractmethod
    async def stop(self) -> None:
        """Let go of everything, having sent what is queued where that takes no time."""

    @abstractmethod
    def send(self, peer: int, parcel: Parcel) -> bool:
        """Queue a parcel for a peer; false where it is lost. What is queued already is not queued again."""

    @abstractmethod
    def drop(self, peer: int, why: str, pause: float = 0.0) -> None:
        """Give a connection up, and make no new one for some seconds."""

    @abstractmethod
    def counts(self, peer: int) -> LinkCounts:
        """What has passed."""

    @property
    @abstractmethod
    def is_slow(self) -> bool:
        """Whether some peer takes less than it is sent, so that clients should be slowed down."""
