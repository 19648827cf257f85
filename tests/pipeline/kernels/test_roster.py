"""Commands find the subscriptions as the ones before them have left them, like a dictionary that is gone through."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.pipeline.kernels.roster import BARRED, FINE, REGISTERED, RESIZE, SUBSCRIBE, UNKNOWN, UNSUBSCRIBE
from skyband.pipeline.stage.roster import ZoneRoster

IDS: dict[Any, list[Any]] = {
    pa.string(): ["", "a", "ä", "aa", "b", "c" * 40],
    pa.int64(): [0, -1, 2**63 - 1, -(2**63), 7, 8],
}


class Command(NamedTuple):
    """What is asked for, of which id, into which zone, and whether it is barred."""

    op: int
    name: int
    zone: int
    is_barred: bool


COMMANDS = st.builds(
    Command, st.sampled_from([SUBSCRIBE, SUBSCRIBE, UNSUBSCRIBE, RESIZE]), st.integers(0, 5), st.integers(0, 3),
    st.sampled_from([False, False, False, True]),
)  # fmt: skip


class Twin:
    """The same with a dictionary."""

    def __init__(self) -> None:
        self.members: dict[Any, tuple[int, int]] = {}
        self.next_turn = 0

    def judge(self, id: Any, command: Command) -> tuple[int, int, int]:
        """Why it is refused, the zone and the turn."""
        known = self.members.get(id)
        if command.op != SUBSCRIBE:
            if known is not None and command.op == UNSUBSCRIBE:
                del self.members[id]
            return (UNKNOWN, 0, 0) if known is None else (FINE, *known)
        if known is not None or command.is_barred:
            return (BARRED if known is None else REGISTERED, 0, 0)
        self.members[id] = (command.zone, self.next_turn)
        self.next_turn += 1
        return FINE, *self.members[id]


@pytest.mark.parametrize("kind", IDS, ids=str)
@given(batches=st.lists(st.lists(COMMANDS, max_size=12), max_size=6))
def test_like_a_dictionary(kind: pa.DataType, batches: list[list[Command]]) -> None:
    roster, again, twin = ZoneRoster(kind), ZoneRoster(kind), Twin()
    for batch in batches:
        names = [IDS[kind][command.name] for command in batch]
        wanted = [twin.judge(name, command) for name, command in zip(names, batch, strict=True)]
        ids, op = pa.array(names, kind), np.array([command.op for command in batch], np.int8)
        ruling = roster.judge(
            op,
            ids,
            np.array([command.zone for command in batch], np.int64),
            np.array([command.is_barred for command in batch], np.bool_),
        )
        assert list(zip(*(column.tolist() for column in ruling), strict=True)) == wanted
        fine = ruling.fault == FINE
        again.repeat(op[fine], ids.filter(pa.array(fine)), ruling.zone[fine], ruling.turn[fine])
        for one in (roster, again):
            one.check()
            kept = one.kept()
            pairs = zip(kept.zones.tolist(), kept.turns.tolist(), strict=True)
            assert dict(zip(kept.ids.to_pylist(), pairs, strict=True)) == twin.members
            assert (len(one), one.next_turn) == (len(twin.members), twin.next_turn)
            turns = [twin.members.get(name, (0, -1))[1] for name in IDS[kind]]
            assert one.find(pa.array(IDS[kind], kind)).tolist() == turns
