"""What a stream is: its family, the engine that it is opened with, and what lets time pass in it."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import skyband
from skyband.contract import AUTO, AnyEngine
from skyband.contract.family import published_families
from skyband.table import Window
from skyband.table.argument import check_choice, no_option
from skyband.table.reject import shorten
from skyband.table.settings import WindowLike
from skyband.table.words import Words

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
Ticking = Literal["publications", "wall"]


class StreamSpec(NamedTuple):
    """How the engine of a stream is opened, in terms of JSON, which the log keeps.

    `words` are the counts of a words model, by which texts are weighed; a model never changes. Time passes as
    publications say, or also with the wall clock of the server.
    """

    family: str
    engine: str = AUTO
    window: Any = None
    bounds: Any = None
    granularity: str = "batch"
    options: Mapping[str, Any] = MappingProxyType({})
    clock: Ticking = "publications"
    words: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "StreamSpec":
        """The specification that a mapping describes; a ValueError says what is wrong with it."""
        for name in given:
            if name not in cls._fields:
                raise no_option("A stream", str(name), dict.fromkeys(cls._fields))
        if given.get("family") is None:
            raise ValueError(f"family is missing: a stream has one of {', '.join(published_families())}.")
        spec = cls(**{name: value for name, value in given.items() if value is not None})
        check_choice("family", spec.family, published_families())
        check_choice("clock", spec.clock, Ticking)
        options: object = spec.options
        if not isinstance(options, Mapping) or {"on_error", *cls._fields} & set(options):
            raise ValueError(f"options is a mapping of what the engine alone is told, not {shorten(spec.options)}.")
        if spec.words is not None:
            spec = spec._replace(words=read_words(spec.words).plain)
        spec.open().close()
        return spec

    def open(self) -> AnyEngine:
        """A new engine of this kind."""
        given = dict(self.options) | {"window": read_window(self.window), "granularity": self.granularity}
        given["bounds"] = tuple(self.bounds) if isinstance(self.bounds, list) else self.bounds
        given["words"] = None if self.words is None else read_words(self.words)
        opened: AnyEngine = skyband.open(self.family, self.engine, **given)
        return opened

    def plain(self) -> dict[str, Any]:
        """The mapping that `of` reads."""
        return self._asdict() | {"options": dict(self.options)}

    def told(self) -> dict[str, Any]:
        """The same for those who ask, with what words were counted, and not all counts."""
        words = None if self.words is None else read_words(self.words)
        known = words and {"documents": words.documents, "words": len(words.frequencies), "counts": words.version}
        return self.plain() | {"words": known}


def read_words(given: Any) -> Words:
    """A words model as JSON has it: what `Words.save` writes, or texts that it is counted from."""
    if isinstance(given, Mapping) and set(given) == {"texts"}:
        return Words.fit_texts(given["texts"])
    if not isinstance(given, Mapping):
        raise ValueError(f'words is a words model, or {{"texts": [...]}} to count one from, not {shorten(given)}.')
    return Words.of(given)


def read_window(given: Any) -> WindowLike:
    """A window as JSON has it: a duration such as "10m", {"count": n}, or null."""
    if isinstance(given, Mapping) and set(given) == {"count"}:
        return Window.count(given["count"])
    if given is None or given == "none":
        return None
    if not isinstance(given, str):
        raise ValueError(f'window is a duration such as "10m", {{"count": 1000}} or null, not {shorten(given)}.')
    return Window.of(given)


def check_name(name: str) -> str:
    """A name of a stream or a tenant, which is part of addresses and of folders."""
    given: object = name
    if not isinstance(given, str) or NAME.fullmatch(given) is None:
        raise ValueError(
            f"A name has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or a digit, "
            f"unlike {shorten(name)}."
        )
    return name
