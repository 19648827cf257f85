"""`skyband pipeline` where it needs no Spark: what its commands say of configurations, states and logs."""

import gzip
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from skyband.cli.output import Output
from skyband.cli.pipeline.consequence import consequences
from skyband.cli.pipeline.view import open_view, rates, told
from skyband.cli.request import Requests
from skyband.log import Log
from skyband.pipeline.config import Config, make_config
from skyband.pipeline.sink import SINKS
from skyband.pipeline.source.source import SOURCES
from skyband.pipeline.stage.router import Router
from skyband.pipeline.stage.worker import prepare_as
from skyband.pipeline.state.folder import Commit, State, write_log, write_parquet
from skyband.table import read_table, write_table
from tests.cli.calling import call, document, failure, process
from tests.cli.pipeline_folder import PUBLISHED, SUBSCRIBED, configured, lines_of
from tests.pipeline.streams import Batch, raw, shape_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipeline.md"


def committed(folder: Path) -> State:
    """A state with one committed batch, which is not delivered, and one dead letter."""
    shape, state = shape_of("window", 2, window="time"), State(folder)
    state.begin(shape)
    rows = prepare_as(iter(raw(Batch([SUBSCRIBED[0], {"op": "fly"}], PUBLISHED[:4])).to_batches()), shape)
    routing = Router(shape).route(0, pa.Table.from_batches(rows))
    write_log(state.log(0), routing.rows)
    write_parquet(state.dead(0), routing.dead)
    # What a run that was killed has left of the next batch does not count.
    write_parquet(state.dead(1), routing.dead)
    cost = {"seconds": 0.5, "rebuilt_seconds": 0.0}
    parts = {"router": routing.report._asdict() | cost | {"subscriptions": 1, "log_bytes": 9}}
    parts |= {f"zone-{zone}": cost | {"subscriptions": zone} for zone in range(2)}
    report = {"at": time.time(), "seconds": 1.5, "changes": 2, "parts": parts}
    state.commit(Commit(0, report | {"processor": {"route": 0.25, "jvm": 0.5}}, {}, {"changes": 2}))
    return state


def test_help_needs_no_spark() -> None:
    code = (
        "import sys; from skyband.cli import main; main(['pipeline', 'run', '--help'], standalone_mode=False); "
        "print([name for name in ('pyspark', 'numba', 'pyarrow') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("name", ["run", "fit", "backfill", "status", "explain", "append", "dead"])
def test_every_command_has_an_example(name: str) -> None:
    assert f"Example:\n    skyband pipeline {name}" in call("pipeline", name, "--help").stdout


def test_unknown_commands_end_with_2() -> None:
    assert "No such command 'fly'" in failure("pipeline", "fly", code=2)


@pytest.mark.parametrize(
    "words", [("run",), ("fit",), ("backfill",), ("explain", "--plan")], ids=lambda words: words[0]
)
def test_without_spark_they_say_how_to_get_it(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured(tmp_path)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyspark" else find(name))
    assert failure("pipeline", words[0], config, *words[1:]) == (
        'This runs on Spark, which is not installed: run pip install "skyband[spark]".'
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "yaml" else find(name))
    assert "pyyaml, which is not installed" in failure("pipeline", words[0], config)


def test_a_replay_without_spark_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--publications", "a.ndjson", "--subscriptions", "b.ndjson", "--runner", "spark"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install" in failure("replay", *words)
    assert "--zones needs --runner spark" in failure("replay", *words[:-2], "--zones", 2, code=2)


def test_wrong_configurations_are_one_sentence(tmp_path: Path) -> None:
    path = configured(tmp_path, zones=0)
    for name in ("run", "fit", "backfill", "explain", "status", "dead"):
        assert failure("pipeline", name, path) == f"{path}: zones is an integer from 1 to 1024, not 0."
    assert "cannot be read" in failure("pipeline", "run", tmp_path / "missing.yaml")
    path = configured(tmp_path, changes={"format": "paper"})
    assert failure("pipeline", "explain", path).startswith("changes: there is no format 'paper'")
    path = configured(tmp_path, publications={"format": "log", "path": "nowhere"})
    assert "there is no folder" in failure("pipeline", "explain", path)
    assert "--words is for the family geotext" in failure("pipeline", "fit", path, "--words", "w.json", code=2)


def test_rows_are_appended(tmp_path: Path) -> None:
    log, rows = tmp_path / "log", lines_of(PUBLISHED)
    (tmp_path / "a.ndjson").write_text(rows + "\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    write_table(pa.Table.from_pylist(PUBLISHED), tmp_path / "c.parquet")
    assert call("pipeline", "append", log, tmp_path / "a.ndjson").stdout == (
        f"6 rows were appended to {log}, which has 6 now.\n"
    )
    said = document("pipeline", "append", log, tmp_path / "b.jsonl.gz", tmp_path / "c.parquet")
    assert said["end"] == 18
    assert [each["rows"] for each in said["files"]] == [6, 6]
    assert [json.loads(value) for value in Log(log).read(0)["value"].to_pylist()] == PUBLISHED * 3


def test_standard_input_is_appended_as_it_comes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = process("pipeline", "append", log, "-", "--json", stdin=subprocess.PIPE)
    assert run.stdin is not None
    run.stdin.write('{"id": 1}\n\n{"id"')
    run.stdin.flush()
    for _ in range(600):
        if log.exists() and Log(log).end:
            break
        time.sleep(0.05)
    assert Log(log).read(0)["value"].to_pylist() == ['{"id": 1}']
    os.write(run.stdin.fileno(), b": 2}\n\xff")
    out, errors = run.communicate(timeout=60)
    assert (json.loads(out)["end"], errors) == (3, "")
    assert Log(log).read(1)["value"].to_pylist() == ['{"id": 2}', "\ufffd the line is not UTF-8: \ufffd"]


def test_what_cannot_be_appended(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    (tmp_path / "a.ndjson").write_text("{}\n")
    assert "must end in .ndjson" in failure("pipeline", "append", tmp_path / "log", tmp_path / "a.csv", code=2)
    assert "There is no file" in failure("pipeline", "append", tmp_path / "log", tmp_path / "no.ndjson", code=2)
    assert not (tmp_path / "log").exists()
    with Log(tmp_path / "log") as writer:
        writer.claim()
        assert "has another writer" in failure("pipeline", "append", tmp_path / "log", tmp_path / "a.ndjson")


def test_explained_without_spark(tmp_path: Path) -> None:
    secret = {"format": "postgres", "dsn": "postgresql://ann:hush@localhost/db", "table": "told"}
    path = configured(tmp_path, changes=[secret, {"format": "discard"}])
    said = document("pipeline", "explain", path)
    assert [(end["noun"], end["format"]) for end in said["sources"]] == [
        ("subscriptions", "log"),
        ("publications", "log"),
    ]
    assert said["sinks"][0]["options"] == {"dsn": "given, not shown", "table": "told"}
    assert [stage["stage"] for stage in said["stages"]] == ["read", "prepare", "route", "match", "deliver"]
    assert (said["zones"], said["plans"]) == ([], None)
    text = call("pipeline", "explain", path).stdout
    assert "hush" not in text + json.dumps(said)
    assert "the next run begins it" in text
    assert "- Spark keeps 4 Python workers" in text
    assert not (tmp_path / "state").exists()


def test_a_state_is_explained_with_its_zones(tmp_path: Path) -> None:
    committed(tmp_path / "state")
    ids = {"objects": "integers"}
    path = configured(tmp_path, window="5us", engine="scan", ids=ids)
    said = document("pipeline", "explain", path)
    assert [zone["zone"] for zone in said["zones"]] == [0, 1]
    assert "the last committed batch is 0" in said["state"]
    assert "zone  what it holds" in call("pipeline", "explain", path).stdout
    message = failure("pipeline", "explain", configured(tmp_path, window="6us", engine="scan", ids=ids))
    assert "The configuration does not fit the state" in message


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"zones": 3}, "Spark keeps 5 Python workers"),
        ({"zones": 2}, "fitted to a sample"),
        ({"zones": 2, "granularity": "publication"}, "one at a time"),
        ({"zones": 2, "window": {"count": 9}}, "a window by count has to count them all"),
        ({"window": {"count": 9}}, "up to 9 publications"),
        ({"window": "none"}, "its state grows"),
        ({"window": "1s"}, "up to 1,000,000 microseconds"),
        ({"family": "ranked", "zones": 2, "window": "none"}, "Subscriptions with a budget are rejected"),
        ({"family": "ranges", "window": "none"}, "and text in objects"),
        ({"family": "geotext", "dims": None}, "publications without weights are rejected"),
        ({"changes": None}, "There is no sink"),
    ],
)
def test_what_follows_from_settings(given: dict[str, Any], said: str) -> None:
    end = {"format": "discard"}
    keys = {"family": "window", "engine": "scan", "dims": 2, "publications": end, "subscriptions": end, "changes": end}
    assert said in " ".join(consequences(make_config(keys | {"state": "state"} | given)))
    plain = make_config(keys | {"state": "state", "window": "2s"})
    assert said not in " ".join(consequences(plain))


def test_status_of_a_state(tmp_path: Path) -> None:
    state = committed(tmp_path / "state")
    said = document("pipeline", "status", state.folder)
    assert said["last"]["batch"] == 0
    assert said["last"]["publications"] == 4
    assert said["last"]["commands"] == 1
    assert said["last"]["replication"] == said["last"]["copies"] / 4
    assert (said["recent"]["batches"], said["recent"]["changes"]) == (1, 2)
    assert (said["delivered"], said["undelivered"]) == (-1, 0)
    assert said["dead"]["rows"] == 1
    assert "'fly' is not one of" in said["dead"]["last"][0]["reason"]
    assert [part["part"] for part in said["parts"]] == ["router", "zone-0", "zone-1"]
    assert {part["log_bytes"] for part in said["parts"]} == {state.log(0).stat().st_size} == {said["log_bytes"]}
    assert said["waiting"] == {"subscriptions": None, "publications": None}
    assert (said["recent"]["processor"], said["recent"]["processor_rows"]) == ({"route": 0.25, "jvm": 0.5}, 6)
    assert said["last"]["processor_us_per_row"]["jvm"] == pytest.approx(0.5e6 / 6)
    text = call("pipeline", "status", state.folder).stdout
    assert ["route", "0.250", "41666.667"] in [line.split() for line in text.splitlines()]
    assert "batch 0 is not yet" in text
    assert "Dead letter: subscriptions o, row 1, batch 0: op: 'fly'" in text
    state.note_delivered(0)
    assert "delivered" in call("pipeline", "status", state.folder).stdout
    assert document("pipeline", "status", state.folder)["undelivered"] is None


def test_status_counts_what_waits_in_logs(tmp_path: Path) -> None:
    state = committed(tmp_path / "state")
    path = configured(tmp_path)
    assert document("pipeline", "status", path)["waiting"] == {"subscriptions": 2, "publications": 7}
    offsets = state.checkpoint / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text('v1\n{"batchWatermarkMs":0}\n-\n{"record": 4}')
    assert document("pipeline", "status", path)["waiting"] == {"subscriptions": 2, "publications": 3}
    assert "publications waiting   3" in call("pipeline", "status", path).stdout


def test_status_before_the_first_batch(tmp_path: Path) -> None:
    assert "run the pipeline first" in failure("pipeline", "status", configured(tmp_path))
    assert "There is no state of a pipeline" in failure("pipeline", "status", tmp_path)
    State(tmp_path / "state").begin(shape_of("window", 1))
    said = document("pipeline", "status", tmp_path / "state")
    assert (said["last"], said["parts"], said["recent"]["batches"]) == (None, [], 0)
    assert "none yet" in call("pipeline", "status", tmp_path / "state").stdout
    assert call("pipeline", "dead", tmp_path / "state").stdout == "There are no dead letters.\n"


def test_dead_letters_of_committed_batches(tmp_path: Path) -> None:
    state = committed(tmp_path / "state")
    out = tmp_path / "dead.ndjson"
    said = document("pipeline", "dead", state.folder, "--out", out)
    assert said["n_rows"] == 1
    assert said["rows"][0]["row"] == '{"op": "fly"}'
    assert read_table(out).table.to_pylist() == said["rows"]
    text = call("pipeline", "dead", state.folder, "--out", out).stdout
    assert text.splitlines()[0].split() == ["batch", "noun", "origin", "offset", "reason", "row"]
    assert text.endswith(f"All of them are in {out}.\n")


def test_many_dead_letters_are_cut(tmp_path: Path) -> None:
    state = committed(tmp_path / "state")
    letters = read_table(state.dead(0)).table
    long = letters.set_column(4, "row", pa.array(["x" * 200]))
    write_parquet(state.dead(0), pa.concat_tables([long] * 130))
    text = call("pipeline", "dead", state.folder).stdout
    assert text.count("x" * 79 + "…") == 100
    assert "These are the last 100 of 130 rows" in text
    assert document("pipeline", "status", state.folder)["dead"]["rows"] == 130


def test_batches_in_words() -> None:
    figures = {
        "publications": 1,
        "commands": 2,
        "changes": 1000,
        "replication": 1.5,
        "dead": 1,
        "late": 3,
        "retracted": 4,
        "seconds": 2,
    }
    assert (
        told(figures) == "1 publication, 2 commands, 1,000 changes, 1.50 zones each, 1 dead letter, 3 late, 4 retracted"
    )
    quiet = figures | {"commands": 0, "replication": None, "dead": 0, "late": 0, "retracted": 0}
    assert told(quiet) == "1 publication, 1,000 changes"
    assert rates(figures | {"spark": None}) == "2.00 s"
    spark = {"rows_per_second": None, "processed_rows_per_second": 12345.6, "seconds": 0.5}
    assert rates(figures | {"spark": spark}) == "0.50 s, 0 rows/s in, 12,346 rows/s done"


def test_views_show_each_batch(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    batch = {"batch": 3, "publications": 1, "commands": 0, "changes": 2, "replication": 1.0, "dead": 0, "late": 0}
    batch |= {"retracted": 0}
    figures, totals = batch | {"seconds": 1.5, "copies": 1, "spark": None}, batch | {"publications": 9}
    for output in (Output(as_json=True), Output()):
        with open_view(output) as view:
            view.say("Waiting for rows.")
            view.batch(figures, totals)
    first, *rest = capsys.readouterr().out.splitlines()
    assert json.loads(first) == figures
    assert rest == ["Waiting for rows.", "batch 3: 1 publication, 2 changes, 1.00 zones each; 1.50 s"]
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with open_view(Output()) as view:
        view.say("Waiting for rows.")
        view.batch(figures, totals)
    assert "batch 3: 1.50 s; since the start 9 publications, 2 changes" in terminal.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ctrl_c_is_an_interrupt(first: signal.Signals) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Requests() as requests:
        signal.raise_signal(first)
        signal.raise_signal(signal.SIGTERM)
        assert requests.asked == first
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


def test_the_page_has_every_key_format_and_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    formats = {**SOURCES, **SINKS}
    options = {name for kinds in (SOURCES, SINKS) for kind in kinds.values() for name in kind.options}
    missing = [name for name in {*Config._fields, *formats, *options} if f"`{name}`" not in page]
    assert missing == []
