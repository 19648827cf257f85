"""Charts: what they say, what brokers have to agree on, and a sentence for each thing that is wrong."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from skyband.broker import BadChart, load_chart, make_chart
from skyband.overlay.broker.chart import Chart

GOOD: dict[str, Any] = {
    "version": 3,
    "strategy": "zone-leases",
    "dims": 2,
    "zones": {"low": [0, 0], "high": [1, 1]},
    "horizon": "10m",
    "options": {"seed": 4},
    "brokers": {
        "berlin": {"address": "127.0.0.1:7400", "clients": "127.0.0.1:7500", "operations": "[::1]:7600"},
        "oslo": {"address": "localhost:7401"},
        "rome": {"address": "127.0.0.1:7402", "listen": "127.0.0.2:7402"},
    },
    "links": [["berlin", "oslo"], ["oslo", "rome"]],
    "limits": {"frame": "64KiB"},
}
FAR = {"berlin": {"address": "berlin.example.org:7400"}, "oslo": {"address": "127.0.0.1:7401"}}
FILES = {"authority": "ca.pem", "certificate": "{name}.pem", "key": "{name}.key"}


def test_what_a_chart_says(tmp_path: Path) -> None:
    (tmp_path / "chart.yaml").write_text(yaml.safe_dump(GOOD | {"tls": FILES}, sort_keys=False))
    chart = load_chart(tmp_path / "chart.yaml")
    assert chart.names == ("berlin", "oslo", "rome")
    assert chart.options.chart.links == ((0, 1), (1, 2))
    assert (chart.options.mode, chart.options.horizon, chart.options.seed) == ("watermark", 600_000_000, 4)
    assert chart.options.zones is not None
    assert str(chart.place("berlin").operations) == "[::1]:7600"
    assert str(chart.place("rome").listen) == "127.0.0.2:7402"
    assert chart.files_of("oslo").data == tmp_path / "oslo-data"
    files = chart.files_of("oslo").tls
    assert files is not None
    assert files.key == tmp_path / "oslo.key"
    assert chart.limits.frame == 65_536


def test_peers_are_all_others_or_those_that_are_linked() -> None:
    assert make_chart(GOOD).peers_of(0) == (1, 2)
    assert make_chart(GOOD | {"ways": "links"}).peers_of(0) == (1,)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 4},
        {"horizon": "11m"},
        {"options": {"seed": 5}},
        {"zones": {"low": [0, 0], "high": [1, 2]}},
        {"links": [["berlin", "oslo"], ["berlin", "rome"]]},
        {"limits": {"frame": "128KiB"}},
        {"ways": "links"},
    ],
)
def test_brokers_have_to_agree_on_how_they_work(changes: dict[str, Any]) -> None:
    before, after = make_chart(GOOD), make_chart(GOOD | changes)
    assert before.digest != after.digest
    assert before.options.chart.version != after.options.chart.version


def test_they_need_not_agree_on_what_a_site_has() -> None:
    other = copy.deepcopy(GOOD)
    other["brokers"]["oslo"] = {"address": "127.0.0.1:9999"}
    other |= {"data": "elsewhere/{name}", "tls": "off", "clients": {"tokens": {"ann": "0" * 64}}}
    assert make_chart(other).digest == make_chart(GOOD).digest
    assert make_chart(dict(reversed(GOOD.items()))).digest == make_chart(GOOD).digest


def test_the_version_of_a_simulated_chart_is_as_before() -> None:
    links = [(0, 1)]
    assert Chart(2, links).version == Chart(2, links, "").version != Chart(2, links, "more").version


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strategie": "covering"}, "has no key 'strategie'. Did you mean strategy?"),
        ({"version": "3"}, "version is an integer from 1"),
        ({"version": None}, "version is missing"),
        ({"strategy": "coverin"}, "not 'coverin'. Did you mean covering?"),
        ({"strategy": "basic-gossiping", "mode": "watermark"}, "take eager"),
        ({"brokers": {}}, "brokers has 1 to"),
        ({"brokers": {"a/b": {"address": "127.0.0.1:1"}}}, "a broker has a name"),
        ({"brokers": {"a": {"clients": "127.0.0.1:1"}}}, "brokers.a.address is missing"),
        ({"brokers": {"a": {"address": "127.0.0.1"}}}, "is an address such as"),
        ({"brokers": {"a": {"address": "127.0.0.1:99999"}}}, "is an address such as"),
        ({"brokers": {"a": {"address": "127.0.0.1:1", "port": 5}}}, "brokers.a has no key 'port'"),
        ({"brokers": FAR}, "tls is missing, and berlin is reached at berlin.example.org:7400"),
        ({"links": [["berlin", "oslo"]]}, "add a link"),
        ({"links": [["berlin", "madrid"]]}, "not 'madrid'"),
        ({"links": [["berlin"]]}, "list of pairs"),
        ({"ways": "both"}, "ways is one of direct, links"),
        ({"dims": None}, "dims is missing"),
        ({"dims": 0}, "dims is an integer"),
        ({"family": "ranges"}, "family is one of"),
        ({"bounds": [0, 0, 1, 1]}, "bounds is nothing that the family window has"),
        ({"zones": None}, "zones is missing, and zone-leases"),
        ({"zones": {"low": [0, 0], "high": [1]}}, "is a place of 2 coordinates"),
        ({"zones": {"low": [0, 1], "high": [1, 1]}}, "below zones.high"),
        ({"zones": {"sample": [[0, 1]]}}, "a list of at least 3 places"),
        ({"horizon": 5}, "horizon is a time such as"),
        ({"tick": "1ms"}, "of at least 10000 microseconds"),
        ({"credit": 0}, "credit is an integer"),
        ({"engine": "fastest"}, "fastest"),
        ({"options": {"gate": "kth"}}, "options has no key 'gate'. Did you mean gates?"),
        ({"options": {"gates": "kth"}}, "staircases"),
        ({"tls": {"authority": "ca.pem"}}, "tls.certificate is missing"),
        ({"clients": {"tokens": {"ann": "secret"}}}, "clients.tokens.ann is the hash"),
        ({"clients": {"authority": "ca.pem"}}, "clients.authority needs TLS"),
        ({"limits": {"frame": "5"}}, "limits.frame is an integer"),
        ({"limits": {"frame": 1}}, "limits.frame is an integer from 4096"),
        ({"limits": {"stall": "soon"}}, "limits.stall is a time"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadChart) as refused:
        make_chart(GOOD | changes)
    assert said in str(refused.value)


def test_ports_for_clients_beyond_this_machine_need_a_token() -> None:
    place = {"address": "127.0.0.1:1", "clients": "0.0.0.0:2"}
    with pytest.raises(BadChart, match="neither tokens nor an authority"):
        make_chart(GOOD | {"brokers": {"a": place, "b": FAR["oslo"], "c": FAR["oslo"]}, "links": None})


@pytest.mark.parametrize("text", ["[", "a: &x [*x]", "- 1", "\x00", "5"])
def test_files_that_are_no_charts(text: str, tmp_path: Path) -> None:
    (tmp_path / "chart.yaml").write_text(text)
    with pytest.raises(BadChart, match=r"chart\.yaml"):
        load_chart(tmp_path / "chart.yaml")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(BadChart, match=r"no broker .paris.: there are berlin, oslo, rome"):
        make_chart(GOOD).place("paris")
