"""The demo through the pipeline: the same changes as in one process, and what it leaves in its folder."""

from __future__ import annotations

import io
import signal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from skyband.demo import DemoSummary, run
from skyband.demo.frame import Frame
from skyband.demo.ledger import DayLedger
from skyband.demo.play import play
from skyband.demo.runner import InProcess
from skyband.demo.scene import make_scene
from skyband.pipeline.config import load_config
from skyband.pipeline.sink import read_changes, read_tops
from skyband.pipeline.state.folder import State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from skyband.demo.watcher import Taking

pytestmark = [pytest.mark.spark, pytest.mark.changed("src/skyband/", "tests/pipeline/")]

SEED, SUBSCRIBERS, PUBLICATIONS, STEPS = 5, 60, 20_000, 10


class Leaving:
    """A watcher that keeps the frames, and presses Ctrl-C after some steps."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def show(self, take: Taking, minute: int, part: float) -> None:
        self.frames.append(take())
        if len(self.frames) == STEPS:
            signal.raise_signal(signal.SIGINT)


class Shown(NamedTuple):
    """A run through the pipeline, and the same in one process."""

    summary: DemoSummary
    frames: list[Frame]
    text: str
    local: InProcess
    ledger: DayLedger
    local_frames: list[Frame]


@pytest.fixture(scope="module")
def shown(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    console, watcher, other = Console(file=io.StringIO(), width=100), Leaving(), Leaving()
    out = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skyband.demo.watcher.HourLines.show", watcher.show)
        summary = run(
            seed=SEED, subscribers=SUBSCRIBERS, publications=PUBLICATIONS, out=out, console=console, spark=spark
        )
    local = InProcess(scene := make_scene(SEED, SUBSCRIBERS, PUBLICATIONS))
    ledger = play(scene, local, other)
    assert isinstance(console.file, io.StringIO)
    return Shown(summary, watcher.frames, console.file.getvalue(), local, ledger, other.frames)


def test_the_change_log_is_that_of_one_process(shown: Shown) -> None:
    changes = pq.read_table(shown.summary.change_log)
    assert changes.equals(shown.ledger.table())
    assert shown.summary.leaves > 0
    assert read_changes(folder(shown) / "changes").equals(changes)


def test_the_tops_are_those_of_one_process(shown: Shown) -> None:
    order = [("subscription", "ascending"), ("rank", "ascending")]
    assert read_tops(folder(shown) / "tops").to_pylist() == shown.local.tops().sort_by(order).to_pylist()
    assert shown.summary.adds_up


def test_the_view_is_that_of_one_process(shown: Shown) -> None:
    assert len(shown.frames) == STEPS
    for frame, local in zip(shown.frames, shown.local_frames, strict=True):
        assert frame._replace(rates=local.rates, traffic=None) == local
        assert frame.rates.changes == local.rates.changes
        assert frame.rates.deliveries == local.rates.deliveries
        assert frame.traffic is not None
    batches = [frame.traffic.batches for frame in shown.frames if frame.traffic is not None]
    assert batches == list(range(1, STEPS + 1))


def test_the_summary_tells_of_the_pipeline(shown: Shown) -> None:
    summary = shown.summary
    assert (summary.runner, summary.zones, summary.dead_letters) == ("spark", 2, 0)
    # Time passes to the end of the last step in a micro-batch of its own.
    assert summary.micro_batches == STEPS + 1
    assert summary.copies_per_publication is not None
    assert 1 <= summary.copies_per_publication <= 2
    assert not summary.finished
    for words in (
        "Starting Spark",
        "Playing a day",
        "Stopped at 07:40",
        "equals the tops",
        "micro-batches",
        "dead let",
    ):
        assert words in shown.text


def test_the_folder_holds_a_whole_pipeline(shown: Shown) -> None:
    config = load_config(folder(shown) / "pipeline.yaml")
    last = State(config.state).last()
    assert last is not None
    assert last.batch == STEPS
    zones = [last.report["parts"][f"zone-{zone}"]["subscriptions"] for zone in range(2)]
    assert sum(zones) == SUBSCRIBERS
    assert min(zones) > 0


def folder(shown: Shown) -> Path:
    """The folder of the pipeline."""
    assert shown.summary.pipeline is not None
    return Path(shown.summary.pipeline)
