"""Which engines there are: found in the rooms of the families, never listed."""

import importlib
import pkgutil
from typing import Any, TypeVar

from skyband.contract.engine import Engine
from skyband.contract.family import FAMILIES, PARTS, rooms
from skyband.table import shorten

AnyEngine = Engine[Any, Any]
EngineT = TypeVar("EngineT", bound=type[AnyEngine])

AUTO = "auto"
"""The engine that suits itself to what it is asked, and is taken when none is named."""

FIRST = "scan"
"""What is taken in its place where a family has no such engine: brute force."""

_ENGINES: dict[tuple[str, str], type[AnyEngine]] = {}


def register(engine: EngineT) -> EngineT:
    """Make an engine known under its family and name."""
    key = (engine.family, engine.name)
    if _ENGINES.get(key, engine) is not engine:
        raise ValueError(f"There is an engine {key[1]} for {key[0]} already.")
    _ENGINES[key] = engine
    return engine


def engines() -> list[type[AnyEngine]]:
    """All engines, by family and name."""
    for room in rooms():
        _look_into(room)
    return [_ENGINES[key] for key in sorted(_ENGINES)]


def _look_into(room: str) -> None:
    """Import the engines of a room."""
    package = importlib.import_module(room)
    for module in pkgutil.iter_modules(package.__path__):
        # Parts of a family hold no engines, and tests alone can import some of them.
        if module.name not in PARTS:
            importlib.import_module(f"{room}.{module.name}")


def _refuse_other_than_text(**names: object) -> None:
    for name, given in names.items():
        if not isinstance(given, str):
            raise ValueError(f"{name} is a name, not {shorten(given)}.")


def find_engine(family: str, name: str) -> type[AnyEngine]:
    """The engine of a family by its name; a ValueError lists the names there are.

    A family that has no `auto` yet is answered with its first engine.
    """
    _refuse_other_than_text(family=family, engine=name)
    if family in FAMILIES:
        _look_into(FAMILIES[family].room)
    here = {name: engine for (its, name), engine in sorted(_ENGINES.items()) if its == family}
    if not here:
        families = sorted({engine.family for engine in engines()})
        raise ValueError(f"There is no family {family!r}; there are {', '.join(families)}.")
    if name == AUTO and name not in here:
        name = FIRST
    if name not in here:
        raise ValueError(f"The family {family} has no engine {name!r}; it has {', '.join(here)}.")
    return here[name]
