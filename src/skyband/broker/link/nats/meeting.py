"""How far this broker and one peer have come: the sessions that both agree to, what waits, and what was taken.

NATS says neither that a peer is there nor that it takes anything. So both tell each other, with every greeting, the
session that they are in, the one of the other side that they agree to, and how many bytes of parcels have been sent and
taken. They are connected while both agree, and no more than a window of bytes is sent before the peer has taken it.
"""

import asyncio
import time
from collections.abc import Sequence

from skyband.broker.link.greeting import Greeting
from skyband.broker.link.links import LinkCounts
from skyband.broker.link.nats.message import SessionGreeting, new_session
from skyband.broker.link.outgoing import Outgoing
from skyband.broker.wire.envelope import Parcel

ANSWER_SECONDS = 0.02
"""No greeting is answered sooner after the last answer: two brokers of one name would greet each other without end."""


class Meeting:
    """What is known of one peer; `subject` is where it listens to this broker alone."""

    def __init__(self, peer: int, name: str, subject: str, buffer: int) -> None:
        self.peer, self.name, self.subject = peer, name, subject
        self.counts = LinkCounts()
        self.paused_until = 0.0
        self.wake = asyncio.Event()
        self.is_taking = False
        self._buffer, self._window = buffer, buffer // 2
        self._answered_at = 0.0
        self.renew()

    def renew(self) -> None:
        """Begin a session in which nothing is agreed."""
        self.session, self.theirs, self.is_agreed = new_session(), 0, False
        self.outgoing = Outgoing(self._buffer)
        self.sent = self.taken_there = self.taken = self._told = 0
        self.heard_at = self.moved_at = time.monotonic()
        self.wake.set()

    def meet(self, session: int) -> None:
        """Agree to a session of the peer, of which nothing was taken yet."""
        self.theirs = session
        self.taken = self._told = 0

    @property
    def sessions(self) -> tuple[int, int]:
        """The session of the peer and this broker's."""
        return self.theirs, self.session

    @property
    def has_room(self) -> bool:
        """Whether more may be sent before the peer has taken what was."""
        return self.sent - self.taken_there < self._window

    @property
    def owes_word(self) -> bool:
        """Whether the peer should hear soon that more was taken."""
        return self.taken - self._told >= self._window // 4

    def hello(self, greeting: Greeting) -> SessionGreeting:
        """What is to be told now."""
        self._told = self.taken
        return SessionGreeting(greeting, self.session, self.theirs, self.sent, self.taken)

    def may_answer(self) -> bool:
        """Whether an answer is due; it counts as given."""
        now = time.monotonic()
        is_due = now - self._answered_at >= ANSWER_SECONDS
        if is_due:
            self._answered_at = now
        return is_due

    def hear(self, hello: SessionGreeting) -> bool:
        """Take note of a greeting in the session that is agreed to; answers whether the peer agrees as well."""
        self.heard_at = time.monotonic()
        if hello.agrees != self.session:
            return False
        # All that was sent before has come on the same subject before, or is lost.
        self.taken = max(self.taken, hello.sent)
        taken = min(hello.taken, self.sent)
        if taken > self.taken_there or self.sent == taken:
            self.taken_there, self.moved_at = taken, self.heard_at
            self.wake.set()
        return True

    def take_out(self) -> Sequence[Parcel]:
        """What may be sent now."""
        if not (self.is_agreed and self.has_room):
            return ()
        if self.sent == self.taken_there:
            self.moved_at = time.monotonic()
        parcels = self.outgoing.take()
        self.counts.queued_bytes = self.outgoing.n_bytes
        return parcels

    def reason_to_end(self, stall: float) -> str:
        """Why the peer is to be given up; empty if it is not."""
        now = time.monotonic()
        if not self.is_agreed or self.is_taking:
            return ""
        if now - self.heard_at > stall:
            return f"Nothing has come from the peer for {stall:g} s."
        if self.sent > self.taken_there and now - self.moved_at > stall:
            return f"The peer has taken nothing for {stall:g} s."
        return ""
