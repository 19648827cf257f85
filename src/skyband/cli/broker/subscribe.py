"""`skyband broker subscribe`: subscriptions at a broker, and how their tops change."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.broker.asking import broker_options
from skyband.cli.broker.row_file import read_row_file
from skyband.cli.output import Output, output_options, plain

if TYPE_CHECKING:
    from skyband.broker.client.broker_client import BrokerClient


@click.command()
@click.option(
    "--rows",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of JSON, a subscription in each line; standard input without it.",
)
@click.option(
    "--withdraw",
    multiple=True,
    metavar="ID",
    help="Withdraw the subscription with this id instead; several may be given.",
)
@click.option("--follow", is_flag=True, help="Print a line of JSON for all that is told, until Ctrl-C.")
@click.option("--cursor", help="With --follow, go on from this cursor, and register nothing.")
@output_options
@broker_options
def command(
    output: Output,
    client: "BrokerClient",
    file: Path | None,
    withdraw: tuple[str, ...],
    follow: bool,
    cursor: str | None,
) -> None:
    """Register subscriptions at the broker at ADDRESS, or follow those that are there.

    \b
    Example:
      skyband broker subscribe 127.0.0.1:7500 --rows subscriptions.jsonl
      skyband broker subscribe 127.0.0.1:7500 --follow --cursor berlin/5f3a9c01/42
    """
    if withdraw:
        ids = [_id(text) for text in withdraw]
        client.unsubscribe(ids)
        _done(output, {"withdrawn": ids}, f"{len(ids)} subscriptions were withdrawn.")
        return
    if cursor is None:
        rows = read_row_file(file, sys.stdin)
        client.subscribe(rows)
        if not follow:
            _done(output, {"subscribed": [row["id"] for row in rows]}, f"{len(rows)} subscriptions were registered.")
    if follow:
        for event in client.follow(cursor=cursor):
            output.say(json.dumps({"told": type(event).__name__} | plain(event), ensure_ascii=False))
            sys.stdout.flush()


def _done(output: Output, document: dict[str, Any], sentence: str) -> None:
    if output.as_json:
        output.document(document)
    else:
        output.say(sentence)


def _id(text: str) -> int | str:
    """An id as it is written: one that looks like a number is one, unless it is in quotation marks."""
    if text.lstrip("-").isdecimal():
        return int(text)
    return text.strip('"')
