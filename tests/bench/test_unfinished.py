"""Long runs go on where they were stopped, with rows of the same commit, kernels and options alone."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from skyband.bench import experiment, giving, store
from skyband.bench.experiment import Experiment, NoSuchPart, Progress
from skyband.bench.row import Row, measured

COMMIT = {"at": 0, "commit": "abc", "machine": {"cores": 2}, "versions": {"python": "3"}}


class Points:
    """A benchmark of three points that can be interrupted at one of them."""

    def __init__(self) -> None:
        self.measured: list[str] = []
        self.stops_at = ""
        self.said: list[str] = []
        self.experiment: Experiment[int, str] = Experiment(
            name="points",
            summary="Three of them.",
            scales={"toy": 3},
            sweep=lambda n: ["one, red", "two, red", "two, blue"][:n],
            measure=self.measure,
            columns=(),
            label=str,
        )

    def measure(self, point: str, progress: Progress) -> Iterable[Row]:
        if point == self.stops_at:
            raise KeyboardInterrupt
        self.measured.append(point)
        yield measured("points", point, {}, [1], 1, {})

    def run(self, folder: Path, *only: str) -> list[str]:
        rows = self.experiment.run("toy", self.said.append, only, folder)
        return [row["algorithm"] for row in rows]


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Points:
    from datetime import UTC, datetime

    times = iter(datetime(2026, 1, 1, 0, i, tzinfo=UTC) for i in range(60))
    monkeypatch.setattr(experiment, "provenance", lambda: COMMIT | {"at": next(times)})
    return Points()


def test_a_run_that_was_stopped_goes_on(points: Points, tmp_path: Path) -> None:
    points.stops_at = "two, blue"
    with pytest.raises(KeyboardInterrupt):
        points.run(tmp_path / "some")
    assert points.said == ["Interrupted: the same command goes on with what is missing."]
    points.stops_at, points.measured = "", []
    rows = points.experiment.run("toy", points.said.append, (), tmp_path / "some")
    assert points.measured == ["two, blue"]
    assert points.said[1:] == ["one, red: measured already", "two, red: measured already"]
    assert [row["algorithm"] for row in rows] == ["one, red", "two, red", "two, blue"]
    assert len({row["at"] for row in rows}) == 1
    store(rows, tmp_path)
    points.experiment.forget("toy", (), tmp_path / "some")
    assert not (tmp_path / "some").exists()


def test_rows_of_other_code_or_options_are_measured_anew(
    points: Points, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points.run(tmp_path)
    points.run(tmp_path)
    assert len(points.measured) == 3
    with giving({"cells": "3"}):
        points.run(tmp_path)
    assert len(points.measured) == 6
    for commit in ("def", "def-dirty", "def-dirty"):
        monkeypatch.setitem(COMMIT, "commit", commit)
        n_before = len(points.measured)
        points.run(tmp_path)
        assert len(points.measured) == n_before + 3


def test_some_points_are_measured_alone(points: Points, tmp_path: Path) -> None:
    assert points.run(tmp_path, "Two") == ["two, red", "two, blue"]
    assert points.run(tmp_path, "two", "red") == ["two, red"]
    points.experiment.forget("toy", ("red",), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["two-blue.parquet"]
    with pytest.raises(NoSuchPart, match="no part of points has 'green' in its name; there are: one, red; two, red"):
        points.run(tmp_path, "green")


def test_what_has_no_parts_says_so(tmp_path: Path) -> None:
    whole: Experiment[Any, Any] = Experiment("whole", "All.", {"toy": 1}, lambda n: [n], lambda point, said: [], ())
    with pytest.raises(NoSuchPart, match="whole is measured as a whole"):
        whole.run("toy", print, ("red",), tmp_path)
