"""The pipelines that the configuration names, as their state folders tell."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from skyband.status.pipeline_status import NOUNS, history_of, status_of
from skyband.status.state_files import UnreadableState

LETTERS = 20


class PipelinePlace(NamedTuple):
    """Where a pipeline keeps its state, and the embedded logs that it reads, by noun."""

    state: Path
    logs: Mapping[str, Path | None]


def pipelines_of(places: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Each pipeline with its status and the figures of its last batches, or with what stands in the way."""
    return [{"name": name, **_told(path)} for name, path in places.items()]


def place_of(path: Path) -> PipelinePlace:
    """What a path leads to: a state folder, or a configuration, which also says what is read."""
    import yaml

    if path.is_dir():
        return PipelinePlace(path, {})
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        state = path.parent / document["state"]
        return PipelinePlace(state, {noun: _log(document.get(noun), path.parent) for noun in NOUNS})
    except OSError as error:
        raise UnreadableState(f"{path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise UnreadableState(f"{path} is not the configuration of a pipeline.") from None


def _log(endpoint: Any, folder: Path) -> Path | None:
    """The embedded log at an end of a pipeline, if it is one."""
    if not isinstance(endpoint, Mapping) or endpoint.get("format") != "log" or "path" not in endpoint:
        return None
    return folder / str(endpoint["path"])


def _told(path: Path) -> dict[str, Any]:
    try:
        place = place_of(path)
        status = status_of(place.state, place.logs, LETTERS)
        return {"status": status | {"state": str(place.state)}, "batches": history_of(place.state), "trouble": None}
    except (ValueError, OSError) as error:
        # A run may take files away while they are read; they are read again soon.
        return {"status": None, "batches": [], "trouble": str(error)}
