"""What a verb has led to, as the server acknowledged it: it is on disk, and told to whoever listens."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

COUNTED = ("published", "subscribed", "unsubscribed", "retracted")


class VerbDone(NamedTuple):
    """The id of the last step, how many rows were taken, how many came too late, and how many changes followed."""

    step: str | None
    rows: int = 0
    late: int = 0
    changes: int = 0


def verb_done(told: Mapping[str, Any]) -> VerbDone:
    """What an answer of the server tells."""
    rows = sum(int(told.get(name, 0)) for name in COUNTED)
    return VerbDone(told["step"], rows, int(told.get("late", 0)), int(told.get("changes", 0)))


def together(parts: Iterable[VerbDone]) -> VerbDone:
    """Several batches as one; without any there is no step."""
    whole = VerbDone(None)
    for part in parts:
        whole = VerbDone(part.step, whole.rows + part.rows, whole.late + part.late, whole.changes + part.changes)
    return whole
