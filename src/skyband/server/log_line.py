"""Lines of the log: for people, or one JSON object each for programs that collect them."""

import datetime
import json
import logging
import sys
from typing import TextIO

from skyband.server.config import LogStyle

TEXT = "%(asctime)s %(levelname)s %(message)s"
FACTS = "facts"
"""What a record has beside its message: a mapping, which is part of the object."""


class JsonLine(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line | getattr(record, FACTS, {}), ensure_ascii=False)


def write_logs(style: LogStyle, level: int, to: TextIO = sys.stderr) -> None:
    """Write what is logged from this level on."""
    handler = logging.StreamHandler(to)
    handler.setFormatter(JsonLine() if style == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=level, handlers=[handler])
