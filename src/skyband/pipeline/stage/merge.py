"""Merge: the answers of all zones in the order in which one engine over all subscriptions gives them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract import FAMILIES
from skyband.kernels.ragged import ranks_of
from skyband.pipeline.state.spec import Shape


def merged(answers: pa.Table, shape: Shape) -> pa.Table:
    """One table of changes, or of matches, with its batch and the place of each row in it, from 0."""
    answers_stand = FAMILIES[shape.family].answers_stand
    # Changes by the turn of their subscription; matches best first, and of equal ones the larger id.
    by = [("turn", "ascending"), ("pos", "ascending")]
    by = by if answers_stand else [("score", "descending"), ("subscription", "descending")]
    keys = [("batch", "ascending"), ("step", "ascending"), *by]
    in_order = shape.n_zones == 1 and _is_in_steps(answers)
    ordered = answers if in_order else answers.take(pc.sort_indices(answers, sort_keys=keys))
    if not answers_stand and shape.n_zones > 1:
        ordered = _best(ordered)
    batches = ordered["batch"].to_numpy()
    rows = np.arange(len(ordered)) - np.searchsorted(batches, batches)
    columns = [ordered["batch"], pa.array(rows, pa.int64()), *(ordered[name] for name in shape.answers().names)]
    return pa.Table.from_arrays(columns, schema=delivered_schema(shape))


def _is_in_steps(answers: pa.Table) -> bool:
    """Whether batches and their steps come one after the other; within a step the answers of a zone are in order."""
    batch, step = answers["batch"].to_numpy(), answers["step"].to_numpy()
    same = batch[1:] == batch[:-1]
    return bool(((batch[1:] > batch[:-1]) | same & (step[1:] >= step[:-1])).all())


def merged_tops(tops: pa.Table) -> pa.Table:
    """The tops of all zones; one that left a zone and came back in another is not empty for what the first says."""
    full = tops.filter(pc.is_valid(tops["rank"]))
    empty = tops.filter(pc.is_null(tops["rank"]))
    gone = pc.invert(pc.is_in(empty["subscription"], value_set=pc.unique(full["subscription"])))
    return pa.concat_tables([full, empty.filter(gone)])


def delivered_schema(shape: Shape) -> pa.Schema:
    """What sinks are given: the answers, after their batch and row."""
    return pa.schema([("batch", pa.int64()), ("row", pa.int64()), *shape.answers()])


def _best(ordered: pa.Table) -> pa.Table:
    """The first k matches of every event, k being the turn of its rows; ranks are counted anew."""
    events = ordered["batch"].to_numpy(), ordered["step"].to_numpy()
    begins = np.ones(len(ordered), np.bool_)
    begins[1:] = (events[0][1:] != events[0][:-1]) | (events[1][1:] != events[1][:-1])
    starts = np.flatnonzero(begins)
    ranks = 1 + ranks_of(np.diff(starts, append=len(ordered)))
    place = ordered.schema.get_field_index("rank")
    ranked = ordered.set_column(place, ordered.schema.field(place), pa.array(ranks, pa.int32()))
    return ranked.filter(pa.array(ranks <= ordered["turn"].to_numpy()))
