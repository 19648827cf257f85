"""`skyband broker status`: how a broker and its links are."""

from typing import TYPE_CHECKING, Any

import click

from skyband.cli.broker.asking import broker_options
from skyband.cli.output import Output, output_options

if TYPE_CHECKING:
    from skyband.broker.client.broker_client import BrokerClient


@click.command()
@output_options
@broker_options
def command(output: Output, client: "BrokerClient") -> None:
    """Say how the broker at ADDRESS is: its port for clients, such as 127.0.0.1:7500.

    \b
    Example:
      skyband broker status 127.0.0.1:7500
    """
    status = client.status()
    if output.as_json:
        output.document(status)
        return
    home, journal, queues = status["home"], status["journal"], status["queues"]
    rows: list[tuple[str, Any]] = [
        ("broker", f"{status['broker']}, in its life {status['incarnation']}"),
        ("chart", f"version {status['chart']['version']}, digest {status['chart']['digest']}"),
        ("strategy", f"{status['strategy']}, {status['mode']}"),
        ("subscriptions", str(home["subscriptions"])),
        ("publications kept", str(home["publications"])),
        ("changes told", str(home["changes"])),
        ("answers are behind", f"{home['lag_us'] / 1e6:.3f} s"),
        ("proxies, covered", f"{status['proxies']}, {status['covered']}"),
        ("journal", journal["trouble"] or f"{journal['records']} records, {journal['bytes']} bytes"),
        ("waiting", f"{queues['tasks']} tasks, {queues['unsynced']} requests, {queues['delayed']} publications"),
    ]
    output.table(("", ""), rows)
    headers = ("link", "state", "frames in", "frames out", "bytes in", "bytes out", "credit left", "trouble")
    keys = ("frames_in", "frames_out", "bytes_in", "bytes_out", "credit_left")
    links = [
        (each["peer"], "up" if each["is_connected"] else "down", *(each.get(key) for key in keys), each["trouble"])
        for each in status["links"]
    ]
    output.table(headers, links)
