"""The evaluation of the ranges paper: counts that no machine changes, against brute force and against each other."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skyband.bench import BENCHMARKS, Row, ranges_engine, ranges_traffic
from skyband.bench.ranges_data import (
    DENSE,
    RELAX,
    SPARSE,
    UNICAST,
    Approach,
    Crowd,
    RangesSetting,
    Relax,
    World,
    loosened,
    make_world,
    plant,
)
from skyband.bench.ranges_paper import KS, M_TABLE_4, MIN_Y_PAPER, SCALES, SENT, by_k
from skyband.bench.ranges_traffic import Carried, Market, Paths, world_of
from skyband.bench.ranges_trial import Trial, contest, require_agreement
from skyband.bench.real import VARIABLE, find
from skyband.bench.runner import WrongAnswer
from skyband.ranges import workload as ranges
from tests.bench.chosen import toys

SETTING = RangesSetting(60, 20, n_objects=15, n_warm=4, batch=10)
ALL = (UNICAST, DENSE, SPARSE, loosened(DENSE, 1.0), loosened(SPARSE, 1.0), RELAX)


def trial_of(approach: Approach, world: World, k: int, n: int = 24) -> Trial:
    trial = Trial(world, Crowd(plant(world), k), approach)
    trial.turn(n)
    return trial


def rows_of(setting: RangesSetting, k: int, approaches: tuple[Approach, ...] = ALL) -> dict[str, Row]:
    world = make_world(setting)
    rows = contest(world, Crowd(plant(world), k), approaches, setting, "here")
    return {row["algorithm"]: row for row in rows}


@pytest.mark.parametrize("more", [{}, {"data": "clustered"}, {"dims": 2, "data": "dataset2"}, {"change": "gaussian"}])
def test_a_world_is_what_the_tables_of_the_workload_hold(more: dict[str, Any]) -> None:
    setting = SETTING._replace(**more)
    world, made = make_world(setting), ranges.generate(setting.options)
    n, dims = setting.n_objects, setting.dims
    x = np.array(made.publications["x"].to_pylist()).reshape(-1, dims)
    assert np.array_equal(np.concatenate([world.x, world.changes.x]), x)
    assert np.array_equal(np.concatenate([world.y, world.changes.y]), made.publications["y"].to_numpy())
    assert world.changes.object.tolist() == made.publications["object"].to_pylist()[n:]
    assert world.changes.end.tolist() == [24]
    low, high = (np.array(made.subscriptions[name].to_pylist()).reshape(-1, dims) for name in ("lo", "hi"))
    assert np.array_equal(world.points[:, 1::2], high)
    assert np.array_equal(world.points[:, 0::2], np.maximum(low, -np.finfo(np.float64).max))


@pytest.mark.parametrize("k", [1, 3])
def test_who_is_affected_and_who_is_asked_is_what_brute_force_finds(k: int) -> None:
    world = make_world(SETTING)
    ledgers = [trial_of(approach, world, k).ledger for approach in (DENSE, SPARSE, UNICAST)]
    x, y, low, high = world.x[:, 0], world.y.copy(), world.points[:, 0], world.points[:, 1]
    for event, (object, new) in enumerate(zip(world.changes.object, world.changes.y, strict=True)):
        better = np.flatnonzero((y < min(y[object], new)) & (np.arange(len(y)) != object))
        holds = (low <= x[object]) & (x[object] <= high)
        ranked_before = ((low[:, None] <= x[better]) & (x[better] <= high[:, None])).sum(axis=1)
        assert {ledger.affected[event] for ledger in ledgers} == {(holds & (ranked_before < k)).sum()}
        west, east = np.sort(x[better][x[better] < x[object]])[::-1], np.sort(x[better][x[better] > x[object]])
        first = west[k - 1] if len(west) >= k else -np.inf
        last = east[k - 1] if len(east) >= k else np.inf
        assert ledgers[0].asked[event] == (holds & (low > first) & (high < last)).sum()
        y[object] = new


@pytest.mark.parametrize("k", [1, 3])
def test_costs_keep_their_promises(k: int) -> None:
    rows = rows_of(SETTING, k)
    told = {name: row["measures"] for name, row in rows.items()}
    exact = [told[approach.label] for approach in (UNICAST, DENSE, SPARSE)]
    assert len({(each["affected"], each["received"]) for each in exact}) == 1
    assert told["Unicast"]["bytes"] == pytest.approx(16 * told["Unicast"]["affected"])
    assert told["Unicast"]["messages"] == told["Unicast"]["received"]
    assert told["Paint-Dense"]["bytes"] == pytest.approx(24 * told["Paint-Dense"]["messages"])
    for each in exact:
        assert each["sent_bytes"] == pytest.approx(72 * each["messages"])
    assert told["Paint-Sparse"]["messages"] <= told["Paint-Dense"]["messages"]
    assert told["Paint-Sparse"]["min_y"] <= told["Paint-Dense"]["min_y"]
    assert {each["first_k"] for name, each in told.items() if name != "CN-Relax"} == {2.0}
    # With epsilon 1 the changed object takes a message, and each exposed one at most.
    assert 1.0 <= told["Paint-Dense(1)"]["messages"] <= 1.0 + told["Paint-Dense"]["exposed"]
    for name in ("Paint-Dense(1)", "Paint-Sparse(1)", "CN-Relax"):
        assert told[name]["affected"] >= told["Paint-Dense"]["affected"]
    assert told["CN-Relax"]["messages"] == 1.0
    assert not {"bytes", "sent_bytes"} & told["CN-Relax"].keys()
    assert all(row["measures"]["events"] == 20 and len(row["latencies"]) == 2 for row in rows.values())
    assert rows["Unicast"]["measures"]["ratio_us"] == 1.0


def test_whoever_keeps_all_that_cn_relax_sends_has_the_right_top() -> None:
    world, k = make_world(SETTING), 3
    held: list[dict[int, float]] = []
    for low, high in world.points:
        inside = np.flatnonzero((low <= world.x[:, 0]) & (world.x[:, 0] <= high))
        held.append(dict(zip(inside.tolist(), world.y[inside].tolist(), strict=True)))
    for messages in Relax().paint(world.changes):
        for i in range(int(messages.length[0])):
            inside = (messages.low[i] <= world.points) & (world.points <= messages.high[i])
            for subscription in np.flatnonzero(inside.all(axis=1)).tolist():
                held[subscription][int(messages.object[i])] = float(messages.y[i])
    y = world.y.copy()
    y[world.changes.object] = world.changes.y
    for own, (low, high) in zip(held, world.points, strict=True):
        inside = np.flatnonzero((low <= world.x[:, 0]) & (world.x[:, 0] <= high))
        assert sorted(own.values())[:k] == sorted(y[inside].tolist())[:k]


def test_messages_of_paint_dense_do_not_depend_on_subscriptions() -> None:
    few, many = (make_world(SETTING._replace(n_subscriptions=m)) for m in (5, 200))
    for approach in (DENSE, loosened(DENSE, 0.5)):
        one, other = trial_of(approach, few, 2), trial_of(approach, many, 2)
        assert one.ledger.messages.tolist() == other.ledger.messages.tolist()
        assert one.calls["min_y"] == other.calls["min_y"]
    assert trial_of(SPARSE, few, 2).ledger.messages.sum() < trial_of(SPARSE, many, 2).ledger.messages.sum()


def test_unicast_that_was_stopped_is_counted_to_the_end() -> None:
    long, short = (rows_of(SETTING._replace(patience=patience), 3)["Unicast"] for patience in (1e9, 0.0))
    assert [len(row["latencies"]) for row in (long, short)] == [2, 1]
    assert [row["measures"]["timed"] for row in (long, short)] == [20, 10]
    for name in ("affected", "received", "messages", "bytes", "bytes_max", "min_y", "events"):
        assert long["measures"][name] == short["measures"][name]
    assert long["measures"]["min_y"] == pytest.approx(long["measures"]["asked"])


def test_approaches_that_disagree_are_found_out() -> None:
    world = make_world(SETTING)
    trials = [trial_of(approach, world, 2) for approach in (UNICAST, DENSE, SPARSE)]
    require_agreement(trials, 0)
    trials[1].ledger.asked[3] += 1
    with pytest.raises(WrongAnswer, match="looks at others"):
        require_agreement(trials, 0)
    trials[2].ledger.received[3] += 1
    with pytest.raises(WrongAnswer, match="Paint-Dense and Paint-Sparse"):
        require_agreement(trials, 0)


def test_traffic_of_unicast_is_that_of_its_own_messages() -> None:
    world = make_world(SETTING)
    crowd, paths = Crowd(plant(world), 2), Paths(world, 6, 40)
    trials = [Carried(paths, world, crowd, approach) for approach in (UNICAST, DENSE, SPARSE, RELAX)]
    for trial in trials:
        trial.turn(24)
    told = trials[0].completed(trials[1], 0)
    hops, ip, straight, links = 0, 0, 0, 0
    for messages in UNICAST.painter(world, crowd).paint(world.part(0, 24)):
        n = int(messages.length[0])
        own = messages.object[:n] == world.changes.object[messages.event[:n]]
        zones = paths.network.zones.zone_of(messages.low[:n][own])
        traffic = paths.network.unicast(zones)
        hops, ip = hops + traffic.overlay_hops.sum(), ip + traffic.ip_hops.sum()
        straight += paths.network.hops[paths.network.zones.server, zones].sum(dtype=int)
        links += (zones != paths.network.zones.server).sum()
    assert told["overlay_bytes"] == pytest.approx(16 * hops / 24)
    assert told["ip_bytes"] == pytest.approx(16 * ip / 24)
    assert told["straight_overlay_bytes"] == pytest.approx(16 * links / 24)
    assert told["straight_ip_bytes"] == pytest.approx(16 * straight / 24)
    # One link passes no other broker: never more than from broker to broker, nor more than its IP hops.
    assert 0 < told["straight_overlay_bytes"] <= min(told["overlay_bytes"], told["straight_ip_bytes"])
    dense, sparse, relax = (trial.measures(0) for trial in trials[1:])
    assert 0 < sparse["overlay_bytes"] <= dense["overlay_bytes"] <= dense["ip_bytes"]
    assert dense["way_overlay"] == told["way_overlay"]
    assert "way_overlay" not in relax


@pytest.mark.toy("ranges-figure16")
def test_batches_are_told_with_less(runs: dict[str, list[Row]]) -> None:
    rows = runs["ranges-figure16"]
    for online, coalesce, batch in zip(*[iter(rows)] * 3, strict=True):
        assert [row["algorithm"] for row in (online, coalesce, batch)] == list(ranges_engine.IN_A_BATCH)
        assert coalesce["measures"]["changes"] < online["measures"]["changes"]
        received = [row["measures"]["received"] for row in (batch, coalesce, online)]
        assert received == sorted(received)
        assert batch["measures"]["messages"] <= online["measures"]["messages"]


@pytest.mark.toy("ranges-batch")
def test_batches_of_one_change_are_told_alike_in_both_modes(runs: dict[str, list[Row]]) -> None:
    rows = runs["ranges-batch"]
    settings = set()
    for online, batch in zip(*[iter(rows)] * 2, strict=True):
        given = online["parameters"]
        assert (online["algorithm"], batch["algorithm"]) == tuple(ranges_engine.MODES)
        assert online["contest"] == batch["contest"]
        # An engine tells the same changes of tops whatever the batch; a server may tell the same with fewer messages.
        if given["measured"] == "engine" or given["batch"] == 1:
            assert online["measures"]["told"] == batch["measures"]["told"]
        assert batch["measures"]["told"] <= online["measures"]["told"]
        settings.add((given["measured"], given["n_objects"], given["n_ks"], given["batch"]))
    assert len(settings) == 2 * 2 * 2 * 2


@pytest.mark.toy("ranges-figure20")
def test_one_server_answers_alone(runs: dict[str, list[Row]]) -> None:
    for one, many in zip(*[iter(runs["ranges-figure20"])] * 2, strict=True):
        assert one["measures"]["length"] == 1.0
        assert 1.0 < many["measures"]["length"] <= 100.0
        assert many["measures"]["min_y"] == one["measures"]["min_y"]


@pytest.mark.parametrize("name", toys("ranges-table2", "ranges-table5"))
def test_redundancy_is_over_what_an_exact_approach_has(name: str, runs: dict[str, list[Row]]) -> None:
    for row in runs[name]:
        told = row["measures"]
        if row["algorithm"] in ("Unicast", "Paint-Dense", "Paint-Sparse"):
            assert told["redundancy"] == told["redundancy_changed"] == 0.0
        else:
            assert told["redundancy_changed"] >= 0.0


@pytest.mark.parametrize("name", toys("ranges-table2", "ranges-table5"))
def test_cn_relax_is_in_the_tables_of_redundancy(name: str, runs: dict[str, list[Row]]) -> None:
    m, last = {"ranges-table2": (2_000_000, "79.98"), "ranges-table5": (400_000, "36.11")}[name]
    rows = [row for row in runs[name] if row["algorithm"] == "CN-Relax"]
    assert [row["parameters"]["k"] for row in rows] == list(SCALES["toy"].ks)
    assert all(row["measures"]["redundancy_changed"] > 0.0 for row in rows)
    beside: Row = {"algorithm": "CN-Relax", "parameters": {"n_subscriptions": m, "k": 20}, "measures": {}}
    columns = {column.header: column.cell for column in BENCHMARKS[name].columns}
    assert columns["redundancy, paper"](beside, beside) == last


@pytest.mark.parametrize("name", toys("ranges-figure14", "ranges-figure17"))
def test_traffic_of_unicast_is_in_the_rows_by_every_kind_of_link(name: str, runs: dict[str, list[Row]]) -> None:
    headers, cells = BENCHMARKS[name].table(runs[name])
    shown = [headers.index(each) for each in headers if each.startswith(("overlay bytes", "IP bytes"))]
    assert len(shown) == 8
    for row in cells:
        if row[1] == "Unicast":
            assert all(row[at] for at in shown)


@pytest.mark.toy("ranges-table7")
def test_sloped_rows_agree_and_have_more_to_tell(runs: dict[str, list[Row]]) -> None:
    rows = runs["ranges-table7"]
    for dense, sparse in zip(*[iter(rows)] * 2, strict=True):
        assert dense["measures"]["received"] == sparse["measures"]["received"]
        assert sparse["measures"]["messages"] <= dense["measures"]["messages"]
        assert dense["measures"]["bytes"] == pytest.approx(36 * dense["measures"]["messages"])
    sweeps = {BENCHMARKS[f"ranges-{name}"].sweep for name in ("table7", "table8", "figure26")}
    assert len(sweeps) == 1


def test_the_full_scale_is_that_of_section_5() -> None:
    scale = SCALES["full"]
    assert scale.setting[:3] == (2_000_000, 20_000, 10_000)
    assert (scale.n_exact, scale.n_calls) == (50_000, 50_000)
    assert (scale.ks, scale.ms, scale.k) == ((1, 2, 5, 10, 15, 20), (200_000, 2_000_000, 5_000_000), 10)
    assert (scale.n_zones, scale.n_nodes, scale.n_batch, scale.n_few) == (1_000, 20_000, 50_000, 1_000)
    assert scale.table4 == M_TABLE_4
    assert scale.sloped[:4] == (400_000, 10_000, 10_000, 2)
    for each in SCALES.values():
        numbers = (each.setting.n_events, each.n_exact, each.n_calls, each.n_carried)
        assert not any(n % each.setting.batch for n in numbers)
        assert each.sloped.n_events % each.sloped.batch == 0


def test_the_papers_figures_stand_beside_ours_only_in_its_own_setting() -> None:
    row: Row = {"algorithm": "Paint-Sparse", "parameters": {"n_subscriptions": 2_000_000, "k": 10}}
    find = by_k(MIN_Y_PAPER)
    assert find(row) == 5.5568
    assert find(row | {"parameters": {"n_subscriptions": 2_000_000, "k": 3}}) is None
    assert find(row | {"parameters": {"n_subscriptions": 20, "k": 10}}) is None
    assert find(row | {"algorithm": "CN-Relax"}) is None
    assert all(len(figures) == len(KS) for figures in MIN_Y_PAPER.values())
    columns = {column.header: column.cell for column in BENCHMARKS["ranges-table3"].columns}
    measured = row | {"measures": {"min_y": 5.5568 * 1.02}}
    assert columns["min_y, paper"](measured, measured) == "5.5568"
    assert columns["min_y, ours / paper"](measured, measured) == "1.020"


def test_table_4_has_the_papers_figures_for_any_number_with_paint_dense() -> None:
    columns = {column.header: column.cell for column in BENCHMARKS["ranges-table4"].columns}
    dense: Row = {
        "algorithm": "Paint-Dense",
        "parameters": {"n_subscriptions": 7, "k": 10},
        "measures": {"min_y": 6.6},
    }
    sparse = dense | {"algorithm": "Paint-Sparse", "parameters": {"n_subscriptions": 800_000, "k": 10}}
    assert columns["min_y, paper"](dense, dense) == "6.6"
    assert columns["tiles, paper"](dense, dense) == "43.36"
    assert columns["min_y, paper"](sparse, sparse) == "4.84"
    assert columns["snap, paper"](sparse, sparse) == "37.34"


def stocks(folder: Path) -> None:
    days = [date(2026, 1, 1 + i) for i in range(3)]
    rows = [
        (days[0], "A", 10.0, 0.02), (days[0], "B", None, 0.03), (days[0], "C", 30.0, None), (days[0], "D", 5.0, 0.02),
        (days[1], "A", 12.0, 0.05), (days[1], "B", 7.0, 0.03), (days[1], "C", 31.0, None), (days[1], "D", 5.0, 0.02),
        (days[2], "A", None, 0.02), (days[2], "B", 7.0, 0.03), (days[2], "C", 32.0, None),
    ]  # fmt: skip
    columns = dict(zip(("date", "ticker", "pe", "dividend_yield"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), folder / ranges_traffic.FILE)


def test_stocks_become_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stocks(tmp_path)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    path = find(ranges_traffic.FILE)
    assert path is not None
    market = ranges_traffic.read(path)
    # C pays no dividend; A and D are told apart.
    assert market.x == pytest.approx([0.02, 0.03, 0.02], abs=1e-8)
    assert len(set(market.x.tolist())) == 3
    world = world_of(market, 10)
    assert world.alive.tolist() == [True, False, True]
    assert world.changes.object.tolist() == [0, 1, 0, 2]
    assert world.changes.alive.tolist() == [True, True, False, False]
    assert world.changes.y[:2].tolist() == [12.0, 7.0]
    assert world.points.min() >= market.x.min()
    assert world.points.max() <= market.x.max()


def test_approaches_agree_on_stocks_that_come_and_go() -> None:
    market = ranges_traffic.made_up(8, 4)
    market.y[1, 2] = market.y[2, 5] = np.nan
    world = world_of(Market(market.x, market.y), 40)
    require_agreement([trial_of(approach, world, 2) for approach in (UNICAST, DENSE, SPARSE)], 0)


def test_without_the_file_rows_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in ("ranges-table5", "ranges-table6", "ranges-figure17"):
        rows = BENCHMARKS[name].run("small", lambda said: None)
        assert len(rows) == len(KS) * len(SENT)
        assert all("does not name a folder" in row["skipped"] for row in rows)
        assert BENCHMARKS[name].table(rows)[1][0][:2] == ["1", "Unicast"]
