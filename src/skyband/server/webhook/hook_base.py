"""The database of the webhooks, on a thread of its own: the loop does not wait for a disk."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from skyband.server.config import ServerConfig
from skyband.server.store.database import Database
from skyband.server.store.opened import open_database

Got = TypeVar("Got")
VERSION = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS hooks (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, stream TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, names TEXT,
    mode TEXT NOT NULL, rate DOUBLE PRECISION, prefix TEXT NOT NULL, known TEXT NOT NULL, created BIGINT NOT NULL,
    state TEXT NOT NULL, reason TEXT, cursor TEXT, told TEXT);
CREATE TABLE IF NOT EXISTS messages (
    seq {serial}, id TEXT NOT NULL UNIQUE, hook TEXT NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL, created BIGINT NOT NULL, state TEXT NOT NULL, n_attempts BIGINT NOT NULL,
    due BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS messages_due ON messages (hook, state, due, seq);
CREATE TABLE IF NOT EXISTS attempts (
    id {serial}, hook TEXT NOT NULL, message TEXT NOT NULL, at BIGINT NOT NULL,
    status BIGINT, error TEXT, ms BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS attempts_hook ON attempts (hook, id);
"""


class HookBase:
    """The database, and the thread that uses it."""

    def __init__(self, database: Database) -> None:
        self.db = database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="skyband-webhooks")

    async def run(self, what: Callable[[], Got]) -> Got:
        """Do something with the database, after all that was asked for before."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, what)

    def close(self) -> None:
        """Finish what was asked for, and let go of the database."""
        self._thread.shutdown()
        self.db.close()


def open_hook_base(config: ServerConfig) -> HookBase:
    """The webhooks where the configuration says that they are kept; a second server is kept off them."""
    return HookBase(open_database(config, "webhooks", SCHEMA, VERSION, alone=True))
