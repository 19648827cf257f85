"""How a query is started, without Spark: queries here are stand-ins."""

from typing import Any

import pytest

from skyband.pipeline.run import TOO_SLOW, TRIES, begun

SLOW = f"Python worker {TOO_SLOW}."


class Query:
    """A query that initializes for a while, and then runs or has failed for a reason."""

    def __init__(self, reason: str | None) -> None:
        self._reason = reason
        self._asked = 0

    @property
    def isActive(self) -> bool:  # noqa: N802  Spark calls it by this name.
        return self._reason is None or self._asked < 2

    @property
    def status(self) -> dict[str, Any]:
        self._asked += 1
        return {"message": "Initializing sources" if self._asked < 3 else "Processing new data"}

    def exception(self) -> str | None:
        return self._reason


@pytest.mark.parametrize(
    ("reasons", "n_started", "reason"),
    [
        ([], 1, None),
        ([SLOW] * 2, 3, None),
        ([SLOW] * (TRIES + 1), TRIES, SLOW),
        (["The disk is full."], 1, "The disk is full."),
    ],
    ids=["at once", "after a while", "never", "another failure"],
)
def test_a_source_that_is_slow_to_start_is_started_again(
    reasons: list[str], n_started: int, reason: str | None
) -> None:
    started: list[Query] = []

    def start() -> Any:
        started.append(Query(reasons[len(started)] if len(started) < len(reasons) else None))
        return started[-1]

    query: Any = begun(start)
    assert query is started[-1]
    assert len(started) == n_started
    assert query.exception() == reason
