"""Whatever is sent is answered with a problem at worst: no request makes the server fail, or a stream be damaged."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skyband.server import Running, make_server_config
from tests.server.calling import WINDOW, Reply, call
from tests.server.test_access import ROUTES

FAMILIES = {
    "window": WINDOW,
    "geotext": {"family": "geotext", "engine": "scan"},
    "ranges": {"family": "ranges", "engine": "scan"},
    "ranked": {"family": "ranked", "engine": "scan"},
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["euclidean", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
COLUMNS = ["id", "ts", "point", "k", "score", "weights", "x", "y", "terms", "alpha", "object", "lo", "hi", "op",
           "window_us", "window_n", "threshold", "upper", "dims", "budget", "name", "family", "now", "scopes", "ttl",
           "limits", "title", "prefix", "options", "bounds", "window", "clock", "engine"]  # fmt: skip
ROWS = st.dictionaries(st.sampled_from(COLUMNS) | st.text(max_size=3), VALUES, max_size=7)
GOOD: dict[str, dict[str, Any]] = {
    "window": {"id": 1, "ts": 1, "point": [1.0], "k": 1, "score": "euclidean"},
    "geotext": {"id": 1, "ts": 1, "x": 0.5, "y": 0.5, "terms": ["a"], "weights": [1.0], "k": 1, "alpha": 0.5},
    "ranges": {"id": 1, "ts": 1, "object": 1, "x": 1, "y": 1, "k": 1, "lo": 0, "hi": 2},
    "ranked": {"id": 1, "ts": 1, "point": [1.0], "lo": [0], "hi": [2], "k": 1},
}
PARAMETERS = ["id", "after", "limit", "ttl", "rows", "before"]
# A connection that lasts is never answered to the end.
WRITTEN = sorted(route for route in ROUTES if not route.endswith(("/events", "/ws", "/feed")))
# What would end the work of the others.
LEFT_OUT = {"DELETE /v1/streams/{stream}", "POST /v1/tokens", "POST /v1/streams"}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a stream of each family."""
    with ExitStack() as stack:
        data = str(tmp_path_factory.mktemp("data"))
        config = make_server_config({"port": 0, "data": data, "streams": FAMILIES})
        yield stack.enter_context(Running(config)).address


def bodies(draw: Any, family: str) -> bytes:
    """Rows that are nearly good, or anything else."""
    kind = draw(st.sampled_from(["mended", "rows", "value", "bytes"]))
    if kind == "bytes":
        return bytes(draw(st.binary(max_size=50)))
    if kind == "value":
        return json.dumps(draw(VALUES | ROWS)).encode()
    if kind == "rows":
        return json.dumps(draw(st.lists(ROWS, max_size=3))).encode()
    rows = [GOOD[family] | {"id": draw(st.integers(0, 99))} for _ in range(draw(st.integers(1, 3)))]
    for row in rows:
        for name in draw(st.lists(st.sampled_from(sorted(row)), max_size=2)):
            row[name] = draw(VALUES)
    return json.dumps(rows).encode()


def send(address: str, draw: Any) -> Reply:
    """Any request to any route."""
    family = draw(st.sampled_from(sorted(FAMILIES)))
    method, path = draw(st.sampled_from([route for route in WRITTEN if route not in LEFT_OUT])).split(" ")
    name = quote(draw(st.sampled_from(["1", "a", "-", "x/y"]) | st.text(min_size=1, max_size=5)), safe="")
    path = path.replace("{stream}", family).replace("{id}", name).replace("{name}", name)
    query = draw(
        st.dictionaries(st.sampled_from(["id", "after", "limit", "ttl", "rows", "before"]), st.text(max_size=5))
    )
    told = "&".join(f"{key}={quote(value)}" for key, value in query.items())
    body = bodies(draw, family) if method in ("POST", "PUT", "PATCH") else None
    kind = draw(st.sampled_from(["application/json", "application/x-ndjson"]))
    return call(address, method, f"{path}?{told}" if told else path, body, {"content-type": kind})


@settings(max_examples=150)
@given(draw=st.data())
def test_any_request_is_answered(address: str, draw: st.DataObject) -> None:
    answer = send(address, draw.draw)
    assert answer.status < 500, answer
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.body["detail"]


@pytest.mark.soak
@settings(max_examples=10_000)
@given(draw=st.data())
def test_ten_thousand_requests_are_answered(address: str, draw: st.DataObject) -> None:
    assert send(address, draw.draw).status < 500


def test_nothing_is_damaged_by_then(address: str) -> None:
    for stream in call(address, "GET", "/v1/streams").body["streams"]:
        assert stream["damaged"] is None


def test_many_at_once_share_syncs_and_get_their_own_answers(start: Callable[..., Running], tmp_path: Path) -> None:
    server = start(streams={"s": WINDOW})
    n = 200

    def publish(i: int) -> Reply:
        row = {"id": i, "ts": i, "point": [float(i)]}
        return call(server.address, "POST", "/v1/streams/s/publications", [row])

    with ThreadPoolExecutor(16) as pool:
        steps = [answer.body["step"] for answer in pool.map(publish, range(n))]
    assert len(set(steps)) == n
    text = call(server.address, "GET", "/metrics").body
    counted = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if not line.startswith("#")}
    assert counted["skyband_log_largest_group"] > 1
    assert counted["skyband_log_groups"] < n
    assert counted['skyband_steps{stream="s",tenant="default"}'] == n
