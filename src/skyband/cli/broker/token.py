"""`skyband broker token`: a token for clients, and what the chart holds of it."""

import secrets

import click

from skyband.cli.output import Output, output_options


@click.command()
@output_options
def command(output: Output) -> None:
    """Make a token for clients of brokers: the token is for the client, and its hash for the chart.

    \b
    Example:
      skyband broker token
    """
    from skyband.broker.port.access import token_digest

    token = secrets.token_urlsafe(32)
    digest = token_digest(token)
    if output.as_json:
        output.document({"token": token, "hash": digest})
        return
    output.say(f"token for the client:            {token}")
    output.say(f"hash for clients.tokens.NAME:    {digest}")
