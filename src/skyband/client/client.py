"""The client of programs that wait: each call returns when the server has answered."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from skyband.client import asking
from skyband.client.api_call import HttpReply
from skyband.client.asking import Asking, Pause, address_of, names_of
from skyband.client.problem import Unreachable
from skyband.client.resuming import Followed, Resuming
from skyband.client.row_body import ManyRows
from skyband.client.stream_event import StreamEvent, TopRow
from skyband.client.stream_follower import CallingBack, StreamFollower
from skyband.client.transport import Transport
from skyband.client.verb_done import VerbDone
from skyband.contract.explanation import Explanation
from skyband.contract.tops import Id

Got = TypeVar("Got")
ADDRESS = "http://127.0.0.1:8484"


class Client:
    """A server, as one tenant of it sees it. Threads may share a client.

    `seconds` is how long an answer is waited for, and `verify` a context of `ssl` for servers whose certificate is not
    one that the system trusts.
    """

    def __init__(
        self, address: str = ADDRESS, token: str | None = None, seconds: float = 30.0, verify: Any = True
    ) -> None:
        self._transport = Transport(address, token, seconds, verify)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._transport.close()

    def streams(self) -> list[dict[str, Any]]:
        """The streams by name."""
        return self._do(asking.pages("/v1/streams", "streams"))

    def stream(self, name: str) -> dict[str, Any]:
        """A stream: how it was opened, where it is, and what its engine has counted."""
        return self._do(asking.plain("GET", address_of(name)))

    def open_stream(self, name: str, family: str, **given: Any) -> dict[str, Any]:
        """Open a stream; `engine`, `window`, `bounds`, `granularity`, `options` and `clock` may be given."""
        return self._do(asking.plain("POST", "/v1/streams", {"name": name, "family": family} | given))

    def drop_stream(self, name: str) -> None:
        """Drop a stream, with all that is in it."""
        self._do(asking.plain("DELETE", address_of(name)))

    def publish(self, stream: str, rows: ManyRows, batch_rows: int = 1000) -> VerbDone:
        """Publish rows in batches, each of which is taken whole or not at all, and once."""
        return self._do(asking.in_batches(address_of(stream, "publications"), rows, batch_rows))

    def retract(self, stream: str, ids: Iterable[Id]) -> VerbDone:
        """Withdraw publications; those that are no longer there are passed over."""
        return self._do(asking.withdrawn(address_of(stream, "publications"), ids))

    def advance(self, stream: str, now: int | str) -> VerbDone:
        """Let time pass without a publication, to a time in microseconds or as ISO 8601 text."""
        return self._do(asking.done("POST", address_of(stream, "time"), {"now": now}))

    def subscribe(self, stream: str, rows: ManyRows, ttl: str | None = None, batch_rows: int = 1000) -> VerbDone:
        """Register subscriptions, for a time such as "10m" or for ever."""
        path = address_of(stream, "subscriptions")
        return self._do(asking.in_batches(path, rows, batch_rows, {"ttl": ttl}))

    def put(self, stream: str, row: Mapping[str, Any], ttl: str | None = None) -> VerbDone:
        """Register one subscription, in place of the one with its id if there is one."""
        return self._do(asking.put_one(address_of(stream, "subscriptions"), row, ttl))

    def resize(self, stream: str, id: Id, k: int) -> VerbDone:
        """Let a subscription ask for another k."""
        return self._do(asking.done("PATCH", address_of(stream, "subscriptions", id), {"k": k}))

    def unsubscribe(self, stream: str, id: Id) -> VerbDone:
        """Withdraw a subscription."""
        return self._do(asking.done("DELETE", address_of(stream, "subscriptions", id)))

    def subscriptions(self, stream: str) -> list[dict[str, Any]]:
        """The subscriptions as they were sent, by id."""
        return self._do(asking.pages(address_of(stream, "subscriptions"), "subscriptions"))

    def top(self, stream: str, id: Id) -> list[TopRow]:
        """The top of a subscription now, best first."""
        return self._do(asking.top_now(address_of(stream, "subscriptions", id, "top")))

    def preview(self, stream: str, rows: ManyRows) -> dict[Id, list[TopRow]]:
        """The tops that subscriptions would have now; nothing is registered."""
        return self._do(asking.previewed(address_of(stream, "subscriptions", "preview"), rows))

    def explain(self, stream: str, subscription: Id, publication: Id) -> Explanation:
        """Why a publication is in the top of a subscription, or why not and by how much; changes nothing."""
        return self._do(asking.explained(address_of(stream, "explain"), subscription, publication))

    def send(self, method: str, path: str, value: Any = None, **query: object) -> Any:
        """Any other call, such as `send("GET", "/v1/webhooks")`, with a value of JSON or none."""
        return self._do(asking.plain(method, path, value, query))

    def follow(
        self,
        stream: str,
        ids: Id | Sequence[Id] | None = None,
        mode: str = "every",
        rate: float | None = None,
        last: str | None = None,
    ) -> StreamFollower:
        """The events of some subscriptions, or of all, across lost connections; `last` is an id to go on from."""
        return StreamFollower(self._transport, Resuming(Followed(stream, names_of(ids), mode, rate), last))

    def call_back(
        self, heard: Callable[[StreamEvent], None], stream: str, ids: Id | Sequence[Id] | None = None, **given: Any
    ) -> CallingBack:
        """Have a function called with each event, on a thread; what else may be given is that of `follow`."""
        return CallingBack(self.follow(stream, ids, **given), heard)

    def _do(self, what: Asking[Got]) -> Got:
        return carry_out(self._transport, what)


def carry_out(transport: Transport, what: Asking[Got]) -> Got:
    """Do what is asked for, step by step."""
    got: HttpReply | Unreachable | None = None
    while True:
        try:
            step = what.send(got)
        except StopIteration as end:
            found: Got = end.value
            return found
        got = None
        try:
            if isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                got = transport.send(step)
        except Unreachable as error:
            got = error
