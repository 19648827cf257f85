"""`skyband serve`: streams over HTTP, and answers pushed to people and programs."""

import logging
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skyband.cli.output import Output, output_options
from skyband.cli.request import Requests

if TYPE_CHECKING:
    from skyband.server.config import ServerConfig
    from skyband.server.run import Beside

NEEDED = ("fastapi", "uvicorn", "httptools", "websockets", "yaml")


@click.command()
@click.argument("config_file", metavar="[CONFIG]", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="The folder in which everything lasts.")
@click.option("--host", help="The address to listen at; other machines are answered only if there is a token.")
@click.option("--port", type=click.IntRange(0, 65_535), help="The port to listen at; 0 takes any that is free.")
@click.option("--new-admin", metavar="TITLE", help="Make a token with every scope, print it, and end.")
@click.option("--restored", is_flag=True, help="Say that the data folder was restored from a backup.")
@click.option("--demo", is_flag=True, help="Play a city of messages and subscribers on the stream `city`.")
@click.option("--verbose", is_flag=True, help="Write a line for each request to standard error.")
@output_options
def command(
    output: Output,
    config_file: Path | None,
    data: Path | None,
    host: str | None,
    port: int | None,
    new_admin: str | None,
    restored: bool,
    demo: bool,
    verbose: bool,
) -> None:
    """Serve streams over HTTP: publish, subscribe, and be told how tops change.

    Everything lasts in one folder: what was acknowledged is there after a crash. Without a CONFIG, which is YAML, the
    server listens at 127.0.0.1:8484 and keeps its data in skyband-data. Ctrl-C and SIGTERM end it: open connections
    are told, and can be resumed when it runs again. With --json, one document is printed when the server answers.

    \b
    Example:
      skyband serve --demo
      skyband serve --port 8080 --data data
      skyband serve serve.yaml
    """
    _need_packages()
    config = _config(config_file, {"data": data, "host": host, "port": port})
    if new_admin is not None:
        _make_admin(output, config, new_admin)
        return
    from skyband.server.log_line import write_logs
    from skyband.server.run import serve

    write_logs(config.logs, logging.INFO if verbose else logging.WARNING, sys.stderr)
    with Requests() as requests:
        stops, tell = lambda: requests.asked is not None, partial(_tell, output, config)
        serve(config, stops, tell, restored, _beside(demo))
    if not output.as_json:
        output.say("The server has stopped; everything that was acknowledged is in its folder.")


def _beside(demo: bool) -> "Beside | None":
    if not demo:
        return None
    from skyband.demo.hosted import keep_publishing

    return keep_publishing


def _config(path: Path | None, given: dict[str, Any]) -> "ServerConfig":
    from skyband.server.config import ServerConfig, load_server_config

    config = ServerConfig(Path("skyband-data")) if path is None else load_server_config(path)
    return config._replace(**{name: value for name, value in given.items() if value is not None})


def _make_admin(output: Output, config: "ServerConfig", title: str) -> None:
    from skyband.server.access.made import kept_token
    from skyband.server.access.token import FIRST_TENANT, SCOPES
    from skyband.server.store.metadata import open_metadata

    config.data.mkdir(parents=True, exist_ok=True)
    metadata = open_metadata(config)
    text, kept = kept_token(FIRST_TENANT, title, list(SCOPES))
    metadata.add_token(kept)
    metadata.note(FIRST_TENANT, None, "make-token", kept.name, {"scopes": list(kept.scopes)})
    metadata.close()
    if output.as_json:
        output.document({"token": text, "name": kept.name})
        return
    output.say(text)
    output.warn("The token is shown this once. From now on nobody is let in without one.")


def _tell(output: Output, config: "ServerConfig", address: str) -> None:
    if output.as_json:
        output.document({"address": address, "data": config.data})
        sys.stdout.flush()
        return
    output.say(f"Serving at {address} from the folder {config.data}. Ctrl-C stops the server.")
    output.say(f"Open {address}/ in a browser to see the streams move.")
    sys.stdout.flush()


def _need_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise click.ClickException(
            f"The server needs the packages {', '.join(missing)}: install them with `pip install 'skyband[serve]'`."
        )
