"""The command line as a whole: help, version, exit codes and sentences in place of tracebacks."""

import contextlib
import signal
import subprocess
import sys

import click
import pytest

import skyband
from skyband.cli import engines as engines_command
from skyband.cli import main
from skyband.cli.group import sentence
from tests.cli.calling import call, failure


def test_help_lists_every_command_with_a_sentence() -> None:
    done = call("--help")
    assert done.exit_code == 0
    for name in main.list_commands(click.Context(main)):
        assert f"\n  {name} " in done.stdout
        helped = call(name, "--help")
        assert helped.exit_code == 0
        assert "Example:\n" in helped.stdout


def test_version() -> None:
    assert call("--version").stdout == f"skyband, version {skyband.__version__}\n"


def test_help_does_not_wait_for_the_compiler() -> None:
    code = (
        "import sys; from skyband.cli import main; main(['--help'], standalone_mode=False); "
        "print('numba' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "False\n"


def test_unknown_commands_and_options_end_with_2() -> None:
    assert "No such command 'fly'" in failure("fly", code=2)
    assert "No such option" in failure("engines", "--fly", code=2)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("The\n value is wrong."), "The value is wrong."),
        (PermissionError(13, "Permission denied", "some.csv"), "some.csv: Permission denied."),
        (FileNotFoundError("There is no folder x."), "There is no folder x."),
        (MemoryError(), "There is not enough memory for this; try fewer subscriptions or a shorter window."),
        (
            TypeError("no"),
            "Something unforeseen happened (TypeError: no); SKYBAND_TRACEBACK=1 shows where.",
        ),
    ],
)
def test_errors_are_one_sentence(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sentence(error) == said

    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(engines_command.command, "callback", fail)
    assert failure("engines") == said
    monkeypatch.setenv("SKYBAND_TRACEBACK", "1")
    assert call("engines").exception is error


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engines_command.command, "callback", stop)
    assert failure("engines", code=130) == "Stopped by Ctrl-C; unfinished files were removed."


def test_ctrl_c_may_come_as_another_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(**_: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise AttributeError("a module that is only half there")

    monkeypatch.setattr(engines_command.command, "callback", stop)
    assert failure("engines", code=130) == "Stopped by Ctrl-C; unfinished files were removed."
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_end_a_command_that_goes_on_after_ctrl_c(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number = getattr(signal, name)

    def go_on(**_: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)

    monkeypatch.setattr(engines_command.command, "callback", go_on)
    assert failure("engines", code=128 + number) == f"Stopped by {name}; unfinished files were removed."
    assert signal.getsignal(number) is signal.SIG_DFL
