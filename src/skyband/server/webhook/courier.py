"""The courier of one webhook: sends what is due, one message at a time, and writes down what came of it."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from skyband.server.meter import Meters
from skyband.server.store.metadata import now_us
from skyband.server.webhook.hook_base import HookBase
from skyband.server.webhook.hook_store import HookStore
from skyband.server.webhook.kept import HookAttempt, HookMessage, KeptHook
from skyband.server.webhook.message_store import MessageStore
from skyband.server.webhook.post import HookAnswer, PostFailed, post
from skyband.server.webhook.schedule import next_attempt
from skyband.server.webhook.signature import signed_headers
from skyband.server.webhook.target import BadTarget, LookUp, checked_address, read_target

GONE = 410
# How many requests are open at once, of all webhooks together.
MOST_OPEN = 64
Post = Callable[..., Awaitable[HookAnswer]]


class HookDesk:
    """What all webhooks share: the database, what is counted, and the world as it is, which tests replace."""

    def __init__(
        self,
        base: HookBase,
        meters: Meters,
        allow_private: bool = False,
        clock: Callable[[], int] = now_us,
        look_up: LookUp | None = None,
        send: Post = post,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self.base = base
        self.hooks = HookStore(base)
        self.messages = MessageStore(base)
        self.meters = meters
        self.allow_private = allow_private
        self.clock = clock
        self.look_up = look_up
        self.send = send
        self.draw = draw
        self.open = asyncio.Semaphore(MOST_OPEN)


class Reception(NamedTuple):
    """What a receiver did with a message: the status of its answer, or what went wrong."""

    status: int | None
    error: str | None = None
    retry_after: float | None = None


class Courier:
    """Sends the messages of one webhook."""

    def __init__(self, desk: HookDesk, hook: str) -> None:
        self.desk = desk
        self.hook = hook

    async def send_due(self) -> int | None:
        """Send what is due by now; says when something will be, None if nothing waits."""
        desk = self.desk
        while True:
            hook, message = await desk.base.run(lambda: (desk.hooks.get(self.hook), desk.messages.next(self.hook)))
            if hook is None or message is None or hook.state == "disabled":
                return None
            if message.due > desk.clock():
                return message.due
            await self._attempt(hook, message)

    async def _attempt(self, hook: KeptHook, message: HookMessage) -> None:
        desk, at, began = self.desk, self.desk.clock(), time.monotonic()
        async with desk.open:
            found = await self._reception(hook, message, at)
        ms = round(1000 * (time.monotonic() - began))
        attempt = HookAttempt(0, hook.id, message.id, at, found.status, found.error, ms)
        due = next_attempt(message.n_attempts + 1, desk.clock(), found.retry_after, desk.draw)
        await desk.base.run(lambda: desk.messages.record(message, attempt, due))
        outcome = "arrived" if attempt.has_arrived else "dead" if due is None else "failed"
        desk.meters.count("skyband_webhook_attempts_total", outcome=outcome)
        if found.status == GONE:
            await self._disable("The receiver has answered 410 Gone.")
        elif outcome == "dead" and not await desk.base.run(
            lambda: desk.messages.arrived_since(hook.id, message.created)
        ):
            await self._disable("A message had all its attempts, and none other has arrived meanwhile.")

    async def _reception(self, hook: KeptHook, message: HookMessage, at: int) -> Reception:
        body, desk = message.body.encode(), self.desk
        try:
            target = read_target(hook.url, desk.allow_private)
            address = await checked_address(target, desk.allow_private, desk.look_up)
            answer = await desk.send(target, address, signed_headers(hook.known, message.id, body, at), body)
        except (BadTarget, PostFailed) as error:
            return Reception(None, str(error))
        if 300 <= answer.status < 400:
            return Reception(answer.status, "Redirects are not followed.")
        return Reception(answer.status, None, answer.retry_after)

    async def _disable(self, reason: str) -> None:
        await self.desk.base.run(lambda: self.desk.hooks.disable(self.hook, reason))
        self.desk.meters.count("skyband_webhooks_disabled_total")
