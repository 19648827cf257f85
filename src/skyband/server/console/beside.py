"""What runs beside a server, as its console shows it: pipelines by their files, and brokers by their metrics.

It is read so often at most, on a thread, and only while somebody looks; all who look share it.
"""

import asyncio
import time
from typing import Any

from skyband.server.access.token import Caller
from skyband.server.config import ServerConfig
from skyband.server.console.brokers import brokers_of
from skyband.server.console.pipelines import pipelines_of

LOOK_SECONDS = 2.0


class Beside:
    """Looks at what the configuration names."""

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self._found: dict[str, Any] = {}
        self._at = -LOOK_SECONDS
        self._lock = asyncio.Lock()

    @property
    def is_anything(self) -> bool:
        """Whether there is something to look at."""
        return bool(self.config.pipelines or self.config.brokers)

    async def told(self, caller: Caller) -> dict[str, Any]:
        """What there is, for those whose business it is."""
        if not caller.is_operator:
            return {"allowed": False, "pipelines": [], "brokers": []}
        async with self._lock:
            if time.monotonic() - self._at >= LOOK_SECONDS:
                self._found = await asyncio.to_thread(self._look)
                self._at = time.monotonic()
        return self._found

    def _look(self) -> dict[str, Any]:
        return {
            "allowed": True,
            "pipelines": pipelines_of(self.config.pipelines),
            "brokers": brokers_of(self.config.brokers),
            "at": time.time(),
        }
