"""What changes cost: the parts lie within the whole, and answers are compared before anything is timed."""

from typing import Any

import pyarrow as pa
import pytest

import skyband
from skyband.bench import changes
from skyband.bench.changes import PARTS, ChangesPlan, PartClocks, change_rows
from skyband.bench.contest import fill
from skyband.bench.runner import WrongAnswer
from skyband.contract import AnyEngine
from skyband.topk.change_log import ChangeLog

PLAN = ChangesPlan((60,), (1, 5), 30, 200, 6, 1e9)


def quiet(said: str) -> None:
    pass


@pytest.mark.jit_only
def test_the_parts_lie_within_the_whole() -> None:
    rows = list(change_rows(PLAN, quiet))
    wanted = [(batch, part) for batch in PLAN.batches for part in PARTS]
    for label in ("window uniform", "geotext"):
        for ids in ("integers", "texts"):
            own = [row for row in rows if (row["parameters"]["label"], row["parameters"]["ids"]) == (label, ids)]
            assert [(row["parameters"]["batch"], row["algorithm"]) for row in own] == wanted
            assert all(len(row["latencies"]) == PLAN.n_rounds and row["measures"]["changes"] > 0 for row in own)
            for whole, log, table in zip(own[::3], own[1::3], own[2::3], strict=True):
                times = zip(whole["latencies"], log["latencies"], table["latencies"], strict=True)
                assert all(0 < parts[0] + parts[1] < all_of_it for all_of_it, *parts in times)


def test_clocks_stand_still_unless_they_run() -> None:
    engine = skyband.open("window", "scan")
    engine.subscribe({"id": "ann", "k": 1, "score": "sum", "weights": [1.0]})
    clocks, answer = PartClocks(), ChangeLog.answer
    with clocks.running():
        assert ChangeLog.answer is not answer
        engine.publish(pa.table({"id": [1], "ts": [1], "point": [[1.0]]}))
    spent = dict(clocks.spent)
    assert all(spent[part] > 0 for part in PARTS[1:])
    engine.publish(pa.table({"id": [2], "ts": [2], "point": [[2.0]]}))
    assert clocks.spent == spent
    assert ChangeLog.answer is answer


def test_brute_force_tells_the_same_before_anything_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[AnyEngine] = []

    def fill_first(engine: AnyEngine, *arguments: Any) -> None:
        if not filled:
            fill(engine, *arguments)
        filled.append(engine)

    monkeypatch.setattr(changes, "fill", fill_first)
    with pytest.raises(WrongAnswer, match="window uniform: the answers differ"):
        next(change_rows(PLAN, quiet))
    assert [engine.name for engine in filled] == ["blocks", "scan"]
