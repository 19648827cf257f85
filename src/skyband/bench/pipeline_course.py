"""A course for a pipeline: a window full of messages, subscriptions to them, and the batches that follow.

The same rows go to an engine as tables and to a pipeline as JSON in the logs that it reads. Messages come before
subscriptions, so that no engine begins with empty answers that everything enters.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import skyband
from skyband.bench.geotext_corpus import Corpus
from skyband.bench.runner import pieces
from skyband.contract import AnyEngine
from skyband.table import Window
from skyband.table.write import json_rows

# The fastest engine of the family, and the publications are a millisecond apart.
FAMILY, ENGINE = "geotext", "blocks"
GAP = 1000
AT_ONCE = 20_000


class CourseStep(NamedTuple):
    """Rows that are appended at once, and what they are."""

    noun: str
    rows: pa.Table

    @property
    def texts(self) -> pa.Array:
        """The rows as JSON."""
        return pa.array(json_rows(self.rows), pa.string())


class PipelineCourse:
    """The rows of a contest; `batch` publications are published at once after those that fill the window."""

    def __init__(
        self, n_subscriptions: int, n_live: int, batch: int, n_batches: int, shrink: int = 50, k: int = 20
    ) -> None:
        corpus = Corpus("tweets", shrink)
        said = corpus.publications(n_live + batch * n_batches)
        times = pa.array(np.arange(len(said)) * GAP)
        self.publications = said.set_column(said.column_names.index("ts"), "ts", times)
        self.subscriptions = corpus.subscriptions(n_subscriptions, k)
        self.n_live, self.batch, self.n_batches = n_live, batch, n_batches
        self.window = Window.time(n_live * GAP)

    @cached_property
    def opening(self) -> list[CourseStep]:
        """What fills the window and subscribes, in steps that are small enough to be a batch each."""
        live = self.publications.slice(0, self.n_live)
        said = [CourseStep("publications", piece) for piece in pieces(live, AT_ONCE)]
        return said + [CourseStep("subscriptions", piece) for piece in pieces(self.subscriptions, AT_ONCE)]

    @cached_property
    def batches(self) -> list[CourseStep]:
        """The batches that follow."""
        starts = range(self.n_live, len(self.publications), self.batch)
        return [CourseStep("publications", self.publications.slice(start, self.batch)) for start in starts]

    @cached_property
    def batch_texts(self) -> list[pa.Array]:
        """The batches as JSON, made once."""
        return [step.texts for step in self.batches]


class Bare:
    """An engine that is given the steps of a course as they are; the changes of all of them are kept."""

    def __init__(self, course: PipelineCourse) -> None:
        self.engine: AnyEngine = skyband.open(FAMILY, ENGINE, window=course.window, granularity="batch", threads=1)
        self.told: list[pa.Table] = []
        for step in course.opening:
            self.feed(step)

    def feed(self, step: CourseStep) -> pa.Table:
        """Take a step."""
        take = self.engine.publish if step.noun == "publications" else self.engine.subscribe
        changes = take(step.rows)
        self.told.append(changes)
        return changes

    def changes(self) -> pa.Table:
        """Everything that was told; before any subscription ids have no type yet, and nothing is told."""
        return pa.concat_tables([changes for changes in self.told if len(changes)])


def rate(n_subscriptions: int, n_live: int, sample: int, shrink: int = 50, k: int = 20) -> float:
    """How many publications a second an engine takes; the first half of the sample is not counted."""
    from skyband.bench.runner import time_in_turn

    course = PipelineCourse(n_subscriptions, n_live, sample, 2, shrink, k)
    bare = Bare(course)
    taken = time_in_turn({"bare": lambda turn: bare.feed(course.batches[turn])}, 1)["bare"]
    return sample / (taken[0] / 1e9)


def documents(course: PipelineCourse, folders: dict[str, str], n_zones: int, sink: dict[str, str]) -> dict[str, object]:
    """The configuration of a pipeline over logs in these folders, as a file would have it."""
    return {
        "family": FAMILY,
        "engine": ENGINE,
        "window": f"{course.window.size}us",
        "zones": n_zones,
        "ids": "integers",
        # One append is one micro-batch.
        "batch": max(course.batch, AT_ONCE),
        "trigger": 0,
        "changes": sink,
        "state": "state",
        **{noun: {"format": "log", "path": path} for noun, path in folders.items()},
    }
