"""`skyband broker check`: whether a chart can be run, and what it says."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.broker.asking import need_packages
from skyband.cli.output import Output, output_options

if TYPE_CHECKING:
    from skyband.broker.chart.network_chart import NetworkChart


@click.command()
@click.argument("chart_file", metavar="CHART", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", help="Look at the certificate of this broker as well, which has to be on this machine.")
@output_options
def command(output: Output, chart_file: Path, name: str | None) -> None:
    """Check a CHART, and say what all brokers have to agree on.

    Brokers talk to each other if the digest that this prints is the same at all sites.

    \b
    Example:
      skyband broker check chart.yaml
    """
    need_packages()
    from skyband.broker.chart.load import load_chart
    from skyband.broker.link.tls import peer_context

    chart = load_chart(chart_file)
    if name is not None:
        files = chart.files_of(chart.place(name).name)
        if files.tls is not None:
            peer_context(files.tls, True)
        if chart.nats is not None:
            from skyband.broker.link.nats.server import connect_options

            connect_options(chart.nats.of(name))
    document = _document(chart)
    if output.as_json:
        output.document(document)
        return
    said = ("version", "digest", "strategy", "mode", "family", "ways", "transport", "tls")
    output.table(("", ""), [(key, str(document[key])) for key in said])
    headers = ("broker", "address", "clients", "operations", "links")
    rows = [
        (*(str(broker[key] or "") for key in headers[:4]), ", ".join(broker["links"])) for broker in document["brokers"]
    ]
    output.table(headers, rows)


def _document(chart: "NetworkChart") -> dict[str, Any]:
    neighbours = chart.options.chart.neighbours
    return {
        "version": chart.version,
        "digest": chart.digest,
        "strategy": chart.options.strategy,
        "mode": chart.options.mode,
        "family": chart.options.family,
        "ways": chart.ways,
        "transport": "tcp" if chart.nats is None else "nats",
        "tls": "off" if chart.tls is None else "on",
        "brokers": [
            {
                "broker": place.name,
                "address": place.address and str(place.address),
                "clients": place.clients and str(place.clients),
                "operations": place.operations and str(place.operations),
                "links": [chart.names[other] for other in neighbours[place.number]],
            }
            for place in chart.places
        ],
    }
