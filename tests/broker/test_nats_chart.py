"""What a chart says of NATS, and a sentence for each thing that is wrong in it."""

from pathlib import Path
from typing import Any

import pytest

from skyband.broker import BadChart, make_chart

NEAR = {"servers": ["nats://127.0.0.1:4222"]}
FAR = {"servers": ["tls://nats.{name}.example.org:4222"], "tls": {"authority": "nats.pem"}}


def document(transport: Any, **more: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "strategy": "covering",
        "dims": 2,
        "brokers": {"berlin": {}, "oslo": {}},
        "transport": transport,
    } | more


def test_what_is_said(tmp_path: Path) -> None:
    chart = make_chart(document({"nats": FAR | {"nkey": "{name}.nk", "prefix": "parks.skyband"}}), tmp_path)
    assert chart.nats is not None
    system = chart.nats.of("oslo")
    assert system.servers == ("tls://nats.oslo.example.org:4222",)
    assert (system.prefix, system.nkey, system.is_checked) == ("parks.skyband", tmp_path / "oslo.nk", True)
    assert system.tls is not None
    assert system.tls.authority == tmp_path / "nats.pem"
    assert chart.limits.frame == 1020 * 1024
    assert chart.place("berlin").address is None


def test_brokers_agree_whatever_their_servers(tmp_path: Path) -> None:
    one, other = (make_chart(document({"nats": system}), tmp_path) for system in (NEAR, FAR))
    assert one.digest == other.digest


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ("nats", "transport.nats.servers is missing"),
        ("udp", "transport is one of tcp, nats, not 'udp'"),
        ({"nats": {}}, "transport.nats.servers is a list of addresses"),
        ({"nats": {"servers": ["127.0.0.1"]}}, "An entry of transport.nats.servers is an address"),
        ({"nats": {"servers": ["ws://127.0.0.1:1"]}}, "An entry of transport.nats.servers is an address"),
        ({"nats": {"servers": ["nats://a:b@127.0.0.1:1"]}}, "has a user in an address"),
        ({"nats": {"servers": ["nats://nats.example.org:4222"]}}, "transport.nats.tls is missing"),
        ({"nats": {"servers": ["tls://127.0.0.1:4222"]}}, "transport.nats.tls is missing"),
        ({"nats": NEAR | {"prefix": "a..b"}}, "transport.nats.prefix is"),
        ({"nats": NEAR | {"prefix": "a.*"}}, "transport.nats.prefix is"),
        ({"nats": NEAR | {"nkey": "a", "credentials": "b"}}, "is known by one of them"),
        ({"nats": NEAR | {"permissions": True}}, "transport.nats.permissions is off or left out"),
        ({"nats": NEAR | {"tls": {"key": "a"}}}, "has certificate and key, or neither"),
        ({"nats": NEAR | {"tls": {"first": 1}}}, "transport.nats.tls.first is true or false"),
        ({"nats": NEAR | {"server": []}}, "Did you mean servers"),
        ("tcp", "brokers.berlin.address is missing"),
    ],
)
def test_what_is_wrong_is_said(transport: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadChart, match=said):
        make_chart(document(transport), tmp_path)


def test_names_that_are_no_part_of_a_subject_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadChart, match=r"brokers.a\.b: over NATS a name has no dot"):
        make_chart(document({"nats": NEAR}, brokers={"a.b": {}}), tmp_path)


def test_a_port_for_clients_needs_tls_all_the_same(tmp_path: Path) -> None:
    brokers = {"berlin": {"clients": "0.0.0.0:7500"}}
    with pytest.raises(BadChart, match=r"tls is missing, and berlin is reached at 0\.0\.0\.0:7500"):
        make_chart(document({"nats": NEAR}, brokers=brokers, clients={"tokens": {"a": "0" * 64}}), tmp_path)
