"""`skyband warm`: compile ahead, so that nobody has to wait for it later."""

import click

from skyband.cli.output import Output, output_options


@click.command()
@click.argument("family", required=False)
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    help="How many engines are compiled at once; by default as many as there are cores.",
)
@click.option("--all", "every", is_flag=True, help="Compile every engine, with the options that tests give it too.")
@output_options
def command(output: Output, family: str | None, processes: int | None, every: bool) -> None:
    """Compile the engines of all families, or of FAMILY, before they are needed.

    Kernels are compiled once for a machine and a version of Skyband, by whoever needs them first. This does it ahead,
    several engines at once, for those that are taken when no engine is named, or for all. What is compiled already is
    only loaded.

    \b
    Example:
      skyband warm window
    """
    from skyband.contract import FAMILIES
    from skyband.kernels.compile import CACHE, cache_root
    from skyband.replay.warm import warm

    if family is not None and family not in FAMILIES:
        raise click.BadParameter(
            f"there is no family {family!r}; there are {', '.join(FAMILIES)}.", param_hint="FAMILY"
        )
    if CACHE is None:
        output.warn(f"{cache_root()} cannot be written, so that nothing is kept; set SKYBAND_CACHE_DIR.")
    with output.progress("compiling") as progress:
        warmed = warm(list(FAMILIES) if family is None else [family], processes, progress, every)
    if output.as_json:
        output.document([one._asdict() for one in warmed])
    else:
        output.table(("family", "engine", "seconds"), [(*one[:2], round(one.seconds, 1)) for one in warmed])
