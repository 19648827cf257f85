"""The webhooks in their database."""

import json
from typing import Any

from skyband.server.webhook.hook_base import HookBase
from skyband.server.webhook.kept import KeptHook
from skyband.server.webhook.signature import HookSecret


class HookStore:
    """The webhooks; all methods belong to the thread of the database."""

    def __init__(self, base: HookBase) -> None:
        self._db = base.db

    def add(self, hook: KeptHook) -> None:
        """Keep a webhook."""
        values = list(_row(hook._asdict()).values())
        self._db.change(f"INSERT INTO hooks VALUES ({', '.join('?' * len(values))})", values)

    def all(self) -> list[KeptHook]:
        """All webhooks of all tenants."""
        return [_hook(row) for row in self._db.rows("SELECT * FROM hooks ORDER BY created, id")]

    def of(self, tenant: str) -> list[KeptHook]:
        """The webhooks of a tenant in the order in which they were made."""
        rows = self._db.rows("SELECT * FROM hooks WHERE tenant = ? ORDER BY created, id", (tenant,))
        return [_hook(row) for row in rows]

    def get(self, id: str) -> KeptHook | None:
        """A webhook, None where it is no more."""
        rows = self._db.rows("SELECT * FROM hooks WHERE id = ?", (id,))
        return _hook(rows[0]) if rows else None

    def change(self, id: str, **values: Any) -> None:
        """Change some columns."""
        row = _row(values)
        names = ", ".join(f"{name} = ?" for name in row)
        self._db.change(f"UPDATE hooks SET {names} WHERE id = ?", [*row.values(), id])

    def disable(self, id: str, reason: str) -> None:
        """Let a webhook be told nothing more; what waits is kept as messages that nobody took."""
        with self._db.transaction():
            self._db.change("UPDATE hooks SET state = 'disabled', reason = ? WHERE id = ?", (reason, id))
            self._db.change("UPDATE messages SET state = 'dead' WHERE hook = ?", (id,))

    def remove(self, id: str) -> None:
        """Forget a webhook, with its messages and attempts."""
        with self._db.transaction():
            self._db.change("DELETE FROM hooks WHERE id = ?", (id,))
            self._db.change("DELETE FROM messages WHERE hook = ?", (id,))
            self._db.change("DELETE FROM attempts WHERE hook = ?", (id,))


def _row(values: dict[str, Any]) -> dict[str, Any]:
    """Values as the database has them."""
    found = dict(values)
    for name in ("names", "known"):
        if found.get(name) is not None:
            found[name] = json.dumps(found[name])
    return found


def _hook(row: tuple[Any, ...]) -> KeptHook:
    found = KeptHook(*row)
    names = None if found.names is None else tuple(json.loads(str(found.names)))
    known = tuple(HookSecret(*each) for each in json.loads(str(found.known)))
    return found._replace(names=names, known=known)
