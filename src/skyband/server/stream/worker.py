"""The one thread that all streams live on: verbs and questions one after the other, in groups.

A group is what waits when the one before it is done. Its verbs are written to the journal together, then each is done
and numbered; then the loop is handed all of it, which pushes the steps first and answers the askers after that. A group
that cannot be written is not done either.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from skyband.contract.checked import Checked
from skyband.server.store.journal import Journal
from skyband.server.store.record import Record
from skyband.server.stream.checkpoint import Checkpoints
from skyband.server.stream.served import StepResult
from skyband.server.stream.stream_set import StreamSet

LOG = logging.getLogger("skyband.server")
MOST_JOBS, MOST_BYTES = 4096, 64 << 20
# Nobody waits longer than this for others to join a group.
GROUP_SECONDS = 0.005


class StepReceiver(Protocol):
    """Whoever is given the steps, on the loop, before the asker has its answer."""

    def prepare(self, key: tuple[str, str], result: StepResult, streams: StreamSet) -> Any:
        """On the thread of the streams: make of the steps what `push` needs, while all is as they left it."""

    def push(self, key: tuple[str, str], pushes: Any) -> None:
        """On the loop: take what was made of the steps of a verb."""


class StreamJob(NamedTuple):
    """A verb, or a question to the streams, and who waits for the answer.

    `admit` is asked before the verb is written, and may refuse it by raising.
    """

    future: asyncio.Future[Any] | None
    record: Record | None = None
    checked: Checked | None = None
    admit: Callable[[StreamSet], None] | None = None
    ask: Callable[[StreamSet], Any] | None = None
    then: Callable[[Any], None] | None = None
    """What the loop does with the answer to a question before anything of a later job reaches it."""
    expand: Callable[[StreamSet], list[Record]] | None = None
    """What verbs are due by now, as the streams stand."""

    @property
    def weight(self) -> int:
        """About how many bytes it adds to the journal."""
        return len(self.record.body.data) if self.record is not None and self.record.body is not None else 100


class JobOutcome(NamedTuple):
    """A job that was done: what it has led to, or why it was not."""

    job: StreamJob
    result: Any = None
    error: BaseException | None = None
    pushes: Any = None


class Worker:
    """The thread, its queue and what it writes to."""

    def __init__(self, streams: StreamSet, journal: Journal, checkpoints: Checkpoints, checkpoint_every: int) -> None:
        self.streams = streams
        self.journal = journal
        self.checkpoints = checkpoints
        self.checkpoint_every = checkpoint_every
        self.n_groups = 0
        self.largest_group = 0
        self._queue: queue.SimpleQueue[StreamJob | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="skyband-streams", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receiver: StepReceiver | None = None
        self._written_at = max(checkpoints.offsets(), default=0)

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return self._queue.qsize()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def start(self, loop: asyncio.AbstractEventLoop, receiver: StepReceiver) -> None:
        """Begin to take jobs; answers are given on this loop."""
        self._loop, self._receiver = loop, receiver
        self._thread.start()

    async def do(
        self, record: Record, checked: Checked | None = None, admit: Callable[[StreamSet], None] | None = None
    ) -> StepResult:
        """Do a verb; when this returns it is on disk, and what it has changed is on its way to whoever listens."""
        future = asyncio.get_running_loop().create_future()
        self._queue.put(StreamJob(future, record, checked, admit))
        result: StepResult = await future
        return result

    async def ask(self, question: Callable[[StreamSet], Any], then: Callable[[Any], None] | None = None) -> Any:
        """Ask something of the streams, between two verbs; `then` has the answer before any later step is pushed."""
        future = asyncio.get_running_loop().create_future()
        self._queue.put(StreamJob(future, ask=question, then=then))
        return await future

    def note(self, question: Callable[[StreamSet], Any]) -> None:
        """Let something be done between two verbs; nobody waits for it."""
        self._queue.put(StreamJob(None, ask=question))

    def remind(self, expand: Callable[[StreamSet], list[Record]]) -> None:
        """Let verbs that are due be done; nobody waits for them."""
        self._queue.put(StreamJob(None, expand=expand))

    def stop(self) -> None:
        """Finish what waits, and end the thread."""
        self._queue.put(None)
        self._thread.join()
        self.journal.close()

    def _run(self) -> None:
        ends = False
        while not ends:
            group, ends = self._next_group()
            outcomes = self._done(group)
            assert self._loop is not None
            try:
                self._loop.call_soon_threadsafe(self._hand_over, outcomes)
            except RuntimeError:  # the loop was closed: nobody waits any more
                return
            if self.journal.end - self._written_at >= self.checkpoint_every:
                self.checkpoint()

    def _next_group(self) -> tuple[list[StreamJob], bool]:
        group: list[StreamJob] = []
        job = self._queue.get()
        began, weight = time.monotonic(), 0
        while job is not None:
            group += self._expanded(job)
            weight += job.weight
            if len(group) >= MOST_JOBS or weight >= MOST_BYTES or time.monotonic() - began > GROUP_SECONDS:
                return group, False
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return group, False
        return group, True

    def _expanded(self, job: StreamJob) -> list[StreamJob]:
        if job.expand is None:
            return [job]
        try:
            return [StreamJob(None, record) for record in job.expand(self.streams)]
        except Exception:
            LOG.exception("What is due could not be worked out.")
            return []

    def _done(self, group: list[StreamJob]) -> list[JobOutcome]:
        refused = {i: error for i, job in enumerate(group) if (error := self._refusal(job)) is not None}
        records = [job.record for i, job in enumerate(group) if job.record is not None and i not in refused]
        unwritten: BaseException | None = None
        if records:
            self.n_groups += 1
            self.largest_group = max(self.largest_group, len(records))
            try:
                self.journal.append(records)
            except Exception as error:
                LOG.error("A group of verbs could not be written: %s.", error)
                unwritten = error
        return [self._outcome(job, refused.get(i), unwritten) for i, job in enumerate(group)]

    def _refusal(self, job: StreamJob) -> BaseException | None:
        if job.admit is None:
            return None
        try:
            job.admit(self.streams)
        except Exception as error:
            return error
        return None

    def _outcome(self, job: StreamJob, refused: BaseException | None, unwritten: BaseException | None) -> JobOutcome:
        error = refused or (unwritten if job.record is not None else None)
        if error is not None:
            return JobOutcome(job, error=error)
        try:
            if job.record is None:
                assert job.ask is not None
                return JobOutcome(job, job.ask(self.streams))
            result = self.streams.do(job.record, job.checked)
            assert self._receiver is not None
            key = job.record.tenant, job.record.stream
            return JobOutcome(
                job, result, pushes=self._receiver.prepare(key, result, self.streams) if result.steps else ()
            )
        except Exception as error:
            return JobOutcome(job, error=error)

    def _hand_over(self, outcomes: list[JobOutcome]) -> None:
        """On the loop: push everything, then answer."""
        assert self._receiver is not None
        for job, result, error, pushes in outcomes:
            try:
                if error is None and job.record is not None and pushes:
                    self._receiver.push((job.record.tenant, job.record.stream), pushes)
                if error is None and job.then is not None:
                    job.then(result)
            except Exception as unforeseen:
                # What was done stays done; others of this group are still to be answered.
                LOG.exception("A step could not be pushed.")
                error = error or (unforeseen if job.then is not None else None)
            if job.future is None or job.future.done():
                continue
            if error is not None:
                job.future.set_exception(error)
            else:
                job.future.set_result(result)

    def checkpoint(self) -> bool:
        """Write a checkpoint and give up the log before the one that is still kept; says whether it could."""
        offset = self.journal.end
        try:
            self.checkpoints.write(offset, self.streams)
            self.journal.forget_before(self.checkpoints.oldest())
        except Exception as error:
            # The log has everything: it is tried again when more has been written.
            LOG.error("A checkpoint could not be written: %s.", error)
            self._written_at = offset
            return False
        self._written_at = offset
        return True
