"""`skyband overlay simulate`: brokers under a seeded scheduler, and what went wrong."""

from pathlib import Path
from typing import Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.value import ParsedValue
from skyband.contract.family import names_where

STRATEGIES = (
    "publication-flooding",
    "subscription-flooding",
    "covering",
    "rendezvous",
    "basic-gossiping",
    "informed-gossiping",
    "zone-leases",
)
CHARTS = ("tree", "random-tree", "regular", "internet")


def picture_file(text: str) -> Path:
    """The name of a picture, which says what it is drawn as."""
    if Path(text).suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"{text} cannot be written: its name must end in .svg or .png.")
    return Path(text)


@click.command()
@click.argument("strategy", type=click.Choice(STRATEGIES))
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="The first seed.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="How many seeds to try.")
@click.option(
    "--brokers", default=6, show_default=True, type=click.IntRange(2, 1024), help="How many brokers there are."
)
@click.option(
    "--chart", default="random-tree", show_default=True, type=click.Choice(CHARTS), help="How they are linked."
)
@click.option(
    "--subscriptions", default=6, show_default=True, type=click.IntRange(1), help="How many subscriptions there are."
)
@click.option(
    "--publications", default=60, show_default=True, type=click.IntRange(1), help="How many publications there are."
)
@click.option("--crashes", default=2, show_default=True, type=click.IntRange(0), help="How often a broker stops.")
@click.option(
    "--seconds", default=24, show_default=True, type=click.IntRange(1), help="How long clients are busy, in the world."
)
@click.option("--calm", is_flag=True, help="Lose, repeat and cut off nothing, and let nobody stop.")
@click.option(
    "--mode",
    type=click.Choice(("watermark", "eager")),
    help="Whether answers wait for all that they may need; they do where the strategy can tell.",
)
@click.option(
    "--gates",
    default="staircase",
    show_default=True,
    type=click.Choice(("staircase", "chance", "recent", "kth")),
    help="What a proxy lets in; all but staircases lose some answers.",
)
@click.option(
    "--family",
    default="window",
    show_default=True,
    type=click.Choice(names_where(lambda family: family.routing is not None)),
    help="What is published.",
)
@click.option(
    "--twins", is_flag=True, help="Run each seed again with other updates of gates, without covering, and as it was."
)
@click.option("--watch", is_flag=True, help="Show the network while it runs; without a terminal, how it ends.")
@click.option(
    "--picture",
    type=ParsedValue("file", picture_file),
    help="Draw the brokers of the last seed, and what went between them, to this .svg or .png file.",
)
@output_options
def command(
    output: Output,
    strategy: str,
    seed: int,
    seeds: int,
    twins: bool,
    watch: bool,
    picture: Path | None,
    **options: Any,
) -> None:
    """Run brokers in a simulated network, seed by seed, and hold what they tell against one central engine.

    Seeds draw who publishes and subscribes when, how messages are delayed, lost and repeated, and when brokers stop. A
    seed that goes wrong is shown with the shortest trace that goes wrong too, and the command ends with 1.

    \b
    Example:
      skyband overlay simulate covering --seeds 3
    """
    scenarios = [_scenario(strategy, each, options) for each in range(seed, seed + seeds)]
    outcomes = _watched(output, scenarios, twins) if watch and not output.as_json else _run(output, scenarios, twins)
    if picture is not None:
        title = f"{strategy}, seed {scenarios[-1].seed}"
        draw_network(picture, scenarios[-1].options.chart, outcomes[-1].links, title)
    if output.as_json:
        output.document([_document(outcome) for outcome in outcomes])
    else:
        _show(output, outcomes)
    if any(outcome.wrongs for outcome in outcomes):
        raise click.exceptions.Exit(1)


def _scenario(strategy: str, seed: int, options: dict[str, Any]) -> Any:
    from skyband.overlay.simulate.run import drawn
    from skyband.overlay.simulate.scenario import ScenarioShape

    shape = ScenarioShape(
        n_brokers=options["brokers"],
        n_subscriptions=options["subscriptions"],
        n_publications=options["publications"],
        seconds=options["seconds"],
        n_crashes=options["crashes"],
        chart=options["chart"],
    )
    given = {name: options[name] for name in ("mode", "gates", "family") if options[name] is not None}
    return drawn(strategy, seed, shape, not options["calm"], **given)


def _run(output: Output, scenarios: list[Any], twins: bool) -> list[Any]:
    from skyband.overlay.simulate.run import simulate

    outcomes = []
    with output.progress("seeds") as progress:
        for scenario in scenarios:
            outcomes.append(simulate(scenario, twins=twins))
            progress(len(outcomes), len(scenarios))
    return outcomes


def _watched(output: Output, scenarios: list[Any], twins: bool) -> list[Any]:
    from skyband.cli.overlay.network_view import NetworkView
    from skyband.overlay.simulate.run import simulate

    view = NetworkView(output.console())
    return [simulate(scenario, view=view, twins=twins) for scenario in scenarios]


def draw_network(file: Path, chart: Any, links: dict[tuple[int, int], int], title: str) -> None:
    """Draw a network to a file, as its name says."""
    from skyband.cli.overlay.network_png import draw_traffic_png
    from skyband.cli.overlay.network_svg import draw_traffic
    from skyband.table.write import replacing

    with replacing(file) as temporary:
        if file.suffix.lower() == ".png":
            draw_traffic_png(chart, links, title, temporary)
        else:
            temporary.write_text(draw_traffic(chart, links, title), encoding="utf-8")


def _document(outcome: Any) -> dict[str, Any]:
    document: dict[str, Any] = outcome._asdict()
    document["links"] = [
        {"source": source, "target": target, "messages": n} for (source, target), n in sorted(outcome.links.items())
    ]
    document["columns"] = {name: sent._asdict() for name, sent in outcome.columns.items()}
    document["digest"] = f"{outcome.digest:08x}"
    document["events_per_second"] = outcome.n_events / max(outcome.seconds, 1e-9)
    return document


def _show(output: Output, outcomes: list[Any]) -> None:
    columns = list(outcomes[0].columns)
    rows = [
        (
            outcome.seed,
            outcome.n_events,
            outcome.n_changes,
            *(outcome.columns[name].messages for name in columns),
            f"{outcome.digest:08x}",
            "wrong" if outcome.wrongs else "ok",
        )
        for outcome in outcomes
    ]
    output.table(("seed", "events", "changes", *columns, "trace", "answers"), rows)
    for outcome in outcomes:
        for wrong in outcome.wrongs:
            output.say(f"Seed {outcome.seed}: {wrong}")
        for line in outcome.shortest:
            output.say(f"  {line}")
