"""Values of a body, checked one by one: a peer may send anything, and the core of a broker trusts what it is given."""

import math
from itertools import pairwise
from typing import Any

from skyband.broker.wire.header import BadFrame
from skyband.contract.tops import Id
from skyband.overlay.broker.frame import COLUMNS, Steps

LEAST, MOST = -(1 << 63), (1 << 63) - 1
MOST_ROUNDS = 1 << 16
MOST_STEPS = 100_000


def whole(given: Any, least: int = LEAST, most: int = MOST) -> int:
    """An integer between two others."""
    if type(given) is not int or not least <= given <= most:
        raise BadFrame(f"A number from {least} to {most} was expected, not {shown(given)}.")
    return given


def maybe_whole(given: Any, least: int = LEAST, most: int = MOST) -> int | None:
    """The same, or nothing."""
    return None if given is None else whole(given, least, most)


def id_of(given: Any) -> Id:
    """An id: an integer or a text."""
    return given if isinstance(given, str) else whole(given)


def met_of(given: Any) -> int | tuple[tuple[Id, int], ...] | None:
    """How many requests are met, or the versions of subscriptions that are, or neither."""
    if not isinstance(given, list):
        return maybe_whole(given)
    return tuple((id_of(id), whole(version)) for id, version in given)


def row_of(given: Any) -> dict[str, Any]:
    """A row, by the names of its columns."""
    if not isinstance(given, dict):
        raise BadFrame(f"A row was expected, not {shown(given)}.")
    return given


def column_named(given: Any) -> str:
    """What a frame is counted under."""
    if not isinstance(given, str) or given not in COLUMNS:
        raise BadFrame(f"A frame is counted under {', '.join(COLUMNS)}, not {shown(given)}.")
    return given


def flag(given: Any) -> bool:
    """True or false."""
    if not isinstance(given, bool):
        raise BadFrame(f"True or false was expected, not {shown(given)}.")
    return given


def steps_of(given: Any) -> Steps:
    """The steps of a staircase: times that rise, and gates, which may be infinite."""
    if not isinstance(given, list) or not 0 < len(given) <= MOST_STEPS:
        raise BadFrame(f"A staircase of 1 to {MOST_STEPS} steps was expected, not {shown(given)}.")
    steps = tuple((whole(at), _gate(gate)) for at, gate in given)
    if any(later[0] < earlier[0] for earlier, later in pairwise(steps)):
        raise BadFrame("The steps of a staircase are not in the order of their times.")
    return steps


def _gate(given: Any) -> float:
    if not isinstance(given, float) or math.isnan(given):
        raise BadFrame(f"A gate was expected, not {shown(given)}.")
    return given


def shown(given: Any) -> str:
    """A value as an error shows it."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."
