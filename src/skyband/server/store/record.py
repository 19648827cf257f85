"""Records: verbs as the log keeps them, so that doing them again leads to the same answers and the same numbers.

A record is a line of JSON, and after it the rows that came with the verb, byte for byte as they were sent; Arrow is
written in base64, as records are text.
"""

import base64
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

VerbName = Literal["open", "drop", "renumber", "subscribe", "put", "unsubscribe", "resize", "publish",
                   "retract", "advance"]  # fmt: skip
VERBS = get_args(VerbName)
RowFormat = Literal["json", "ndjson", "arrow"]


class Body(NamedTuple):
    """Rows as they were sent."""

    format: RowFormat
    data: bytes


class Record(NamedTuple):
    """A verb on a stream of a tenant, with the time on the server's clock when it was taken, in microseconds.

    `facts` are its arguments but for rows. Of a verb that has a `key`, a second one with the same key does nothing.
    """

    verb: VerbName
    tenant: str
    stream: str
    at: int
    facts: Mapping[str, Any] = MappingProxyType({})
    body: Body | None = None
    key: str | None = None

    def encode(self) -> str:
        """The text that `decode` reads."""
        head = {"verb": self.verb, "tenant": self.tenant, "stream": self.stream, "at": self.at}
        more = {"facts": dict(self.facts), "key": self.key, "format": self.body.format if self.body else None}
        line = json.dumps(head | {name: value for name, value in more.items() if value}, ensure_ascii=True)
        return f"{line}\n{_text(self.body)}" if self.body else line


def decode(text: str) -> Record:
    """The record that was encoded."""
    line, _, rows = text.partition("\n")
    head = json.loads(line)
    kind = head.pop("format", None)
    data = None if kind is None else base64.b64decode(rows) if kind == "arrow" else rows.encode()
    return Record(**head, body=None if data is None else Body(kind, data))


def _text(body: Body) -> str:
    return base64.b64encode(body.data).decode() if body.format == "arrow" else body.data.decode()
