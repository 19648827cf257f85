"""Which engines there are: found in the rooms of the families, never listed."""

import importlib
import pkgutil
from typing import Any, TypeVar

from skyband.contract.engine import Engine
from skyband.contract.family import FAMILIES, PARTS, rooms
from skyband.table import shorten

AnyEngine = Engine[Any, Any]
EngineT = TypeVar("EngineT", bound=type[AnyEngine])

DEFAULT = "default"
"""In place of the name of an engine: the one that its family has by default."""

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
        package = importlib.import_module(room)
        for module in pkgutil.iter_modules(package.__path__):
            # Parts of a family hold no engines, and tests alone can import some of them.
            if module.name not in PARTS:
                importlib.import_module(f"{room}.{module.name}")
    return [_ENGINES[key] for key in sorted(_ENGINES)]


def _refuse_other_than_text(**names: object) -> None:
    for name, given in names.items():
        if not isinstance(given, str):
            raise ValueError(f"{name} is a name, not {shorten(given)}.")


def find_engine(family: str, name: str) -> type[AnyEngine]:
    """The engine of a family by its name, or its default; a ValueError lists the names there are."""
    _refuse_other_than_text(family=family, engine=name)
    here = {engine.name: engine for engine in engines() if engine.family == family}
    if not here:
        families = sorted({engine.family for engine in engines()})
        raise ValueError(f"There is no family {family!r}; there are {', '.join(families)}.")
    if name == DEFAULT:
        name = FAMILIES[family].default_engine
    if name not in here:
        raise ValueError(f"The family {family} has no engine {name!r}; it has {', '.join(here)}.")
    return here[name]
