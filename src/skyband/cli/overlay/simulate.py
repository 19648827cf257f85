"""`skyband overlay simulate`: brokers under a seeded scheduler, and what went wrong."""

from typing import Any

import click

from skyband.cli.output import Output, output_options
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
    type=click.Choice(("staircase", "chance", "kth")),
    help="What a proxy lets in; all but staircases lose some answers.",
)
@click.option(
    "--family",
    default="window",
    show_default=True,
    type=click.Choice(names_where(lambda family: family.routing is not None)),
    help="What is published.",
)
@output_options
def command(output: Output, strategy: str, seed: int, seeds: int, **options: Any) -> None:
    """Run brokers in a simulated network, seed by seed, and hold what they tell against one central engine.

    Seeds draw who publishes and subscribes when, how messages are delayed, lost and repeated, and when brokers stop. A
    seed that goes wrong is shown with the shortest trace that goes wrong too, and the command ends with 1.

    \b
    Example:
      skyband overlay simulate covering --seeds 3
    """
    from skyband.overlay.simulate.run import simulate

    outcomes = []
    with output.progress("seeds") as progress:
        for each in range(seed, seed + seeds):
            outcomes.append(simulate(_scenario(strategy, each, options)))
            progress(each - seed + 1, seeds)
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


def _document(outcome: Any) -> dict[str, Any]:
    document: dict[str, Any] = outcome._asdict()
    document["columns"] = {name: sent._asdict() for name, sent in outcome.columns.items()}
    document["digest"] = f"{outcome.digest:08x}"
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
