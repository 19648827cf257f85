"""Metadata: tenants, tokens and the audit trail, in an SQLite file that survives a loss of power after each change.

Another process, such as `skyband serve --new-admin`, may write to it at any time; what it changes is seen at once.
"""

import json
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skyband.log.segment import sync_folder

SCHEMA = """
CREATE TABLE IF NOT EXISTS tenants (name TEXT PRIMARY KEY, limits TEXT NOT NULL, created INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, tenant TEXT NOT NULL, title TEXT NOT NULL, digest TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL,
    prefix TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER, revoked INTEGER, used INTEGER);
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, tenant TEXT NOT NULL, token TEXT, action TEXT NOT NULL,
    target TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS audit_tenant ON audit (tenant, id);
"""
VERSION = 1


class KeptToken(NamedTuple):
    """What is kept of a token; times are in microseconds."""

    name: str
    tenant: str
    title: str
    digest: str
    scopes: tuple[str, ...]
    prefix: str
    created: int
    expires: int | None
    revoked: int | None
    used: int | None

    def is_valid(self, now: int) -> bool:
        """Whether it still lets in."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class AuditLine(NamedTuple):
    """Something that somebody did."""

    id: int
    at: int
    tenant: str
    token: str | None
    action: str
    target: str
    detail: dict[str, Any]


class Metadata:
    """The SQLite file of a data folder."""

    def __init__(self, path: Path) -> None:
        is_new = not path.exists()
        self._db = sqlite3.connect(path, isolation_level=None, timeout=10)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise ValueError(f"{path} has format {version}, and this version of Skyband reads format {VERSION}.")
        self._db.executescript(SCHEMA + f"PRAGMA user_version={VERSION};")
        if is_new:
            path.chmod(0o600)
            sync_folder(path.parent)
        self._cache: dict[str, KeptToken] = {}
        self._seen = -1
        self._any_token = False

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def check(self) -> None:
        """Raise unless it can be read."""
        self._db.execute("SELECT count(*) FROM tenants").fetchone()

    def add_token(self, token: KeptToken) -> None:
        """Keep a token."""
        values = token._replace(scopes=" ".join(token.scopes))  # type: ignore[arg-type]
        self._db.execute(f"INSERT INTO tokens VALUES ({', '.join('?' * len(values))})", values)
        self._cache.clear()
        self._any_token = True

    def tokens(self, tenant: str) -> list[KeptToken]:
        """The tokens of a tenant in the order in which they were made."""
        rows = self._db.execute("SELECT * FROM tokens WHERE tenant = ? ORDER BY created, name", (tenant,))
        return [_token(row) for row in rows]

    @property
    def has_tokens(self) -> bool:
        """Whether any token was ever made; from then on nobody is let in without one."""
        self._look()
        if not self._any_token:
            self._any_token = self._db.execute("SELECT 1 FROM tokens LIMIT 1").fetchone() is not None
        return self._any_token

    def token_with(self, digest: str) -> KeptToken | None:
        """The token with this hash."""
        self._look()
        found = self._cache.get(digest)
        if found is None:
            row = self._db.execute("SELECT * FROM tokens WHERE digest = ?", (digest,)).fetchone()
            if row is None:
                return None
            found = self._cache[digest] = _token(row)
        return found

    def revoke(self, tenant: str, name: str, at: int) -> bool:
        """Let a token let nobody in any more; says whether there is one."""
        done = self._db.execute(
            "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE tenant = ? AND name = ?", (at, tenant, name)
        )
        self._cache.clear()
        return done.rowcount > 0

    def note_used(self, used: Mapping[str, int]) -> None:
        """Note when tokens were used last."""
        if used:
            self._db.execute("BEGIN")
            self._db.executemany("UPDATE tokens SET used = ? WHERE name = ?", [(at, name) for name, at in used.items()])
            self._db.execute("COMMIT")

    def tenants(self) -> dict[str, dict[str, Any]]:
        """The limits of each tenant that has any of its own, by name."""
        rows = self._db.execute("SELECT name, limits FROM tenants ORDER BY name")
        return {name: json.loads(limits) for name, limits in rows}

    def put_tenant(self, name: str, limits: Mapping[str, Any]) -> bool:
        """Keep a tenant; says whether it is new."""
        is_new = self._db.execute("SELECT 1 FROM tenants WHERE name = ?", (name,)).fetchone() is None
        self._db.execute(
            "INSERT INTO tenants VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET limits = excluded.limits",
            (name, json.dumps(dict(limits)), now_us()),
        )
        return is_new

    def drop_tenant(self, name: str, at: int) -> bool:
        """Forget a tenant and revoke its tokens; says whether there was one."""
        self._db.execute("UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE tenant = ?", (at, name))
        self._cache.clear()
        return self._db.execute("DELETE FROM tenants WHERE name = ?", (name,)).rowcount > 0

    def note(self, tenant: str, token: str | None, action: str, target: str, detail: Mapping[str, Any]) -> None:
        """Add to the audit trail."""
        self._db.execute(
            "INSERT INTO audit (at, tenant, token, action, target, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (now_us(), tenant, token, action, target, json.dumps(dict(detail))),
        )

    def audit(self, tenant: str, before: int | None, limit: int) -> list[AuditLine]:
        """What was done in a tenant, the latest first."""
        rows = self._db.execute(
            "SELECT * FROM audit WHERE tenant = ? AND id < ? ORDER BY id DESC LIMIT ?",
            (tenant, 2**62 if before is None else before, limit),
        )
        return [AuditLine._make((*row[:6], json.loads(row[6]))) for row in rows]

    def _look(self) -> None:
        """Forget what was read before, if another process has written since."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if version != self._seen:
            self._cache.clear()
            self._seen = version


def now_us() -> int:
    """The time of the server's clock in microseconds."""
    return time.time_ns() // 1000


def _token(row: tuple[Any, ...]) -> KeptToken:
    found = KeptToken(*row)
    return found._replace(scopes=tuple(str(found.scopes).split()))
