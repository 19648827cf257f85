"""Conditional requests: what has not changed is not told again, and what has changed meanwhile is not overwritten."""

from typing import Any

from starlette.requests import Request


def is_known(request: Request, tag: str) -> bool:
    """Whether whoever asks has what the tag stands for already."""
    known = [each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")]
    return tag in known or "*" in known


def expected(request: Request) -> dict[str, Any]:
    """What a subscription has to be yet for something to be done to it, as a record has it."""
    tag = request.headers.get("if-match")
    return {} if tag is None else {"match": tag.strip()}
