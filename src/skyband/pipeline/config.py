"""What a pipeline is to do: one declarative configuration, in YAML or Python, checked before anything runs.

Nothing here needs Spark. A wrong key or value raises `BadConfiguration` with a sentence that names it.
"""

import datetime
import difflib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from skyband.contract import AUTO, Granularity, find_engine
from skyband.contract.family import FAMILIES, published_families
from skyband.pipeline.state.place import place_name
from skyband.table import UNBOUNDED, Bounds, Settings, Window, WindowKind
from skyband.table.argument import check_choice
from skyband.table.duration import microseconds, parse_with_unit
from skyband.table.words import Words

IDS = ("text", "integers")
MOST_ZONES = 1024
PATHS = ("path", "token_file", "authority", "certificate")
"""Options of endpoints that are paths; relative ones begin at the folder of the configuration."""


class BadConfiguration(ValueError):
    """A configuration that no pipeline can have, with the reason in one sentence."""


class Endpoint(NamedTuple):
    """Where rows come from or go to: the name of a format, and the options that it takes."""

    format: str
    options: dict[str, Any]

    def describe(self) -> str:
        """The endpoint in a few words, for people; what may be secret is left out."""
        told = [str(self.options[name]) for name in ("path", "topic", "table", "address") if name in self.options]
        return " ".join([self.format, *told])

    def place(self) -> str:
        """A name for where the endpoint leads, another one for any other place; no secret is part of it."""
        return place_name(self.format, self.options)


class Ids(NamedTuple):
    """Whether ids are text or integers, by what they name."""

    publications: str = "text"
    subscriptions: str = "text"
    objects: str = "text"


class Config(NamedTuple):
    """Everything a pipeline is told.

    `zones` says among how many engines the subscriptions are divided. `batch` is how many rows a micro-batch takes from
    each source at most, where a file is never split, and `trigger` how long to wait between micro-batches, in seconds.
    `options` go to the engine, `spark` to Spark.
    """

    family: str
    publications: Endpoint
    subscriptions: Endpoint
    state: Path
    changes: tuple[Endpoint, ...] = ()
    tops: tuple[Endpoint, ...] = ()
    engine: str = AUTO
    options: Mapping[str, Any] = MappingProxyType({})
    window: Window = UNBOUNDED
    bounds: Bounds = Bounds(0, 0, 1, 1)
    words: Path | None = None
    dims: int | None = None
    ids: Ids = Ids()
    granularity: Granularity = "batch"
    zones: int = 1
    zoning: Path | None = None
    batch: int = 10_000
    trigger: float = 1.0
    master: str = "local[*]"
    spark: Mapping[str, str] = MappingProxyType({})

    def settings(self) -> Settings:
        """What rows are read against; a file of words that cannot be read is an error."""
        words = None
        if self.words is not None:
            try:
                words = Words.load(self.words)
            except (OSError, ValueError) as error:
                raise BadConfiguration(f"words: {self.words} cannot be read: {error}.") from None
        return Settings(self.dims, self.window, self.bounds, words)

    def shape(self) -> dict[str, Any]:
        """What the state depends on: a state folder fits this configuration if it was begun with the same."""
        words = None if self.words is None else self.words.read_text(encoding="utf-8")
        return {
            "family": self.family,
            "engine": self.engine,
            "options": dict(sorted(self.options.items())),
            "window": [int(self.window.kind), self.window.size],
            "bounds": self.bounds.plain,
            "words": words,
            "dims": self.dims,
            "ids": list(self.ids),
            "granularity": self.granularity,
            "zones": self.zones,
        }


def load_config(path: str | Path) -> Config:
    """The configuration in a YAML file; relative paths in it begin at the folder of the file."""
    import yaml

    path = Path(path)
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfiguration(f"{path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"{path} is not a YAML file: {' '.join(str(error).split())}.") from None
    if not isinstance(document, Mapping):
        raise BadConfiguration(f"{path} must hold a mapping with keys such as family, publications and subscriptions.")
    try:
        return make_config(document, path.parent)
    except BadConfiguration as error:
        raise BadConfiguration(f"{path}: {error}") from None


def make_config(document: Mapping[str, Any], folder: str | Path = ".") -> Config:
    """The configuration that a mapping describes; relative paths in it begin at the folder."""
    # Executors run in other folders than the driver.
    folder = Path(folder).absolute()
    _known("The configuration", document, Config._fields)
    for key in ("family", "publications", "subscriptions", "state"):
        if document.get(key) is None:
            raise BadConfiguration(f"{key} is missing.")
    given = {key: value for key, value in document.items() if value is not None}
    config = Config(
        **{
            **given,
            "family": _family(given["family"]),
            "engine": given.get("engine", AUTO),
            "publications": _endpoint("publications", given["publications"], folder),
            "subscriptions": _endpoint("subscriptions", given["subscriptions"], folder),
            "state": folder / _text("state", given["state"]),
            "changes": _endpoints("changes", given.get("changes", []), folder),
            "tops": _endpoints("tops", given.get("tops", []), folder),
            "options": _mapping("options", given.get("options", {})),
            "window": _window(given.get("window", "none")),
            "bounds": _bounds(given.get("bounds", Bounds(0, 0, 1, 1))),
            "words": None if "words" not in given else folder / _text("words", given["words"]),
            "zoning": None if "zoning" not in given else folder / _text("zoning", given["zoning"]),
            "ids": _ids(given.get("ids", {})),
            "trigger": _seconds(given.get("trigger", 1.0)),
            "spark": {str(name): _plain(value) for name, value in _mapping("spark", given.get("spark", {})).items()},
        }
    )
    check_config(config)
    return config


def check_config(config: Config) -> None:
    """Raise `BadConfiguration` for values that do not fit one another, or that no pipeline can have."""
    _family(config.family)
    try:
        find_engine(config.family, config.engine)
    except ValueError as error:
        raise BadConfiguration(f"engine: {error}") from None
    _count("zones", config.zones, MOST_ZONES)
    _count("batch", config.batch, 10_000_000)
    _one_of("granularity", config.granularity, Granularity)
    family = FAMILIES[config.family]
    if family.has_dims:
        if config.dims is None:
            raise BadConfiguration(f"dims is missing: say how many dimensions the vectors of {config.family} have.")
        _count("dims", config.dims, 1_000_000)
    elif config.dims is not None:
        raise BadConfiguration(f"The family {config.family} has no dims: leave the key out.")
    if config.window.kind != WindowKind.UNBOUNDED and not family.has_windows:
        raise BadConfiguration(f"The family {config.family} has no windows: leave the key out.")
    if config.words is not None and not family.has_words:
        raise BadConfiguration(f"The family {config.family} has no words: leave the key out.")
    if config.tops and not family.answers_stand:
        raise BadConfiguration(
            f"{config.family.capitalize()} subscriptions have no standing answer, so there are no tops to deliver."
        )
    for key, endpoints in (("changes", config.changes), ("tops", config.tops)):
        _check_places(key, endpoints)
    if "on_error" in config.options or "granularity" in config.options:
        raise BadConfiguration("options: on_error and granularity are not options of the engine here.")


def _check_places(key: str, endpoints: tuple[Endpoint, ...]) -> None:
    places = [endpoint.place() for endpoint in endpoints]
    for number, endpoint in enumerate(endpoints):
        if places[number] in places[:number]:
            raise BadConfiguration(f"{key}: two sinks lead to the same place ({endpoint.describe()}): give it once.")


def _known(what: str, given: Mapping[Any, Any], names: tuple[str, ...]) -> None:
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f" Did you mean {near[0]}?" if near else f" The keys are {', '.join(names)}."
            raise BadConfiguration(f"{what} has no key {name!r}.{hint}")


def _family(given: Any) -> str:
    _one_of("family", given, published_families())
    return str(given)


def _one_of(key: str, given: Any, choices: Any) -> None:
    try:
        check_choice(key, given, choices)
    except ValueError as error:
        raise BadConfiguration(str(error)) from None


def _endpoint(key: str, given: Any, folder: Path) -> Endpoint:
    if isinstance(given, Endpoint):
        return given
    if not isinstance(given, Mapping) or not isinstance(given.get("format"), str):
        raise BadConfiguration(
            f"{key} is a mapping with a format and its options, such as {{format: ndjson, path: in}}."
        )
    options = {str(name): value for name, value in given.items() if name != "format"}
    for name in PATHS:
        if name in options:
            options[name] = str(folder / _text(f"{key}.{name}", options[name]))
    return Endpoint(given["format"], options)


def _endpoints(key: str, given: Any, folder: Path) -> tuple[Endpoint, ...]:
    listed = [given] if isinstance(given, Mapping | Endpoint) else given
    if not isinstance(listed, list | tuple):
        raise BadConfiguration(f"{key} is a mapping with a format and its options, or a list of such mappings.")
    return tuple(_endpoint(key, each, folder) for each in listed)


def _text(key: str, given: Any) -> str:
    if not isinstance(given, str | Path) or not str(given):
        raise BadConfiguration(f"{key} must be a path, not {given!r}.")
    return str(given)


def _mapping(key: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise BadConfiguration(f"{key} must be a mapping, not {given!r}.")
    return {str(name): value for name, value in given.items()}


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _window(given: Any) -> Window:
    if isinstance(given, Window):
        return given
    if given == "none":
        return UNBOUNDED
    if isinstance(given, Mapping) and set(given) == {"count"}:
        _count("window.count", given["count"], 2**62)
        return Window.count(given["count"])
    us = _duration(given)
    if us is None or not 0 < us < 2**63:
        raise BadConfiguration(f"window is a time such as 90s, 10m or 2h, or {{count: 1000}}, or none; not {given!r}.")
    return Window.time(us)


def _duration(given: Any) -> int | None:
    try:
        if isinstance(given, datetime.timedelta | np.timedelta64):
            return microseconds(given)
        # A number alone may be meant in another unit.
        return parse_with_unit(given) if isinstance(given, str) else None
    except ValueError:
        return None


def _seconds(given: Any) -> float:
    us = _duration(given)
    if us is not None and us >= 0:
        return us / 1e6
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < 86_400:
        raise BadConfiguration(f"trigger is a time such as 1s or 500ms, not {given!r}.")
    return float(given)


def _bounds(given: Any) -> Bounds:
    try:
        return Bounds.of(given)
    except (TypeError, ValueError) as error:
        message = f"bounds are four numbers, x_min, y_min, x_max and y_max, or geographic: {error}"
        raise BadConfiguration(message) from None


def _ids(given: Any) -> Ids:
    if isinstance(given, str):
        given = dict.fromkeys(Ids._fields, given)
    chosen = given._asdict() if isinstance(given, Ids) else _mapping("ids", given)
    _known("ids", chosen, Ids._fields)
    for noun, kind in chosen.items():
        _one_of(f"ids.{noun}", kind, IDS)
    return Ids(**chosen)


def _count(key: str, given: Any, most: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise BadConfiguration(f"{key} is an integer from 1 to {most}, not {given!r}.")
