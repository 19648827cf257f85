"""`skyband broker`: a broker in a process, asked from the command line as people do."""

import json
from pathlib import Path

import yaml

from tests.broker.processes import NAMES, BrokerNetwork, at, near
from tests.broker.threads import document_of
from tests.cli.calling import call, document, failure


def test_a_broker_is_run_asked_and_stopped(tmp_path: Path) -> None:
    (tmp_path / "subscriptions.jsonl").write_text(json.dumps(near("ann", 0, 0)) + "\n")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(at(i, i, i)) + "\n" for i in range(3)))
    with BrokerNetwork(tmp_path, 1, strategy="publication-flooding") as network:
        address = network.address(NAMES[0])
        assert network.processes[NAMES[0]].told["clients"] == int(address.rpartition(":")[2])
        rows = tmp_path / "subscriptions.jsonl"
        assert document("broker", "subscribe", address, "--rows", rows) == {"subscribed": ["ann"]}
        done = document("broker", "publish", address, "--rows", tmp_path / "rows.jsonl")["published"]
        assert [row["id"] for row in done] == [0, 1, 2]
        while len(document("broker", "top", address)["tops"]) < 2:
            pass
        tops = document("broker", "top", address)
        assert [entry["publication"] for entry in tops["tops"]] == [0, 1]
        assert "published at" in call("broker", "top", address).stdout
        assert document("broker", "status", address)["home"]["subscriptions"] == 1
        assert "publication-flooding, watermark" in call("broker", "status", address).stdout
        assert "is live already" in failure("broker", "publish", address, "--rows", tmp_path / "rows.jsonl")
        assert "1 subscriptions were withdrawn" in call("broker", "subscribe", address, "--withdraw", "ann").stdout
        assert document("broker", "drain", address, "--withdraw-all")["is_free"] is False
        assert "ask again" in call("broker", "drain", address).stdout
        assert network.processes[NAMES[0]].stop() == 0
        assert "was tried for 0.1 s" in failure("broker", "status", address, "--seconds", 0.1)


def test_a_chart_is_checked(tmp_path: Path) -> None:
    chart = tmp_path / "chart.yaml"
    chart.write_text(yaml.safe_dump(document_of(links=[["berlin", "oslo"]]), sort_keys=False))
    found = document("broker", "check", chart)
    assert (found["version"], found["strategy"], found["tls"]) == (1, "covering", "off")
    assert [broker["links"] for broker in found["brokers"]] == [["oslo"], ["berlin"]]
    assert found["digest"] in call("broker", "check", chart, "--name", "oslo").stdout
    assert "no broker 'rome'" in failure("broker", "check", chart, "--name", "rome")
    assert "no broker 'rome'" in failure("broker", "run", chart, "--name", "rome")
    chart.write_text("version: 1")
    assert "brokers is missing" in failure("broker", "check", chart)


def test_rows_that_are_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": 1}\n[5]\n')
    said = failure("broker", "publish", "127.0.0.1:1", "--rows", tmp_path / "rows.jsonl")
    assert "rows.jsonl, line 2: a row is a JSON object" in said
    assert "cannot be read" in failure("broker", "publish", "127.0.0.1:1", "--rows", tmp_path / "nothing.jsonl")


def test_a_token_fits_a_chart(tmp_path: Path) -> None:
    made = document("broker", "token")
    chart = tmp_path / "chart.yaml"
    chart.write_text(yaml.safe_dump(document_of(clients={"tokens": {"ann": made["hash"]}}), sort_keys=False))
    assert document("broker", "check", chart)["version"] == 1
    assert made["token"] not in chart.read_text()
