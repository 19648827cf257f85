"""What a broker holds back: for each destination the proxies it has sent, and what it has not been sent yet.

A publication is sent when a gate lets it in. What all gates refuse is held while it is live, for gates widen as the
members of tops expire, and is handed over then. A gate may be old: arrivals elsewhere have made the true one narrower,
so that too much is sent and never too little.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator

from skyband.contract.tops import Id
from skyband.overlay.broker.frame import RECALLING, Proxy, Publication, Steps

Key = tuple[int, int]
Emit = Callable[[int, Publication, str], None]
FOR_EVER = 1 << 62
NEVER = -FOR_EVER


def gate_at(steps: Steps, at: int) -> float:
    """The gate that steps have for a time; before the first one it is that of the first."""
    i = bisect_right(steps, (at, float("inf"))) - 1
    return steps[i if i > 0 else 0][1]


def relevant_at(proxy: Proxy, publication: Publication, now: int) -> int:
    """The latest time up to now at which a publication is live for a proxy and this lets anything in."""
    window, at = proxy.asked.window, now
    if window is not None:
        at = min(at, publication.ts + window - 1)
    return at if proxy.closes is None else min(at, proxy.closes - 1)


Admits = Callable[[Proxy, Publication, int], bool]


def admits_now(proxy: Proxy, publication: Publication, now: int) -> bool:
    """Whether a proxy lets a publication in as of now, while it is live: what matters if homes are never behind."""
    at = relevant_at(proxy, publication, now)
    return at >= now and _passes(proxy, publication, now)


def admits_since(proxy: Proxy, publication: Publication, now: int) -> bool:
    """Whether a proxy lets a publication in at any time that may matter to a home that is behind.

    These are the times after its last step, where the steps of the proxy begin. Gates widen, so that the latest of them
    at which the publication is live is the one to ask for.
    """
    at = relevant_at(proxy, publication, now)
    return at >= publication.ts and at >= proxy.steps[0][0] and _passes(proxy, publication, at)


def admits_widely(proxy: Proxy, publication: Publication, now: int) -> bool:
    """Whether the gate of now lets a publication in, live or not.

    So it must be where a proxy stands for others: these may have wider windows, and homes that are further behind.
    Their gates of earlier times are within those of now, which are within this one.
    """
    return _passes(proxy, publication, now)


def _passes(proxy: Proxy, publication: Publication, at: int) -> bool:
    asked = proxy.asked
    return asked.passes(asked.score(publication.spoken.content), gate_at(proxy.steps, at))


class HeldBack:
    """A publication that is kept while it is live, and the destinations that have it."""

    __slots__ = ("publication", "sent")

    def __init__(self, publication: Publication, came_from: int) -> None:
        self.publication = publication
        self.sent = {came_from}


class Destination:
    """A broker that proxies came from. `asked` counts those that widened what it wants."""

    __slots__ = ("asked", "proxies", "seen")

    def __init__(self) -> None:
        self.proxies: dict[Id, Proxy] = {}
        self.asked = 0
        self.seen = NEVER

    def due(self, now: int) -> list[Proxy]:
        """The proxies whose gates have widened since this was last asked."""
        before, self.seen = self.seen, now
        return [proxy for proxy in self.proxies.values() if gate_at(proxy.steps, before) != gate_at(proxy.steps, now)]


class Retainer:
    """Destinations, and what is held back from them; `emit` sends a publication to one of them.

    Where there is a `doubt`, it is told of a proxy by which time lets in several publications at once; if it says so,
    these are kept until the proxy is put again.
    """

    def __init__(
        self,
        emit: Emit,
        retention: int,
        holds: bool,
        admits: Admits,
        doubt: Callable[[int, Proxy], bool] | None = None,
    ) -> None:
        self.emit, self.retention, self.holds, self.admits = emit, retention, holds, admits
        self._doubt = doubt
        self.destinations: dict[int, Destination] = {}
        self.held: dict[Key, HeldBack] = {}

    def destination(self, number: int) -> Destination:
        """A destination, made when it is first asked for."""
        found = self.destinations.get(number)
        if found is None:
            found = self.destinations[number] = Destination()
        return found

    def offer(self, publication: Publication, now: int, came_from: int) -> bool:
        """Take a publication that has come; sends it to whoever may need it, and tells whether it is new."""
        key = publication.key
        if self.holds:
            if key in self.held:
                self.held[key].sent.add(came_from)
                return False
            held = self.held[key] = HeldBack(publication, came_from)
        for number, destination in self.destinations.items():
            if number != came_from and self._wants(destination, publication, now):
                if self.holds:
                    held.sent.add(number)
                self.emit(number, publication, "")
        return True

    def put(self, number: int, proxy: Proxy, now: int) -> None:
        """A destination asks for what a proxy lets in from now on; what it lets in of what is held is sent."""
        destination = self.destination(number)
        destination.proxies[proxy.asked.id] = proxy
        self._hand_over(number, [proxy], now)

    def withdraw(self, number: int, id: Id) -> None:
        """A destination has no use for a subscription any more."""
        if number in self.destinations:
            self.destinations[number].proxies.pop(id, None)

    def forget(self, number: int) -> None:
        """A destination has lost all that it had, or may have; it will ask again."""
        self.destinations.pop(number, None)
        for held in self.held.values():
            held.sent.discard(number)

    def pass_time(self, now: int) -> None:
        """Hand over what gates let in by now, and forget what nobody needs any more."""
        for number, destination in self.destinations.items():
            due = destination.due(now) if destination.proxies else []
            if self._doubt is not None:
                due = [proxy for proxy in due if not self._is_doubted(number, proxy, now)]
            if due:
                self._hand_over(number, due, now)
        self._prune(now)

    def resend(self, number: int, now: int) -> None:
        """A destination has lost what it was sent, and its proxies are still right: send it all again."""
        for held in self.held.values():
            held.sent.discard(number)
        self._hand_over(number, list(self.destination(number).proxies.values()), now)

    def recall(self, number: int, id: Id, n: int, now: int) -> None:
        """Send a destination the best of what is held back from one of its subscriptions."""
        proxy = self.destination(number).proxies.get(id)
        if proxy is None:
            return
        asked = proxy.asked
        live = [
            (score if asked.ascending else -score, held.publication)
            for held in self.held.values()
            if number not in held.sent
            and (asked.window is None or held.publication.ts + asked.window > now)
            and (score := asked.score(held.publication.spoken.content)) is not None
        ]
        live.sort(key=lambda pair: (pair[0], -pair[1].ts, pair[1].key))
        for _, publication in live[:n]:
            self._send(number, self.held[publication.key], RECALLING)

    def publications(self) -> Iterator[Publication]:
        """All that is held, sent or not."""
        return (held.publication for held in self.held.values())

    def _wants(self, destination: Destination, publication: Publication, now: int) -> bool:
        return any(self.admits(proxy, publication, now) for proxy in destination.proxies.values())

    def _is_doubted(self, number: int, proxy: Proxy, now: int) -> bool:
        """Whether a proxy lets in several at once, and its home is asked first."""
        let_in = (
            held for held in self.held.values() if number not in held.sent and self.admits(proxy, held.publication, now)
        )
        is_burst = next(let_in, None) is not None and next(let_in, None) is not None
        return is_burst and self._doubt is not None and self._doubt(number, proxy)

    def _hand_over(self, number: int, proxies: list[Proxy], now: int) -> None:
        for held in self.held.values():
            publication = held.publication
            if number not in held.sent and any(self.admits(each, publication, now) for each in proxies):
                self._send(number, held, "")

    def _send(self, number: int, held: HeldBack, column: str) -> None:
        held.sent.add(number)
        self.emit(number, held.publication, column)

    def _prune(self, now: int) -> None:
        """What is older than anybody may need goes; about in the order of time, so that some stays a while longer."""
        limit = now - self.retention
        for key in list(self.held):
            if self.held[key].publication.ts > limit:
                break
            del self.held[key]
