"""The benchmark of the network: its answers are checked, and it says what it could not measure."""

import datetime
import importlib.util
from pathlib import Path

import pytest

from skyband.bench import BENCHMARKS
from skyband.bench.network import NetworkPlan, NetworkPoint, OneProcess, _publications, _subscriptions, network_rows
from skyband.bench.network_process import missing_for, write_certificates
from skyband.bench.runner import WrongAnswer

CHANGED = pytest.mark.changed("src/skyband/broker/", "src/skyband/bench/network")
SILENT = NetworkPoint(NetworkPlan((1,), ("eager",), 2, 2, 1, 2), 1, "eager")


def test_every_publication_is_the_best_of_the_observer() -> None:
    alone = OneProcess()
    alone.ask(_subscriptions(3))
    for row in _publications(0, 5):
        alone.carry([row])
        assert ("observer", 1, row["id"], row["point"][1]) in alone.top()
    with pytest.raises(WrongAnswer, match="no change of the last publication"):
        alone.carry([{"id": 99, "point": [0.5, -1.0]}])


def test_certificates_name_brokers_and_are_signed(tmp_path: Path) -> None:
    from cryptography import x509

    files = write_certificates(tmp_path, ["site0"])
    authority = x509.load_pem_x509_certificate(Path(files["authority"]).read_bytes())
    signed = x509.load_pem_x509_certificate(Path(files["certificate"].format(name="site0")).read_bytes())
    signed.verify_directly_issued_by(authority)
    assert signed.subject.rfc4514_string() == "CN=site0"
    assert signed.not_valid_after_utc > datetime.datetime.now(datetime.UTC)


def test_links_that_cannot_be_measured_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_for("tcp") == missing_for("tls") == ""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "cryptography" in missing_for("tls")


@CHANGED
def test_a_toy_run_measures_latency_and_rate_of_every_way() -> None:
    rows = BENCHMARKS["network"].run("toy", lambda said: None)
    single, batches = rows[:3], rows[3:]
    assert [row["algorithm"] for row in single] == [row["algorithm"] for row in batches] == ["process", "tcp", "tls"]
    assert all(len(row["latencies"]) == 5 and row["measures"]["p50_ms"] > 0 for row in single)
    assert all(row["measures"]["rows_per_s"] > 0 for row in batches)
    assert ["bytes_per_row" in row["measures"] for row in batches] == [False, True, True]
    assert len(BENCHMARKS["network"].table(rows)[1]) == 6


@CHANGED
def test_other_tops_than_those_of_one_engine_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneProcess, "top", lambda self: [])
    monkeypatch.setattr("skyband.bench.network.TRANSPORTS", ("tcp",))
    with pytest.raises(WrongAnswer, match="Over tcp there are other tops"):
        list(network_rows(SILENT, lambda said: None))
