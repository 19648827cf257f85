"""The change log: changes in the order of an answer, whatever the order they were found in."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skyband.kernels.id_list import IdList
from skyband.kernels.idmap import IdMap
from skyband.table import change_schema
from skyband.table.answer_rows import answer_shape
from skyband.topk.change_log import OP_NAMES, ChangeLog
from skyband.topk.earlier_deliveries import EarlierDeliveries
from skyband.topk.kernels.buffer import tell
from skyband.topk.roster import Roster

N_SLOTS, N_STEPS, BASE = 9, 5, 100
TIMES = np.arange(N_STEPS, dtype=np.int64) * 10


class Holders:
    """Subscriptions, of which none holds anything."""

    def __init__(self, turns: list[int], texts: bool) -> None:
        self.roster = Roster()
        self.roster.ids.add(_ids(N_SLOTS, texts), np.arange(N_SLOTS))
        self.roster.turn = np.array(turns, np.int64)

    def n_members(self, slots: Any) -> int:
        """Nothing."""
        return 0

    def leave(self, slots: Any, told: Any) -> None:
        """Tell nothing."""


def _ids(n: int, texts: bool) -> IdList:
    return IdList.of_texts([f"id-{i}" * (i % 3) + str(i) for i in range(n)]) if texts else IdList.of_integers(range(n))


def _changes(random: np.random.Generator, n: int, how: str, turns: list[int]) -> list[tuple[Any, ...]]:
    """Random changes: in the order of answers, or slot by slot through the steps, or as they come."""
    found = [(int(random.integers(N_STEPS)), int(random.integers(N_SLOTS))) for _ in range(n)]
    keys = {"step": lambda each: (each[0], turns[each[1]]), "turn": lambda each: (turns[each[1]], each[0])}
    if how in keys:
        found.sort(key=keys[how])
    ops, ranks = random.integers(0, 3, n).tolist(), random.integers(0, 4, n).tolist()
    return [
        (step, slot, BASE + int(random.integers(8)), op, float(i), rank, bool(op == 0 and i % 2))
        for i, ((step, slot), op, rank) in enumerate(zip(found, ops, ranks, strict=True))
    ]


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("room", [1, 7, 64])
@pytest.mark.parametrize("how", ["step", "turn", "mixed"])
def test_answers_are_by_step_and_then_by_turn(how: str, room: int, texts: bool) -> None:
    random = np.random.default_rng(len(how) + room)
    turns = random.permutation(N_SLOTS).tolist()
    log = ChangeLog(Holders(turns, texts), room, EarlierDeliveries())
    items = IdMap()
    items.add(_ids(8, texts), np.arange(8))
    plain_subscriptions, plain_items = _ids(N_SLOTS, texts).to_pylist(), _ids(8, texts).to_pylist()
    kind = pa.string() if texts else pa.int64()
    shape = answer_shape(change_schema, kind, kind)
    for n in (0, 1, 40, 3, 200):
        changes = _changes(random, n, how, turns)
        for change in changes:
            log.reserve(1)
            tell(log.told, *change)
        answer = log.answer(shape, items, BASE, TIMES)
        wanted = [
            (plain_subscriptions[slot], plain_items[item - BASE], OP_NAMES[op], score, rank or None, step * 10, first)
            for step, slot, item, op, score, rank, first in sorted(changes, key=lambda c: (c[0], turns[c[1]]))
        ]
        assert [tuple(row) for row in answer] == wanted
        assert [tuple(row.values()) for row in answer.table().to_pylist()] == wanted
        if n:
            by_op = {name: sum(OP_NAMES[change[3]] == name for change in changes) for name in OP_NAMES}
            n_first = sum(change[-1] for change in changes)
            assert log.tally == {name: count for name, count in by_op.items() if count} | {"delivery": n_first}
    assert len(log.answer(shape, items, BASE, TIMES)) == 0


def test_answers_keep_what_they_hold_when_the_log_goes_on() -> None:
    log = ChangeLog(Holders(list(range(N_SLOTS)), False), 4)
    items = IdMap()
    items.add(_ids(8, False), np.arange(8))
    shape = answer_shape(change_schema, pa.int64(), pa.int64())
    tell(log.told, 0, 3, BASE + 2, 0, 1.5, 1, True)
    answer = log.answer(shape, items, BASE, TIMES)
    tell(log.told, 0, 4, BASE + 1, 1, 9.5, 0, False)
    log.discard()
    items.remove(np.array([2]))
    assert [tuple(row) for row in answer] == [(3, 2, "enter", 1.5, 1, 0, True)]
