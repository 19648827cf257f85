"""Reading a chart from YAML: every key is checked before anything starts, and what is wrong is said in one sentence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from skyband.broker.chart.field import (
    BadChart,
    read_address,
    read_count,
    read_mapping,
    read_size,
    read_text,
    read_time,
)
from skyband.broker.chart.nats_system import NatsSystem, read_transport
from skyband.broker.chart.network_chart import BrokerPlace, ClientAccess, LinkLimits, NetworkChart, TlsFiles
from skyband.broker.chart.working import AGREED_KEYS, agreed_of, read_links, read_options

SITE_KEYS = ("data", "tls", "clients", "limits", "transport")
PLACE_KEYS = ("address", "listen", "clients", "operations")
MOST_BROKERS = 1024
MOST_VERSION = 2**31 - 1
NAME_MARKS = "-_."
DIGEST_LENGTH = 64
NATS_FRAME = 2**20 - 2**12
"""So long may frames be over NATS unless a chart says otherwise: its servers take messages of 1 MiB as they come."""


def load_chart(path: str | Path) -> NetworkChart:
    """The chart in a YAML file; relative paths in it begin at the folder of the file."""
    import yaml

    path = Path(path)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadChart(f"{path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise BadChart(f"{path} is not a YAML file: {' '.join(str(error).split())}.") from None
    if not isinstance(document, Mapping):
        raise BadChart(f"{path} must hold a mapping with keys such as version, brokers and strategy.")
    try:
        return make_chart(document, path.parent)
    except BadChart as error:
        raise BadChart(f"{path}: {error}") from None


def make_chart(document: Mapping[str, Any], folder: str | Path = ".") -> NetworkChart:
    """The chart that a mapping describes; relative paths in it begin at the folder."""
    folder = Path(folder)
    given = read_mapping("The chart", document, ("version", "brokers", *AGREED_KEYS, *SITE_KEYS))
    for key in ("version", "brokers", "strategy"):
        if key not in given:
            raise BadChart(f"{key} is missing from the chart.")
    version = read_count("version", given["version"], 1, MOST_VERSION)
    places = _places(given["brokers"])
    names = tuple(place.name for place in places)
    nats = read_transport(given.get("transport"), names, folder)
    tls = _tls(given.get("tls"), folder)
    access = _access(given.get("clients", {}), folder)
    _check_exposure(places, tls, given.get("tls"), access, nats is None)
    _check_addresses(places, nats)
    links = read_links(given.get("links"), names)
    limits = _limits(given.get("limits", {}), nats)
    agreed = agreed_of(version, names, links, given, limits.frame, folder)
    return NetworkChart(
        version=version,
        places=places,
        options=read_options(names, links, given, agreed, folder),
        ways="links" if agreed["ways"] == "links" else "direct",
        tls=tls,
        access=access,
        limits=limits,
        data=folder / read_text("data", given.get("data", "{name}-data")),
        agreed=agreed,
        nats=nats,
    )


def _places(given: Any) -> tuple[BrokerPlace, ...]:
    listed = read_mapping("brokers", given)
    if not 1 <= len(listed) <= MOST_BROKERS:
        raise BadChart(f"brokers has 1 to {MOST_BROKERS} entries, not {len(listed)}.")
    return tuple(_place(number, name, each) for number, (name, each) in enumerate(listed.items()))


def _place(number: int, name: str, given: Any) -> BrokerPlace:
    key = f"brokers.{name}"
    if (
        not name
        or len(name) > 64
        or not all(mark.isascii() and (mark.isalnum() or mark in NAME_MARKS) for mark in name)
    ):
        raise BadChart(f"{key}: a broker has a name of up to 64 letters, digits and any of {NAME_MARKS}.")
    fields = read_mapping(key, given, PLACE_KEYS)
    found = {each: read_address(f"{key}.{each}", value) for each, value in fields.items()}
    address = found.get("address")
    return BrokerPlace(
        name, number, address, found.get("listen", address), found.get("clients"), found.get("operations")
    )


def _check_addresses(places: tuple[BrokerPlace, ...], nats: NatsSystem | None) -> None:
    """Brokers that dial each other have addresses."""
    for place in places:
        if place.address is None and nats is None:
            raise BadChart(
                f"brokers.{place.name}.address is missing: say where other brokers reach it, such as "
                f"{place.name}.example.org:7400."
            )


def _tls(given: Any, folder: Path) -> TlsFiles | None:
    # YAML reads a bare `off` as false.
    if given is None or given is False or given == "off":
        return None
    fields = read_mapping("tls", given, TlsFiles._fields)
    for name in TlsFiles._fields:
        if name not in fields:
            raise BadChart(f"tls.{name} is missing: give authority, certificate and key, or say `tls: off`.")
    return TlsFiles(*(folder / read_text(f"tls.{name}", fields[name]) for name in TlsFiles._fields))


def _access(given: Any, folder: Path) -> ClientAccess:
    fields = read_mapping("clients", given, ClientAccess._fields)
    tokens = {
        name: _token_digest(name, each) for name, each in read_mapping("tokens", fields.get("tokens", {})).items()
    }
    authority = fields.get("authority")
    return ClientAccess(tokens, None if authority is None else folder / read_text("clients.authority", authority))


def _token_digest(name: str, given: Any) -> str:
    text = str(given)
    if len(text) != DIGEST_LENGTH or not all(digit in "0123456789abcdef" for digit in text):
        raise BadChart(f"clients.tokens.{name} is the hash that `skyband broker token` prints, not {text[:12]!r}.")
    return text


def _check_exposure(
    places: tuple[BrokerPlace, ...], tls: TlsFiles | None, said: Any, access: ClientAccess, are_dialled: bool
) -> None:
    """Nobody talks in the clear to other machines, or lets everybody in, unless the chart says so."""
    for place in places:
        exposed = (place.address, place.listen) if are_dialled else (place.clients,)
        far = next((each for each in exposed if each is not None and not each.is_loopback), None)
        if tls is None and said is None and far is not None:
            raise BadChart(
                f"tls is missing, and {place.name} is reached at {far} from other machines: give authority, "
                "certificate and key, or say `tls: off`."
            )
        if place.clients is not None and not place.clients.is_loopback and access.is_open:
            raise BadChart(
                f"brokers.{place.name}.clients is reached at {place.clients} from other machines, and clients has "
                "neither tokens nor an authority: give one of them."
            )
    if access.authority is not None and tls is None:
        raise BadChart("clients.authority needs TLS, which the chart does not have: give tls, or tokens for clients.")


def _limits(given: Any, nats: NatsSystem | None) -> LinkLimits:
    fields, base = read_mapping("limits", given, LinkLimits._fields), LinkLimits()
    usual = base.frame if nats is None else NATS_FRAME
    frame = read_size("limits.frame", fields.get("frame", usual), 2**12, 2**28)
    return LinkLimits(
        frame=frame,
        buffer=read_size("limits.buffer", fields.get("buffer", max(base.buffer, 4 * frame)), 2 * frame, 2**32),
        pending=read_count("limits.pending", fields.get("pending", base.pending), 1, 10**7),
        connections=read_count("limits.connections", fields.get("connections", base.connections), 1, 10**6),
        stall=read_time("limits.stall", fields["stall"]) if "stall" in fields else base.stall,
    )
