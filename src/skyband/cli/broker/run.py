"""`skyband broker run`: one broker of a chart, until it is asked to stop."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skyband.cli.broker.asking import need_packages
from skyband.cli.group import Failure
from skyband.cli.output import Output, output_options
from skyband.cli.request import Requests

if TYPE_CHECKING:
    from skyband.broker.driver.driver import Driver
    from skyband.broker.run import Ports


@click.command()
@click.argument("chart_file", metavar="CHART", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", required=True, help="Which broker of the chart this one is.")
@click.option("--verbose", is_flag=True, help="Write what happens on links to standard error, and not only trouble.")
@output_options
def command(output: Output, chart_file: Path, name: str, verbose: bool) -> None:
    """Run one broker of a CHART, which is YAML and the same at all sites.

    What was acknowledged is in its journal after a crash. Ctrl-C and SIGTERM end it. With --json, one document is
    printed when it is live, with the ports that it listens at for clients and for operations.

    \b
    Example:
      skyband broker run chart.yaml --name berlin
    """
    need_packages()
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    from skyband.broker.chart.load import load_chart
    from skyband.broker.run import run_broker

    chart = load_chart(chart_file)

    def tell(ports: "Ports", driver: "Driver") -> None:
        if output.as_json:
            output.document({"broker": name, "version": chart.version} | ports._asdict())
        else:
            at = f", for clients at port {ports.clients}" if ports.clients else ""
            output.say(f"{name} runs, with version {chart.version} of the chart{at}. Ctrl-C stops it.")
        sys.stdout.flush()

    with Requests() as requests:
        is_durable = run_broker(chart, name, lambda: requests.asked is not None, tell)
    if not is_durable:
        raise Failure("The journal could not be written to the end: what was acknowledged is there, and nothing else.")
    if not output.as_json:
        output.say("The broker has stopped; everything that was acknowledged is in its journal.")
