"""The feed of one webhook: listens to its stream as a connection would, and makes messages of what it hears.

Messages are on disk before the next events are taken. In the mode `every` so many may wait; after that the feed waits
too, and goes on from the step where it was, or with the tops anew where the stream no longer has that. In the mode
`latest` one message waits at a time, and the next is the difference to the newest tops when it has arrived.
"""

import asyncio
import datetime
import json
from collections.abc import Callable, Sequence
from functools import partial

from skyband.server.push.hub import Hub
from skyband.server.push.listener import Listener
from skyband.server.push.push_event import PushEvent
from skyband.server.push.push_request import PushRequest
from skyband.server.webhook.courier import HookDesk
from skyband.server.webhook.kept import KeptHook
from skyband.server.webhook.message_store import NewMessage

MOST_WAITING = 10_000
TOLD = ("snapshot", "changes", "reset")


class Feed:
    """Makes messages for one webhook; `made` is called when there are some."""

    def __init__(self, desk: HookDesk, hub: Hub, hook: str, made: Callable[[], None]) -> None:
        self.desk = desk
        self.hub = hub
        self.hook = hook
        self.made = made
        self.settled = asyncio.Event()
        """Set whenever a message has left the queue."""
        self.begun = asyncio.Event()
        """Set once it listens, or will not: what is published from then on is made messages of."""
        self.stopping = False
        self._held: list[PushEvent] = []
        self._listener: Listener | None = None

    async def run(self) -> None:
        """Feed until the server stops, or the webhook is over, which is then written down."""
        try:
            await self._feed()
        finally:
            self.begun.set()

    async def _feed(self) -> None:
        while not self.stopping:
            hook = await self.desk.base.run(lambda: self.desk.hooks.get(self.hook))
            if hook is None or hook.state == "disabled":
                return
            await self._room(hook)
            try:
                over = await self._listen(hook)
            except ValueError as error:
                over = str(error)
            if over is not None:
                await self.desk.base.run(partial(self.desk.hooks.disable, self.hook, over))
                return

    async def _listen(self, hook: KeptHook) -> str | None:
        """Make messages until the connection ends; says why, if there will be no other."""
        key = (hook.tenant, hook.stream)
        request = PushRequest(key, hook.names, hook.mode, hook.rate, hook.cursor, hook.prefix)
        listener = await self.hub.listen(request)
        self.begun.set()
        self._held.clear()
        try:
            while events := await listener.next():
                await self._take(hook.id, events)
                if (last := events[-1]).kind == "closing":
                    said = json.loads(last.data)
                    return None if said["resumable"] else str(said["detail"])
                await self._room(hook)
            return None
        finally:
            self.hub.leave(listener)

    async def _take(self, id: str, events: Sequence[PushEvent]) -> None:
        """Keep what has been told up to the last event with an id; what follows that is held until one comes."""
        desk = self.desk
        self._held += [event for event in events if event.kind != "closing"]
        ends = [i for i, event in enumerate(self._held) if event.id is not None]
        if not ends:
            return
        known, self._held = self._held[: ends[-1] + 1], self._held[ends[-1] + 1 :]
        cursor, now = known[-1].id, desk.clock()
        hook = await desk.base.run(lambda: desk.hooks.get(id))
        if hook is None or cursor is None or cursor == hook.cursor:
            return
        told = [event for event in known if event.kind in TOLD]
        messages, previous = messages_of(hook, told, cursor, now)
        await desk.base.run(lambda: desk.messages.take(id, messages, cursor, previous, now))
        if messages:
            self.made()

    async def _room(self, hook: KeptHook) -> None:
        """Wait until there is room for another message."""
        most = 1 if hook.mode == "latest" else MOST_WAITING
        while not self.stopping:
            self.settled.clear()
            if await self.desk.base.run(lambda: self.desk.messages.n_waiting(hook.id)) < most:
                return
            await self.settled.wait()

    def stop(self) -> None:
        """Let it end soon."""
        self.stopping = True
        self.settled.set()


def messages_of(
    hook: KeptHook, events: Sequence[PushEvent], cursor: str, now: int
) -> tuple[list[NewMessage], str | None]:
    """The messages for some events, and the step of the last of them.

    Each names the step of the message before it, so that a receiver sees where one is missing, or comes later.
    """
    found: list[NewMessage] = []
    previous = hook.told
    at = datetime.datetime.fromtimestamp(now / 1e6, datetime.UTC).isoformat()
    for i, event in enumerate(events):
        step = event.id or cursor
        kind = f"top.{event.kind}"
        data = {"webhook": hook.id, "stream": hook.stream, "previous": previous}
        # What was written as JSON once is not read and written again.
        inner = json.dumps(data)[:-1] + ", " + event.data.removeprefix("{")
        body = f'{{"type": "{kind}", "timestamp": "{at}", "data": {inner}}}'
        found.append(NewMessage(f"msg_{hook.id}_{step}_{i if event.id is None else 0}", kind, body))
        previous = step
    return found, previous
