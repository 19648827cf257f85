"""Options of sources and sinks: what they say, of which type they are, and whether an endpoint gives them well."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from skyband.pipeline.config import BadConfiguration, Endpoint

_WORDS = {str: "text", int: "an integer from 1 up", dict: "a mapping"}


class Option(NamedTuple):
    """An option of an endpoint: what it says, the type of its value, and whether there is no doing without it."""

    description: str
    kind: type = str
    required: bool = False


def check_options(key: str, endpoint: Endpoint, options: Mapping[str, Option]) -> None:
    """Raise `BadConfiguration` for an option that the format does not have, and one that is missing or wrong.

    `key` is what the configuration calls the endpoint.
    """
    format = endpoint.format
    for name, value in endpoint.options.items():
        if name not in options:
            known = f"its options are {', '.join(options)}" if options else "it has none"
            raise BadConfiguration(f"{key}: the format {format} has no option {name!r}; {known}.")
        kind = options[name].kind
        if not _is_fit(value, kind):
            raise BadConfiguration(f"{key}: the option {name} of {format} must be {_WORDS[kind]}, not {value!r}.")
    for name, option in options.items():
        if option.required and name not in endpoint.options:
            raise BadConfiguration(f"{key}: the format {format} needs the option {name}, {option.description}.")


def _is_fit(value: Any, kind: type) -> bool:
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0
    if kind is str:
        return isinstance(value, str | os.PathLike) and bool(str(value))
    return isinstance(value, kind)
