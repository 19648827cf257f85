"""Messages and attempts in the database of the webhooks.

A message is kept until it has arrived, or until somebody drops it. Messages are written together with the step up to
which there are messages, so that after a crash each step has been made a message of once.
"""

from collections.abc import Sequence
from typing import NamedTuple, get_args

from skyband.server.webhook.hook_base import HookBase
from skyband.server.webhook.kept import HookAttempt, HookMessage, MessageState

# How many attempts are kept of each webhook.
MOST_ATTEMPTS = 1000
NEVER = 2**62


class NewMessage(NamedTuple):
    """A message that is not kept yet."""

    id: str
    kind: str
    body: str


class MessageStore:
    """The messages; all methods belong to the thread of the database."""

    def __init__(self, base: HookBase) -> None:
        self._db = base.db

    def take(self, hook: str, messages: Sequence[NewMessage], cursor: str, told: str | None, now: int) -> None:
        """Keep messages, and up to where there are some."""
        rows = [(each.id, hook, each.kind, each.body, now, now) for each in messages]
        with self._db.transaction():
            for row in rows:
                self._db.change(
                    "INSERT INTO messages (id, hook, kind, body, created, state, n_attempts, due)"
                    " VALUES (?, ?, ?, ?, ?, 'waiting', 0, ?) ON CONFLICT (id) DO NOTHING",
                    row,
                )
            self._db.change("UPDATE hooks SET cursor = ?, told = ? WHERE id = ?", (cursor, told, hook))

    def n_waiting(self, hook: str) -> int:
        """How many messages wait."""
        query = "SELECT count(*) FROM messages WHERE hook = ? AND state = 'waiting'"
        return int(self._db.rows(query, (hook,))[0][0])

    def counts(self) -> dict[str, int]:
        """How many messages of all webhooks wait, and how many are dead."""
        found: dict[str, int] = dict(self._db.rows("SELECT state, count(*) FROM messages GROUP BY state"))
        return {state: int(found.get(state, 0)) for state in get_args(MessageState)}

    def next(self, hook: str) -> HookMessage | None:
        """The message that is due first; of those that are due at once, the earliest step."""
        query = "SELECT * FROM messages WHERE hook = ? AND state = 'waiting' ORDER BY due, seq LIMIT 1"
        rows = self._db.rows(query, (hook,))
        return HookMessage(*rows[0]) if rows else None

    def record(self, message: HookMessage, attempt: HookAttempt, due: int | None) -> None:
        """Keep an attempt: the message has arrived, or is due again, or has had its last attempt."""
        with self._db.transaction():
            self._db.change(
                "INSERT INTO attempts (hook, message, at, status, error, ms) VALUES (?, ?, ?, ?, ?, ?)", attempt[1:]
            )
            if attempt.has_arrived:
                self._db.change("DELETE FROM messages WHERE seq = ?", (message.seq,))
            else:
                state = "dead" if due is None else "waiting"
                self._db.change(
                    "UPDATE messages SET state = ?, due = ?, n_attempts = n_attempts + 1 WHERE seq = ?",
                    (state, message.due if due is None else due, message.seq),
                )
            self._db.change(
                "DELETE FROM attempts WHERE hook = ? AND id <= (SELECT id FROM attempts WHERE hook = ?"
                " ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (message.hook, message.hook, MOST_ATTEMPTS),
            )

    def arrived_since(self, hook: str, at: int) -> bool:
        """Whether any message has arrived since."""
        query = "SELECT 1 FROM attempts WHERE hook = ? AND at >= ? AND status BETWEEN 200 AND 299 LIMIT 1"
        return bool(self._db.rows(query, (hook, at)))

    def attempts(self, hook: str, before: int | None, limit: int) -> list[HookAttempt]:
        """Attempts, the latest first."""
        query = "SELECT * FROM attempts WHERE hook = ? AND id < ? ORDER BY id DESC LIMIT ?"
        return [HookAttempt(*row) for row in self._db.rows(query, (hook, before or NEVER, limit))]

    def dead(self, hook: str, after: int | None, limit: int) -> list[HookMessage]:
        """Messages that nobody took, the earliest first."""
        query = "SELECT * FROM messages WHERE hook = ? AND state = 'dead' AND seq > ? ORDER BY seq LIMIT ?"
        return [HookMessage(*row) for row in self._db.rows(query, (hook, after or 0, limit))]

    def replay(self, hook: str, ids: Sequence[str] | None, now: int) -> int:
        """Let messages that nobody took wait again, all or these; says how many."""
        return self._dead("UPDATE messages SET state = 'waiting', n_attempts = 0, due = ?", [now], hook, ids)

    def drop(self, hook: str, ids: Sequence[str] | None) -> int:
        """Forget messages that nobody took, all or these; says how many."""
        return self._dead("DELETE FROM messages", [], hook, ids)

    def _dead(self, verb: str, given: list[object], hook: str, ids: Sequence[str] | None) -> int:
        chosen = "" if ids is None else f" AND id IN ({', '.join('?' * len(ids))})"
        query = f"{verb} WHERE hook = ? AND state = 'dead'{chosen}"
        return self._db.change(query, [*given, hook, *(ids or ())])
