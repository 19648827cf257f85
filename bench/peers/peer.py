"""A peer: another system behind the verbs that a contest needs, and how all of them are found."""

import importlib
import pkgutil
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import pyarrow as pa

from bench.peers import systems
from bench.peers.answer import Answer
from bench.peers.package import Package
from bench.peers.work import Course


class Peer(ABC):
    """One way of another system to do a work.

    A contest opens it for a course, subscribes, publishes what is live, and then publishes batches in turn with
    Skyband. The rows of a batch are turned into the peer's own form by `prepare`, before the clock starts. What
    `publish` takes is timed; it ends when the whole answer is there, in the peer's own form.
    """

    name: ClassVar[str]
    work: ClassVar[str]
    package: ClassVar[Package]
    lacks: ClassVar[str]
    """What it does not do of what Skyband does in this work."""
    tolerance: ClassVar[float] = 1e-9
    """By how much the score of what it names may differ from ours."""
    exact: ClassVar[bool] = True
    """Whether its answer has to be the same; the recall of others is measured."""

    def __init__(self, course: Course) -> None:
        self.course = course

    @abstractmethod
    def subscribe(self, subscriptions: pa.Table) -> None:
        """Take the subscriptions."""

    def prepare(self, batch: pa.Table) -> Any:
        """A batch in the peer's own form; the clock does not run."""
        return batch

    @abstractmethod
    def publish(self, prepared: Any) -> None:
        """Take a batch, and find the answer to it."""

    @abstractmethod
    def top(self) -> Answer:
        """The answer after the last batch."""

    def expected(self, ours: Answer, batch: pa.Table) -> Answer:
        """The right answer, given Skyband's; another one for a peer that does a part of the work."""
        return ours

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Give back what was taken."""


def peers() -> list[type[Peer]]:
    """Every peer: the entries of the tables PEERS in the modules of `bench.peers.systems`."""
    found: list[type[Peer]] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(systems.__path__)):
        found += importlib.import_module(f"{systems.__name__}.{module}").PEERS
    return found
