"""The group of commands: it imports a command when it is asked for, and turns errors into one sentence."""

import importlib
import os
import signal
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any, Self

import click

TRACEBACK = "SKYBAND_TRACEBACK"
# After so long whatever dropped an interrupt has probably returned.
AGAIN_SECONDS = 0.05
# Windows has no SIGHUP.
SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Failure(click.ClickException):
    """The work failed, or a bad row stopped it."""

    exit_code = 1


class Stopped(click.ClickException):
    """Ctrl-C, or another signal that ends a command."""

    def __init__(self, number: int | None = None) -> None:
        number = number or signal.SIGINT
        by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        super().__init__(f"Stopped by {by}; unfinished files were removed.")
        self.exit_code = 128 + number  # type: ignore[misc]  # click declares it for the class, and reads it of the error


class Interrupts:
    """Remembers which signal asked the command to end, and lets it unwind as Ctrl-C does.

    A library may answer the KeyboardInterrupt with an error of its own: pyarrow does, while it imports pandas. Where
    nobody can catch it, in a destructor or in what a compiler calls back, Python drops it; it is then raised again.
    """

    def __init__(self) -> None:
        self.seen: int | None = None
        self._before: dict[int, Any] = {}
        self._hook = sys.unraisablehook

    def __enter__(self) -> Self:
        self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        # A process that was told to ignore a signal goes on doing so, and only the main thread may set handlers.
        if threading.main_thread() is threading.current_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before in (signal.default_int_handler, signal.SIG_DFL):
                    self._before[number] = before
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self._hook
        for number, before in self._before.items():
            signal.signal(number, before)

    def _dropped(self, dropped: Any) -> None:
        if self.seen is None or not issubclass(dropped.exc_type, KeyboardInterrupt | SystemExit):
            self._hook(dropped)
            return
        again = threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), self.seen))
        again.daemon = True
        again.start()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = number
        # Whoever catches Ctrl-C in order to go on may not go on after the others.
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


class Commands(click.Group):
    """Commands by the module that holds each, in the order they are listed; the command is called `command` there."""

    def __init__(self, *args: Any, commands_in: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands_in = dict(commands_in or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_in)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self.commands_in.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(module).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        with Interrupts() as interrupts:
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
                raise
            except KeyboardInterrupt:
                raise Stopped from None
            except SystemExit:
                if interrupts.seen is None:
                    raise
                raise Stopped(interrupts.seen) from None
            except Exception as error:
                if os.environ.get(TRACEBACK):
                    raise
                raise (Stopped(interrupts.seen) if interrupts.seen else Failure(sentence(error))) from None


def sentence(error: Exception) -> str:
    """What went wrong, in one line; of an error that nobody foresaw, also how to learn more."""
    told = " ".join(str(error).split())
    # A plain ValueError is ours, as are the kinds that Skyband has; those of libraries say nothing of the user's input.
    if type(error) is ValueError or (isinstance(error, ValueError) and type(error).__module__.startswith("skyband.")):
        return told
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}." if error.strerror and error.filename else told
    if isinstance(error, MemoryError):
        return "There is not enough memory for this; try fewer subscriptions or a shorter window."
    return f"Something unforeseen happened ({type(error).__name__}: {told}); {TRACEBACK}=1 shows where."
