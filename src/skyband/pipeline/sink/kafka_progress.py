"""How far a sink is in a topic of Kafka, in a file of its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from skyband.pipeline.sink.folder import place_json

FILE = "kafka.json"


class TopicProgress(NamedTuple):
    """The last batch that was begun in a topic, whether all of it was written, and how far the topic went before."""

    topic: str
    batch: int = -1
    done: bool = True
    offsets: Mapping[int, int] = MappingProxyType({})


def read_progress(private: Path) -> TopicProgress | None:
    """What was noted last in a private folder, None if nothing was."""
    try:
        document = json.loads((private / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    offsets = {int(partition): offset for partition, offset in document.pop("offsets").items()}
    return TopicProgress(offsets=offsets, **document)


def note(private: Path, progress: TopicProgress) -> None:
    """Write it in place of what was noted before."""
    place_json(private / FILE, {**progress._asdict(), "offsets": dict(progress.offsets)})


def doubt(private: Path, delivered: int) -> None:
    """Let a batch that is noted, and comes after those that are delivered, be looked for in the whole topic."""
    found = read_progress(private)
    if found is not None and found.batch > delivered:
        note(private, TopicProgress(found.topic, found.batch, done=False))
