"""What the demo does about a stream that ends, without Spark: the pipeline here is a stand-in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pyarrow as pa
import pytest

from skyband.demo import spark
from skyband.demo.scene import make_scene
from skyband.demo.spark import OnSpark, counters_of, lay_out
from skyband.pipeline.run import PipelineFailed
from skyband.pipeline.state.folder import Commit

if TYPE_CHECKING:
    from collections.abc import Callable

REPORT = {"publications": 4, "copies": 6, "dead": 1}
ZONES = {"zone-0": {"counters": {"scored": 5, "delivery": 1}}, "zone-1": {"counters": {"scored": 7}}}
COMMIT = Commit(0, {"seconds": 0.5, "parts": {"router": REPORT, **ZONES}}, {}, {"changes": 0})


class Query(NamedTuple):
    """As much of a query as is looked at."""

    isActive: bool  # noqa: N815  Spark calls it by this name.


class Ending:
    """A pipeline whose stream ends at once for a reason, or does a micro-batch if there is none."""

    reason: ClassVar[str | None] = None

    def __init__(self, config: Any, session: Any) -> None:
        self.query: Query | None = None
        self.shape = self

    def answers(self) -> Any:
        return pa.schema([("op", pa.int8())])

    def listen(self, listener: Callable[[Commit], None]) -> None:
        self.listener = listener

    def start(self) -> None:
        self.query = Query(self.reason is None)
        if self.reason is None:
            self.listener(COMMIT)

    def wait(self) -> None:
        if self.reason:
            raise PipelineFailed(self.reason)

    def stop(self) -> None:
        self.query = Query(False)


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | None], OnSpark]:
    monkeypatch.setattr(spark, "Pipeline", Ending)
    monkeypatch.setattr(spark, "LOOK_SECONDS", 0.001)

    def opened(reason: str | None) -> OnSpark:
        monkeypatch.setattr(Ending, "reason", reason)
        made = OnSpark(lay_out(make_scene(5, 3, 10), tmp_path / "pipeline"), None)  # type: ignore[arg-type]  # no Spark
        # Nobody holds the next micro-batch back: there is only one thread here.
        made._gate.release()
        return made

    return opened


def test_traffic_is_summed_up(runner: Callable[[str | None], OnSpark]) -> None:
    answer = runner(None).end(60)
    assert answer.seconds == 0.5
    assert answer.traffic is not None
    assert answer.traffic[:5] == (1, 2, 4, 6, 1)
    assert (answer.traffic.replication, answer.traffic.per_second) == (1.5, 8.0)


@pytest.mark.parametrize(
    ("reason", "words"), [("The disk is full.", "The disk is full"), ("", "ended before the day did")]
)
def test_what_ends_the_stream_is_told(runner: Callable[[str | None], OnSpark], reason: str, words: str) -> None:
    opened = runner(reason)
    with pytest.raises(PipelineFailed, match=words):
        opened.end(60)
    opened.close()


def test_the_counters_of_zones_are_summed_up() -> None:
    assert counters_of(COMMIT) == {"scored": 12, "delivery": 1}
