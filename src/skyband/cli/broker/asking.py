"""How commands find a broker that runs: by an address, or by the chart and a name."""

import functools
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skyband.cli.group import Failure

if TYPE_CHECKING:
    pass

Command = TypeVar("Command", bound=Callable[..., Any])


def need_packages() -> None:
    """Say how to install what charts are read with, if it is missing."""
    from importlib.util import find_spec

    if find_spec("yaml") is None:
        raise click.ClickException("Charts need the package yaml: install it with `pip install 'skyband[broker]'`.")


def broker_options(command: Command) -> Command:
    """Give a command the address of a broker and what is shown there, and hand it the `client` that follows."""

    @click.argument("address", metavar="ADDRESS")
    @click.option("--token", envvar="SKYBAND_BROKER_TOKEN", help="The token to show; or set SKYBAND_BROKER_TOKEN.")
    @click.option(
        "--authority",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="Talk with TLS, and trust what this authority has signed.",
    )
    @click.option(
        "--certificate",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help="The certificate to show, with its key in the same file.",
    )
    @click.option("--seconds", default=30.0, show_default=True, help="How long to try.")
    @functools.wraps(command)
    def asking(
        *args: Any,
        address: str,
        token: str | None,
        authority: Path | None,
        certificate: Path | None,
        seconds: float,
        **options: Any,
    ) -> Any:
        from skyband.broker.client.broker_client import BrokerClient
        from skyband.broker.client.problem import BrokerProblem

        try:
            with BrokerClient(address, token, _tls(authority, certificate), seconds) as client:
                return command(*args, client=client, **options)
        except BrokerProblem as problem:
            raise Failure(str(problem)) from None

    return asking  # type: ignore[return-value]  # click adds options to the same function


def _tls(authority: Path | None, certificate: Path | None) -> ssl.SSLContext | None:
    if authority is None:
        return None
    try:
        context = ssl.create_default_context(cafile=str(authority))
        if certificate is not None:
            context.load_cert_chain(certificate)
    except (OSError, ssl.SSLError) as error:
        raise Failure(f"The certificates cannot be used: {error}.") from None
    return context
