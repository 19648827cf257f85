"""`skyband demo`: what it asks of `skyband.demo`."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import skyband
from tests.cli.calling import call, document


class Day(NamedTuple):
    n_publications: int
    picture: Path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    given: dict[str, Any] = {}

    def run(**options: Any) -> Day:
        given.update(options)
        options["console"].print("the day begins")
        return Day(options["publications"], options["out"] / "day.png")

    module = ModuleType("skyband.demo")
    module.__dict__["run"] = run
    monkeypatch.setitem(sys.modules, "skyband.demo", module)
    monkeypatch.setattr(skyband, "demo", module, raising=False)
    return given


def test_options_reach_the_demo(asked: dict[str, Any], tmp_path: Path) -> None:
    words = ["--out", tmp_path, "--seed", 3, "--subscribers", 5, "--publications", 9, "--runner", "local", "--no-live"]
    done = call("demo", *words)
    assert done.stdout == "the day begins\n"
    del asked["console"]
    assert asked == {"out": tmp_path, "seed": 3, "subscribers": 5, "publications": 9, "live": False, "runner": "local"}


def test_one_document(asked: dict[str, Any]) -> None:
    assert document("demo") == {"n_publications": 60000, "picture": "build/demo/day.png"}
    assert (asked["seed"], asked["live"], asked["runner"]) == (7, False, None)
