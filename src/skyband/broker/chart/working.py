"""The part of a chart that brokers have to agree on: links, strategy, family, times and zones."""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skyband.broker.chart.field import (
    BadChart,
    read_choice,
    read_count,
    read_flag,
    read_mapping,
    read_number,
    read_text,
    read_time,
)
from skyband.broker.chart.network_chart import digest_of
from skyband.contract import FAMILIES
from skyband.contract.family import Family, names_where
from skyband.overlay.broker.broker import Broker
from skyband.overlay.broker.chart import Chart
from skyband.overlay.broker.options import BrokerOptions
from skyband.overlay.broker.zone_map import ZoneMap
from skyband.overlay.strategy import STRATEGIES, strategy_named
from skyband.table import Settings
from skyband.table.words import Words

Reader = Callable[[str, Any], Any]
LinkNames = tuple[tuple[str, str], ...]
MOST = 10**9
SAMPLED_PER_BROKER = 64
ENGINES = {"window": "skyband"}
"""The engines of homes, where the chart names none."""
ZONED = ("zone-leases", "rendezvous")


def _duration(key: str, given: Any) -> int:
    return read_time(key, given)


def _count(key: str, given: Any) -> int:
    return read_count(key, given, 1, MOST)


def _choice(*choices: str) -> Reader:
    return lambda key, given: read_choice(key, given, choices)


PLAIN_KEYS: dict[str, Reader] = {
    "engine": read_text,
    "mode": _choice("watermark", "eager"),
    "tick": lambda key, given: read_time(key, given, 10_000),
    "beat": lambda key, given: read_time(key, given, 1_000),
    "credit": _count,
    "horizon": _duration,
    "grace": _duration,
    "checkpoint": _count,
}
"""Keys of the chart that are options of a broker by the same name."""

STRATEGY_KEYS: dict[str, Reader] = {
    "gates": _choice("staircase", "chance", "recent", "kth"),
    "updates": _choice("every", "cells"),
    "cells": _count,
    "sigma": read_number,
    "recent": _duration,
    "patience": _count,
    "covering": read_flag,
    "inform": _choice("nobody", "neighbours"),
    "fan_out": _count,
    "rounds": _count,
    "seed": lambda key, given: read_count(key, given, 0, MOST),
}
"""Keys of `options` in the chart."""

AGREED_KEYS = ("links", "ways", "strategy", "options", "family", "dims", "bounds", "words", "zones", *PLAIN_KEYS)


def read_links(given: Any, names: tuple[str, ...]) -> LinkNames:
    """The links by the names of their ends; without any, each broker is linked with the first."""
    if given is None:
        return tuple((names[0], name) for name in names[1:])
    if not isinstance(given, list):
        raise BadChart(f"links is a list of pairs such as [berlin, oslo], not {given!r}.")
    return tuple(_link(each, names) for each in given)


def _link(given: Any, names: tuple[str, ...]) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2:
        raise BadChart(f"links is a list of pairs such as [berlin, oslo], and has {given!r}.")
    a, b = (read_choice("An end of a link", each, names) for each in given)
    return a, b


def agreed_of(
    version: int, names: tuple[str, ...], links: LinkNames, given: Mapping[str, Any], frame: int, folder: Path
) -> dict[str, Any]:
    """All that brokers have to agree on, as plain values."""
    agreed = {key: given[key] for key in AGREED_KEYS if key in given and key not in ("links", "words")}
    agreed["ways"] = read_choice("ways", given.get("ways", "direct"), ("direct", "links"))
    if "words" in given:
        agreed["words"] = _read_words(given["words"], folder).version
    return agreed | {"version": version, "brokers": list(names), "links": sorted(map(sorted, links)), "frame": frame}


def read_options(
    names: tuple[str, ...], links: LinkNames, given: Mapping[str, Any], agreed: Mapping[str, Any], folder: Path
) -> BrokerOptions:
    """The options of the brokers, which have been tried on one of them."""
    found: dict[str, Any] = {key: read(key, given[key]) for key, read in PLAIN_KEYS.items() if key in given}
    more = read_mapping("options", given.get("options", {}), STRATEGY_KEYS)
    found |= {key: STRATEGY_KEYS[key](f"options.{key}", value) for key, value in more.items()}
    found["strategy"] = read_choice("strategy", given["strategy"], STRATEGIES)
    routed = names_where(lambda family: family.routing is not None)
    family = FAMILIES[read_choice("family", given.get("family", "window"), routed)]
    found.setdefault("engine", ENGINES.get(family.name, "scan"))
    found |= {"family": family.name, "settings": _settings(family, given, folder)}
    if "mode" not in found:
        found["mode"] = "watermark" if strategy_named(found["strategy"]).waits else "eager"
    found["zones"] = _zones(given.get("zones"), len(names), found["strategy"], found["settings"].dims or 2)
    try:
        numbered = [(names.index(a), names.index(b)) for a, b in links]
        options = BrokerOptions(chart=Chart(len(names), numbered, digest_of(agreed)), **found)
        Broker(0, options)
        # The engine of a home is opened when the first subscription comes, which is too late to be told that it cannot.
        assert Broker(0, options).home.engine is not None
    except ValueError as error:
        raise BadChart(str(error)) from None
    return options


def _settings(family: Family, given: Mapping[str, Any], folder: Path) -> Settings:
    for key, has in (("dims", family.has_dims), ("bounds", family.has_bounds), ("words", family.has_words)):
        if key in given and not has:
            raise BadChart(f"{key} is nothing that the family {family.name} has: leave it out.")
    dims = None
    if family.has_dims:
        if "dims" not in given:
            raise BadChart("dims is missing: say how many coordinates points have, the same at all brokers.")
        dims = read_count("dims", given["dims"], 1, 1000)
    words = _read_words(given["words"], folder) if "words" in given else None
    try:
        return Settings(dims=dims, bounds=given.get("bounds"), words=words)
    except ValueError as error:
        raise BadChart(f"bounds: {error}") from None


def _read_words(given: Any, folder: Path) -> Words:
    try:
        return Words.load(folder / read_text("words", given))
    except ValueError as error:
        raise BadChart(f"words: {error}") from None


def _zones(given: Any, n_brokers: int, strategy: str, n_dims: int) -> ZoneMap | None:
    if given is None:
        if strategy in ZONED:
            raise BadChart(
                f"zones is missing, and {strategy} has a zone of the space for each broker: give the low and the high "
                "corner of the space, or a sample of places."
            )
        return None
    fields = read_mapping("zones", given, ("low", "high", "sample"))
    try:
        sample = np.array(_sample(fields, n_brokers, n_dims), np.float64)
        return ZoneMap(sample, n_brokers)
    except BadChart:
        raise
    except ValueError as error:
        raise BadChart(f"zones: {error}") from None


def _sample(fields: Mapping[str, Any], n_brokers: int, n_dims: int) -> list[list[float]]:
    if "sample" in fields:
        if not isinstance(fields["sample"], list) or len(fields["sample"]) < n_brokers:
            raise BadChart(f"zones.sample is a list of at least {n_brokers} places.")
        return [_corner("zones.sample", each, n_dims) for each in fields["sample"]]
    if not fields.keys() >= {"low", "high"}:
        raise BadChart("zones has low and high, the corners of the space, or a sample of places.")
    low, high = (_corner(f"zones.{key}", fields[key], n_dims) for key in ("low", "high"))
    if any(a >= b for a, b in zip(low, high, strict=True)):
        raise BadChart("zones.low is below zones.high in every coordinate.")
    # The very same everywhere: this generator is part of the language.
    chance = random.Random(0)
    n = SAMPLED_PER_BROKER * n_brokers
    return [[a + (b - a) * chance.random() for a, b in zip(low, high, strict=True)] for _ in range(n)]


def _corner(key: str, given: Any, n_dims: int) -> list[float]:
    if not isinstance(given, list) or len(given) != n_dims:
        raise BadChart(f"{key} is a place of {n_dims} coordinates, not {given!r}.")
    return [read_number(key, each) for each in given]
