"""The demo as a whole, at toy size: what it writes, what it prints, and that it can be stopped."""

import importlib.util
import io
import json
import signal
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from skyband import Tops
from skyband.demo import DemoSummary, run, show
from skyband.demo.ledger import DayLedger, adds_up
from skyband.demo.play import play
from skyband.demo.runner import InProcess
from skyband.demo.scene import Scene, make_scene
from skyband.demo.watcher import Taking


class Nobody:
    """A watcher that looks away, and presses Ctrl-C after a number of steps."""

    def __init__(self, patience: int = 1_000_000) -> None:
        self.patience = patience

    def show(self, take: Taking, minute: int, part: float) -> None:
        self.patience -= 1
        if self.patience == 0:
            signal.raise_signal(signal.SIGINT)


def plain() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=100)


def run_small(out: Path, console: Console) -> DemoSummary:
    return run(seed=5, subscribers=40, publications=500, out=out, runner="local", console=console)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[DemoSummary, str]:
    console = plain()
    summary = run_small(tmp_path_factory.mktemp("demo") / "new" / "folder", console)
    return summary, printed(console)


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(5, 40, 500)


@pytest.fixture(scope="module")
def played(scene: Scene) -> tuple[InProcess, DayLedger]:
    runner = InProcess(scene)
    return runner, play(scene, runner, Nobody())


def test_same_seed_same_changes(shown: tuple[DemoSummary, str], played: tuple[InProcess, DayLedger]) -> None:
    log = pq.read_table(shown[0].change_log)
    assert len(log) > 500
    assert log.equals(played[1].table())


def test_running_sum_of_changes_is_the_tops(played: tuple[InProcess, DayLedger]) -> None:
    runner, ledger = played
    tops, expected = Tops(), dict[int, dict[int, float]]()
    tops.apply(ledger.table())
    for row in runner.tops().to_pylist():
        expected.setdefault(row["subscription"], {})[row["publication"]] = row["score"]
    assert {who: tops.of(who) for who in tops.subscriptions()} == expected
    assert adds_up(ledger.table(), runner.tops())


def test_a_lost_change_is_noticed(played: tuple[InProcess, DayLedger]) -> None:
    runner, ledger = played
    assert not adds_up(ledger.table().slice(1), runner.tops())


def test_summary_adds_up(shown: tuple[DemoSummary, str], played: tuple[InProcess, DayLedger]) -> None:
    summary = shown[0]
    assert summary.finished
    assert summary.adds_up
    assert summary.publications == 500
    assert summary.subscribers == 40
    assert summary.enters + summary.leaves == summary.changes == len(played[1].table())
    assert summary.enters - summary.leaves == summary.in_tops == len(played[0].tops())
    assert 0 < summary.deliveries <= summary.enters


def test_files_are_written(shown: tuple[DemoSummary, str]) -> None:
    summary = shown[0]
    assert json.loads(Path(summary.summary_file).read_text(encoding="utf-8")) == summary._asdict()
    assert len(pq.read_table(summary.publications_file)) == summary.publications
    assert len(pq.read_table(summary.subscriptions_file)) == summary.subscribers
    assert summary.picture is not None
    assert Path(summary.picture).read_bytes().startswith(b"\x89PNG")
    folder = Path(summary.summary_file).parent
    assert len(list(folder.iterdir())) == 5


def test_plain_output_says_what_is_done_without_control_characters(shown: tuple[DemoSummary, str]) -> None:
    summary, text = shown
    assert all(character.isprintable() or character == "\n" for character in text)
    steps = [
        "Making a city",
        "kernels",
        "Playing a day",
        "07:00  ",
        "24:00  ",
        "Drawing",
        "equals the tops",
        "skyband serve --demo",
    ]
    places = [text.index(words) for words in steps]
    assert places == sorted(places)
    for path in (summary.picture, summary.change_log, summary.summary_file):
        assert str(path) in text


def test_ctrl_c_ends_the_day_early(scene: Scene) -> None:
    runner, before = InProcess(scene), signal.getsignal(signal.SIGINT)
    ledger = play(scene, runner, Nobody(patience=80))
    assert ledger.n_steps == 80
    assert signal.getsignal(signal.SIGINT) is before
    assert adds_up(ledger.table(), runner.tops())


def test_a_stopped_day_is_summed_up_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.demo.watcher.HourLines.show", Nobody(patience=30).show)
    console = plain()
    summary = run_small(tmp_path, console)
    assert not summary.finished
    assert summary.adds_up
    assert summary.publications == len(pq.read_table(summary.publications_file)) < 500
    assert "Stopped at 11:00" in printed(console)


@pytest.mark.jit_only
def test_plays_outside_of_the_main_thread(scene: Scene, played: tuple[InProcess, DayLedger]) -> None:
    ledgers: list[DayLedger] = []
    thread = threading.Thread(target=lambda: ledgers.append(play(scene, InProcess(scene), Nobody())))
    thread.start()
    thread.join()
    assert ledgers[0].table().equals(played[1].table())


def test_compiling_is_announced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "CACHE", tmp_path)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    said = []
    for _ in range(2):
        console = plain()
        run(seed=1, subscribers=3, publications=1, out=tmp_path / "out", runner="local", console=console)
        said.append(printed(console).splitlines()[1])
    assert said[0].startswith("Compiling the kernels that are new here (up to about ")
    assert said[1].startswith("Loading the compiled kernels")
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert "which is slow" in show._compiling()


def test_without_matplotlib_there_is_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    console = plain()
    summary = run(seed=1, subscribers=3, publications=1, out=tmp_path, runner="local", console=console)
    assert summary.picture is None
    assert "matplotlib is not installed" in printed(console)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"seed": -1}, "The seed must be 0 or more, not -1."),
        ({"subscribers": 2}, "The demo needs at least 3 subscribers, not 2."),
        ({"publications": 0}, "The demo needs at least one publication, not 0."),
    ],
)
def test_sizes_that_make_no_day(wrong: dict[str, int], words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=words):
        run(out=tmp_path / "never", **wrong)  # type: ignore[arg-type]  # mypy takes the dict for every keyword
    assert not (tmp_path / "never").exists()
