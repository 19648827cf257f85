"""Metadata: tenants, tokens and the audit trail, which survive a loss of power after each change.

Another process, such as `skyband serve --new-admin`, may write to the same database at any time. What it changes is
seen at once in an SQLite file, and within a second in PostgreSQL.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from skyband.server.config import ServerConfig
from skyband.server.store.database import Database
from skyband.server.store.opened import open_database

SCHEMA = """
CREATE TABLE IF NOT EXISTS tenants (name TEXT PRIMARY KEY, limits TEXT NOT NULL, created BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY, tenant TEXT NOT NULL, title TEXT NOT NULL, digest TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL,
    prefix TEXT NOT NULL, created BIGINT NOT NULL, expires BIGINT, revoked BIGINT, used BIGINT);
CREATE TABLE IF NOT EXISTS audit (
    id {serial}, at BIGINT NOT NULL, tenant TEXT NOT NULL, token TEXT, action TEXT NOT NULL,
    target TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS audit_tenant ON audit (tenant, id);
"""
VERSION = 1
ANY_NUMBER = 2**31


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
    """The metadata of a server, in its database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._cache: dict[str, KeptToken] = {}
        self._any_token = False

    def close(self) -> None:
        """Let go of the database."""
        self._db.close()

    def check(self) -> None:
        """Raise unless it can be read."""
        self._db.rows("SELECT count(*) FROM tenants")

    def add_token(self, token: KeptToken) -> None:
        """Keep a token."""
        values = token._replace(scopes=" ".join(token.scopes))  # type: ignore[arg-type]
        self._db.change(f"INSERT INTO tokens VALUES ({', '.join('?' * len(values))})", values)
        self._cache.clear()
        self._any_token = True

    def tokens(self, tenant: str, after: str = "", limit: int = ANY_NUMBER) -> list[KeptToken]:
        """The tokens of a tenant in the order in which they were made, from the one after a name on."""
        query = (
            "SELECT tokens.* FROM tokens LEFT JOIN tokens AS last ON last.name = ? AND last.tenant = ?"
            " WHERE tokens.tenant = ? AND (last.name IS NULL OR tokens.created > last.created"
            " OR tokens.created = last.created AND tokens.name > last.name)"
            " ORDER BY tokens.created, tokens.name LIMIT ?"
        )
        return [_token(row) for row in self._db.rows(query, (after, tenant, tenant, limit))]

    def token_named(self, tenant: str, name: str) -> KeptToken | None:
        """The token with this name."""
        rows = self._db.rows("SELECT * FROM tokens WHERE tenant = ? AND name = ?", (tenant, name))
        return _token(rows[0]) if rows else None

    @property
    def has_tokens(self) -> bool:
        """Whether any token was ever made; from then on nobody is let in without one."""
        self._look()
        if not self._any_token:
            self._any_token = bool(self._db.rows("SELECT 1 FROM tokens LIMIT 1"))
        return self._any_token

    def token_with(self, digest: str) -> KeptToken | None:
        """The token with this hash."""
        self._look()
        found = self._cache.get(digest)
        if found is None:
            rows = self._db.rows("SELECT * FROM tokens WHERE digest = ?", (digest,))
            if not rows:
                return None
            found = self._cache[digest] = _token(rows[0])
        return found

    def revoke(self, tenant: str, name: str, at: int) -> bool:
        """Let a token let nobody in any more; says whether there is one."""
        done = self._db.change(
            "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE tenant = ? AND name = ?", (at, tenant, name)
        )
        self._cache.clear()
        return done > 0

    def note_used(self, used: Mapping[str, int]) -> None:
        """Note when tokens were used last."""
        if used:
            rows = [(at, name) for name, at in used.items()]
            self._db.change_each("UPDATE tokens SET used = ? WHERE name = ?", rows)

    def tenants(self) -> dict[str, dict[str, Any]]:
        """The limits of each tenant that has any of its own, by name."""
        rows = self._db.rows("SELECT name, limits FROM tenants")
        return {name: json.loads(limits) for name, limits in sorted(rows)}

    def put_tenant(self, name: str, limits: Mapping[str, Any]) -> bool:
        """Keep a tenant; says whether it is new."""
        is_new = not self._db.rows("SELECT 1 FROM tenants WHERE name = ?", (name,))
        self._db.change(
            "INSERT INTO tenants VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET limits = excluded.limits",
            (name, json.dumps(dict(limits)), now_us()),
        )
        return is_new

    def drop_tenant(self, name: str, at: int) -> bool:
        """Forget a tenant and revoke its tokens; says whether there was one."""
        with self._db.transaction():
            self._db.change("UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE tenant = ?", (at, name))
            n = self._db.change("DELETE FROM tenants WHERE name = ?", (name,))
        self._cache.clear()
        return n > 0

    def note(self, tenant: str, token: str | None, action: str, target: str, detail: Mapping[str, Any]) -> None:
        """Add to the audit trail."""
        self._db.change(
            "INSERT INTO audit (at, tenant, token, action, target, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (now_us(), tenant, token, action, target, json.dumps(dict(detail))),
        )

    def audit(self, tenant: str, before: int | None, limit: int) -> list[AuditLine]:
        """What was done in a tenant, the latest first."""
        rows = self._db.rows(
            "SELECT * FROM audit WHERE tenant = ? AND id < ? ORDER BY id DESC LIMIT ?",
            (tenant, 2**62 if before is None else before, limit),
        )
        return [AuditLine._make((*row[:6], json.loads(row[6]))) for row in rows]

    def _look(self) -> None:
        """Forget what was read before, if another process has written since."""
        if self._db.others_wrote():
            self._cache.clear()


def open_metadata(config: ServerConfig) -> Metadata:
    """The metadata where the configuration says that they are kept."""
    return Metadata(open_database(config, "metadata", SCHEMA, VERSION))


def now_us() -> int:
    """The time of the server's clock in microseconds."""
    return time.time_ns() // 1000


def _token(row: tuple[Any, ...]) -> KeptToken:
    found = KeptToken(*row)
    return found._replace(scopes=tuple(str(found.scopes).split()))
