"""Where an endpoint leads, as a name: two endpoints have the same one only if they lead to the same place."""

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

# These say how rows are written and not where, so that they may change while a pipeline goes on.
HOW = ("compact_every", "options", "token_file", "authority", "certificate", "seconds")
# Of the parts of a dsn, those that lead to a table. A password does not, and no name may be made of it.
LEADING = ("service", "host", "hostaddr", "port", "dbname", "user", "options")


def place_name(format: str, options: Mapping[str, Any]) -> str:
    """A digest of the format and of every option that has to do with where rows go."""
    leading = {name: _plain(name, value) for name, value in options.items() if name not in HOW}
    text = json.dumps([format, leading], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(name: str, value: Any) -> Any:
    """The value of an option in one of the ways that it can be written."""
    if name == "path":
        return os.path.abspath(value)
    if name == "servers":
        return sorted(server.strip().lower() for server in str(value).split(","))
    return _parts(str(value)) if name == "dsn" else value


def _parts(dsn: str) -> dict[str, str]:
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        return {}  # the sink itself says what is missing
    try:
        parts = {"port": "5432", **conninfo_to_dict(dsn)}
    except ProgrammingError:
        return {}  # and that the dsn cannot be read
    return {name: str(parts[name]) for name in LEADING if name in parts}
