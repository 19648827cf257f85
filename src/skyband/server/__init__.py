"""The server: streams of publications over HTTP, and tops pushed to whoever listens, in one process.

`serve(load_server_config("serve.yaml"))` runs one until it is told to stop.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband.server.config import BadServerConfig, Limits, ServerConfig, load_server_config, make_server_config
    from skyband.server.run import Running, serve

__all__ = [
    "BadServerConfig",
    "Limits",
    "Running",
    "ServerConfig",
    "load_server_config",
    "make_server_config",
    "serve",
]

# Imported when first asked for: a configuration can be checked without the packages that serve it.
_HOMES = {
    "BadServerConfig": "config",
    "Limits": "config",
    "Running": "run",
    "ServerConfig": "config",
    "load_server_config": "config",
    "make_server_config": "config",
    "serve": "run",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"skyband.server.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'skyband.server' has no attribute {name!r}")
