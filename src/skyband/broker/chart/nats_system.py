"""What a chart says of NATS: its servers, the subjects that brokers have there, and what a broker is known by."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from skyband.broker.chart.field import LOOPBACK, BadChart, read_choice, read_mapping, read_text

SCHEMES = ("nats", "tls")
PREFIX_MARKS = "-_."
MOST_SERVERS = 64
KEYS = ("servers", "prefix", "credentials", "nkey", "tls", "permissions")
TLS_KEYS = ("authority", "certificate", "key", "first")


class NatsTls(NamedTuple):
    """Whom to trust and what to show; `first` is for servers that begin with TLS before they say anything."""

    authority: Path | None
    certificate: Path | None
    key: Path | None
    first: bool


class NatsSystem(NamedTuple):
    """Where NATS is, and how brokers are known there; `{name}` stands for the name of a broker in servers and files.

    With `is_checked` a broker runs only where NATS lets it speak for nobody else.
    """

    servers: tuple[str, ...]
    prefix: str
    credentials: Path | None
    nkey: Path | None
    tls: NatsTls | None
    is_checked: bool

    def of(self, name: str) -> "NatsSystem":
        """The same with the servers and the files of one broker."""
        tls = self.tls
        if tls is not None:
            authority, certificate, key = (_named(file, name) for file in (tls.authority, tls.certificate, tls.key))
            tls = NatsTls(authority, certificate, key, tls.first)
        return self._replace(
            servers=tuple(server.replace("{name}", name) for server in self.servers),
            credentials=_named(self.credentials, name),
            nkey=_named(self.nkey, name),
            tls=tls,
        )


def read_transport(given: Any, names: tuple[str, ...], folder: Path) -> NatsSystem | None:
    """NATS as a chart describes it; None where brokers talk by TCP."""
    if given is None or isinstance(given, str):
        if given == "nats":
            raise BadChart("transport.nats.servers is missing: write `transport: {nats: {servers: [...]}}`.")
        read_choice("transport", given or "tcp", ("tcp", "nats"))
        return None
    fields = read_mapping("transport.nats", read_mapping("transport", given, ("nats",)).get("nats", {}), KEYS)
    _check_names(names)
    tls = _tls(fields.get("tls"), folder)
    servers = _servers(fields.get("servers"), tls is None and not _is_off(fields.get("tls")), tls)
    files = {key: folder / read_text(f"transport.nats.{key}", fields[key]) for key in KEYS[2:4] if key in fields}
    if len(files) > 1:
        raise BadChart("transport.nats has credentials and nkey, and a broker is known by one of them.")
    if "permissions" in fields and not _is_off(fields["permissions"]):
        raise BadChart(
            f"transport.nats.permissions is off or left out, not {fields['permissions']!r}: they are set up in NATS."
        )
    prefix = _prefix(fields.get("prefix", "skyband"))
    return NatsSystem(
        servers, prefix, files.get("credentials"), files.get("nkey"), tls, is_checked="permissions" not in fields
    )


def _check_names(names: tuple[str, ...]) -> None:
    for name in names:
        if "." in name:
            raise BadChart(f"brokers.{name}: over NATS a name has no dot, as dots divide subjects.")


def _servers(given: Any, must_be_near: bool, tls: NatsTls | None) -> tuple[str, ...]:
    if not isinstance(given, list) or not 0 < len(given) <= MOST_SERVERS:
        raise BadChart("transport.nats.servers is a list of addresses such as nats://nats.example.org:4222.")
    servers = tuple(_server(each) for each in given)
    for server in servers:
        host = urlsplit(server).hostname or ""
        if must_be_near and host not in LOOPBACK:
            raise BadChart(
                f"transport.nats.tls is missing, and {server} is another machine: give authority, certificate and key "
                "as NATS asks for them, or say `tls: off`."
            )
        if tls is None and server.startswith("tls:"):
            raise BadChart(f"transport.nats.tls is missing, and {server} has TLS: say whom to trust by authority.")
    return servers


def _server(given: Any) -> str:
    wrong = f"An entry of transport.nats.servers is an address such as nats://nats.example.org:4222, not {given!r}."
    try:
        parts = urlsplit(given.replace("{name}", "name")) if isinstance(given, str) else None
        is_right = parts is not None and parts.scheme in SCHEMES and parts.hostname and parts.port is not None
    except ValueError:
        is_right = False
    if parts is None or not is_right or parts.path or parts.query or parts.fragment:
        raise BadChart(wrong)
    if parts.username is not None:
        raise BadChart(
            "transport.nats.servers has a user in an address, and the chart is the same at all sites: name a file by "
            "credentials, nkey or tls.certificate instead."
        )
    return str(given)


def _prefix(given: Any) -> str:
    tokens = read_text("transport.nats.prefix", given).split(".")
    if len(given) > 128 or not all(
        token and all(mark.isascii() and (mark.isalnum() or mark in PREFIX_MARKS) for mark in token) for token in tokens
    ):
        raise BadChart(
            f"transport.nats.prefix is the begin of subjects such as skyband or parks.skyband, not {given!r}."
        )
    return str(given)


def _tls(given: Any, folder: Path) -> NatsTls | None:
    if given is None or _is_off(given):
        return None
    fields = read_mapping("transport.nats.tls", given, TLS_KEYS)
    first = fields.pop("first", False)
    if not isinstance(first, bool):
        raise BadChart(f"transport.nats.tls.first is true or false, not {first!r}.")
    if ("certificate" in fields) != ("key" in fields):
        raise BadChart("transport.nats.tls has certificate and key, or neither of them.")
    files: Mapping[str, Path] = {
        key: folder / read_text(f"transport.nats.tls.{key}", value) for key, value in fields.items()
    }
    return NatsTls(files.get("authority"), files.get("certificate"), files.get("key"), first)


def _is_off(given: Any) -> bool:
    # YAML reads a bare `off` as false.
    return given is False or given == "off"


def _named(file: Path | None, name: str) -> Path | None:
    return None if file is None else Path(str(file).replace("{name}", name))
