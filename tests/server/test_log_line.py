"""Lines of the log as JSON: one object each, with what a request was, and no secrets."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skyband.server import BadServerConfig, make_server_config
from skyband.server.log_line import FACTS, JsonLine
from tests.server.calling import call


def record(message: str, *given: object, failed: bool = False) -> logging.LogRecord:
    error = None
    if failed:
        try:
            raise KeyError("ann")
        except KeyError:
            error = sys.exc_info()
    return logging.LogRecord("skyband.server", logging.ERROR, "", 0, message, given, error)


def test_a_line_is_one_object() -> None:
    line = JsonLine().format(record("It has\nfailed: %s.", "so", failed=True))
    assert "\n" not in line
    told = json.loads(line)
    assert (told["level"], told["message"]) == ("error", "It has\nfailed: so.")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}\+00:00", told["at"])
    assert "KeyError" in told["error"]


def test_facts_are_part_of_the_object() -> None:
    made = record("GET /v1/streams 200 0.4 ms")
    setattr(made, FACTS, {"method": "GET", "status": 200})
    told = json.loads(JsonLine().format(made))
    assert (told["method"], told["status"]) == ("GET", 200)


def test_a_server_writes_such_lines(tmp_path: Path) -> None:
    config = tmp_path / "serve.yaml"
    config.write_text("logs: json\nport: 0\n")
    command = [sys.executable, "-m", "skyband", "serve", str(config), "--json", "--verbose"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = json.loads("".join(process.stdout.readline() for _ in range(4)))["address"]
    call(address, "GET", "/v1/streams/secret-name")
    process.terminate()
    _, logged = process.communicate()
    lines = [json.loads(line) for line in logged.splitlines()]
    (asked,) = [line for line in lines if "route" in line]
    assert (asked["method"], asked["route"], asked["status"]) == ("GET", "/v1/streams/{stream}", 404)
    assert asked["ms"] >= 0
    assert "secret-name" not in logged


def test_another_style_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadServerConfig, match="logs is text or json, not 'xml'"):
        make_server_config({"data": str(tmp_path), "logs": "xml"})
    for target in ("collector", "http://a b", "https://user@host"):
        with pytest.raises(BadServerConfig, match="traces is the address of a collector"):
            make_server_config({"data": str(tmp_path), "traces": target})
    assert make_server_config({"traces": "http://127.0.0.1:4318"}).traces == "http://127.0.0.1:4318"
