"""`skyband generate`: seeded workloads, with a command for each family made from the options of its workload."""

import dataclasses
import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import click

from skyband.cli.output import Output, output_options
from skyband.cli.value import NUMBERS, ParamType, window_duration

if TYPE_CHECKING:
    from skyband.workload import Recipe

BATCH = 16_384


class FamilyCommands(click.Group):
    """One command for each family, made when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from skyband.workload import recipes

        return list(recipes())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return family_command(cmd_name) if cmd_name in self.list_commands(ctx) else None


@click.group(cls=FamilyCommands)
def command() -> None:
    """Write a seeded workload: subscriptions and publications of a family.

    Every family has its own options, with the defaults and the symbols of its paper; skyband generate FAMILY --help
    lists them. The same seed and options give the same files.

    \b
    Example:
      skyband generate window --out data --n-publications 10000 --seed 1
    """


def family_command(family: str) -> click.Command:
    """The command of one family; its options are the fields of the family's workload."""
    from skyband.workload import recipe_of

    recipe = recipe_of(family)
    kinds = get_type_hints(recipe.options)
    fields = dataclasses.fields(recipe.options)

    @output_options
    def write(output: Output, out: Path, file_format: str, force: bool, **given: Any) -> None:
        _write(output, family, out, file_format, force, given)

    made = click.Command(
        family, callback=write, help=_help(family, recipe), short_help=recipe.help, params=[*_own_options()]
    )
    made.params += [_option(field, kinds[field.name]) for field in fields]
    made.params += list(reversed(getattr(write, "__click_params__", [])))
    return made


def _help(family: str, recipe: "Recipe") -> str:
    return (
        f"{recipe.help}\n\nWrites subscriptions.* and {recipe.second}.* to the folder --out, both or neither. "
        "What the paper calls an option stands after its sentence.\n\n"
        f"\b\nExample:\n  skyband generate {family} --out data --n-subscriptions 1000 --format ndjson"
    )


def _own_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--out"],
            required=True,
            type=click.Path(path_type=Path, file_okay=False),
            help="The folder to write to; it is created if necessary.",
        ),
        click.Option(
            ["--format", "file_format"],
            default="parquet",
            show_default=True,
            type=click.Choice(("parquet", "ndjson", "csv")),
            help="The format of both files.",
        ),
        click.Option(["--force"], is_flag=True, help="Overwrite files that exist already."),
    ]


def _option(field: Any, kind: Any) -> click.Option:
    about = field.metadata
    text = about["help"] + (f" Paper: {about['paper']}." if about["paper"] else "")
    name = field.name.replace("_", "-")
    if kind is bool:
        return click.Option([f"--{name}/--no-{name}", field.name], default=field.default, show_default=True, help=text)
    default = field.default
    if field.name == "window_us":
        from skyband.table.duration import show_duration

        default = show_duration(default)
    elif isinstance(default, tuple):
        default = ",".join(f"{number:g}" for number in default)
    return click.Option(
        [f"--{name}", field.name], default=default, show_default=True, type=_type(field, kind), help=text
    )


def _type(field: Any, kind: Any) -> ParamType:
    if field.name == "window_us":
        return window_duration(int(field.metadata["low"]))
    if kind not in (int, float):
        return click.Choice(get_args(kind)) if isinstance(field.default, str) else NUMBERS
    low, high = (None if abs(end) == float("inf") else end for end in (field.metadata["low"], field.metadata["high"]))
    if low is None and high is None:
        return click.INT if kind is int else click.FLOAT
    return click.IntRange(low, high) if kind is int else click.FloatRange(low, high)


def _write(output: Output, family: str, out: Path, file_format: str, force: bool, given: dict[str, Any]) -> None:
    from skyband.workload import recipe_of

    recipe = recipe_of(family)
    try:
        options = recipe.options(**given)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    names = ("subscriptions", recipe.second)
    paths = [out / f"{name}.{file_format}" for name in names]
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise click.ClickException(f"{' and '.join(there)} would be written over; --force allows it.")
    made = _made(out)
    try:
        with output.progress("generating") as progress:
            counts = _write_both(recipe, options, paths, progress)
    except BaseException:
        for folder in made:
            folder.rmdir()
        raise
    _print(output, family, given, dict(zip(names, zip(paths, counts, strict=True), strict=True)))


def _made(folder: Path) -> list[Path]:
    """The folders that had to be made for this one, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _write_both(recipe: "Recipe", options: Any, paths: list[Path], progress: Any) -> list[int]:
    from skyband.replay import table_file

    subscriptions, batches, n_expected = _tables(recipe, options)
    with ExitStack() as stack:
        files = [stack.enter_context(table_file(path)) for path in paths]
        files[0].begin(subscriptions.schema)
        files[0].write(subscriptions)
        for number, batch in enumerate(batches):
            if not number:
                files[1].begin(batch.schema)
            files[1].write(batch)
            progress(files[1].n_rows, n_expected)
        return [file.n_rows for file in files]


def _tables(recipe: "Recipe", options: Any) -> tuple[Any, Any, int]:
    """The subscriptions, the publications in batches, and how many to expect."""
    if recipe.subscriptions is None or recipe.stream is None or _n_publications(options) < BATCH:
        whole = recipe.generate(options)
        return whole.subscriptions, [whole.publications], len(whole.publications)
    return recipe.subscriptions(options), recipe.stream(options, BATCH), _n_publications(options)


def _n_publications(options: Any) -> int:
    if hasattr(options, "n_publications"):
        return int(options.n_publications)
    return int(options.n_objects + options.n_events) if hasattr(options, "n_events") else int(options.n_queries)


def _print(output: Output, family: str, given: dict[str, Any], written: dict[str, tuple[Path, int]]) -> None:
    if output.as_json:
        files = {name: {"file": path, "n_rows": n_rows} for name, (path, n_rows) in written.items()}
        output.document({"family": family, **files, "parameters": given})
        return
    output.table(("file", "rows"), [(str(path), n_rows) for path, n_rows in written.values()])
    if "publications" in written:
        words = [f"--{name} {shlex.quote(str(path))}" for name, (path, _) in reversed(written.items())]
        bounds = given.get("bounds", (0.0, 0.0, 1.0, 1.0))
        if bounds != (0.0, 0.0, 1.0, 1.0):
            words.append(f"--bounds={','.join(repr(number) for number in bounds)}")
        output.say(f"Next: skyband replay {family} {' '.join(words)} --out changes.parquet")
