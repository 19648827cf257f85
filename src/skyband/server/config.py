"""What a server is told: one declarative configuration, in YAML or Python, checked before anything starts.

A wrong key or value raises `BadServerConfig` with a sentence that names it.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from skyband.server.stream.spec import StreamSpec, check_name
from skyband.table.duration import parse_with_unit
from skyband.table.words import Words

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
MOST = 2**40
LogStyle = Literal["text", "json"]


class BadServerConfig(ValueError):
    """A configuration that no server can have, with the reason in one sentence."""


class Limits(NamedTuple):
    """How much is taken, and kept for others; those of a tenant are in force for all of its tokens together.

    `body` and `queued` are in bytes: of one request, and waiting for one connection. `ring` is how many rows of changes
    a stream keeps for those who resume. `requests` and `published` are per second, 0 for any number.
    """

    body: int = 16 * 2**20
    rows: int = 100_000
    k: int = 1000
    streams: int = 100
    subscriptions: int = 1_000_000
    connections: int = 20_000
    queued: int = 2**20
    ring: int = 100_000
    requests: int = 0
    published: int = 0


# What may be another number for a tenant.
OF_TENANT = ("k", "streams", "subscriptions", "connections", "requests", "published")


class ServerConfig(NamedTuple):
    """Everything a server is told.

    `data` is the folder in which everything lasts. With a `database`, which is the address of a PostgreSQL database,
    metadata and webhooks are kept there, in the schema `database_schema`, and not in the folder. `origins` are web
    sites, such as https://example.org, whose pages may talk to the server beside its own. A checkpoint is written after
    so many verbs. A reader that takes nothing for `stall` seconds is cut off, and where nothing happens a sign of life
    is sent every `beat` seconds. What is due by the clock of the server is done every `tick` seconds. With
    `private_webhooks`, messages may be sent to addresses that are not public, and without TLS. `traces` is where spans
    are sent, the address of a collector or `environment`. The console shows the `pipelines`, each by its state folder
    or by its configuration, and the network of the `brokers`, each by the address of its metrics.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8484
    certificate: Path | None = None
    private_key: Path | None = None
    streams: Mapping[str, StreamSpec] = MappingProxyType({})
    limits: Limits = Limits()
    origins: tuple[str, ...] = ()
    checkpoint_every: int = 100_000
    beat: float = 15.0
    stall: float = 60.0
    tick: float = 1.0
    private_webhooks: bool = False
    database: str | None = None
    database_schema: str = "skyband"
    traces: str | None = None
    logs: LogStyle = "text"
    pipelines: Mapping[str, Path] = MappingProxyType({})
    brokers: Mapping[str, str] = MappingProxyType({})


def load_server_config(path: str | Path) -> ServerConfig:
    """The configuration in a YAML file; relative paths in it begin at the folder of the file."""
    import yaml

    path = Path(path)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadServerConfig(f"{path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadServerConfig(f"{path} is not a YAML file: {' '.join(str(error).split())}.") from None
    if not isinstance(document, Mapping):
        raise BadServerConfig(f"{path} must hold a mapping with keys such as data, port and streams.")
    try:
        return make_server_config(document, path.parent)
    except BadServerConfig as error:
        raise BadServerConfig(f"{path}: {error}") from None


def make_server_config(document: Mapping[str, Any], folder: str | Path = ".") -> ServerConfig:
    """The configuration that a mapping describes; relative paths in it begin at the folder."""
    folder = Path(folder)
    _known("The configuration", document, ServerConfig._fields)
    given = {key: value for key, value in document.items() if value is not None}
    for key in ("data", "certificate", "private_key"):
        if key in given:
            given[key] = folder / _text(key, given[key])
    given.setdefault("data", folder / "skyband-data")
    for key in ("host", "database", "database_schema", "traces"):
        if key in given:
            given[key] = _text(key, given[key])
    if "streams" in given:
        given["streams"] = _streams(given["streams"], folder)
    if "limits" in given:
        given["limits"] = read_limits(given["limits"])
    if "origins" in given:
        given["origins"] = _origins(given["origins"])
    if "pipelines" in given:
        given["pipelines"] = _pipelines(given["pipelines"], folder)
    if "brokers" in given:
        given["brokers"] = _brokers(given["brokers"])
    for key in ("beat", "stall", "tick"):
        if key in given:
            given[key] = _seconds(key, given[key])
    config = ServerConfig(**given)
    if config.logs not in get_args(LogStyle):
        raise BadServerConfig(f"logs is {' or '.join(get_args(LogStyle))}, not {config.logs!r}.")
    if config.traces is not None and config.traces != "environment" and not _is_address(config.traces):
        raise BadServerConfig("traces is the address of a collector, such as http://127.0.0.1:4318, or environment.")
    if not isinstance(config.private_webhooks, bool):
        raise BadServerConfig(f"private_webhooks is true or false, not {config.private_webhooks!r}.")
    _count("port", config.port, 0, 65_535)
    _count("checkpoint_every", config.checkpoint_every, 1, MOST)
    if (config.certificate is None) != (config.private_key is None):
        raise BadServerConfig("certificate and private_key belong together: give both, or neither.")
    return config


def read_limits(given: Any, names: tuple[str, ...] = Limits._fields, base: Limits | None = None) -> Limits:
    """Limits from a mapping; what it does not name is as in the base."""
    if not isinstance(given, Mapping):
        raise BadServerConfig(f"limits is a mapping such as {{rows: 10000, body: 4MiB}}, not {given!r}.")
    _known("limits", given, names)
    return (base or Limits())._replace(**{name: _size(f"limits.{name}", value) for name, value in given.items()})


def _size(key: str, given: Any) -> int:
    for unit, factor in UNITS.items():
        if isinstance(given, str) and given.endswith(unit) and given.removesuffix(unit).strip().isdecimal():
            return _count(key, int(given.removesuffix(unit)) * factor, 0, MOST)
    return _count(key, given, 0, MOST)


def _streams(given: Any, folder: Path) -> dict[str, StreamSpec]:
    if not isinstance(given, Mapping):
        raise BadServerConfig(f"streams is a mapping from names to streams, not {given!r}.")
    found = {}
    for name, spec in given.items():
        try:
            found[check_name(name)] = spec if isinstance(spec, StreamSpec) else StreamSpec.of(_with_words(spec, folder))
        except (ValueError, TypeError, AttributeError) as error:
            raise BadServerConfig(f"streams.{name}: {error}") from None
    return found


def _with_words(spec: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """A stream whose words model is in a file that is named, with what is in the file."""
    words = spec.get("words")
    return {**spec, "words": Words.load(folder / words).plain} if isinstance(words, str) else spec


def _origins(given: Any) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list | tuple) or not all(_is_origin(each) for each in listed):
        raise BadServerConfig(f"origins is a list of web sites such as https://example.org, not {given!r}.")
    return tuple(listed)


def _is_address(given: str) -> bool:
    return given.startswith(("http://", "https://")) and not set(given) & set("?#@ ")


def _is_origin(given: Any) -> bool:
    if not isinstance(given, str):
        return False
    scheme, _, host = given.partition("://")
    return scheme in ("http", "https") and bool(host) and not set(host) & set("/?#@* ")


def _pipelines(given: Any, folder: Path) -> dict[str, Path]:
    if not isinstance(given, Mapping):
        raise BadServerConfig(f"pipelines is a mapping from names to state folders or configurations, not {given!r}.")
    return {str(name): folder / _text(f"pipelines.{name}", place) for name, place in given.items()}


def _brokers(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping) or not all(_is_place(address) for address in given.values()):
        raise BadServerConfig(
            "brokers is a mapping from the names of brokers to the addresses of their metrics, such as "
            f"{{a: 'http://127.0.0.1:9464/metrics'}}, not {given!r}."
        )
    return {str(name): address for name, address in given.items()}


def _is_place(given: Any) -> bool:
    return isinstance(given, str) and given.startswith(("http://", "https://")) and not set(given) & set("@ ")


def _seconds(key: str, given: Any) -> float:
    if isinstance(given, str):
        try:
            given = parse_with_unit(given) / 1e6
        except ValueError:
            given = None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 86_400:
        raise BadServerConfig(f"{key} is a time such as 15s or 500ms.")
    return float(given)


def _text(key: str, given: Any) -> str:
    if not isinstance(given, str | Path) or not str(given):
        raise BadServerConfig(f"{key} must be a text, not {given!r}.")
    return str(given)


def _count(key: str, given: Any, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise BadServerConfig(f"{key} is an integer from {least} to {most}, not {given!r}.")
    return given


def _known(what: str, given: Mapping[Any, Any], names: tuple[str, ...]) -> None:
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f" Did you mean {near[0]}?" if near else f" The keys are {', '.join(names)}."
            raise BadServerConfig(f"{what} has no key {name!r}.{hint}")
