"""`skyband pipeline explain`: what a configuration will do, in words, and with --plan as Spark has it."""

import contextlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.pipeline.consequence import consequences
from skyband.cli.pipeline.place import CONFIG, ending_spark, need_spark, read_config

if TYPE_CHECKING:
    from skyband.pipeline.config import Config, Endpoint
    from skyband.pipeline.state.spec import Shape
    from skyband.zoning import Zoning

# Their values may hold passwords.
SECRET = ("dsn", "options")


@click.command()
@CONFIG
@click.option("--plan", is_flag=True, help="Show Spark's plans of the jobs of a micro-batch too, which starts Spark.")
@output_options
def command(output: Output, config_file: Path, plan: bool) -> None:
    """Say what a pipeline will do: its sources, stages, zones, sinks and state, and what follows from its settings.

    Sources, sinks and the state folder are checked against the configuration, and nothing is begun or written.

    \b
    Example:
      skyband pipeline explain pipeline.yaml --plan
    """
    config = read_config(config_file)
    from skyband.pipeline.sink import SINKS, check_sink
    from skyband.pipeline.source.source import SOURCES, check_source

    ends = [("subscriptions", config.subscriptions), ("publications", config.publications)]
    for noun, endpoint in ends:
        check_source(noun, endpoint)
    for noun in ("changes", "tops"):
        for endpoint in getattr(config, noun):
            check_sink(endpoint, noun)  # type: ignore[arg-type]  # one of its two words
    zoning = _zoning(config)
    explained: dict[str, Any] = {
        "sources": [_end(noun, endpoint, SOURCES) for noun, endpoint in ends],
        "sinks": [_end(noun, endpoint, SINKS) for noun in ("changes", "tops") for endpoint in getattr(config, noun)],
        "stages": _stages(config),
        "zones": [] if zoning is None else zoning.describe(),
        "state": _state(config),
        "consequences": consequences(config),
        "plans": _plans(config) if plan else None,
    }
    if output.as_json:
        output.document(explained)
    else:
        _print(output, explained)


def _end(noun: str, endpoint: "Endpoint", kinds: Any) -> dict[str, Any]:
    options = {
        name: value if name not in SECRET else "given, not shown" for name, value in sorted(endpoint.options.items())
    }
    return {"noun": noun, "format": endpoint.format, "what": kinds[endpoint.format].description, "options": options}


def _zoning(config: "Config") -> "Zoning | None":
    """The zones as far as they are known: of the state, or of the file that the configuration names."""
    from skyband.pipeline.config import BadConfiguration
    from skyband.pipeline.state.folder import State
    from skyband.zoning import Zoning

    state = State(config.state)
    if state.exists():
        return state.check(config).zoning
    if config.zoning is None:
        return None
    try:
        return Zoning.from_json(config.zoning.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadConfiguration(
            f"zoning: {config.zoning} cannot be read ({error}); make it with `skyband pipeline fit`."
        ) from None


def _stages(config: "Config") -> list[dict[str, str]]:
    zones = "1 zone" if config.zones == 1 else f"{config.zones} zones"
    told = {
        "read": f"a micro-batch every {config.trigger:g} s if there are rows, of about {config.batch:,} rows of "
        "each source at most; files are not divided",
        "prepare": f"rows are typed and checked as {config.family}; bad ones become dead letters with their reasons",
        "route": f"commands first, then publications, each in the order of its source; rows go to {zones}",
        "match": f"one engine {config.engine} a zone, kept alive in a Python worker from batch to batch",
        "deliver": "the changes of all zones, in the order of one engine, are staged, committed and given to the sinks",
    }
    return [{"stage": stage, "what": what} for stage, what in told.items()]


def _state(config: "Config") -> str:
    from skyband.pipeline.state.folder import State

    state = State(config.state)
    if not state.exists():
        return f"{config.state} is not there yet: the next run begins it."
    last = state.last()
    begun = "no batch is committed yet" if last is None else f"the last committed batch is {last.batch}"
    return f"{config.state} fits this configuration; {begun}, and the next run goes on from there."


def _plans(config: "Config") -> dict[str, str]:
    """Spark's plans of the two jobs of a micro-batch, over what the sources hold now."""
    need_spark()
    with ending_spark():
        return {name: _plan(frame) for name, frame in _frames(config).items()}


def _frames(config: "Config") -> dict[str, Any]:
    """What the two jobs compute."""
    from skyband.pipeline.run import session_for
    from skyband.pipeline.source.source import read_source
    from skyband.pipeline.stage import frames as stages
    from skyband.pipeline.stage.ipc import PARCELS
    from skyband.pipeline.stage.worker import Job
    from skyband.pipeline.state.folder import ROUTER

    spark, shape = session_for(config), _shape(config)
    raw = [
        read_source(spark, noun, endpoint, stream=False, max_rows=None, packed=True)
        for noun, endpoint in (("subscriptions", config.subscriptions), ("publications", config.publications))
    ]
    folder = str(config.state)
    prepared = stages.prepare_parcels(raw[0].unionByName(raw[1], allowMissingColumns=True), folder).coalesce(1)
    jobs = [Job(folder, who, 0, -1, None) for who in (ROUTER, *(f"zone-{zone}" for zone in range(shape.n_zones)))]
    routed = spark.createDataFrame([], stages.spark_schema(PARCELS))
    return {
        "prepare and route": stages.route(prepared, jobs[0]),
        "match": stages.match(routed, jobs[1:]),
    }


def _shape(config: "Config") -> "Shape":
    """The shape of the state; or one whose zones know nothing of the data, which makes no difference to plans."""
    from skyband.pipeline.fit import unfitted
    from skyband.pipeline.state.folder import State
    from skyband.pipeline.state.spec import make_shape

    state = State(config.state)
    return state.check(config) if state.exists() else make_shape(config, unfitted(config))


def _plan(frame: Any) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        frame.explain(mode="formatted")
    return printed.getvalue().strip()


def _print(output: Output, explained: dict[str, Any]) -> None:
    for title in ("sources", "sinks"):
        rows = [
            (
                end["noun"],
                end["format"],
                end["what"],
                ", ".join(f"{name}: {value}" for name, value in end["options"].items()),
            )
            for end in explained[title]
        ]
        output.table((title, "format", "what it is", "options"), rows, title=title.capitalize())
        output.say("")
    output.table(("stage", "what it does"), [tuple(stage.values()) for stage in explained["stages"]], title="Stages")
    output.say("")
    if explained["zones"]:
        rows = [
            (zone["zone"], zone["cell"], zone["subscriptions"], f"{zone['load']:,.1f}") for zone in explained["zones"]
        ]
        output.table(("zone", "what it holds", "subscriptions of the sample", "load"), rows, title="Zones")
        output.say("")
    output.say(f"State: {explained['state']}")
    for sentence in explained["consequences"]:
        output.say(f"- {sentence}")
    for name, plan in (explained["plans"] or {}).items():
        output.say(f"\nSpark's plan of the job: {name}\n{plan}")
