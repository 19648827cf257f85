"""`skyband serve`: it answers, ends cleanly while somebody listens, and makes the first token."""

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from skyband.cli import main
from skyband.server.access.token import is_token
from tests.server.calling import Reader, call


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_while_somebody_listens(tmp_path: Path, number: signal.Signals) -> None:
    config = tmp_path / "serve.yaml"
    config.write_text("streams: {s: {family: window, engine: scan}}\n")
    command = [sys.executable, "-m", "skyband", "serve", str(config), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = json.loads("".join(itertools.islice(process.stdout, 4)))
    assert told["data"] == str(tmp_path / "skyband-data")
    with Reader(told["address"], "/v1/streams/s/events") as reader:
        reader.until("ready")
        began = time.monotonic()
        process.send_signal(number)
        assert reader.next().data["reason"] == "stopping"
        rest, errors = process.communicate(timeout=30)
    assert (process.returncode, rest, errors) == (0, "", "")
    assert time.monotonic() - began < 20


def test_the_first_token_is_printed_once_and_needed_from_then_on(tmp_path: Path) -> None:
    words = ["serve", "--data", str(tmp_path / "data"), "--new-admin", "me"]
    plain = CliRunner().invoke(main, words)
    token = plain.stdout.strip()
    assert is_token(token)
    assert "shown this once" in plain.stderr
    as_json = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
    assert is_token(as_json["token"])
    from skyband.server import Running, make_server_config

    with Running(make_server_config({"data": str(tmp_path / "data"), "port": 0})) as server:
        assert call(server.address, "GET", "/v1/streams").status == 401
        titles = [each["title"] for each in call(server.address, "GET", "/v1/tokens", token=token).body["tokens"]]
        assert titles == ["me", "me"]
        later = CliRunner().invoke(main, words).stdout.strip()
        assert call(server.address, "GET", "/v1/streams", token=later).status == 200


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "there is no token yet"),
        (["missing.yaml"], "missing.yaml cannot be read"),
    ],
)
def test_what_cannot_be_served_ends_with_a_sentence(tmp_path: Path, words: list[str], said: str) -> None:
    done = CliRunner().invoke(main, ["serve", "--data", str(tmp_path / "data"), "--port", "0", *words])
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert said in done.output
    assert "unforeseen" not in done.output


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.cli.serve.NEEDED", ("json", "no_such_package"))
    done = CliRunner().invoke(main, ["serve"])
    assert done.exit_code == 1
    assert "no_such_package" in done.output
    assert "skyband[serve]" in done.output
