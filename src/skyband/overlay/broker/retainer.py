"""What a broker holds back: for each destination the proxies it has sent, and what it has not been sent yet.

A publication is sent when a gate lets it in. What all gates refuse is held while it is live, for gates widen as the
members of tops expire, and is handed over then. A gate may be old: arrivals elsewhere have made the true one narrower,
so that too much is sent and never too little.
"""

from collections.abc import Callable, Iterator

from skyband.contract.tops import Id
from skyband.covering.routed import RoutedSubscription
from skyband.overlay.broker.frame import RECALLING, Proxy, Publication
from skyband.overlay.broker.held_places import HeldPlaces
from skyband.overlay.broker.screen import ProxyScreen
from skyband.overlay.broker.step import FOR_EVER, NEVER, gate_at, next_step

Key = tuple[int, int]
NOBODY = -1
"""Where publications come from that were made here."""
Emit = Callable[[int, Publication, str], None]


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
    at which the publication is live is the one to ask for. Clocks of brokers differ: it may not be so late here yet as
    it is where a home begins, or a publication is made.
    """
    at = relevant_at(proxy, publication, max(now, proxy.steps[0][0], publication.ts))
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


def _place(asked: RoutedSubscription, publication: Publication) -> tuple[float, int, Key]:
    """Where a publication that has a score stands among others, the best first."""
    score = asked.score(publication.spoken.content)
    assert score is not None
    return (score if asked.ascending else -score), -publication.ts, publication.key


class HeldBack:
    """A publication that is kept while it is live, taken back or not, and the destinations that have it."""

    __slots__ = ("publication", "sent")

    def __init__(self, publication: Publication, came_from: int) -> None:
        self.publication = publication
        self.sent = {came_from}


class Destination:
    """A broker that proxies came from. `asked` counts those that widened what it wants."""

    __slots__ = ("_next", "asked", "handed", "proxies", "seen")

    def __init__(self) -> None:
        self.proxies: dict[Id, Proxy] = {}
        # By proxy the gate up to which all that is held has been sent.
        self.handed: dict[Id, float] = {}
        self.asked = 0
        self.seen = NEVER
        # No gate widens before.
        self._next = NEVER

    def put(self, proxy: Proxy) -> None:
        """A new proxy, or a new version of one."""
        self.proxies[proxy.asked.id] = proxy
        self._next = min(self._next, next_step(proxy.steps, self.seen))

    def due(self, now: int) -> list[Proxy]:
        """The proxies whose gates have widened since this was last asked."""
        before, self.seen = self.seen, now
        if now < self._next:
            return []
        self._next = min((next_step(proxy.steps, now) for proxy in self.proxies.values()), default=FOR_EVER)
        return [proxy for proxy in self.proxies.values() if gate_at(proxy.steps, before) != gate_at(proxy.steps, now)]


class Retainer:
    """Destinations, and what is held back from them; `emit` sends a publication to one of them.

    Where there is a `doubt`, it is told of a proxy by which time lets in several publications at once, with the best of
    these; if it has sent that one, the others are kept until the proxy is put again.
    """

    def __init__(
        self,
        emit: Emit,
        kept_since: Callable[[], int],
        holds: bool,
        admits: Admits,
        doubt: Callable[[int, Proxy, Publication], bool] | None = None,
    ) -> None:
        self.emit, self.holds, self.admits = emit, holds, admits
        self._kept_since = kept_since
        self._doubt = doubt
        self.destinations: dict[int, Destination] = {}
        self.held: dict[Key, HeldBack] = {}
        self._screen, self._places = ProxyScreen(), HeldPlaces[HeldBack]()
        # The latest of what is held may come from a broker whose clock is ahead.
        self._latest = NEVER

    def destination(self, number: int) -> Destination:
        """A destination, made when it is first asked for."""
        found = self.destinations.get(number)
        if found is None:
            found = self.destinations[number] = Destination()
        return found

    def offer(self, publication: Publication, now: int, came_from: int) -> bool:
        """Take a publication that has come; sends it to whoever may need it, and tells whether it is new.

        One that was taken back since goes once more to whoever has it.
        """
        key = publication.key
        if self.holds:
            if key in self.held:
                self._again(self.held[key], publication, came_from)
                return False
            held = self.held[key] = HeldBack(publication, came_from)
            self._places.add(held)
            self._latest = max(self._latest, publication.ts)
        for number in self._takers(publication, now):
            if number != came_from:
                if self.holds:
                    held.sent.add(number)
                self.emit(number, publication, "")
        return True

    def put(self, number: int, proxy: Proxy, now: int) -> None:
        """A destination asks for what a proxy lets in from now on; what it lets in of what is held is sent.

        One that comes late, after a later version of it, says nothing new.
        """
        destination = self.destination(number)
        before = destination.proxies.get(proxy.asked.id)
        if before is not None and before.version > proxy.version:
            return
        destination.put(proxy)
        self._screen.put(number, proxy, now)
        if before is None or not self._has_sent(destination, before, proxy, now):
            self._hand_over(number, [proxy], now)
        destination.handed[proxy.asked.id] = gate_at(proxy.steps, now)

    def withdraw(self, number: int, id: Id) -> None:
        """A destination has no use for a subscription any more."""
        if number in self.destinations:
            self.destinations[number].proxies.pop(id, None)
            self.destinations[number].handed.pop(id, None)
            self._screen.drop(number, id)

    def forget(self, number: int) -> None:
        """A destination has lost all that it had, or may have; it will ask again."""
        gone = self.destinations.pop(number, None)
        for id in gone.proxies if gone is not None else ():
            self._screen.drop(number, id)
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
                destination.handed |= {proxy.asked.id: gate_at(proxy.steps, now) for proxy in due}
        self._prune()

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
            held
            for held in self.held.values()
            if number not in held.sent
            and (asked.window is None or held.publication.ts + asked.window > now)
            and asked.score(held.publication.spoken.content) is not None
        ]
        live.sort(key=lambda held: _place(asked, held.publication))
        for held in live[:n]:
            self._send(number, held, RECALLING)

    def publications(self) -> Iterator[Publication]:
        """All that is held, sent or not."""
        return (held.publication for held in self.held.values())

    def _takers(self, publication: Publication, now: int) -> list[int]:
        """The destinations that have a proxy which lets a publication in."""
        if not self._screen.has_any:
            return []
        if self._screen.is_worthwhile:
            near = self._screen.near(publication.spoken.place, max(now, publication.ts))
            asked = [(number, near[number]) for number in self.destinations if number in near]
        else:
            asked = [(number, list(each.proxies.values())) for number, each in self.destinations.items()]
        return [number for number, proxies in asked if any(self.admits(each, publication, now) for each in proxies)]

    def _has_sent(self, destination: Destination, before: Proxy, proxy: Proxy, now: int) -> bool:
        """Whether all that a new version lets in has been sent for the old one, as far as that is known at once."""
        if self.admits is admits_since or (before.closes or FOR_EVER) <= now or before.asked.row != proxy.asked.row:
            return False
        handed = destination.handed.get(proxy.asked.id)
        return handed is not None and not proxy.asked.narrower(handed, gate_at(proxy.steps, now))

    def _is_doubted(self, number: int, proxy: Proxy, now: int) -> bool:
        """Whether a proxy lets in several at once, and its home is asked first, by the best of them."""
        let_in = self._let_in(number, [proxy], now)
        if len(let_in) < 2 or self._doubt is None:
            return False
        best = min(let_in, key=lambda held: _place(proxy.asked, held.publication))
        if not self._doubt(number, proxy, best.publication):
            return False
        best.sent.add(number)
        return True

    def _hand_over(self, number: int, proxies: list[Proxy], now: int) -> None:
        for held in self._let_in(number, proxies, now):
            self._send(number, held, "")

    def _let_in(self, number: int, proxies: list[Proxy], now: int) -> list[HeldBack]:
        """What these proxies let in and has not been sent, in the order in which it came."""
        found: dict[int, HeldBack] = {}
        for proxy in proxies:
            for row, held in self._places.near(proxy, max(now, proxy.steps[0][0], self._latest)):
                if row not in found and number not in held.sent and self.admits(proxy, held.publication, now):
                    found[row] = held
        return [found[row] for row in sorted(found)]

    def _again(self, held: HeldBack, publication: Publication, came_from: int) -> None:
        held.sent.add(came_from)
        if publication.retracted is not None and held.publication.retracted is None:
            held.publication = publication
            for number in sorted(held.sent - {came_from, NOBODY}):
                self.emit(number, publication, "")

    def _send(self, number: int, held: HeldBack, column: str) -> None:
        held.sent.add(number)
        self.emit(number, held.publication, column)

    def _prune(self) -> None:
        """What is older than anybody may need goes; about in the order of time, so that some stays a while longer."""
        limit = self._kept_since()
        while self.held:
            key, held = next(iter(self.held.items()))
            if held.publication.ts > limit:
                break
            del self.held[key]
            self._places.drop_oldest()
