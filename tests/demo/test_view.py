"""The live view on terminals of several sizes, and who gets to see it."""

import io

import pytest
from rich.console import Console

from skyband.demo.day import OPENS
from skyband.demo.frame import Camera, Frame
from skyband.demo.ledger import DayLedger
from skyband.demo.play import play
from skyband.demo.runner import InProcess, PipelineTraffic
from skyband.demo.scene import make_scene
from skyband.demo.subscriber import titles
from skyband.demo.view import render, short
from skyband.demo.watcher import HourLines, Screen, Taking, can_show, watching, working

SCENE = make_scene(5, 40, 500)
TRAFFIC = PipelineTraffic(batches=1080, zones=2, publications=400, copies=600, dead=3, seconds=270.0, start_seconds=9.0)


def terminal(width: int = 120, height: int = 44) -> Console:
    return Console(
        file=io.StringIO(), record=True, force_terminal=True, width=width, height=height, _environ={"TERM": "xterm"}
    )


def text_of(frame: Frame, width: int) -> str:
    console = terminal(width)
    console.print(render(frame, width))
    return console.export_text()


class Collector:
    """A watcher that keeps every frame."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def show(self, take: Taking, minute: int, part: float) -> None:
        self.frames.append(take())


@pytest.fixture(scope="module")
def frames() -> list[Frame]:
    collector = Collector()
    play(SCENE, InProcess(SCENE), collector)
    return collector.frames


@pytest.mark.parametrize("width", [60, 109, 110, 160])
def test_a_frame_fits_every_width(frames: list[Frame], width: int) -> None:
    for frame in (frames[90], frames[90]._replace(traffic=TRAFFIC)):
        lines = text_of(frame, width).splitlines()
        assert {len(line) for line in lines} == {width}
        assert "21:10" in lines[1]


def test_a_frame_shows_the_stream_the_tops_and_the_rates(frames: list[Frame]) -> None:
    frame = frames[90]
    text = text_of(frame, 220)
    assert all(title in text for title in titles(SCENE.city))
    assert frame.happening in text
    assert frame.latest[0].text in text
    assert all(entry.line.text in text for card in frame.cards for entry in card.top)
    assert "messages by hour" in text


def test_a_frame_shows_how_the_pipeline_is_doing(frames: list[Frame]) -> None:
    alone, carried = (text_of(frames[90]._replace(traffic=traffic), 160) for traffic in (None, TRAFFIC))
    words = "Spark: micro-batch 1,080 (0.25 s each), 2 zones, a message to 1.50 of them, 3 dead letters"
    assert words in carried
    assert "per second of pipeline time" in carried
    assert "Spark" not in alone
    assert "per second of engine time" in alone


def test_the_shown_tops_are_those_of_the_engine() -> None:
    collector, runner = Collector(), InProcess(SCENE)
    play(SCENE, runner, collector)
    tops = runner.tops().to_pylist()
    members = [[row for row in tops if row["subscription"] == who] for who in range(3)]
    texts = [[SCENE.messages.texts[row["publication"]] for row in top] for top in members]
    assert [[entry.line.text for entry in card.top] for card in collector.frames[-1].cards] == texts
    assert all(texts)


def test_newcomers_are_marked_and_fade(frames: list[Frame]) -> None:
    fresh = [entry.new for frame in frames for card in frame.cards for entry in card.top]
    assert max(fresh) == 1.0
    assert min(fresh) == 0.0
    assert any(card.left for frame in frames for card in frame.cards)
    assert all(len(card.top) <= 5 for frame in frames for card in frame.cards)


def test_the_first_frame_of_an_empty_day_renders() -> None:
    frame = Camera(SCENE).take(DayLedger(), OPENS, 0)
    assert frame.latest == ()
    assert "nothing yet" in text_of(frame, 120)


def test_the_live_view_runs_on_a_terminal() -> None:
    console = terminal()
    with watching(console, True, seconds=0.05) as watcher:
        assert isinstance(watcher, Screen)
        play(SCENE, InProcess(SCENE), watcher)
    assert isinstance(console.file, io.StringIO)
    written = console.file.getvalue()
    assert "24:00" in written
    assert written.count("\x1b[?1049h") == written.count("\x1b[?1049l") == 1


def test_work_is_announced_with_its_time() -> None:
    console = terminal()
    with working(console, "Counting [to] ten"):
        pass
    assert "Counting [to] ten: 0.0 s" in console.export_text()


def test_without_a_capable_terminal_there_are_lines() -> None:
    pipe = Console(file=io.StringIO())
    dumb = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    ascii_only = Console(file=io.TextIOWrapper(io.BytesIO(), "ascii"), force_terminal=True, _environ={"TERM": "xterm"})
    assert [can_show(console) for console in (pipe, dumb, ascii_only, terminal())] == [False, False, False, True]
    for console, live in ((pipe, True), (terminal(), False)):
        with watching(console, live) as watcher:
            assert isinstance(watcher, HourLines)


@pytest.mark.parametrize(
    ("amount", "words"),
    [(0, "0"), (9999, "9999"), (12_345, "12.3k"), (4_560_000, "4.56M"), (1.2e9, "1.2G")],
)
def test_short_numbers(amount: float, words: str) -> None:
    assert short(amount) == words
