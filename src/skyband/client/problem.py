"""What may go wrong between a client and its server, as exceptions that say what happened."""

import json
from typing import Any

from skyband.client.api_call import HttpReply


class Unreachable(ConnectionError):
    """The server did not answer, or the connection was lost."""


class StreamOver(Exception):
    """A stream of events has ended for good, with the reason that the server gave."""


class ServerProblem(Exception):
    """What the server answered instead of doing what it was asked: a status, a kind and a sentence.

    `rejects` are rows that were not taken, each with `row`, `column`, `value` and `reason`.
    """

    def __init__(self, status: int, kind: str, detail: str, rejects: list[dict[str, Any]]) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.rejects = rejects


def problem_in(reply: HttpReply) -> ServerProblem:
    """The problem that a reply tells of."""
    try:
        told = json.loads(reply.body)
        kind = str(told["type"]).rpartition(":")[2]
        return ServerProblem(reply.status, kind, str(told["detail"]), list(told.get("rejects", ())))
    except (ValueError, TypeError, KeyError):
        # Something between the client and the server has answered.
        detail = f"The answer has status {reply.status} and is not one of Skyband's."
        return ServerProblem(reply.status, "http", detail, [])
