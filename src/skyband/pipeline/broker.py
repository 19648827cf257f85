"""How a source and a sink of a pipeline talk with a broker: the options of both, and the client made of them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyband.pipeline.options import Option

if TYPE_CHECKING:
    from skyband.broker import BrokerClient

ACCESS = {
    "address": Option("where the broker takes clients, such as localhost:7500", str, True),
    "token_file": Option("a file with the token to show, if the broker wants one"),
    "authority": Option("a file with the certificate of the authority to trust; without it there is no TLS"),
    "certificate": Option("a file with the certificate to show and its key, if the broker wants one"),
    "seconds": Option("how long to try; 60 unless given", int),
}
SECONDS = 60


def open_client(options: Mapping[str, Any]) -> BrokerClient:
    """A client with these options; a ValueError says which file cannot be used."""
    from skyband.broker import BrokerClient

    given = {name: value for name, value in options.items() if value is not None}
    seconds = float(given.get("seconds", SECONDS))
    return BrokerClient(str(given["address"]), _token(given.get("token_file")), _tls(given), seconds)


def _token(file: Any) -> str | None:
    if file is None:
        return None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"The token in {file} cannot be read: {error}.") from None


def _tls(given: Mapping[str, Any]) -> ssl.SSLContext | None:
    if "authority" not in given:
        return None
    try:
        context = ssl.create_default_context(cafile=str(given["authority"]))
        if "certificate" in given:
            context.load_cert_chain(given["certificate"])
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"The certificates for {given['address']} cannot be used: {error}.") from None
    return context
