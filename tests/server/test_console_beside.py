"""What runs beside a server: pipelines by their files, as the command line tells them, and brokers by metrics."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from skyband.server import BadServerConfig, Running, make_server_config
from skyband.server.console.brokers import brokers_of
from skyband.server.console.metrics_text import Sample, read_metrics
from skyband.server.console.pipelines import pipelines_of
from tests.cli.calling import document
from tests.golden.pipelines import CONFIGURATIONS, unpack
from tests.server.axe import faults
from tests.server.browser import Page
from tests.server.calling import Reader, call

LIVE = "document.documentElement.dataset.fresh === 'live'"
TEXT = """# HELP skyband_broker_up Whether the core of the broker talks to others.
# TYPE skyband_broker_up gauge
skyband_broker_up{strategy="covering"} 1
skyband_broker_changes_total{strategy="covering"} 12
skyband_broker_link_up{peer="b",strategy="covering"} 1
skyband_broker_link_bytes_out_total{peer="b",strategy="covering"} 3e3
skyband_broker_link_frames_out_total{peer="b",strategy="covering"} 7
skyband_broker_link_up{peer="c\\"d",strategy="covering"} 0
other_total 5
"""


class Network:
    """Brokers in a row that tell metrics; more has gone over each link whenever they are asked."""

    def __init__(self, names: str) -> None:
        self.names = names
        self.asked = 0
        outer = self

        class _Telling(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = outer.metrics(self.path.strip("/"))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Telling)
        self.addresses = {name: f"http://127.0.0.1:{self._server.server_address[1]}/{name}" for name in names}

    def metrics(self, name: str) -> str:
        """What a broker tells of its links."""
        self.asked += 1
        place, lines = self.names.index(name), ["skyband_broker_up 1", "skyband_broker_subscriptions 4"]
        for other in {max(place - 1, 0), min(place + 1, len(self.names) - 1)} - {place}:
            peer = f'{{peer="{self.names[other]}"}}'
            lines.append(f"skyband_broker_link_up{peer} 1")
            lines.append(f"skyband_broker_link_bytes_out_total{peer} {1000 * self.asked * (place + 1)}")
            lines.append(f"skyband_broker_link_frames_out_total{peer} {self.asked}")
        return "\n".join(lines) + "\n"

    def stop(self) -> None:
        """Tell nothing any more."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> "Network":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Pipelines that an earlier commit ran for a while."""
    found = {}
    for name in CONFIGURATIONS:
        folder = tmp_path_factory.mktemp("pipelines") / name
        unpack(name, folder)
        found[name] = folder / "pipeline.yaml"
    with contextlib.chdir(next(iter(found.values())).parent):
        yield found


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_pipeline_is_told_as_the_command_line_tells_it(pipelines: dict[str, Path], name: str) -> None:
    path = pipelines[name]
    for place in (path, path.parent / "state"):
        (found,) = pipelines_of({name: place})
        said = document("pipeline", "status", place)
        told = json.loads(json.dumps(found["status"]))
        assert (found["name"], found["trouble"]) == (name, None)
        assert told.pop("seconds_since") == pytest.approx(said.pop("seconds_since"), abs=600)
        letters, dead = told.pop("dead"), said.pop("dead")
        assert letters["rows"] == dead["rows"]
        assert letters["last"][len(letters["last"]) - len(dead["last"]) :] == dead["last"]
        assert Path(told.pop("state")).resolve() == Path(said.pop("state")).resolve()
        assert told == said
        assert found["batches"][-1] == json.loads(json.dumps(found["batches"][-1])) == said["last"]
        assert [batch["batch"] for batch in found["batches"]] == sorted(batch["batch"] for batch in found["batches"])


def test_what_stands_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.yaml").write_text("- 1")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "pipeline.json").write_text('{"format": 7}')
    found = pipelines_of({name: tmp_path / name for name in ("empty", "missing.yaml", "bad.yaml", "torn")})
    assert [one["status"] for one in found] == [None] * 4
    reasons = [one["trouble"] for one in found]
    assert "There is no state of a pipeline in" in reasons[0]
    assert "cannot be read: No such file" in reasons[1]
    assert "is not the configuration of a pipeline" in reasons[2]
    assert "has state of version 7" in reasons[3]


def test_metrics_are_read() -> None:
    samples = read_metrics(TEXT + "what is this\nlate NaN 12\n")
    assert samples[:2] == [
        Sample("skyband_broker_up", {"strategy": "covering"}, 1.0),
        Sample("skyband_broker_changes_total", {"strategy": "covering"}, 12.0),
    ]
    assert [sample.labels["peer"] for sample in samples if "peer" in sample.labels] == ["b", "b", "b", 'c"d']
    assert samples[-1].name == "late"


def test_brokers_are_asked_and_one_that_does_not_answer_is_told() -> None:
    with Network("abc") as network:
        addresses = network.addresses
        found = {broker["name"]: broker for broker in brokers_of(addresses)}
    assert {name: sorted(link["to"] for link in broker["links"]) for name, broker in found.items()} == {
        "a": ["b"],
        "b": ["a", "c"],
        "c": ["b"],
    }
    assert found["a"]["numbers"] == {"up": 1.0, "subscriptions": 4.0}
    assert all(link["up"] and link["bytes"] > 0 and link["messages"] > 0 for link in found["b"]["links"])
    (gone, *_) = brokers_of(addresses)
    assert (gone["name"], gone["up"], gone["links"]) == ("a", False, [])
    assert gone["trouble"].startswith("It does not answer: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pipelines": ["x"]}, "pipelines is a mapping"),
        ({"pipelines": {"x": 3}}, "pipelines.x must be a text"),
        ({"brokers": "http://127.0.0.1:1"}, "brokers is a mapping"),
        ({"brokers": {"a": "file:///etc/passwd"}}, "brokers is a mapping"),
    ],
)
def test_what_is_no_pipeline_or_broker_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadServerConfig, match=said):
        make_server_config(given)


def test_only_an_operator_is_told(start: Callable[..., Running], pipelines: dict[str, Path]) -> None:
    server = start(pipelines={"p": str(pipelines["window"])})
    admin = call(server.address, "POST", "/v1/tokens", {"scopes": ["read", "admin"]}).body["token"]
    read = call(server.address, "POST", "/v1/tokens", {"scopes": ["read"]}, token=admin).body["token"]
    with Reader(server.address, "/v1/console/feed", token=admin) as reader:
        told = reader.until("beside")[-1].data
        assert (told["allowed"], told["pipelines"][0]["status"]["family"]) == (True, "window")
    with Reader(server.address, "/v1/console/feed", token=read) as reader:
        assert reader.until("beside")[-1].data == {"allowed": False, "pipelines": [], "brokers": []}


@pytest.mark.jit_only
def test_the_screens_of_pipelines_and_of_brokers(
    page: Page, start: Callable[..., Running], pipelines: dict[str, Path], tmp_path: Path
) -> None:
    with Network("abcde") as network:
        places = {name: str(path) for name, path in pipelines.items()} | {"none": str(tmp_path)}
        address = start(pipelines=places, brokers=network.addresses).address
        for width, height, theme in ((1280, 800, "dark"), (390, 844, "light")):
            page.open(f"{address}/#/pipeline?pipeline=window", width, height, theme)
            page.until(f"{LIVE} && document.querySelectorAll('.u-wrap').length === 2")
            (told,) = pipelines_of({"window": pipelines["window"]})
            assert page.count("tbody tr") == len(told["status"]["parts"]) + len(told["status"]["dead"]["last"])
            assert f"\n{told['status']['last']['batch']}\n" in page.text()
            assert faults(page) == []
            page.run("location.hash = '#/overlay'")
            page.until("document.querySelectorAll('.broker').length === 5")
            page.until("document.querySelectorAll('.link.busy').length === 4")
            assert page.run("document.documentElement.scrollWidth <= innerWidth")
            assert faults(page) == []
        page.run("location.hash = '#/pipeline?pipeline=none'")
        page.until("/none cannot be shown: There is no state/.test(document.querySelector('.failure')?.innerText)")
        page.run("location.hash = '#/overlay?broker=b'")
        page.until("/Broker b/.test(document.body.innerText) && /subscriptions\\s+4/.test(document.body.innerText)")
        network.stop()
        page.until("document.querySelectorAll('.broker.down').length === 5")
    assert page.complaints == []
