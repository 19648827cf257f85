"""A restored engine counts on from where its snapshot was."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skyband
from skyband.contract import AnyEngine, engines, find_engine, snapshot
from skyband.table import Settings
from skyband.testing.machine import COUNTED, same
from tests.replay.small import small

# Every engine in each of its modes; `auto` among them goes over to its index in one.
MODES = [(kind, mode) for kind in engines() for mode in (kind.modes or ({},))]
BATCH = 7


def counted(engine: Any) -> dict[str, dict[str, int]]:
    """All that an engine has counted, and its index where that counts too."""
    found = {"engine": engine.counters}
    return found | ({"index": engine.index_counters} if hasattr(engine, "index_counters") else {})


def cost(engine: Any) -> int:
    """What the index alone has counted."""
    counters: dict[str, int] = counted(engine).get("index", engine.counters)
    return sum(n for name, n in counters.items() if engine.family != "ranked" or name.endswith("accesses"))


def publish(engine: AnyEngine, rows: pa.Table) -> list[pa.Table]:
    return [engine.publish(rows.slice(start, BATCH)) for start in range(0, len(rows), BATCH)]


def half_way(kind: type[AnyEngine], mode: dict[str, Any]) -> tuple[AnyEngine, pa.Table]:
    """An engine in the middle of a stream, some of it just subscribed, and what is to be published yet."""
    work = small(kind.family)
    asked, said = work.subscriptions, work.publications
    engine, half = kind(Settings(), **mode), len(said) // 2
    engine.subscribe(asked.slice(0, 4))
    publish(engine, said.slice(0, half))
    engine.unsubscribe(asked["id"].slice(0, 1))
    engine.subscribe(asked.slice(4))
    return engine, said.slice(half)


@pytest.mark.parametrize(("kind", "mode"), MODES, ids=[f"{kind.family}-{kind.name}-{mode}" for kind, mode in MODES])
def test_a_restored_engine_counts_on(kind: type[AnyEngine], mode: dict[str, Any], tmp_path: Path) -> None:
    engine, rest = half_way(kind, mode)
    engine.snapshot(tmp_path / "once")
    again = skyband.restore(tmp_path / "once")
    assert counted(again) == counted(engine)
    again.snapshot(tmp_path / "twice")
    again, before = skyband.restore(tmp_path / "twice"), counted(engine)
    assert counted(again) == before
    for got, wanted in zip(publish(again, rest), publish(engine, rest), strict=True):
        same(got, wanted)
    # What is built anew may cost other steps; what was done is the same, and no cost is ever taken back.
    for name in COUNTED:
        assert again.counters.get(name) == engine.counters.get(name)
    for part, counters in before.items():
        assert all(counted(again)[part][name] >= n for name, n in counters.items())


@pytest.mark.parametrize(("family", "name"), [("ranked", "scored"), ("geotext", "skype")])
def test_work_that_a_snapshot_of_before_does_not_name_is_counted_anew(
    family: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, rest = half_way(find_engine(family, name), {})
    write = snapshot.write

    def write_as_before(folder: Path, family: str, name: str, settings: Any, state: Any, tables: Any) -> None:
        kept = {name: n for name, n in state["counters"].items() if "accesses" not in name and name != "merges"}
        state = {key: value for key, value in state.items() if key != "work"} | {"counters": kept}
        write(folder, family, name, settings, state, tables)

    monkeypatch.setattr(snapshot, "write", write_as_before)
    engine.snapshot(tmp_path / "old")
    again = skyband.restore(tmp_path / "old")
    assert again.counters["publications"] == engine.counters["publications"]
    assert cost(again) == 0
    publish(again, rest)
    assert cost(again) > 0
