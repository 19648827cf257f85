"""Where the sinks of a pipeline remember how far they are: a folder for each, named by where it leads."""

import os
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

from skyband.pipeline.config import Endpoint
from skyband.pipeline.sink.kafka_progress import doubt
from skyband.pipeline.state.folder import State


def sink_folders(state: State, what: str, endpoints: Sequence[Endpoint]) -> list[Path]:
    """A folder for each sink of changes, or of tops, which are made if need be."""
    root = state.folder / "sinks"
    folders = [root / f"{what}-{endpoint.place()}" for endpoint in endpoints]
    for old in {_old_name(what, endpoint) for endpoint in endpoints}:
        sharing = [new for new, each in zip(folders, endpoints, strict=True) if _old_name(what, each) == old]
        if (root / old).exists():
            _take_over(state, root / old, sharing)
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    return folders


def _old_name(what: str, endpoint: Endpoint) -> str:
    """The name in state of versions up to 0.1.0, which two sinks with the same topic or table shared."""
    return f"{what}-{zlib.crc32(endpoint.describe().encode()):08x}"


def _take_over(state: State, old: Path, sharing: Sequence[Path]) -> None:
    """Give what an earlier version remembered to each of those that shared it."""
    last = state.last()
    if len(sharing) > 1 and last is not None and state.delivered < last.batch:
        # Only one of them may have the batch that is noted.
        doubt(old, state.delivered)
    for new in sharing:
        if not new.exists():
            half = new.with_name(f".{new.name}.tmp")
            shutil.rmtree(half, ignore_errors=True)
            shutil.copytree(old, half)
            os.replace(half, new)
    shutil.rmtree(old)
