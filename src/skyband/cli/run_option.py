"""The options that `replay` and `top` share: which files, which engine, and against what the files are read."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skyband.cli.value import BOUNDS, ParamType, ParsedValue, window_duration

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from skyband.table import Window

Command = TypeVar("Command", bound=Callable[..., Any])


class PublishedFamily(ParamType):
    """The name of a family with publications; which ones there are is looked up when a name is given."""

    name = "family"

    def choice(self) -> "click.Choice[str]":
        """The names, as a choice among them."""
        from skyband.contract.family import published_families

        return click.Choice(published_families())

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if there is such a family."""
        return self.choice().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """The names that begin like this."""
        return self.choice().shell_complete(ctx, param, incomplete)


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"{text!r} is not an option of an engine; write NAME=VALUE, such as cells=16.")
    return name.strip().replace("-", "_"), value


def _by_name(ctx: click.Context, param: click.Parameter, pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise click.BadParameter(f"{twice} is given twice.", ctx, param)
    return found


def engine_option(command: Command) -> Command:
    """Give a command --option, and hand it the texts by name as `engine_options`."""
    return click.option(
        "--option",
        "engine_options",
        multiple=True,
        metavar="NAME=VALUE",
        type=ParsedValue("NAME=VALUE", _option),
        callback=_by_name,
        help="An option of the engine itself, such as index=grid; may be given several times, for one option each.",
    )(command)


_OPTIONS = [
    click.argument("family", required=False, metavar="[FAMILY]", type=PublishedFamily()),
    click.option(
        "--publications",
        required=True,
        type=click.Path(path_type=Path),
        help="The publications: Parquet, NDJSON or CSV.",
    ),
    click.option(
        "--subscriptions",
        required=True,
        type=click.Path(path_type=Path),
        help="The subscriptions: Parquet, NDJSON or CSV.",
    ),
    click.option(
        "--engine",
        default="auto",
        help="The engine, by default whichever suits the number of subscriptions; `skyband engines` lists them.",
    ),
    engine_option,
    click.option(
        "--batch",
        default=1000,
        show_default=True,
        type=click.IntRange(1),
        help="How many publications the engine is given at once.",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1, 1024),
        help="Among how many threads the work of a batch is divided; one for each core by default.",
    ),
    click.option(
        "--window-n",
        type=click.IntRange(1),
        help="The default window, in publications, of subscriptions that bring none.",
    ),
    click.option(
        "--window-us",
        type=window_duration(),
        help="The default window, in microseconds or as 500ms, 40m, 1h30m, of subscriptions that bring none.",
    ),
    click.option("--bounds", type=BOUNDS, help="The space of geotext, or geographic; 0,0,1,1 by default."),
    click.option(
        "--on-error",
        default="raise",
        show_default=True,
        type=click.Choice(("raise", "collect")),
        help="Stop at a bad row, or leave bad rows out and go on.",
    ),
]


def run_options(command: Command) -> Command:
    """Give a command the options of a run."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def default_window(window_n: int | None, window_us: int | None) -> "Window | None":
    """The default window of two options of which at most one may be given."""
    if window_n is not None and window_us is not None:
        raise click.UsageError("Give --window-n or --window-us, not both.")
    from skyband.table import Window

    if window_n is not None:
        return Window.count(window_n)
    return None if window_us is None else Window.time(window_us)


def check_names(written: Sequence[Path | None], read: Sequence[Path]) -> None:
    """Refuse to write over a file that is read, or to write two to one place."""
    # Not Path.resolve, which raises a RuntimeError where links lead in a circle.
    targets = [os.path.realpath(path) for path in written if path is not None]
    names = targets + [os.path.realpath(path) for path in read]
    for path in targets:
        if names.count(path) > 1:
            raise click.UsageError(f"{Path(path).name} is given twice: a file that is written needs a name of its own.")
