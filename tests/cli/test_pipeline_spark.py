"""`skyband pipeline` and `skyband replay --runner spark` on Spark: commands one after the other, and Ctrl-C."""

import json
import os
import signal
from pathlib import Path

import pytest

from skyband.pipeline.processor import STAGES
from skyband.pipeline.sink import read_changes
from skyband.table import read_table
from tests.choosing import PIPELINE
from tests.cli.calling import call, document, process
from tests.cli.pipeline_folder import PUBLISHED, SUBSCRIBED, configured, lines_of
from tests.pipeline.short import SHORT

pytestmark = pytest.mark.spark


def together(*commands: list[object]) -> list[tuple[int, str, str]]:
    """The exit code, output and errors of several commands, run one after the other on one session."""
    done = [call(*command) for command in commands]
    return [(each.exit_code, each.stdout, each.stderr) for each in done]


@pytest.mark.usefixtures("spark_for_commands")
def test_commands_on_spark(tmp_path: Path) -> None:
    zones, rows = tmp_path / "zones.json", tmp_path / "rows"
    other = configured(tmp_path, state="other", changes={"format": "ndjson", "path": "history"})
    again = other.rename(tmp_path / "history.yaml")
    config = configured(tmp_path)
    rows.mkdir()
    (rows / "s.ndjson").write_text(lines_of(SUBSCRIBED))
    (rows / "p.ndjson").write_text(lines_of(PUBLISHED))
    files = ["--publications", rows / "p.ndjson", "--subscriptions", rows / "s.ndjson", "--window-us", 9]
    results = together(
        ["pipeline", "fit", config, "--zoning", zones, "--json"],
        ["pipeline", "explain", config, "--plan", "--json"],
        ["pipeline", "run", config, "--until-idle", "--json"],
        ["pipeline", "run", config, "--until-idle"],
        ["pipeline", "backfill", again, "--batch", 3, "--json"],
        ["replay", *files, "--batch", 2, "--runner", "spark", "--zones", 2, "--out", tmp_path / "spark.parquet"],
        ["replay", *files, "--batch", 2, "--out", tmp_path / "local.parquet"],
    )
    assert [code for code, _, _ in results] == [0] * 7, results
    fitted, explained = json.loads(results[0][1]), json.loads(results[1][1])
    assert len(fitted["zones"]) == 2
    assert zones.exists()
    assert "MapInArrow" in explained["plans"]["prepare and route"]
    assert "Union" in explained["plans"]["match"]

    *batches, last = map(json.loads, results[2][1].splitlines())
    summary, changes = last["summary"], read_changes(tmp_path / "changes", keyed=True)
    assert (summary["publications"], summary["dead"], summary["commands"]) == (6, 1, 2)
    assert [batch["batch"] for batch in batches] == list(range(summary["batches"]))
    assert summary["changes"] == sum(batch["changes"] for batch in batches) == len(changes) > 0
    assert batches[0]["spark"]["rows"] == 5
    assert "Rows were left out" in results[2][2]
    assert "There was nothing new to read." in results[3][1]

    history = json.loads(results[4][1])
    assert (history["publications"], history["changes"], history["dead"]) == (6, len(changes), 1)
    assert read_changes(tmp_path / "history") == read_changes(tmp_path / "changes")
    local, spark = (read_table(tmp_path / f"{name}.parquet").table for name in ("local", "spark"))
    assert spark == local
    assert len(local) > 0
    status = document("pipeline", "status", config)
    assert status["waiting"] == {"subscriptions": 0, "publications": 0}
    assert (status["undelivered"], status["dead"]["rows"]) == (None, 1)
    recent = status["recent"]
    assert all(recent["processor"][stage] > 0 for stage in STAGES if stage != "deliver")
    assert recent["processor_us_per_row"]["match"] * recent["processor_rows"] == pytest.approx(
        1e6 * recent["processor"]["match"]
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process.")
@pytest.mark.changed("src/skyband/cli/", *PIPELINE)
def test_ctrl_c_ends_after_the_batch(tmp_path: Path) -> None:
    config = configured(tmp_path, spark=SHORT)
    run = process("pipeline", "run", config, "--json")
    assert run.stdout is not None
    first = json.loads(run.stdout.readline())
    run.send_signal(signal.SIGINT)
    out, errors = run.communicate(timeout=120)
    assert run.returncode == 130, errors
    assert errors.splitlines()[-1] == (
        "Error: Stopped by Ctrl-C after the batch that was running; the next run goes on from there."
    )
    batches = [first, *(json.loads(line) for line in out.splitlines()[:-1])]
    summary = json.loads(out.splitlines()[-1])["summary"]
    assert [batch["batch"] for batch in batches] == list(range(summary["batches"]))
    status = document("pipeline", "status", config)
    assert status["last"]["batch"] == summary["last"] == status["delivered"]
