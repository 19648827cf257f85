"""Who has what at an instant."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FAMILIES
from skyband.replay.plan import Plan
from skyband.replay.run import Progress, prepare, run
from skyband.replay.source import Loaded
from skyband.replay.table_file import SummaryOnly
from skyband.table import Source
from skyband.table.instant import Instant, one_instant


class Ranking(NamedTuple):
    """The tops at an instant: `at` in microseconds, None if nothing was published; `timed` if `ts` told times."""

    family: str
    engine: str
    at: int | None
    timed: bool
    n_rejected: int
    table: pa.Table
    notes: list[str]


def top(
    publications: Source,
    subscriptions: Source,
    plan: Plan | None = None,
    *,
    at: Instant | None = None,
    ids: Sequence[int | str] | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """The tops of these subscriptions, or of all, after everything that was published by `at` (default: the end).

    Ids given as text are read as integers where the file has integers.
    """
    at = None if at is None else one_instant(at)
    prepared = prepare(publications, subscriptions, plan or Plan(), at)
    if not FAMILIES[prepared.family].answers_stand:
        raise ValueError(
            f"{prepared.family.capitalize()} subscriptions have no standing answer: "
            "replay the events to see whom they reach."
        )
    wanted = None if ids is None else find_subscriptions(prepared.subscriptions, ids)
    run(prepared, SummaryOnly(), at, progress)
    return Ranking(
        family=prepared.family,
        engine=prepared.engine.taken,
        at=prepared.engine.now,
        timed=prepared.timed,
        n_rejected=len(prepared.publications.rejects) + len(prepared.subscriptions.rejects),
        table=prepared.engine.top(wanted),
        notes=prepared.notes,
    )


def find_subscriptions(subscriptions: Loaded, ids: Sequence[int | str]) -> pa.Array:
    """The ids of subscriptions, each once; it is an error if one of them is not in the file."""
    registered = subscriptions.rows.ids
    read = [read_id(subscriptions.name, registered.type, id) for id in ids]
    wanted = pc.unique(pa.array(read, registered.type))
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=registered))).to_pylist()
    if missing:
        listed = ", ".join(str(id) for id in missing)
        raise ValueError(f"{subscriptions.name} has no subscription {listed}.")
    return wanted


def read_id(name: str, kind: pa.DataType, id: int | str) -> int | str:
    """An id as the file has them, integers or text."""
    if kind != pa.int64():
        return id
    try:
        return int(id)
    except ValueError:
        raise ValueError(f"The ids of {name} are integers, and {id!r} is not.") from None
