"""The hub: from each step to the listeners that it concerns.

On the thread of the streams it notes what somebody listens to, so that nothing else is written as JSON. On the loop it
knows the listeners themselves. A listener is added there at the same moment, between the same two steps, at which what
comes first was worked out.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from skyband.contract.tops import Id
from skyband.server.push.attach import attach
from skyband.server.push.listener import AttachedTo, Listener, Pushed, listener_for
from skyband.server.push.net import ranked_top
from skyband.server.push.push_request import PushRequest
from skyband.server.stream.numbered import StepId
from skyband.server.stream.served import ServedStream, StepResult
from skyband.server.stream.stream_set import StreamSet
from skyband.server.stream.worker import Worker

StreamKey = tuple[str, str]


class WatchedIds:
    """Whom somebody listens to in one stream, as the thread of the streams sees it."""

    def __init__(self) -> None:
        self.heard: Counter[Id | None] = Counter()
        self.latest: Counter[Id | None] = Counter()
        self._chosen: tuple[frozenset[Id] | None, frozenset[Id] | None] | None = None

    def note(self, request: PushRequest, ids: frozenset[Id] | None, n: int) -> None:
        """Count a listener in or out; None stands for one that listens to all."""
        for id in (None,) if ids is None else ids:
            for counter in (self.heard, self.latest) if request.mode == "latest" else (self.heard,):
                counter[id] += n
                if not counter[id]:
                    del counter[id]
        self._chosen = None

    def chosen(self) -> tuple[frozenset[Id] | None, frozenset[Id] | None]:
        """The ids that are heard, and those whose newest tops are wanted; None for all."""
        if self._chosen is None:
            self._chosen = _ids_in(self.heard), _ids_in(self.latest)
        return self._chosen


class StreamListeners:
    """The listeners of one stream by what they listen to, as the loop sees it."""

    def __init__(self, last: StepId) -> None:
        self.last = last
        self.by_id: dict[Id, set[Listener]] = {}
        self.everything: set[Listener] = set()
        self.all: set[Listener] = set()

    def add(self, listener: Listener) -> None:
        """Let a listener hear."""
        self.all.add(listener)
        if listener.ids is None:
            self.everything.add(listener)
        for id in listener.ids or ():
            self.by_id.setdefault(id, set()).add(listener)

    def remove(self, listener: Listener) -> None:
        """Let it hear no more."""
        self.all.discard(listener)
        self.everything.discard(listener)
        for id in listener.ids or ():
            if listener in (here := self.by_id.get(id, set())):
                here.remove(listener)
                if not here:
                    del self.by_id[id]

    def touched(self, pushed: Pushed) -> dict[Listener, list[Id]]:
        """Whom a step concerns, and with which of its subscriptions."""
        news = dict.fromkeys([*pushed.heard, *pushed.step.ended])
        found: dict[Listener, list[Id]] = {}
        for id in news:
            for listener in self.by_id.get(id, ()):
                found.setdefault(listener, []).append(id)
        for listener in self.everything:
            seen = [id for id in news if listener.request.sees(id)]
            if seen:
                found[listener] = seen
        return found


class Hub:
    """All listeners of all streams."""

    def __init__(self, worker: Worker, most_bytes: int) -> None:
        self.worker = worker
        self.most_bytes = most_bytes
        self.n_events = 0
        self._watched: dict[StreamKey, WatchedIds] = {}
        self._listeners: dict[StreamKey, StreamListeners] = {}

    def __len__(self) -> int:
        return sum(len(here.all) for here in self._listeners.values())

    def count(self, tenant: str) -> int:
        """How many listeners a tenant has."""
        return sum(len(here.all) for key, here in self._listeners.items() if key[0] == tenant)

    def tokens(self) -> set[tuple[str, str | None]]:
        """The tenants and the names of the tokens that somebody listens with."""
        return {(key[0], one.request.token) for key, here in self._listeners.items() for one in here.all}

    async def listen(self, request: PushRequest) -> Listener:
        """A listener to whom what comes first is told already."""
        listener = listener_for(request, self.most_bytes)
        try:
            await self.worker.ask(lambda streams: self._attach(streams, request), lambda at: self._add(listener, at))
        except asyncio.CancelledError:
            # It may be added later than this: it is then taken out at once.
            listener.abandoned = True
            self.leave(listener)
            raise
        return listener

    def leave(self, listener: Listener) -> None:
        """Forget a listener whose connection has ended."""
        key, ids = listener.request.key, listener.ids
        here = self._listeners.get(key)
        if here is None or listener not in here.all:
            return
        here.remove(listener)
        if not here.all:
            del self._listeners[key]
        self.worker.note(lambda _: self._watched[key].note(listener.request, ids, -1))

    def close(self, which: Callable[[Listener], bool], reason: str, detail: str, resumable: bool = True) -> None:
        """Say goodbye to some listeners."""
        for here in list(self._listeners.values()):
            for listener in list(here.all):
                if which(listener):
                    listener.close(reason, detail, resumable)

    def beat(self) -> None:
        """Let connections on which nothing happens be seen to live."""
        for here in list(self._listeners.values()):
            for listener in list(here.all):
                listener.beat(here.last)

    def prepare(self, key: StreamKey, result: StepResult, streams: StreamSet) -> list[Pushed]:
        """On the thread of the streams: what listeners need of the steps."""
        watched = self._watched.get(key)
        if watched is None or not watched.heard:
            return [Pushed(step, {}, {}, {}, None, {}) for step in result.steps]
        stream, (listened, latest) = streams.get(*key), watched.chosen()
        heard = [step.heard_by(listened) for step in result.steps]
        news = dict.fromkeys(id for step, its in zip(result.steps, heard, strict=True) for id in [*its, *step.ended])
        wanted = [id for id in news if latest is None or id in latest]
        # The steps of one verb are handed over together: the tops are those after the last of them.
        tops = _tops(stream, wanted)
        return [
            Pushed(step, its, tops, step.firsts(wanted) if wanted else {}, stream.engine.now, {})
            for step, its in zip(result.steps, heard, strict=True)
        ]

    def push(self, key: StreamKey, pushes: Iterable[Pushed]) -> None:
        """On the loop: hand steps to those whom they concern."""
        here = self._listeners.get(key)
        if here is None:
            return
        for pushed in pushes:
            here.last = pushed.step.id
            for listener, ids in here.touched(pushed).items():
                listener.offer(pushed, ids)
                self.n_events += 1

    def _attach(self, streams: StreamSet, request: PushRequest) -> AttachedTo:
        attached = attach(streams.get(*request.key), request)
        self._watched.setdefault(request.key, WatchedIds()).note(request, attached.ids, 1)
        return attached

    def _add(self, listener: Listener, attached: AttachedTo) -> None:
        listener.begin(attached)
        self._listeners.setdefault(listener.request.key, StreamListeners(attached.at)).add(listener)
        if listener.abandoned:
            self.leave(listener)


def _ids_in(counter: Counter[Id | None]) -> frozenset[Id] | None:
    return None if None in counter else frozenset(id for id in counter if id is not None)


def _tops(stream: ServedStream, ids: Iterable[Id]) -> dict[Id, Any]:
    """The tops of these subscriptions; one that has ended has none."""
    asked = list(ids)
    found = stream.top([id for id in asked if id in stream.registry]) if asked else {}
    return {id: ranked_top(found.get(id, ())) for id in asked}
