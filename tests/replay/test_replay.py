"""A replay is the oracle's change log, whatever the batches, the format and the time it is stopped at."""

import dataclasses
import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skyband import Bounds, Rejected, Tops, Window, contract
from skyband.replay import Plan, replay, table_file, top
from skyband.table import Reject, UnreadableFile, read_table, write_table
from tests.replay.small import FAMILIES, Kept, oracle_changes, small


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("granularity", ["batch", "publication"])
@pytest.mark.parametrize("family", FAMILIES)
def test_replay_is_the_oracles_change_log(family: str, granularity: Any, batch: int) -> None:
    work, kept = small(family), Kept()
    summary = replay(work.publications, work.subscriptions, granularity=granularity, batch=batch, writer=kept)
    assert kept.rows == oracle_changes(work, granularity, batch)
    assert summary.family == family
    assert sum(summary.changes.values()) == len(kept.rows)
    assert (summary.n_publications, summary.n_subscriptions) == (len(work.publications), len(work.subscriptions))


@pytest.mark.parametrize("family", FAMILIES)
def test_both_formats_hold_the_same_change_log(family: str, tmp_path: Path) -> None:
    work, tables = small(family), []
    for suffix in ("parquet", "ndjson"):
        path = tmp_path / f"changes.{suffix}"
        with table_file(path) as sink:
            replay(work.publications, work.subscriptions, writer=sink, engine="oracle")
        tables.append(read_table(path).table.to_pylist())
    assert tables[0] == tables[1] != []


@pytest.mark.parametrize("family", ["window", "geotext", "ranges"])
@pytest.mark.parametrize("share", [0.3, 1.0, None])
def test_the_running_sum_is_the_top(family: str, share: float | None) -> None:
    work, kept, tops = small(family), Kept(), Tops()
    last = work.publications["ts"].to_pylist()[-1]
    until = None if share is None else int(last * share)
    replay(work.publications, work.subscriptions, writer=kept, until=until, batch=9)
    tops.apply(kept.table)
    ranking = top(work.publications, work.subscriptions, at=until)
    assert ranking.at == (last if until is None else until)
    found: dict[Any, dict[Any, float]] = {}
    for row in ranking.table.to_pylist():
        found.setdefault(row["subscription"], {})[row["publication"]] = row["score"]
    assert found == {subscription: tops.of(subscription) for subscription in tops.subscriptions()} != {}


def test_time_passes_to_the_instant_asked_for() -> None:
    publications = [{"id": 1, "ts": 0, "point": [1.0]}, {"id": 2, "ts": 50, "point": [2.0]}]
    subscriptions = [{"id": "s", "k": 1, "score": "euclidean", "point": [0.0], "window_us": 10}]
    for at, expected in ((9, [1]), (10, []), (49, []), (50, [2]), (60, [])):
        assert top(publications, subscriptions, at=at).table["publication"].to_pylist() == expected


@pytest.mark.parametrize("engine", ["scan", "oracle"])
def test_ids_are_read_as_the_file_has_them(engine: str) -> None:
    work, plan = small("window"), Plan(engine=engine)
    found = top(work.publications, work.subscriptions, plan, ids=["3", "1", "3"]).table
    assert sorted(set(found["subscription"].to_pylist())) == [1, 3]
    with pytest.raises(ValueError, match=r"subscriptions has no subscription 99, 100\."):
        top(work.publications, work.subscriptions, plan, ids=["99", "1", "100"])
    with pytest.raises(ValueError, match=r"The ids of subscriptions are integers, and 'x' is not\."):
        top(work.publications, work.subscriptions, plan, ids=["1", "x"])


def test_ranked_has_no_top() -> None:
    work = small("ranked")
    with pytest.raises(ValueError, match="no standing answer"):
        top(work.publications, work.subscriptions)


def test_times_stay_times(tmp_path: Path) -> None:
    work = small("window")
    clock = pa.timestamp("ms", "Europe/Berlin")
    ts = pa.compute.divide(work.publications["ts"], 1000).cast(clock)
    timed = work.publications.set_column(1, "ts", ts)
    kept = Kept()
    replay(timed, work.subscriptions, writer=kept, engine="oracle")
    assert kept.table.schema.field("at").type == pa.timestamp("us", "UTC")
    assert kept.rows[-1]["at"] == ts[-1].as_py().astimezone(datetime.UTC)


@pytest.mark.parametrize(
    ("ts", "timed"),
    [(["2024-05-01T12:00:00Z", "2024-05-01T12:00:01Z"], True), ([5, 6], False), (["2024-05-01", 7], True)],
)
@pytest.mark.parametrize("suffix", ["csv", "ndjson"])
def test_text_files_tell_times_or_integers(ts: list[Any], timed: bool, suffix: str, tmp_path: Path) -> None:
    path, rows = tmp_path / f"publications.{suffix}", [[i, t] for i, t in enumerate(ts)]
    if suffix == "csv":
        path.write_text("id,ts,point\n" + "".join(f'{i},{t},"[1.0]"\n' for i, t in rows))
    else:
        quoted = [(i, t if isinstance(t, int) else f'"{t}"') for i, t in rows]
        path.write_text("".join(f'{{"id": {i}, "ts": {t}, "point": [1.0]}}\n' for i, t in quoted))
    kept = Kept()
    replay(path, [{"id": 0, "k": 1, "score": "sum", "weights": [1.0]}], writer=kept, engine="oracle")
    assert pa.types.is_timestamp(kept.table.schema.field("at").type) == timed


def test_an_engine_keeps_no_more_than_the_subscriptions_need() -> None:
    publications = [{"id": i, "ts": 10 * i, "point": [float(i)]} for i in range(100)]
    asked = {"k": 1, "score": "sum", "weights": [1.0]}
    for windows in ([{"window_us": 30}], [{"window_n": 3}], [{"window_us": 20}, {"window_n": 3}]):
        subscriptions = [{"id": i, **asked, **window} for i, window in enumerate(windows)]
        late = [*publications, {"id": 1000, "ts": 0, "point": [0.0]}]
        summary = replay(late, subscriptions, batch=10)
        assert (summary.n_late, summary.notes) == (1, [])


def test_a_summary_says_when_nothing_expires() -> None:
    publications = [{"id": 1, "ts": 0, "point": [1.0]}]
    asked = {"k": 1, "score": "sum", "weights": [1.0]}
    one = replay(publications, [{"id": 1, **asked}, {"id": 2, "window_n": 1, **asked}], engine="oracle")
    assert one.notes == ["Nothing expires: 1 subscription has no window, and no default window was given."]
    given = replay(publications, [{"id": 1, **asked}], window=Window.time(10), engine="oracle")
    assert given.notes == []
    two = replay(publications, [{"id": 1, **asked}, {"id": 2, **asked}], engine="oracle")
    assert two.notes[0].startswith("Nothing expires: 2 subscriptions have")


def test_words_are_weighed_by_the_publications() -> None:
    place = {"x": 5.0, "y": 5.0}
    texts = ["jazz in the park", "rain in the park", "jazz in the harbour", "the park"]
    publications = [{"id": i, "ts": i, "text": text, **place} for i, text in enumerate(texts)]
    subscriptions = [{"id": "s", "k": 4, "alpha": 0.0, "terms": ["jazz", "harbour"], "window_n": 9, **place}]
    kept = Kept()
    summary = replay(publications, subscriptions, bounds=Bounds(0, 0, 10, 10), writer=kept, engine="oracle")
    assert summary.family == "geotext"
    assert "tf-idf" in summary.notes[0]
    best = {row["rank"]: row["publication"] for row in kept.rows}
    assert best == {1: 2, 2: 0}
    words = [{**row, "terms": text.split()} for row, text in zip(publications, texts, strict=True)]
    again = Kept()
    replay(words, subscriptions, bounds=Bounds(0, 0, 10, 10), writer=again, engine="oracle")
    assert again.rows == kept.rows


def test_rejects_are_collected_with_the_rows_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "publications.ndjson"
    lines = [
        '{"id": 1, "ts": 1, "point": [1.0]}', "", '{"id": 2, "ts": 2, "point": "x"}', "{",
        '{"id": 3, "ts": 4611686018427387904, "point": [2.0]}', '{"id": 4, "ts": 3, "point": [3.0]}',
    ]  # fmt: skip
    path.write_text("\n".join(lines))
    subscriptions = [{"id": 1, "k": 2, "score": "sum", "weights": [1.0]}, {"id": 1, "k": 0}]
    rejects: dict[str, list[Reject]] = {}
    kept = Kept()
    summary = replay(path, subscriptions, on_error="collect", rejects=rejects, batch=2, writer=kept)
    assert [reject.row for reject in rejects["publications"]] == [3, 4, 5]
    assert [reject.row for reject in rejects["subscriptions"]] == [2]
    assert summary.n_rejected == 4
    assert summary.n_publications == 2
    assert {row["publication"] for row in kept.rows} == {1, 4}


def test_what_only_the_engine_rejects_is_named_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "publications.ndjson"
    path.write_text('\n{"id": 3, "ts": 4611686018427387904, "point": [2.0]}\n')
    with pytest.raises(Rejected, match=r"publications\.ndjson: row 2, column ts, value 4611686018427387904"):
        replay(path, [{"id": 1, "k": 2, "score": "sum", "weights": [1.0]}], engine="oracle")


def test_a_publication_has_as_many_dimensions_as_the_subscriptions() -> None:
    publications = [{"id": 1, "ts": 0, "point": [1.0, 2.0]}]
    with pytest.raises(Rejected, match="publications: row 1, column point"):
        replay(publications, [{"id": 1, "k": 2, "score": "sum", "weights": [1.0]}], engine="oracle")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch": 0}, "A batch has at least 1 publication, not 0."),
        ({"k": 0}, "k must be at least 1, not 0."),
        ({"k": 3}, "k and matching are options of the family ranked"),
        ({"matching": "exact"}, "k and matching are options of the family ranked"),
        ({"bounds": Bounds(0, 0, 2, 2)}, "The family window has no bounds and no words"),
        ({"family": "ranges", "window": Window.count(3)}, "The family ranges has no windows"),
        ({"family": "covering"}, "Covering subscriptions have no publications"),
        ({"engine": "none"}, "has no engine 'none'; it has"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], sentence: str) -> None:
    work = small("window")
    with pytest.raises(ValueError, match=sentence):
        replay(work.publications, work.subscriptions, **options)


def test_ranked_takes_k_and_matching() -> None:
    work, kept = small("ranked"), Kept()
    replay(work.publications, work.subscriptions, k=2, matching="exact", writer=kept)
    assert max(row["rank"] for row in kept.rows) == 2


@pytest.mark.parametrize("engine", ["scan", "scored"])
def test_sparse_subscriptions_have_the_dimensions_of_the_events(engine: str) -> None:
    sparse = [{"id": 1, "dims": [4], "lo": [0.0], "hi": [1.0]}, {"id": 2, "dims": [], "lo": [], "hi": []}]
    events = [{"id": 7, "ts": 1, "point": [5.0, 5.0, None, 5.0, 0.5]}]
    kept = Kept()
    replay(events, sparse, engine=engine, writer=kept)
    assert [(row["event"], row["subscription"]) for row in kept.rows] == [(7, 1)]
    with pytest.raises(Rejected, match="once the number of dimensions is known"):
        replay(pa.table({"id": pa.array([], "int64"), "ts": pa.array([], "int64"), "point": [[0.0]][:0]}), sparse)


def test_files_without_rows(tmp_path: Path) -> None:
    work = small("window")
    empty = tmp_path / "publications.ndjson"
    empty.write_text("\n")
    with pytest.raises(UnreadableFile, match=r"publications\.ndjson is empty: there are no publications in it\."):
        replay(empty, work.subscriptions)
    broken = tmp_path / "broken.ndjson"
    broken.write_text("{\n")
    with pytest.raises(Rejected, match=r"broken\.ndjson: row 1"):
        replay(broken, work.subscriptions)
    kept = Kept()
    summary = replay(work.publications.slice(0, 0), work.subscriptions.slice(0, 0), writer=kept)
    assert (kept.rows, summary.n_publications, summary.publications_per_second) == ([], 0, None)
    assert summary.batch_latency.p50 is None


def test_progress_is_told_batch_by_batch() -> None:
    work, told = small("window"), []
    replay(work.publications, work.subscriptions, batch=15, progress=lambda *at: told.append(at))
    assert told == [(15, 40), (30, 40), (40, 40)]


def test_latencies_and_memory_are_counted(tmp_path: Path) -> None:
    work = small("window")
    write_table(work.publications, tmp_path / "publications.csv")
    summary = replay(tmp_path / "publications.csv", work.subscriptions, batch=15)
    batch, publication = summary.batch_latency, summary.publication_latency
    latencies = [seconds for seconds in (*batch, *publication) if seconds is not None]
    assert len(latencies) == 8
    assert latencies[:4] == sorted(latencies[:4])
    assert summary.seconds > summary.publishing_seconds > 0
    held = dict(summary.bytes_per_subscription)
    # Threads hold nothing where there is so little to do that they are not asked.
    assert held.pop("threads") >= 0
    assert min(held.values()) > 0


def test_small_batches_do_not_make_small_row_groups(tmp_path: Path) -> None:
    work = small("window")
    with table_file(tmp_path / "changes.parquet") as sink:
        replay(work.publications, work.subscriptions, batch=1, writer=sink)
    assert pq.ParquetFile(tmp_path / "changes.parquet").num_row_groups == 1


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("family", FAMILIES)
def test_files_are_parsed_once(family: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many batches there are: engines take rows that were checked as they are."""
    work, calls = small(family), Counter[str]()
    files = [tmp_path / f"{noun}.{suffix}" for noun in ("publications", "subscriptions")]
    for file in files:
        write_table(getattr(work, file.stem), file)

    def counted(noun: str) -> Any:
        parse = getattr(contract.FAMILIES[family], f"parse_{noun}")

        def counting(table: Any, settings: Any) -> Any:
            calls[noun] += 1
            return parse(table, settings)

        return counting

    parsers = {"parse_publications": counted("publications"), "parse_subscriptions": counted("subscriptions")}
    given = dataclasses.replace(contract.FAMILIES[family], **parsers)
    monkeypatch.setattr("skyband.contract.family._families", lambda: {family: given})
    summary = replay(files[0], files[1], family=family, batch=3)
    assert summary.n_publications == len(work.publications)
    assert calls == {"publications": 1, "subscriptions": 1}
