"""Values of a chart file, read one by one: each that is wrong is named, with what would be right."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from skyband.table.duration import parse_with_unit

LOOPBACK = ("127.0.0.1", "::1", "localhost")
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
MOST_PORT = 65_535


class BadChart(ValueError):
    """A chart that no network can have, with the reason in one sentence."""


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK or (self.host.startswith("127.") and self.host.replace(".", "").isdecimal())


def read_address(key: str, given: Any) -> Address:
    """An address written as host:port, an IPv6 one as [host]:port."""
    host, _, port = str(given).rpartition(":")
    is_whole = isinstance(given, str) and host and port.isascii() and port.isdecimal() and int(port) <= MOST_PORT
    if not is_whole or (":" in host) != (host.startswith("[") and host.endswith("]")):
        raise BadChart(f"{key} is an address such as berlin.example.org:7400 or [::1]:7400, not {given!r}.")
    return Address(host.strip("[]"), int(port))


def read_time(key: str, given: Any, least: int = 1) -> int:
    """A time such as 10m in microseconds."""
    try:
        found = parse_with_unit(given) if isinstance(given, str) else 0
    except ValueError:
        found = 0
    if found < least:
        raise BadChart(f"{key} is a time such as 500ms, 1s or 10m, of at least {least} microseconds, not {given!r}.")
    return found


def read_count(key: str, given: Any, least: int, most: int) -> int:
    """An integer between two others."""
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise BadChart(f"{key} is an integer from {least} to {most}, not {given!r}.")
    return given


def read_size(key: str, given: Any, least: int, most: int) -> int:
    """A number of bytes such as 4MiB."""
    for unit, factor in UNITS.items():
        if isinstance(given, str) and given.endswith(unit) and given.removesuffix(unit).strip().isdecimal():
            return read_count(key, int(given.removesuffix(unit)) * factor, least, most)
    return read_count(key, given, least, most)


def read_number(key: str, given: Any) -> float:
    """A finite number."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not -1e300 < given < 1e300:
        raise BadChart(f"{key} is a number, not {given!r}.")
    return float(given)


def read_text(key: str, given: Any) -> str:
    """A text that is not empty."""
    if not isinstance(given, str) or not given:
        raise BadChart(f"{key} must be a text, not {given!r}.")
    return given


def read_choice(key: str, given: Any, choices: Iterable[str]) -> str:
    """One of several words."""
    choices = tuple(choices)
    if not isinstance(given, str) or given not in choices:
        near = difflib.get_close_matches(str(given), choices, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise BadChart(f"{key} is one of {', '.join(choices)}, not {given!r}.{hint}")
    return given


def read_flag(key: str, given: Any) -> bool:
    """True or false."""
    if not isinstance(given, bool):
        raise BadChart(f"{key} is true or false, not {given!r}.")
    return given


def read_mapping(key: str, given: Any, names: Iterable[str] | None = None) -> dict[str, Any]:
    """A mapping, of which no key is unknown; what is null is left out."""
    if not isinstance(given, Mapping):
        raise BadChart(f"{key} is a mapping, not {given!r}.")
    listed = None if names is None else tuple(names)
    for name in given:
        if not isinstance(name, str) or (listed is not None and name not in listed):
            near = difflib.get_close_matches(str(name), listed or (), 1)
            hint = f" Did you mean {near[0]}?" if near else f" The keys are {', '.join(listed or ())}."
            raise BadChart(f"{key} has no key {name!r}.{hint}")
    return {name: value for name, value in given.items() if value is not None}
