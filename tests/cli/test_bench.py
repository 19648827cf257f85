"""`skyband bench`: what it asks of `skyband.bench`, with a benchmark that measures nothing."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import skyband
from tests.cli.calling import call, document, failure


class Still(NamedTuple):
    name: str
    summary: str

    def run(
        self, size: str, progress: Callable[[str], None], only: tuple[str, ...], unfinished: Path
    ) -> list[dict[str, Any]]:
        progress(" ".join((f"measuring {self.name}", *only)))
        return [{"size": size, "ns": 1}]

    def forget(self, size: str, only: tuple[str, ...], unfinished: Path) -> None:
        assert unfinished.name == f"{self.name}-{size}.unfinished"

    def table(self, rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
        return ["size", "ns"], [[row["size"], str(row["ns"])] for row in rows]


class Given(NamedTuple):
    untaken: list[str]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("skyband.bench")
    benchmarks = {name: Still(name, f"How fast {name} stands still.") for name in ("stone", "tree")}
    module.__dict__.update(giving=lambda options: nullcontext(Given(list(options))))
    module.__dict__.update(BENCHMARKS=benchmarks, store=lambda rows, folder: folder / f"{len(rows)}.parquet")
    monkeypatch.setitem(sys.modules, "skyband.bench", module)
    monkeypatch.setattr(skyband, "bench", module, raising=False)
    return module


@pytest.mark.usefixtures("bench")
def test_benchmarks_are_listed() -> None:
    assert [row["name"] for row in document("bench", "--list")] == ["stone", "tree"]
    assert "How fast tree stands still." in call("bench").stdout


@pytest.mark.usefixtures("bench")
def test_one_or_all_are_run(tmp_path: Path) -> None:
    done = call("bench", "tree", "--size", "toy", "--out", tmp_path / "raw")
    assert done.stderr == "measuring tree\n"
    assert done.stdout.splitlines()[-1] == f"1 raw rows are in {tmp_path / 'raw' / '1.parquet'}."
    said = document("bench", "all", "--out", tmp_path)
    assert [(row["name"], row["table"]) for row in said] == [
        (name, [{"size": "small", "ns": "1"}]) for name in ("stone", "tree")
    ]


@pytest.mark.usefixtures("bench")
def test_some_parts_are_run(tmp_path: Path) -> None:
    done = call("bench", "tree", "--only", "oak", "--only", "old", "--out", tmp_path)
    assert done.stderr == "measuring tree oak old\n"


def test_a_part_that_there_is_not(tmp_path: Path) -> None:
    said = failure("bench", "overlay-table3", "--only", "nothing", "--out", tmp_path, code=2)
    assert "no part of overlay-table3 has 'nothing' in its name; there are: tree, publication-flooding, Boolean" in said


@pytest.mark.usefixtures("bench")
def test_an_unknown_benchmark() -> None:
    assert "there is no benchmark 'x'; there are stone, tree, all." in failure("bench", "x", code=2)


@pytest.mark.usefixtures("bench")
def test_an_option_that_no_engine_takes_is_told(tmp_path: Path) -> None:
    done = call("bench", "tree", "--option", "cells=3", "--out", tmp_path)
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1] == (
        "Warning: tree opened no engine that takes the option cells: it was left unused."
    )
