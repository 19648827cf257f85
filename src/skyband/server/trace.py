"""Traces: a span for each request and one for each verb in it, for OpenTelemetry, where they are asked for.

Spans have templates of addresses, names of streams and counts in them, and neither tokens nor rows. Nothing of
OpenTelemetry is imported unless the configuration says where spans are sent.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from skyband.server.config import BadServerConfig, ServerConfig

SERVICE = "skyband"
NEEDED = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


class Span:
    """What is noted of something that takes a while; one that nobody asked for notes nothing."""

    def name(self, name: str) -> None:
        """Call it otherwise than it was called when it began."""

    def note(self, **attributes: Any) -> None:
        """Note attributes; two underscores are a dot."""

    def failed(self, why: str) -> None:
        """Note that it has not come to its end."""


class Traces:
    """Spans, or nothing at all."""

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str] | None = None, **attributes: Any) -> Iterator[Span]:
        """A span as long as the block; those within the block are parts of it, as is it of what headers name."""
        yield Span()

    def close(self) -> None:
        """Send what waits."""


def open_traces(config: ServerConfig) -> Traces:
    """The traces of a server, as its configuration says."""
    if config.traces is None:
        return Traces()
    if not all(_is_there(name) for name in NEEDED):
        raise BadServerConfig("Traces need OpenTelemetry: install it with `pip install 'skyband[otel]'`.")
    from skyband.server.telemetry import SentTraces

    return SentTraces(config.traces)


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
