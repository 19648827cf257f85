"""`skyband replay`: the change log is the library's, and the summary adds up."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from skyband.kernels.crew import all_cores
from skyband.replay import Plan
from skyband.table import read_table
from tests.cli.calling import call, document, failure, files
from tests.replay.small import FAMILIES, oracle_changes, small


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_change_log_is_the_oracles(family: str, named: bool, tmp_path: Path) -> None:
    words = [*([family] if named else []), *files(tmp_path, family, "ndjson")]
    out = tmp_path / "changes.parquet"
    said = document("replay", *words, "--out", out, "--batch", 9, "--granularity", "publication")
    expected = oracle_changes(small(family), "publication", 9)
    assert read_table(out).table.to_pylist() == expected
    assert said["family"] == family
    assert said["out"] == str(out)
    assert sum(said["changes"].values()) == len(expected)
    assert set(said["batch_latency"]) == {"p50", "p90", "p99", "max"}


def test_the_summary_is_a_list_for_people(tmp_path: Path) -> None:
    done = call("replay", *files(tmp_path), "--engine", "oracle")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout.splitlines()[:3] == [
        "family                    window",
        "engine                    oracle",
        "publications              40",
    ]
    assert "change log                not written" in done.stdout
    assert "bytes per subscription    not counted" in done.stdout
    assert "\x1b" not in done.stdout
    scanned = call("replay", *files(tmp_path), "--batch", 1)
    assert "latency of a publication  p50 " in scanned.stdout


@pytest.mark.parametrize("command", ["replay", "top"])
def test_threads_change_nothing_and_reach_the_engine(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, opened, make = files(tmp_path), list[int](), Plan.open

    def noting(plan: Plan, *given: Any) -> Any:
        engine = make(plan, *given)
        opened.append(engine.threads)
        return engine

    monkeypatch.setattr(Plan, "open", noting)
    written = []
    for threads in (1, 2, None):
        out = tmp_path / f"{threads}.parquet"
        document(command, *words, "--out", out, *([] if threads is None else ["--threads", threads]))
        written.append(pq.read_table(out))
    # A run opens one more, to compile what it needs.
    assert list(dict.fromkeys(opened)) == list(dict.fromkeys([1, 2, all_cores()]))
    assert written[0].num_rows
    assert written[0] == written[1] == written[2]
    assert "not in the range" in failure(command, *words, "--threads", 0, code=2)


def test_a_default_window_is_taken(tmp_path: Path) -> None:
    words = [*files(tmp_path, "window", "ndjson"), "--granularity", "publication"]
    lines = (tmp_path / "subscriptions.ndjson").read_text()
    (tmp_path / "subscriptions.ndjson").write_text(lines.replace('"window_n":12', '"other":12'))
    without = document("replay", *words)
    assert without["notes"] == ["Nothing expires: 6 subscriptions have no window, and no default window was given."]
    assert without["notes"][0] in call("replay", *words).stdout
    by_count = document("replay", *words, "--window-n", 3)
    by_time = document("replay", *words, "--window-us", "100ms")
    assert by_count["notes"] == by_time["notes"] == []
    assert without["changes"]["leave"] < by_count["changes"]["leave"] != by_time["changes"]["leave"]
    assert "--window-n or --window-us" in failure("replay", *words, "--window-n", 3, "--window-us", 3, code=2)


def test_bounds_k_and_matching_reach_the_engine(tmp_path: Path) -> None:
    words = files(tmp_path, "geotext")
    assert document("replay", *words, "--bounds", "0,0,2,2")["changes"]["enter"] > 0
    assert "must lie within the bounds" in failure("replay", *words, "--bounds", "0,0,0.1,0.1")
    assert "four numbers" in failure("replay", *words, "--bounds", "0,0,1", code=2)
    words = files(tmp_path, "ranked")
    one = document("replay", *words, "--k", 1)["changes"]["match"]
    exact = document("replay", *words, "--matching", "exact")["changes"]["match"]
    assert one <= 15 < document("replay", *words)["changes"]["match"] > exact


def test_bad_rows_may_be_collected(tmp_path: Path) -> None:
    words = files(tmp_path, "window", "ndjson")
    with (tmp_path / "publications.ndjson").open("a") as file:
        file.write('{"id": 0, "ts": 1, "point": [1.0, 2.0]}\nnonsense\n')
    rejects, out = tmp_path / "rejects.csv", tmp_path / "changes.ndjson"
    words += ["--on-error", "collect", "--out", str(out)]
    done = call("replay", *words, "--rejects", rejects)
    assert done.exit_code == 0
    assert done.stderr.startswith(
        "Warning: 2 rows were left out; the first: publications, row 41, column id, value 0: "
    )
    assert "rejected rows             2" in done.stdout
    assert [row["row"] for row in read_table(rejects).table.to_pylist()] == ["41", "42"]
    assert read_table(rejects).table.column_names == ["file", "row", "column", "value", "reason"]
    assert out.exists()
    said = document("replay", *words)
    assert (said["n_rejected"], said["rejects"]) == (2, None)


def test_a_file_without_rejects_is_written_too(tmp_path: Path) -> None:
    words = [*files(tmp_path), "--on-error", "collect", "--rejects", tmp_path / "rejects.parquet"]
    assert call("replay", *words).exit_code == 0
    assert read_table(tmp_path / "rejects.parquet").table.num_rows == 0


def test_options_that_contradict_each_other(tmp_path: Path) -> None:
    words = files(tmp_path)
    assert "--rejects needs --on-error collect" in failure("replay", *words, "--rejects", "some.csv", code=2)
    message = failure("replay", *words, "--out", tmp_path / "publications.parquet", code=2)
    assert message == "publications.parquet is given twice: a file that is written needs a name of its own."
    assert "has no engine 'none'" in failure("replay", *words, "--engine", "none")
    assert "is not one of" in failure("replay", "covering", *words, code=2)
    assert failure("replay", "ranges", *words).startswith(f"{tmp_path / 'subscriptions.parquet'}: ")


def test_options_of_the_engine_itself(tmp_path: Path) -> None:
    words = [*files(tmp_path), "--engine", "tma"]
    plain = document("replay", *words)
    said = document("replay", *words, "--option", "cells=3", "--option", "index=blocks")
    assert said["changes"] == plain["changes"]
    assert said["counters"] != plain["counters"]
    assert failure("replay", *words, "--option", "cell=3") == (
        "The engine tma of the family window has no option 'cell'; its options are index, cells."
    )
    assert failure("replay", *words, "--option", "index=tree") == "index is blocks or grid, not 'tree'."
    assert failure("replay", *words, "--option", "cells=many").startswith("cells is an integer from 1 to ")
    assert "write NAME=VALUE" in failure("replay", *words, "--option", "cells", code=2)
    assert "cells is given twice." in failure("replay", *words, "--option", "cells=3", "--option", "cells=4", code=2)


def test_options_of_ranked_have_two_names(tmp_path: Path) -> None:
    words = files(tmp_path, "ranked")
    one = document("replay", *words, "--k", 1)["changes"]
    assert document("replay", *words, "--option", "k=1")["changes"] == one
    assert failure("replay", *words, "--k", 1, "--option", "k=1") == (
        "k is given twice, also as an option of the engine."
    )
