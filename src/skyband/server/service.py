"""The service: everything that a running server consists of but for the network, and the verbs as callers ask for them.

What a caller sends is checked before it is written: rows against the family, and numbers against the limits.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from skyband.contract.checked import Checked
from skyband.server.access.doorway import Doorway, QuotaReached
from skyband.server.access.token import Caller
from skyband.server.config import ServerConfig
from skyband.server.console.beside import Beside
from skyband.server.console.recent import MOST_RECALLED, RecentPublications
from skyband.server.meter import Meters
from skyband.server.push.hub import Hub
from skyband.server.store.database import NoDatabase
from skyband.server.store.journal import Journal
from skyband.server.store.metadata import now_us, open_metadata
from skyband.server.store.record import Body, Record, VerbName
from skyband.server.stream.checkpoint import Checkpoints
from skyband.server.stream.recovery import recover
from skyband.server.stream.served import ServedStream, StepResult
from skyband.server.stream.spec import StreamSpec, check_name
from skyband.server.stream.stream_set import StreamSet, new_epoch, opening
from skyband.server.stream.worker import Worker
from skyband.server.trace import open_traces
from skyband.server.webhook.hook_base import open_hook_base
from skyband.server.webhook.webhooks import Webhooks
from skyband.table import Reject, Rejected

LOG = logging.getLogger("skyband.server")
# A body up to this size is checked at once: handing it to a thread takes as long.
SMALL_BODY = 16 * 1024
USED_SECONDS = 60


class Service:
    """What is behind the address of a server; it may be made on any thread, and belongs to the loop from then on."""

    def __init__(self, config: ServerConfig, restored: bool = False) -> None:
        config.data.mkdir(parents=True, exist_ok=True)
        config.data.chmod(0o700)
        self.config = config
        self.beside = Beside(config)
        self.meters = Meters()
        self.traces = open_traces(config)
        with ExitStack() as undoing:
            journal = Journal(config.data / "log")
            undoing.callback(journal.close)
            self.metadata = open_metadata(config)
            undoing.callback(self.metadata.close)
            hooks = open_hook_base(config)
            undoing.callback(hooks.close)
            checkpoints = Checkpoints(config.data / "checkpoints")
            streams = recover(journal, checkpoints, config.limits.ring)
            self._write_down(journal, streams, restored)
            self.recent = RecentPublications()
            self.recent.recall(journal.since(max(journal.first, journal.end - MOST_RECALLED)))
            undoing.pop_all()
        self.doorway = Doorway(config, self.metadata)
        self.worker = Worker(streams, journal, checkpoints, config.checkpoint_every)
        self.hub = Hub(self.worker, config.limits.queued)
        self.webhooks = Webhooks(config, hooks, self.hub, self.meters)
        self.stopping = False
        self._ticker: asyncio.Task[None] | None = None
        self._hooks_begin: asyncio.Task[None] | None = None

    @property
    def streams(self) -> StreamSet:
        """All streams; they change on a thread of their own."""
        return self.worker.streams

    def start(self) -> None:
        """Begin to work, on the loop that is running."""
        self.worker.start(asyncio.get_running_loop(), self.hub)
        self._ticker = asyncio.create_task(self._tick())
        self._hooks_begin = asyncio.create_task(self.webhooks.start())

    async def say_goodbye(self) -> None:
        """Let every open connection end, with a word and in a moment."""
        self.stopping = True
        self.webhooks.stop_feeding()
        self.hub.close(lambda _: True, "stopping", "The server is being stopped: resume with the last id.")
        for _ in range(100):
            if not len(self.hub):
                break
            await asyncio.sleep(0.02)
        await self.webhooks.end()

    def stop(self) -> None:
        """End what was started; everything that was acknowledged is on disk already."""
        if self._ticker is not None:
            self._ticker.cancel()
            self.worker.stop()
        else:
            self.worker.journal.close()
        self._note_used()
        self.webhooks.close()
        self.metadata.close()
        self.traces.close()

    async def verb(
        self,
        caller: Caller,
        verb: VerbName,
        name: str,
        facts: Mapping[str, Any] | None = None,
        body: Body | None = None,
        key: str | None = None,
        check: Callable[[Checked], None] | None = None,
    ) -> StepResult:
        """Do a verb on a stream of the caller's tenant; rows are checked first, also by `check`."""
        with self.traces.span(f"skyband {verb}", skyband__tenant=caller.tenant, skyband__stream=name) as span:
            result, n_rows = await self._verb(caller, verb, name, facts, body, key, check)
            span.note(skyband__rows=n_rows, skyband__step=result.answer["step"], skyband__steps=len(result.steps))
        self.meters.count("skyband_verbs_total", verb=verb)
        self.meters.count("skyband_rows_total", n_rows, verb=verb)
        return result

    async def _verb(
        self,
        caller: Caller,
        verb: VerbName,
        name: str,
        facts: Mapping[str, Any] | None,
        body: Body | None,
        key: str | None,
        check: Callable[[Checked], None] | None,
    ) -> tuple[StepResult, int]:
        stream = self.streams.get(caller.tenant, name)
        record = Record(verb, caller.tenant, name, now_us(), dict(facts or {}), body, key)
        checked = None
        if body is not None:
            noun = "publications" if verb == "publish" else "subscriptions"
            checked = await self.checked(caller, stream, noun, record)
            if check is not None:
                check(checked)
            if verb == "publish" and len(checked):
                self.doorway.take_published(caller, len(checked))
        result = await self.worker.do(record, checked, self._admission(caller, verb, checked))
        if verb == "publish" and body is not None and result.steps:
            self.recent.note(stream.key, body, len(checked or ()))
        return result, len(checked or ())

    async def checked(self, caller: Caller, stream: ServedStream, noun: str, record: Record) -> Checked:
        """The rows of a record, of which all are good and none asks for too much."""
        assert record.body is not None
        if len(record.body.data) <= SMALL_BODY:
            checked = stream.check(noun, record)
        else:
            checked = await asyncio.to_thread(stream.check, noun, record)
        limits = self.doorway.limits_of(caller.tenant)
        if len(checked) > limits.rows:
            raise QuotaReached(f"A request may have {limits.rows} rows at most, not {len(checked)}.")
        _check_k(checked, noun, limits.k)
        return checked

    async def open_stream(self, caller: Caller, name: str, spec: StreamSpec) -> None:
        """Open a stream for the caller's tenant."""
        limits = self.doorway.limits_of(caller.tenant)

        def admit(streams: StreamSet) -> None:
            if len(streams.of(caller.tenant)) >= limits.streams:
                raise QuotaReached(f"A tenant may have {limits.streams} streams at most.")

        await self.worker.do(opening(caller.tenant, check_name(name), spec, now_us()), admit=admit)
        self.note(caller, "open", name, {"family": spec.family})

    async def drop_stream(self, caller: Caller, name: str) -> None:
        """Drop a stream with everything in it."""
        self.streams.get(caller.tenant, name)
        await self.worker.do(Record("drop", caller.tenant, name, now_us()))
        key = (caller.tenant, name)
        self.recent.forget(key)
        self.hub.close(lambda listener: listener.request.key == key, "dropped", "The stream was dropped.", False)
        self.note(caller, "drop", name, {})

    def note(self, caller: Caller, action: str, target: str, detail: Mapping[str, Any]) -> None:
        """Add to the audit trail what a caller has done."""
        self.metadata.note(caller.tenant, caller.token, action, target, detail)

    def _admission(self, caller: Caller, verb: VerbName, checked: Checked | None) -> Callable[[StreamSet], None] | None:
        if verb not in ("subscribe", "put") or checked is None:
            return None
        most, n = self.doorway.limits_of(caller.tenant).subscriptions, len(checked)

        def admit(streams: StreamSet) -> None:
            if sum(len(stream.registry) for stream in streams.of(caller.tenant)) + n > most:
                raise QuotaReached(f"A tenant may have {most} subscriptions at most.")

        return admit

    def _write_down(self, journal: Journal, streams: StreamSet, restored: bool) -> None:
        """Begin new epochs in what was restored from a backup, and open the streams of the configuration."""
        records = []
        if restored:
            for stream in streams:
                records.append(Record("renumber", *stream.key, now_us(), {"epoch": new_epoch()}))
        for name, spec in self.config.streams.items():
            if name not in [stream.name for stream in streams.of(Caller().tenant)]:
                records.append(opening(Caller().tenant, name, spec, now_us()))
        if records:
            journal.append(records)
        for record in records:
            streams.do(record)

    async def _tick(self) -> None:
        """Let time pass: what is due is done, and connections on which nothing happens are seen to live."""
        beaten = used = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(self.config.tick)
            now = asyncio.get_running_loop().time()
            self.worker.remind(due_verbs)
            try:
                self._close_invalid()
            except NoDatabase as error:
                # It is looked at again with the next tick.
                LOG.error("Which tokens are valid could not be read. %s", error)
            except Exception:
                LOG.exception("Which tokens are valid could not be read.")
            if now - beaten >= self.config.beat:
                beaten = now
                self.hub.beat()
            if now - used >= USED_SECONDS:
                used = now
                self._note_used()

    def _close_invalid(self) -> None:
        """End the connections of tokens that no longer let in."""
        gone = {
            (tenant, token)
            for tenant, token in self.hub.tokens()
            if token is not None and not self.doorway.is_still_valid(token, tenant)
        }
        if gone:
            self.hub.close(
                lambda listener: (listener.request.key[0], listener.request.token) in gone,
                "token",
                "The token has expired or was revoked.",
            )

    def _note_used(self) -> None:
        used, self.doorway.used = self.doorway.used, {}
        try:
            self.metadata.note_used(used)
        except Exception as error:
            LOG.error("When tokens were used could not be noted: %s.", error)


def due_verbs(streams: StreamSet) -> list[Record]:
    """What the clock of the server asks for: goodbyes, and time that passes in streams that follow the clock."""
    now, found = now_us(), []
    for stream in streams:
        if stream.damaged is not None:
            continue
        if due := stream.registry.due(now):
            found.append(Record("unsubscribe", *stream.key, now, {"ids": due}))
        if stream.spec.clock == "wall" and (stream.engine.now is not None and stream.engine.now < now):
            found.append(Record("advance", *stream.key, now, {"now": now}))
    return found


def check_k(k: int, most: int) -> None:
    """Raise where more is asked for than anybody may."""
    if k > most:
        raise QuotaReached(f"k must be at most {most} here, not {k}.")


def _check_k(checked: Checked, noun: str, most: int) -> None:
    if "k" not in checked.rows._fields:
        return
    ks = np.asarray(checked.rows.k)
    bad = np.flatnonzero(ks > most).tolist()
    if bad:
        rows = [(int(checked.numbers[i]), str(int(ks[i]))) for i in bad]
        raise Rejected([Reject(row, "k", k, f"k must be at most {most} here") for row, k in rows], noun)
