"""All webhooks of a server: making, changing and removing them, and the tasks that feed and send."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from skyband.server.access.doorway import QuotaReached
from skyband.server.config import ServerConfig
from skyband.server.meter import Meters
from skyband.server.push.hub import Hub
from skyband.server.webhook.courier import Courier, HookDesk
from skyband.server.webhook.feed import Feed
from skyband.server.webhook.hook_base import HookBase
from skyband.server.webhook.kept import HookAttempt, HookMessage, KeptHook
from skyband.server.webhook.signature import HookSecret, new_secret
from skyband.server.webhook.target import checked_address, read_target

LOG = logging.getLogger("skyband.server")
MOST_HOOKS = 100
# After something unforeseen, such as a full disk.
AGAIN_SECONDS = 5.0


class NoSuchHook(ValueError):
    """A webhook that is not there was named."""


class HookWork:
    """The tasks of one webhook that is enabled."""

    def __init__(self, desk: HookDesk, hub: Hub, hook: str) -> None:
        self.hook = hook
        self._desk = desk
        self._due = asyncio.Event()
        self._feed = Feed(desk, hub, hook, self._due.set)
        self._courier = Courier(desk, hook)
        self._tasks = [asyncio.create_task(_kept_up(each)) for each in (self._feed.run, self._send)]

    def wake(self) -> None:
        """Look again at what is due."""
        self._due.set()

    async def begun(self) -> None:
        """Wait until it listens to its stream, or will not."""
        await self._feed.begun.wait()

    def stop_feeding(self) -> None:
        """Take no more events; what is being sent may go on for a moment."""
        self._feed.stop()

    async def end(self) -> None:
        """End both tasks. A message whose answer was not seen is sent again, under the same id."""
        self._feed.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _send(self) -> None:
        while True:
            self._due.clear()
            due = await self._courier.send_due()
            self._feed.settled.set()
            wait = None if due is None else max(0.0, (due - self._desk.clock()) / 1e6)
            try:
                async with asyncio.timeout(wait):
                    await self._due.wait()
            except TimeoutError:
                continue


class Webhooks:
    """The webhooks of all tenants."""

    def __init__(self, config: ServerConfig, base: HookBase, hub: Hub, meters: Meters) -> None:
        self.config = config
        self.hub = hub
        self.desk = HookDesk(base, meters, config.private_webhooks)
        self._work: dict[str, HookWork] = {}

    async def start(self) -> None:
        """Begin to work for those that are enabled."""
        for hook in await self.desk.base.run(self.desk.hooks.all):
            self._begin(hook)

    def stop_feeding(self) -> None:
        """Take no more events."""
        for work in self._work.values():
            work.stop_feeding()

    async def end(self) -> None:
        """End all tasks."""
        await asyncio.gather(*(work.end() for work in self._work.values()))
        self._work.clear()

    def close(self) -> None:
        """Let go of the database."""
        self.desk.base.close()

    async def of(self, tenant: str, prefix: str = "") -> list[KeptHook]:
        """The webhooks of a tenant that somebody may see whose subscriptions begin so."""
        found = await self.desk.base.run(lambda: self.desk.hooks.of(tenant))
        return [hook for hook in found if hook.prefix.startswith(prefix)]

    async def get(self, tenant: str, id: str, prefix: str = "") -> KeptHook:
        """One of them, or `NoSuchHook`."""
        hook = await self.desk.base.run(lambda: self.desk.hooks.get(id))
        if hook is None or hook.tenant != tenant or not hook.prefix.startswith(prefix):
            raise NoSuchHook(f"There is no webhook {id!r}.")
        return hook

    async def add(self, hook: KeptHook) -> KeptHook:
        """Keep a webhook, whose address is checked first; it listens when this returns."""
        await self.check_url(hook.url)
        if len(await self.of(hook.tenant)) >= MOST_HOOKS:
            raise QuotaReached(f"A tenant may have {MOST_HOOKS} webhooks at most.")
        await self.desk.base.run(lambda: self.desk.hooks.add(hook))
        self._begin(hook)
        await self._work[hook.id].begun()
        return hook

    async def check_url(self, url: str) -> None:
        """Raise unless messages may be sent there."""
        await checked_address(read_target(url, self.desk.allow_private), self.desk.allow_private, self.desk.look_up)

    async def change(self, hook: KeptHook, **values: Any) -> KeptHook:
        """Change a webhook, and begin anew with what it is then."""
        await self._end(hook.id)
        await self.desk.base.run(lambda: self.desk.hooks.change(hook.id, **values))
        changed = hook._replace(**values)
        self._begin(changed)
        return changed

    async def disable(self, hook: KeptHook, reason: str) -> KeptHook:
        """Let a webhook be told nothing more until it is enabled."""
        await self._end(hook.id)
        await self.desk.base.run(lambda: self.desk.hooks.disable(hook.id, reason))
        return hook._replace(state="disabled", reason=reason)

    async def rotate(self, hook: KeptHook, overlap: int) -> str:
        """A new secret; the one before it signs for so many microseconds more."""
        now, made = self.desk.clock(), new_secret()
        old = [secret._replace(until=now + overlap) for secret in hook.known if secret.until is None]
        known = (HookSecret(made), *(old if overlap else ()))
        await self.desk.base.run(lambda: self.desk.hooks.change(hook.id, known=known))
        return made

    async def remove(self, hook: KeptHook) -> None:
        """Forget a webhook with everything of it."""
        await self._end(hook.id)
        await self.desk.base.run(lambda: self.desk.hooks.remove(hook.id))

    async def forget(self, tenant: str) -> None:
        """Forget all webhooks of a tenant."""
        for hook in await self.of(tenant):
            await self.remove(hook)

    async def counts(self) -> dict[str, int]:
        """How many messages wait, and how many are dead."""
        return await self.desk.base.run(self.desk.messages.counts)

    async def attempts(self, hook: KeptHook, before: int | None, limit: int) -> list[HookAttempt]:
        """The attempts, the latest first."""
        return await self.desk.base.run(lambda: self.desk.messages.attempts(hook.id, before, limit))

    async def dead(self, hook: KeptHook, after: int | None, limit: int) -> list[HookMessage]:
        """Messages that nobody took, the earliest first."""
        return await self.desk.base.run(lambda: self.desk.messages.dead(hook.id, after, limit))

    async def replay(self, hook: KeptHook, ids: list[str] | None) -> int:
        """Send messages again that nobody took; says how many."""
        n = await self.desk.base.run(lambda: self.desk.messages.replay(hook.id, ids, self.desk.clock()))
        if (work := self._work.get(hook.id)) is not None:
            work.wake()
        return n

    async def drop(self, hook: KeptHook, ids: list[str] | None) -> int:
        """Forget messages that nobody took; says how many."""
        return await self.desk.base.run(lambda: self.desk.messages.drop(hook.id, ids))

    def _begin(self, hook: KeptHook) -> None:
        if hook.state == "enabled":
            self._work[hook.id] = HookWork(self.desk, self.hub, hook.id)

    async def _end(self, id: str) -> None:
        if (work := self._work.pop(id, None)) is not None:
            await work.end()


def new_hook_id() -> str:
    """An id that no webhook has."""
    return "wh_" + secrets.token_hex(8)


async def _kept_up(run: Callable[[], Awaitable[None]]) -> None:
    """Run, and again after a while where something unforeseen has happened."""
    while True:
        try:
            await run()
            return
        except Exception as error:
            LOG.error("The work of a webhook has failed and is tried again: %s.", error)
            await asyncio.sleep(AGAIN_SECONDS)
