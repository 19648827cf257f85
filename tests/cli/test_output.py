"""Tables on a terminal, plain text elsewhere."""

import io
import sys
from pathlib import Path

import pytest

from skyband.cli.output import Output, plain
from skyband.replay import Percentiles

ROWS = [("a", 1), ("bc", 1234)]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def put_on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called in the test itself: pytest sets both streams anew after the fixtures."""
    stream = Terminal()
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_plain_text_is_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("name", "n"), ROWS)
    assert capsys.readouterr().out == "name      n\na         1\nbc    1,234\n"
    Output().table(("", ""), [])
    Output().table(("x", "y"), [(None, True)])
    assert capsys.readouterr().out == "\nx     y\n   true\n"


def test_a_terminal_gets_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = put_on_terminal(monkeypatch)
    Output().table(("name", "n"), ROWS, title="Names [sic]")
    assert "│ bc   │ 1,234 │" in terminal.getvalue()
    assert "\x1b[" in terminal.getvalue()


@pytest.mark.parametrize("how", ["option", "environment"])
def test_colours_can_be_left_out(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = put_on_terminal(monkeypatch)
    Output().console().print("[red]bad[/red]")
    assert "31m" in terminal.getvalue()
    terminal.truncate(0)
    if how == "environment":
        monkeypatch.setenv("NO_COLOR", "1")
    console = Output(no_color=how == "option").console()
    console.print("[red]bad[/red]")
    assert "31m" not in terminal.getvalue()


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = put_on_terminal(monkeypatch)
    with Output().progress("counting") as progress:
        progress(1, 2)
    assert "counting" in terminal.getvalue()
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    with Output().progress("counting") as progress:
        progress(1, 2)
    assert quiet.getvalue() == ""


def test_documents_are_plain() -> None:
    value = {"a": Percentiles(1.0, 2.0, 3.0, None), "b": [(1, Path("x"))]}
    assert plain(value) == {"a": {"p50": 1.0, "p90": 2.0, "p99": 3.0, "max": None}, "b": [[1, "x"]]}
