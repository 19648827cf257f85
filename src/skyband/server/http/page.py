"""Pages of long lists: so many at once, and what to ask for the next ones with."""

from typing import Annotated, Any

from fastapi import Query

Limit = Annotated[int, Query(ge=1, le=1000)]


def next_page(noun: str, found: list[dict[str, Any]], limit: int, by: str) -> dict[str, Any]:
    """As many as fit of what was found, and, if that is not all, after which of them the next page begins."""
    shown = found[:limit]
    return {noun: shown, "next": shown[-1][by] if len(found) > limit else None}
