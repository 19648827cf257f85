"""Spans that are sent to a collector of OpenTelemetry, over OTLP and HTTP, by a thread of their own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Span as OpenSpan
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from skyband import __version__
from skyband.server.trace import SERVICE, Span, Traces

FROM_ENVIRONMENT = "environment"
# When the server stops, nobody waits longer for a collector.
FLUSH_MS = 2000
SECONDS = 2.0


class SentSpan(Span):
    """A span that is sent when it has ended."""

    def __init__(self, span: OpenSpan) -> None:
        self._span = span

    def name(self, name: str) -> None:
        """Call it otherwise than it was called when it began."""
        self._span.update_name(name)

    def note(self, **attributes: Any) -> None:
        """Note attributes; two underscores are a dot."""
        self._span.set_attributes(_dotted(attributes))

    def failed(self, why: str) -> None:
        """Note that it has not come to its end."""
        self._span.set_status(Status(StatusCode.ERROR, why))


class SentTraces(Traces):
    """Traces that go to a collector: at an address, or as the variables of OpenTelemetry say."""

    def __init__(self, target: str) -> None:
        self._provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
        self._provider.add_span_processor(BatchSpanProcessor(make_exporter(target)))
        self._tracer = self._provider.get_tracer(SERVICE, __version__)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, name: str, headers: Mapping[str, str] | None = None, **attributes: Any) -> Iterator[Span]:
        """A span as long as the block; what it raises is noted by its kind alone, since it may name rows."""
        context = None if headers is None else self._propagator.extract(headers)
        kind = SpanKind.INTERNAL if headers is None else SpanKind.SERVER
        started = self._tracer.start_as_current_span(
            name, context, kind, _dotted(attributes), record_exception=False, set_status_on_exception=False
        )
        with started as span:
            sent = SentSpan(span)
            try:
                yield sent
            except BaseException as error:
                sent.failed(type(error).__name__)
                raise

    def close(self) -> None:
        """Send what waits, for a moment at most."""
        self._provider.force_flush(FLUSH_MS)
        self._provider.shutdown()


def make_exporter(target: str) -> SpanExporter:
    """What sends spans."""
    if target == FROM_ENVIRONMENT:
        return OTLPSpanExporter()
    return OTLPSpanExporter(f"{target.rstrip('/')}/v1/traces", timeout=SECONDS)


def _dotted(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("__", "."): value for name, value in attributes.items() if value is not None}
