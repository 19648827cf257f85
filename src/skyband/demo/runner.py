"""Where a day is run: whoever takes its steps and answers each with what changed."""

import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import pyarrow as pa

import skyband
from skyband.contract import AnyEngine
from skyband.demo.city import bounds
from skyband.demo.day import CLOSES, MIDNIGHT, MINUTE
from skyband.demo.scene import Scene
from skyband.demo.subscriber import TWO_HOURS

FAMILY, ENGINE = "geotext", "auto"


class PipelineTraffic(NamedTuple):
    """How the pipeline has carried the day so far; the seconds are those of its start and of all micro-batches."""

    batches: int
    zones: int
    publications: int
    copies: int
    dead: int
    seconds: float
    start_seconds: float

    @property
    def replication(self) -> float:
        """To how many zones a publication went, on average."""
        return self.copies / max(self.publications, 1)

    @property
    def per_second(self) -> float:
        """Publications per second of micro-batches."""
        return self.publications / self.seconds if self.seconds > 0.0 else 0.0


class StepAnswer(NamedTuple):
    """What a step changed and the seconds it took; the counters and the traffic are those of the day so far."""

    changes: pa.Table
    seconds: float
    counters: Mapping[str, int]
    traffic: PipelineTraffic | None = None


class DayRunner(Protocol):
    """Takes the steps of a day, with its subscriptions registered."""

    def step(self, minute: int, publications: pa.Table) -> StepAnswer:
        """Let time pass to a minute of the day, and publish what was said from then on."""

    def end(self, minute: int) -> StepAnswer:
        """Let time pass to the minute at which the day is over."""

    def tops(self) -> pa.Table:
        """The current tops of all subscriptions."""

    def bytes_used(self) -> int | None:
        """What the subscriptions take in memory, None where nobody can tell."""


class InProcess:
    """Runs the day in one engine in this process."""

    def __init__(self, scene: Scene) -> None:
        self._engine = open_engine()
        self._engine.subscribe(scene.subscriptions)

    def step(self, minute: int, publications: pa.Table) -> StepAnswer:
        """Let time pass to a minute of the day, and publish what was said from then on."""
        began = time.perf_counter()
        passed = self._engine.advance(MIDNIGHT + minute * MINUTE).table()
        return self._answer(began, passed, self._engine.publish(publications))

    def end(self, minute: int) -> StepAnswer:
        """Let time pass to the minute at which the day is over."""
        return self._answer(time.perf_counter(), self._engine.advance(MIDNIGHT + minute * MINUTE).table())

    def _answer(self, began: float, *parts: pa.Table) -> StepAnswer:
        # Until the first publication an engine cannot know the type of their ids, so empty parts may differ in it.
        changes = pa.concat_tables([part for part in parts if len(part)] or parts[-1:])
        return StepAnswer(changes, time.perf_counter() - began, self._engine.counters)

    def tops(self) -> pa.Table:
        """The current tops of all subscriptions."""
        return self._engine.top()

    def bytes_used(self) -> int | None:
        """What the subscriptions take in memory."""
        memory = self._engine.memory()
        return memory["rows"] + memory["questions"]


def open_engine() -> AnyEngine:
    """The engine of the demo, empty."""
    return skyband.open(FAMILY, ENGINE, window=skyband.Window.time(TWO_HOURS), bounds=bounds())


def warm_up(scene: Scene) -> None:
    """Run a few rows through an engine, so that every kernel is compiled before the clock starts."""
    engine = open_engine()
    engine.subscribe(scene.subscriptions.slice(0, 50))
    engine.publish(scene.publications.slice(0, 50))
    engine.top([0])
    engine.advance(MIDNIGHT + CLOSES * MINUTE)
