"""The change log as it grows: kept, counted by the clock, and added up against the tops at the end."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.demo.day import N_MINUTES
from skyband.demo.runner import PipelineTraffic, StepAnswer
from skyband.demo.scene import STEP
from skyband.kernels.array import Floats, Int64s
from skyband.table import Op


class DayTally(NamedTuple):
    """Numbers by step of the day: messages, enters, leaves, and seconds that it took."""

    messages: Int64s
    enters: Int64s
    leaves: Int64s
    seconds: Floats


class DayLedger:
    """All changes so far, and what there was of them in each step."""

    def __init__(self) -> None:
        n_steps = N_MINUTES // STEP
        messages, enters, leaves = (np.zeros(n_steps, np.int64) for _ in range(3))
        self.tally = DayTally(messages, enters, leaves, np.zeros(n_steps))
        self.n_steps = 0
        self.counters: Mapping[str, int] = {}
        self.traffic: PipelineTraffic | None = None
        self._parts: list[pa.Table] = []

    def add(self, answer: StepAnswer, n_messages: int) -> None:
        """What the next step came to."""
        self.tally.messages[self.n_steps] = n_messages
        self.n_steps += 1
        self.close(answer)

    def close(self, answer: StepAnswer) -> None:
        """What else the last step came to."""
        changes, step = answer.changes, self.n_steps - 1
        n_enters = pc.sum(pc.equal(changes["op"], Op.ENTER)).as_py() or 0
        self.tally.enters[step] += n_enters
        self.tally.leaves[step] += len(changes) - n_enters
        self.tally.seconds[step] += answer.seconds
        self.counters, self.traffic = answer.counters, answer.traffic
        self._parts.append(changes)

    def table(self) -> pa.Table:
        """The whole change log, in order."""
        # Until the first publication an engine cannot know the type of their ids, so empty parts may differ in it.
        return pa.concat_tables([part for part in self._parts if len(part)] or self._parts[-1:])


def adds_up(changes: pa.Table, tops: pa.Table) -> bool:
    """Whether the running sum of the changes is this set of tops."""
    signs = pc.if_else(pc.equal(changes["op"], Op.ENTER), 1, -1)
    pairs = changes.select(["subscription", "publication"]).append_column("sign", signs)
    sums = pairs.group_by(["subscription", "publication"]).aggregate([("sign", "sum")])
    left = sums.filter(pc.not_equal(sums["sign_sum"], 0))
    once = pc.all(pc.equal(left["sign_sum"], 1)).as_py() in (True, None)
    return bool(once and _pairs(left) == _pairs(tops))


def _pairs(table: pa.Table) -> list[tuple[int, int]]:
    columns = (table["subscription"].to_pylist(), table["publication"].to_pylist())
    return sorted(zip(*columns, strict=True))
