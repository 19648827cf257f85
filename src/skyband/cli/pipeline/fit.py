"""`skyband pipeline fit`: how often words occur and how subscriptions are divided, from what the sources hold now."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.pipeline.place import CONFIG, ending_spark, need_spark, read_config

if TYPE_CHECKING:
    from skyband.pipeline.config import Config
    from skyband.zoning import Zoning


@click.command()
@CONFIG
@click.option(
    "--words", type=click.Path(path_type=Path), help="Where to write the words; the configuration's words by default."
)
@click.option(
    "--zoning", type=click.Path(path_type=Path), help="Where to write the zones; the configuration's zoning by default."
)
@output_options
def command(output: Output, config_file: Path, words: Path | None, zoning: Path | None) -> None:
    """Fit words and zones to what the sources hold now, and show how evenly the zones are loaded.

    Words are counted for geotext only, and only if --words or the configuration says where to write them. Zones are
    fitted to a sample, and are only shown if there is nowhere to write them. A pipeline that has begun keeps the words
    and zones that it began with.

    \b
    Example:
      skyband pipeline fit pipeline.yaml --words words.json --zoning zones.json
    """
    config = read_config(config_file)
    from skyband.contract.family import FAMILIES, names_where

    if words is not None and not FAMILIES[config.family].has_words:
        with_words = " and ".join(names_where(lambda family: family.has_words))
        raise click.UsageError(f"--words is for the family {with_words}: {config.family} has no words.")
    need_spark()
    config = config._replace(words=words or config.words, zoning=zoning or config.zoning)
    from skyband.pipeline.state.folder import State

    with ending_spark():
        said, found = _fit(config)
    _print(output, config, found, said)
    if State(config.state).exists():
        output.warn(f"The pipeline in {config.state} keeps the words and zones it was begun with.")


def _fit(config: "Config") -> "tuple[dict[str, Any], Zoning]":
    """Fit and write what there is somewhere to write to; what is to be said of the words, and the zones."""
    from skyband.pipeline.fit import fit_words, fit_zoning
    from skyband.pipeline.run import session_for
    from skyband.pipeline.state.folder import write_text

    spark = session_for(config)
    said: dict[str, Any] = {"words": None, "documents": None, "n_words": None}
    if config.words is not None:
        counted = fit_words(spark, config)
        counted.save(config.words)
        said = {"words": config.words, "documents": counted.documents, "n_words": len(counted.frequencies)}
    found = fit_zoning(spark, config)
    if config.zoning is not None:
        write_text(config.zoning, found.to_json())
    return said, found


def _print(output: Output, config: "Config", zoning: "Zoning", said: dict[str, Any]) -> None:
    zones = zoning.describe()
    mean = sum(zone["load"] for zone in zones) / len(zones)
    most = max(zone["load"] for zone in zones) / mean if mean else None
    if output.as_json:
        output.document(said | {"zoning": config.zoning, "kind": zoning.kind, "most_over_mean": most, "zones": zones})
        return
    rows = [(zone["zone"], zone["subscriptions"], f"{zone['load']:,.1f}", zone["cell"]) for zone in zones]
    output.table(("zone", "subscriptions of the sample", "load", "what it holds"), rows, title="Zones")
    if most is not None:
        output.say(f"Divided by {zoning.kind}; the most loaded zone has {most:.2f} times the mean load.")
    if said["words"] is not None:
        output.say(f"{said['n_words']:,} words of {said['documents']:,} publications are in {said['words']}.")
    output.say("The zones were not written." if config.zoning is None else f"The zones are in {config.zoning}.")
