"""Opening the engines of a benchmark, with options that whoever runs it gives to all that have them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import skyband
from skyband.contract import AnyEngine, engines, find_engine
from skyband.contract.option import options_of, read_options


class EngineOptions(NamedTuple):
    """Options by name, their values as text, and which of them an engine was opened with."""

    texts: Mapping[str, str]
    taken: set[str]

    @property
    def untaken(self) -> list[str]:
        """Those that no engine was opened with."""
        return [name for name in self.texts if name not in self.taken]


_GIVEN: ContextVar[EngineOptions] = ContextVar("given")


@contextmanager
def giving(texts: Mapping[str, str]) -> Iterator[EngineOptions]:
    """Open the engines of a benchmark with these options too; one that no engine has raises a ValueError."""
    known = sorted({name for kind in engines() for name in options_of(kind)})
    for name in texts:
        if name not in known:
            raise ValueError(f"None of the engines has an option {name!r}; their options are {', '.join(known)}.")
    given = EngineOptions(dict(texts), set())
    token = _GIVEN.set(given)
    try:
        yield given
    finally:
        _GIVEN.reset(token)


def given_options() -> dict[str, str]:
    """The options that the benchmark that runs now was given, as text."""
    return dict(_given().texts)


def open_engine(family: str, engine: str, **own: Any) -> AnyEngine:
    """An empty engine; what a benchmark itself gives is measured as it says, whatever else is given.

    It has one thread, if the benchmark does not say otherwise: then figures are those of a core.
    """
    kind, given = find_engine(family, engine), _given()
    known = options_of(kind)
    more = {name: text for name, text in given.texts.items() if name in known and name not in own}
    given.taken.update(more)
    return skyband.open(family, engine, **{"threads": 1} | own, **read_options(kind, more))


def _given() -> EngineOptions:
    return _GIVEN.get(EngineOptions({}, set()))
