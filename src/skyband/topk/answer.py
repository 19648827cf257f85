"""What an oracle remembers of one subscription, and how two answers differ."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.contract.tops import Id
from skyband.table import Op, change_schema, ranking_schema


class Member(NamedTuple):
    """One place of a top."""

    publication: Id
    score: float


@dataclass
class Answer:
    """What a subscriber was told: the top, best first, and everything live that was ever in it."""

    top: list[Member] = field(default_factory=list)
    delivered: set[Id] = field(default_factory=set)


def differences(subscription: Id, answer: Answer, top: list[Member], at: int | None) -> list[dict[str, Any]]:
    """Rows that turn the answer into the new top: leaves by old rank, then moves and enters by new rank.

    The answer becomes the new top.
    """
    before = {member.publication: member.score for member in answer.top}
    after = {member.publication for member in top}
    rows = [_row(subscription, member, Op.LEAVE, None, at) for member in answer.top if member.publication not in after]
    for i, member in enumerate(top):
        if member.publication not in before:
            first = member.publication not in answer.delivered
            rows.append(_row(subscription, member, Op.ENTER, i + 1, at, first))
        elif before[member.publication] != member.score:
            rows.append(_row(subscription, member, Op.MOVE, i + 1, at))
    answer.top = top
    answer.delivered |= after
    return rows


def _row(
    subscription: Id, member: Member, op: Op, rank: int | None, at: int | None, first: bool = False
) -> dict[str, Any]:
    return {
        "subscription": subscription,
        "publication": member.publication,
        "op": str(op),
        "score": member.score,
        "rank": rank,
        "at": at,
        "first": first,
    }


def change_table(rows: list[dict[str, Any]], subscription: pa.DataType, publication: pa.DataType) -> pa.Table:
    """The rows as a table of changes."""
    return pa.Table.from_pylist(rows, change_schema(subscription, publication))


def ranking_table(answers: dict[Id, list[Member]], subscription: pa.DataType, publication: pa.DataType) -> pa.Table:
    """Tops as a table of rankings."""
    rows = [
        {"subscription": id, "rank": i + 1, "publication": member.publication, "score": member.score}
        for id, top in answers.items()
        for i, member in enumerate(top)
    ]
    return pa.Table.from_pylist(rows, ranking_schema(subscription, publication))
