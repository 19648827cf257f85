"""Why a publication of a file is in a top at an instant, or why not."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FAMILIES
from skyband.contract.explanation import Explanation
from skyband.kernels.array import Int64s
from skyband.replay.plan import Plan
from skyband.replay.retraction import NO_RETRACTIONS
from skyband.replay.run import Prepared, Progress, prepare, run
from skyband.replay.source import Loaded
from skyband.replay.table_file import SummaryOnly
from skyband.replay.top import find_subscriptions, read_id
from skyband.table import Source
from skyband.table.instant import Instant, one_instant


class Explanations(NamedTuple):
    """An explanation and what it is taken from: `timed` if `ts` told times, `notes` about the files."""

    explanation: Explanation
    engine: str
    timed: bool
    n_rejected: int
    notes: list[str]


def explain(
    publications: Source,
    subscriptions: Source,
    plan: Plan | None = None,
    *,
    subscription: int | str,
    publication: int | str,
    at: Instant | None = None,
    progress: Progress | None = None,
) -> Explanations:
    """Why a publication is in the top of a subscription, after all that was published by `at` (default: the end).

    Where publications do not stay, as in ranked, it is explained when it is published. Ids given as text are read as
    integers where the files have integers.
    """
    at = None if at is None else one_instant(at)
    prepared = prepare(publications, subscriptions, plan or Plan(), at)
    wanted = find_subscriptions(prepared.subscriptions, [subscription])
    stays = FAMILIES[prepared.family].answers_stand
    explained = (_after_all if stays else _on_arrival)(prepared, wanted, publication, at, progress)
    return explained._replace(
        n_rejected=len(prepared.publications.rejects) + len(prepared.subscriptions.rejects),
        notes=[*prepared.notes, *explained.notes],
    )


def _after_all(
    prepared: Prepared, wanted: pa.Array, publication: int | str, at: int | None, progress: Progress | None
) -> Explanations:
    """The explanation of what stays, when everything has been published."""
    every = prepared.publications.checked.parsed.rows
    id, places = _find(prepared.publications, FAMILIES[prepared.family].named(every), publication)
    run(prepared, SummaryOnly(), at, progress)
    explanation = prepared.engine.explain(wanted[0].as_py(), id)
    notes = _what_the_file_knows(int(every.ts[places].max()), at) if explanation.state == "unknown" else []
    return Explanations(explanation, prepared.engine.taken, prepared.timed, 0, notes)


def _on_arrival(
    prepared: Prepared, wanted: pa.Array, publication: int | str, at: int | None, progress: Progress | None
) -> Explanations:
    """The explanation of what does not stay, after all that is published before it."""
    said, checked = prepared.publications, prepared.publications.checked
    _, places = _find(said, checked.rows.ids, publication, "" if at is None else " by then")
    place = int(places[-1])
    before = Loaded("publications", said.name, checked.slice(0, place), said.rejects, NO_RETRACTIONS)
    run(prepared._replace(publications=before), SummaryOnly(), None, progress)
    explanation = prepared.engine.explain(wanted[0].as_py(), checked.slice(place, 1))
    return Explanations(explanation, prepared.engine.taken, prepared.timed, 0, [])


def _find(said: Loaded, ids: pa.Array, publication: int | str, by_then: str = "") -> tuple[int | str, Int64s]:
    """The id of a publication, and its places among these ids, of which there must be one."""
    id = read_id(said.name, ids.type, publication)
    places = np.flatnonzero(np.asarray(pc.equal(ids, pa.scalar(id, ids.type))))
    if not len(places):
        raise ValueError(f"{said.name} has no publication {publication}{by_then}.")
    return id, places


def _what_the_file_knows(ts: int, at: int | None) -> list[str]:
    """What has become of a publication that the file has and the engine has not."""
    if at is not None and ts > at:
        return [f"The file has it at {ts}, which is later than {at}."]
    return [f"The file has it at {ts}: it has left every window and was forgotten, or it came too late."]
