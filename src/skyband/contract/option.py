"""The options that an engine has of its own: which there are, and their values where they are written as text."""

import inspect
import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from skyband.contract.auto import Auto
from skyband.contract.engine import Engine
from skyband.contract.registry import find_engine
from skyband.table.argument import no_option

# Those that every engine has, which whoever opens one gives by other names.
_OF_ALL = ("granularity", "on_error", "threads")
_FLAGS = {"true": True, "false": False}


def options_of(kind: type[Engine[Any, Any]]) -> dict[str, Any]:
    """The options that an engine can be opened with beside those that all have, in their order, with their types."""
    found = _declared(kind)
    if issubclass(kind, Auto):
        few, many = (_declared(find_engine(kind.family, name)) for name in (kind.few, kind.many))
        found |= {name: hint for name, hint in few.items() if name in many}
    return found


def _declared(kind: type[Engine[Any, Any]]) -> dict[str, Any]:
    """The options that an engine names itself."""
    found: dict[str, Any] = {}
    fixed: set[str] = set()
    for each in kind.__mro__:
        if "__init__" in vars(each) and issubclass(each, Engine):
            init: Any = vars(each)["__init__"]
            hints = get_type_hints(init)
            for given in inspect.signature(init).parameters.values():
                if given.kind is given.KEYWORD_ONLY and given.name not in fixed | found.keys():
                    # One without a default is a part of the engine, given to it by those that inherit from it.
                    if given.default is given.empty or given.name in _OF_ALL:
                        fixed.add(given.name)
                    else:
                        found[given.name] = hints[given.name]
    return found


def read_options(kind: type[Engine[Any, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options by name, of which one that the engine does not have raises a ValueError; text is read as its type says.

    A text that cannot be read so stays as it is: the engine refuses it, and says what may be given.
    """
    known = options_of(kind)
    for name in given:
        if name not in known:
            raise no_option(f"The engine {kind.name} of the family {kind.family}", name, known)
    return {name: read_value(value, known[name]) if isinstance(value, str) else value for name, value in given.items()}


def read_value(text: str, hint: Any) -> Any:
    """A text as a value of a type: numbers, true and false, none, and lists between commas."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if NoneType in inner and text.strip().lower() == "none":
            return None
        return read_value(text, next(kind for kind in inner if kind is not NoneType))
    if origin is Literal:
        return text
    if inner:
        parts = [part.strip() for part in text.split(",")] if text.strip() else []
        return [read_value(part, inner[0]) for part in parts]
    if hint is bool:
        return _FLAGS.get(text.strip().lower(), text)
    return _number(text, hint) if hint in (int, float) else text


def _number(text: str, hint: type) -> int | float | str:
    # Numbers alone: Python also reads 1_000 and digits of other scripts.
    if re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", text):
        return int(text)
    try:
        return text if hint is int else float(text)
    except ValueError:
        return text
