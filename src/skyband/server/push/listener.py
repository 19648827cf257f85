"""Listeners: what waits for one connection, bounded, whatever the reader at its other end does.

In the mode `every` all steps wait; where they become too many the connection ends, and can be resumed. In the mode
`latest` only the difference to the newest tops waits, which is never more than the tops themselves.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skyband.contract.tops import Id
from skyband.server.push.net import RankedTop, difference
from skyband.server.push.push_event import PushEvent, changes_event, closing_event, dumps
from skyband.server.push.push_request import PushRequest
from skyband.server.stream.numbered import NumberedStep, StepId


class Pushed(NamedTuple):
    """A step with the rows that somebody listens to, as JSON, and the tops that somebody wants to be latest."""

    step: NumberedStep
    heard: Mapping[Id, list[str]]
    tops: Mapping[Id, RankedTop]
    firsts: Mapping[Id, list[Id]]
    now: int | None
    written: dict[tuple[Id, ...], PushEvent]
    """What was written for some subscriptions already: ten thousand who listen to the same share one text."""

    def event_for(self, ids: Sequence[Id]) -> PushEvent:
        """The step, as those are told who listen to these of the subscriptions that it touches."""
        event = self.written.get(key := tuple(ids))
        if event is None:
            texts = [text for id in ids for text in self.heard.get(id, ())]
            ended = set(self.step.ended).intersection(ids)
            event = changes_event(self.step.id, texts, [id for id in self.step.ended if id in ended])
            self.written[key] = event
        return event


class AttachedTo(NamedTuple):
    """What one who begins to listen is told: where the stream is, what comes first, and whom it is about."""

    ids: frozenset[Id] | None
    at: StepId
    events: list[PushEvent]
    tops: dict[Id, RankedTop]


class Listener(ABC):
    """One connection that waits for events."""

    def __init__(self, request: PushRequest, most_bytes: int) -> None:
        self.request = request
        self.most_bytes = most_bytes
        self.ids: frozenset[Id] | None = frozenset()
        self.closed = False
        self.abandoned = False
        self.n_bytes = 0
        self._events: deque[PushEvent] = deque()
        self._wake = asyncio.Event()

    def begin(self, attached: AttachedTo) -> None:
        """Let what comes first wait; it is as large as it is."""
        self.ids = attached.ids
        self._events.extend(attached.events)
        self._wake.set()

    @abstractmethod
    def offer(self, pushed: Pushed, touched: list[Id]) -> None:
        """Take a step that touches some of its subscriptions."""

    def beat(self, at: StepId) -> None:
        """Say that all is well up to here, if nothing waits."""
        if not self._events and not self.closed and self.is_idle:
            self._events.append(PushEvent("beat", "", str(at)))
            self._wake.set()

    def close(self, reason: str, detail: str, resumable: bool = True) -> None:
        """Let the last event wait; none comes after it."""
        if not self.closed:
            self._finish()
            self._events.append(closing_event(reason, detail, resumable))
            self.closed = True
            self._wake.set()

    async def next(self) -> list[PushEvent]:
        """All events that wait, at least one; none at all when there will be no more."""
        while not self._events and not self.closed:
            if self.is_idle:
                self._wake.clear()
                await self._wake.wait()
            await self._settle()
        found = list(self._events)
        self._events.clear()
        self.n_bytes = 0
        return found

    @property
    def waits(self) -> bool:
        """Whether there is anything to be told."""
        return bool(self._events) or not self.is_idle

    @property
    def is_idle(self) -> bool:
        """Whether everything up to the last step was told, or waits to be."""
        return True

    async def _settle(self) -> None:  # only one that nets has anything pending
        """Turn what is pending into events, when the time for it has come."""
        return

    def _finish(self) -> None:  # the same
        """Turn what is pending into events, now."""
        return


class EveryListener(Listener):
    """Every step, as it was."""

    def offer(self, pushed: Pushed, touched: list[Id]) -> None:
        """Take a step, or end the connection where too much waits already."""
        if self.closed:
            return
        event = pushed.event_for(touched)
        if self.n_bytes and self.n_bytes + event.weight > self.most_bytes:
            self.close("overflow", "The reader is too slow: resume with the last id, or ask for the mode latest.")
            return
        self.n_bytes += event.weight
        self._events.append(event)
        self._wake.set()


class LatestListener(Listener):
    """The newest tops, not more often than the rate; steps between are netted."""

    def __init__(self, request: PushRequest, most_bytes: int) -> None:
        super().__init__(request, most_bytes)
        self._told: dict[Id, RankedTop] = {}
        self._now: dict[Id, RankedTop] = {}
        self._firsts: dict[Id, set[Id]] = {}
        self._ended: dict[Id, None] = {}
        self._last: StepId | None = None
        self._at: int | None = None
        self._told_at = 0.0

    def begin(self, attached: AttachedTo) -> None:
        """Note the tops that are told first."""
        self._told = dict(attached.tops)
        super().begin(attached)

    @property
    def is_idle(self) -> bool:
        return self._last is None

    def offer(self, pushed: Pushed, touched: list[Id]) -> None:
        """Note the newest tops."""
        for id in touched:
            if id in pushed.tops:
                self._now[id] = pushed.tops[id]
            if id in pushed.firsts:
                self._firsts.setdefault(id, set()).update(pushed.firsts[id])
        self._ended |= dict.fromkeys(id for id in pushed.step.ended if id in touched)
        self._last, self._at = pushed.step.id, pushed.now
        self._wake.set()

    async def _settle(self) -> None:
        if self._last is None:
            return
        if self.request.rate:
            # What comes while this waits is netted with what is pending.
            await asyncio.sleep(self._told_at + 1 / self.request.rate - time.monotonic())
        self._finish()

    def _finish(self) -> None:
        if self._last is None:
            return
        rows: list[dict[str, Any]] = []
        for id, top in self._now.items():
            rows += difference(id, self._told.get(id, ()), top, self._firsts.get(id, ()), self._at)
            self._told[id] = top
        ended = [id for id in self._ended if not self._told.get(id)]
        if rows or ended:
            self._events.append(changes_event(self._last, map(dumps, rows), ended, netted=True))
            self._told_at = time.monotonic()
        self._now.clear()
        self._firsts.clear()
        self._ended.clear()
        self._last = None


def listener_for(request: PushRequest, most_bytes: int) -> Listener:
    """The listener that suits the mode."""
    return (LatestListener if request.mode == "latest" else EveryListener)(request, most_bytes)
