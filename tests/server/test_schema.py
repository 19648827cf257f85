"""The OpenAPI document, fuzzed by schemathesis: what it says may be sent is answered, and never with a 5xx."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

schemathesis = pytest.importorskip("schemathesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from skyband.server import Running, make_server_config  # noqa: E402
from skyband.server.http.application import make_routes, with_events  # noqa: E402
from tests.server.calling import call  # noqa: E402
from tests.server.test_any_request import FAMILIES  # noqa: E402

# Connections that last, and what would shut everybody out.
LEFT_OUT = ("/events", "/ws", "/feed", "/v1/tokens")
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a stream of each family."""
    with ExitStack() as stack:
        data = str(tmp_path_factory.mktemp("data"))
        config = make_server_config({"port": 0, "data": data, "streams": FAMILIES})
        yield stack.enter_context(Running(config)).address


def any_case() -> st.SearchStrategy[Any]:
    """Any request that the document allows, or nearly so."""
    schema = schemathesis.openapi.from_dict(with_events(make_routes().openapi()))
    operations = [found.ok() for found in schema.get_all_operations()]
    wanted = [each for each in operations if not each.path.endswith(LEFT_OUT)]
    assert len(wanted) > 35
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    return st.one_of([each.as_strategy(generation_mode=mode) for each in wanted for mode in modes])


CASES = any_case()


def check(address: str, case: Any, stream: str) -> None:
    """Send a request to one of the streams, so that not all of them end at an address that is not there."""
    if "stream" in (case.path_parameters or {}):
        case.path_parameters["stream"] = stream
    if (case.method, case.path) == ("DELETE", "/v1/streams/{stream}"):
        case.path_parameters["stream"] = "none"
    answer = case.call(base_url=address)
    assert answer.status_code < 500, (case.method, case.path, answer.status_code, answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == ["application/problem+json"], (case.method, case.path, answer.text)


@settings(max_examples=100, suppress_health_check=SLOW)
@given(case=CASES, stream=st.sampled_from(sorted(FAMILIES)))
def test_what_the_document_allows_is_answered(address: str, case: Any, stream: str) -> None:
    check(address, case, stream)


@pytest.mark.soak
@settings(max_examples=10_000, suppress_health_check=SLOW)
@given(case=CASES, stream=st.sampled_from(sorted(FAMILIES)))
def test_ten_thousand_requests_of_the_document_are_answered(address: str, case: Any, stream: str) -> None:
    check(address, case, stream)


def test_no_stream_is_damaged_by_then(address: str) -> None:
    for name in FAMILIES:
        assert call(address, "GET", f"/v1/streams/{name}").body["damaged"] is None
