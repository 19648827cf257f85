"""Links: who is let in and who is not, what is survived, and that both sides hear why."""

import datetime
import itertools
import socket
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from skyband.broker import BadChart, NetworkChart, RunningBroker, make_chart
from skyband.broker.chart.network_chart import digest_of
from skyband.broker.link.greeting import MAGIC, pack_greeting
from skyband.broker.wire.envelope import pack_envelope
from skyband.broker.wire.header import LAYOUT
from skyband.overlay.broker.frame import Acknowledge, Envelope, Hello
from tests.broker.certificates import Authority
from tests.broker.processes import at, eventually, near
from tests.broker.threads import asking, chart_of, document_of, link, running

FILES = {"authority": "authority.pem", "certificate": "{name}.pem", "key": "{name}.key"}


def both(folder: Path, document: dict[str, Any], theirs: dict[str, Any]) -> tuple[NetworkChart, NetworkChart]:
    """The charts of two sites, which have other files."""
    for name in ("here", "there"):
        (folder / name).mkdir(exist_ok=True)
    return make_chart(document, folder / "here"), make_chart(document | theirs, folder / "there")


def refusals(mine: NetworkChart, theirs: NetworkChart) -> tuple[str, str]:
    """What Berlin and Oslo say, who do not talk."""
    with RunningBroker(mine, "berlin") as berlin, RunningBroker(theirs, "oslo") as oslo:
        there = eventually(lambda: link(oslo, "berlin")["trouble"])
        here = eventually(lambda: " ".join(berlin.driver.links.said.values()))  # type: ignore[union-attr]
        assert not link(oslo, "berlin")["is_connected"]
        assert not link(berlin, "oslo")["is_connected"]
        return here, there


def test_brokers_with_certificates_talk(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.sign("berlin")
    authority.sign("oslo")
    sites = running(chart_of(tmp_path, tls=FILES), "berlin", "oslo")
    with sites as (berlin, oslo), asking(berlin) as here, asking(oslo) as there:
        here.subscribe([near("s", 0, 0)])
        there.publish([at(1, 1, 1)])
        eventually(lambda: [entry.publication for entry in here.top().rows] == [1])


def test_nobody_is_let_in_without_a_certificate(tmp_path: Path) -> None:
    document = document_of()
    mine, theirs = both(tmp_path, document | {"tls": FILES}, {"tls": "off"})
    authority = Authority(tmp_path / "here")
    authority.sign("berlin")
    here, there = refusals(mine, theirs)
    assert "TLS was refused" in here
    assert there


def test_nobody_is_let_in_with_a_certificate_of_somebody_else(tmp_path: Path) -> None:
    mine, theirs = both(tmp_path, document_of() | {"tls": FILES}, {})
    Authority(tmp_path / "here").sign("berlin")
    Authority(tmp_path / "there").sign("oslo")
    here, there = refusals(mine, theirs)
    assert "may not take the certificate of berlin" in here
    assert "the certificate of the other side is not good" in there


def test_nobody_is_let_in_with_a_certificate_that_has_expired(tmp_path: Path) -> None:
    chart = chart_of(tmp_path, tls=FILES)
    authority = Authority(tmp_path)
    authority.sign("berlin")
    authority.sign("oslo", good_for=datetime.timedelta(days=-1))
    here, there = refusals(chart, chart)
    assert "certificate has expired" in here
    assert "may not take the certificate of oslo" in there


def test_a_certificate_has_to_name_the_broker(tmp_path: Path) -> None:
    chart = chart_of(tmp_path, tls=FILES)
    authority = Authority(tmp_path)
    authority.sign("berlin")
    authority.sign("rome", "oslo")
    here, _ = refusals(chart, chart)
    assert "does not name the broker oslo" in here


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    chart = chart_of(tmp_path, tls=FILES)
    with pytest.raises(BadChart, match="There is no certificate"), RunningBroker(chart, "berlin"):
        pass


def test_charts_of_other_versions_refuse_each_other_with_a_sentence(tmp_path: Path) -> None:
    here, there = refusals(*both(tmp_path, document_of(), {"version": 2}))
    said = "oslo has version 2 of the chart, and berlin version 1: give it the new one."
    assert said in here
    assert said in there


def test_charts_that_differ_without_a_new_version_refuse_each_other(tmp_path: Path) -> None:
    here, there = refusals(*both(tmp_path, document_of(), {"horizon": "61s"}))
    assert "both have version 1 of the chart, and not the same one" in here
    assert "both have version 1 of the chart, and not the same one" in there


def dialled(chart: NetworkChart) -> socket.socket:
    """A connection with Berlin."""
    address = chart.place("berlin").address
    assert address is not None
    return socket.create_connection((address.host, address.port))


def greeted(chart: NetworkChart, **changes: Any) -> socket.socket:
    """Somebody who says to be Oslo, and has greeted Berlin."""
    place = dialled(chart)
    said = {"name": "oslo", "target": "berlin", "protocol": 1, "chart": 1, "digest": digest_of(chart.agreed)}
    place.sendall(pack_greeting(said | {"incarnation": 5, "journal": "abc"} | changes))
    place.sendall(pack_greeting({"agreed": True}))
    return place


def heard(place: socket.socket) -> bytes:
    """All that is said until the other side hangs up."""
    place.settimeout(60)
    found = b""
    try:
        while more := place.recv(65_536):
            found += more
    except ConnectionResetError:
        pass
    place.close()
    return found


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\nHost: berlin\r\n\r\n",
        bytes(range(256)) * 100,
        struct.pack("<8sI", MAGIC, 10**9),
        struct.pack("<8sI", MAGIC, 4) + b"null",
        pack_greeting({"name": 5}),
        pack_greeting({"refused": "I do not like you."}),
    ],
)
def test_garbage_on_the_port_is_survived(noise: bytes, tmp_path: Path) -> None:
    chart = chart_of(tmp_path)
    with running(chart, "berlin") as (berlin,):
        place = dialled(chart)
        place.sendall(noise)
        heard(place)
        with running(chart, "oslo"):
            eventually(lambda: link(berlin, "oslo")["is_connected"])


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (bytes(64), "version 0 of the protocol"),
        (struct.pack("<BBBBI", 5, 1, 0, 0, 10**9) + bytes(56), "may have"),
        (
            pack_envelope(0, Envelope(0, 1, 1, 0, 1, Acknowledge(5), (0, 0, 0), 0)).packed,
            "passed on a frame from 0 to 0",
        ),
        (pack_envelope(0, Envelope(1, 1, 1, 0, 1, Acknowledge(5), (0, 0, 0), 0)).packed[:-1] + b"x", "checksum"),
    ],
)
def test_frames_that_no_broker_sends_end_the_connection(
    frame: bytes, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chart = chart_of(tmp_path)
    with running(chart, "berlin") as (berlin,):
        place = greeted(chart)
        place.sendall(frame)
        heard(place)
        assert eventually(lambda: link(berlin, "oslo")["bad"]) == 1
        assert said in link(berlin, "oslo")["trouble"] + caplog.text


def test_a_core_that_fails_starts_again_from_its_journal(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chart = chart_of(tmp_path)
    with running(chart, "berlin") as (berlin,), asking(berlin) as client:
        client.subscribe([near("s", 0, 0)])
        client.publish([at(1, 0, 0)])
        before = client.status()["incarnation"]
        berlin.driver.core.broker.step = broken  # type: ignore[method-assign]
        eventually(lambda: client.status()["incarnation"] == before + 1)
        assert "starts again from its journal" in caplog.text
        assert client.subscriptions() == ["s"]
        client.publish([at(2, 0, 1)])


def broken(now: int, event: Any) -> Any:
    """A core with an error in it."""
    raise ZeroDivisionError


def test_a_peer_that_takes_nothing_is_hung_up_on(tmp_path: Path) -> None:
    limits = {"stall": "1s", "frame": "1MiB"}
    chart = chart_of(tmp_path, limits=limits, strategy="publication-flooding", credit=10_000)
    with running(chart, "berlin") as (berlin,), asking(berlin) as client, greeted(chart) as place:
        life = client.status()["incarnation"]
        hello = Envelope(1, 5, life, 0, 0, Hello(life), (0, 0, 0), chart.options.chart.version)
        place.sendall(pack_envelope(0, hello).packed)
        eventually(lambda: link(berlin, "oslo").get("incarnation") == 5)
        deadline = time.monotonic() + 60
        for i in itertools.count():
            client.publish([at(f"{i} {j} {'x' * 100_000}", 0, 0) for j in range(20)])
            if not link(berlin, "oslo")["is_connected"]:
                break
            assert time.monotonic() < deadline
        assert "lost" in link(berlin, "oslo")["trouble"] or "taken nothing" in link(berlin, "oslo")["trouble"]


def test_the_header_is_as_long_as_is_written() -> None:
    assert LAYOUT.size == 64
