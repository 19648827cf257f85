"""Tile38: a server with fences on a map. Its module of Go could be built nowhere so far, and so nothing drives it."""

from typing import Any

import pyarrow as pa

from bench.peers.answer import Answer
from bench.peers.package import GoProgram, Unavailable
from bench.peers.peer import Peer


class Fences(Peer):
    """A channel with a fence for each subscription; it is listed, so that a run says why it is not measured."""

    name = "Tile38"
    work = "fence"
    package = GoProgram("github.com/tidwall/tile38/cmd/tile38-server")
    lacks = "no k nearest as a standing answer"

    def __init__(self, course: Any) -> None:
        super().__init__(course)
        raise Unavailable("Tile38 was built, but what drives it is not written: no server could be tried so far.")

    def subscribe(self, subscriptions: pa.Table) -> None:
        raise NotImplementedError

    def publish(self, prepared: Any) -> None:
        raise NotImplementedError

    def top(self) -> Answer:
        raise NotImplementedError


PEERS = (Fences,)
