"""All streams of all tenants: records are done to them in the order of the log."""

import secrets
from collections.abc import Iterator
from typing import Any

from skyband.server.store.record import Record
from skyband.server.stream.served import ServedStream, StepResult
from skyband.server.stream.spec import StreamSpec


class NoSuchStream(ValueError):
    """A stream that is not there was named."""


class StreamExists(ValueError):
    """A stream was opened under a name that is taken."""


class DamagedStream(RuntimeError):
    """A stream in which something unforeseen has happened, so that its state cannot be trusted."""


class StreamSet:
    """The streams by tenant and name."""

    def __init__(self, most_rows: int) -> None:
        self.most_rows = most_rows
        self._streams: dict[tuple[str, str], ServedStream] = {}

    def __iter__(self) -> Iterator[ServedStream]:
        return iter(list(self._streams.values()))

    def __len__(self) -> int:
        return len(self._streams)

    def of(self, tenant: str) -> list[ServedStream]:
        """The streams of a tenant by name."""
        return sorted((stream for stream in self if stream.tenant == tenant), key=lambda stream: stream.name)

    def get(self, tenant: str, name: str) -> ServedStream:
        """A stream of a tenant, or `NoSuchStream`."""
        found = self._streams.get((tenant, name))
        if found is None:
            raise NoSuchStream(f"There is no stream {name!r}.")
        return found

    def put(self, stream: ServedStream) -> None:
        """Take a stream that was restored."""
        self._streams[stream.key] = stream

    def do(self, record: Record, checked: Any = None) -> StepResult:
        """Do a verb; what is refused raises a ValueError and changes nothing.

        Anything else that is raised leaves the stream damaged: it refuses all further verbs.
        """
        if record.verb == "open":
            return self._open(record)
        stream = self.get(record.tenant, record.stream)
        if record.verb == "drop":
            del self._streams[stream.key]
            stream.engine.close()
            return StepResult([], {"dropped": stream.name})
        if record.verb == "renumber":
            stream.renumber(record.facts["epoch"])
            return StepResult([], {"step": str(stream.last)})
        if stream.damaged is not None:
            raise DamagedStream(stream.damaged)
        try:
            return stream.do(record, checked)
        except ValueError:
            raise
        except Exception as error:
            stream.damaged = (
                f"The stream {stream.name} has failed unforeseen ({type(error).__name__}) and takes nothing more; "
                "restore it from a backup, or drop it."
            )
            raise DamagedStream(stream.damaged) from error

    def _open(self, record: Record) -> StepResult:
        if (record.tenant, record.stream) in self._streams:
            raise StreamExists(f"There is a stream {record.stream!r} already.")
        spec = StreamSpec(**record.facts["spec"])
        stream = ServedStream(record.tenant, record.stream, spec, record.facts["epoch"], self.most_rows)
        self.put(stream)
        return StepResult([], {"name": stream.name, "epoch": stream.epoch})


def opening(tenant: str, name: str, spec: StreamSpec, at: int) -> Record:
    """The record that opens a stream, under an epoch that nobody has drawn before."""
    return Record("open", tenant, name, at, {"spec": spec.plain(), "epoch": new_epoch()})


def new_epoch() -> str:
    """The name of an epoch, drawn by chance."""
    return secrets.token_hex(4)
