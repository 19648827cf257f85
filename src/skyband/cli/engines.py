"""`skyband engines`: which engines there are."""

import click

from skyband.cli.output import Output, output_options


@click.command()
@click.argument("family", required=False)
@output_options
def command(output: Output, family: str | None) -> None:
    """List the engines by family, with what each is good for.

    With FAMILY, only the engines of that family are listed.

    \b
    Example:
      skyband engines window
    """
    from skyband.contract import engines

    found = [engine for engine in engines() if family in (None, engine.family)]
    if not found:
        families = ", ".join(sorted({engine.family for engine in engines()}))
        raise click.BadParameter(f"there is no family {family!r}; there are {families}.", param_hint="FAMILY")
    if output.as_json:
        output.document([{"family": e.family, "engine": e.name, "good_for": e.good_for} for e in found])
    else:
        rows = [(e.family, e.name, e.good_for) for e in found]
        output.table(("family", "engine", "good for"), rows)
