"""The mode `latest`: what is pending becomes the difference between the top that was told last and the top now."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skyband.contract.tops import Id
from skyband.table import Op

# Publications and their scores, best first.
RankedTop = Sequence[tuple[Id, float]]


def difference(
    subscription: Id, told: RankedTop, now: RankedTop, firsts: Iterable[Id], at: int | None
) -> list[dict[str, Any]]:
    """The changes that lead from one top to another: leaves by their old rank, then moves and enters by their new."""
    before, after, new = dict(told), dict(now), set(firsts)
    rows = [
        _row(subscription, publication, Op.LEAVE, score, None, at, False)
        for publication, score in told
        if publication not in after
    ]
    for rank, (publication, score) in enumerate(now, 1):
        if publication not in before:
            rows.append(_row(subscription, publication, Op.ENTER, score, rank, at, publication in new))
        elif before[publication] != score:
            rows.append(_row(subscription, publication, Op.MOVE, score, rank, at, publication in new))
    return rows


def top_before(rows: Sequence[Mapping[str, Any]], now: RankedTop) -> tuple[RankedTop, set[Id]]:
    """A top as it was before these changes, in no order, and what they have delivered first.

    Where the score of a member that stayed is not told by the changes, it has none that equals another one.
    """
    first_told: dict[Id, Mapping[str, Any]] = {}
    for row in rows:
        first_told.setdefault(row["publication"], row)
    stayed = [(publication, score) for publication, score in now if publication not in first_told]
    were = [
        (id, row["score"] if row["op"] == Op.LEAVE else float("nan"))
        for id, row in first_told.items()
        if row["op"] != Op.ENTER
    ]
    return [*stayed, *were], {row["publication"] for row in rows if row["first"]}


def ranked_top(top: Iterable[Mapping[str, Any]]) -> RankedTop:
    """The rows of a top as publications and scores."""
    return tuple((row["publication"], row["score"]) for row in top)


def _row(
    subscription: Id, publication: Id, op: Op, score: float, rank: int | None, at: int | None, first: bool
) -> dict[str, Any]:
    names = ("subscription", "publication", "op", "score", "rank", "at", "first")
    return dict(zip(names, (subscription, publication, str(op), score, rank, at, first), strict=True))
