"""Options as dataclass fields that carry their own help, their place in the paper and their bounds."""

import math
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from skyband.table.argument import check_choice


def option(default: object, help: str, paper: str = "", low: float = -math.inf, high: float = math.inf) -> Any:
    """A field with this default whose value, or each of whose values, lies in [low, high]."""
    return field(default=default, metadata={"help": help, "paper": paper, "low": low, "high": high})


@dataclass(frozen=True)
class Seeded:
    """What every workload has; each value is checked against its type and bounds when it is given."""

    seed: int = option(0, "The seed: the same seed and options give the same tables.", low=0)
    ids: Literal["integer", "string"] = option("integer", "The type of the ids.")

    def __post_init__(self) -> None:
        kinds = get_type_hints(type(self))
        for item in fields(self):
            check(item.name, getattr(self, item.name), kinds[item.name], item.metadata)


@dataclass(frozen=True)
class Timed(Seeded):
    """A workload whose publications arrive over time."""

    rate: float = option(1000.0, "Publications per minute.", low=1e-6, high=1e9)
    spacing: Literal["poisson", "regular"] = option("poisson", "Arrivals as a Poisson process, or evenly spaced.")
    start: int = option(0, "The time at which the stream starts, in microseconds.", low=-(2**61), high=2**61)


def check(name: str, value: object, kind: Any, bounds: Any) -> None:
    """Raises ValueError, in one sentence, for a value that is not of its type or not within its bounds."""
    if get_origin(kind) is Literal:
        check_choice(name, value, kind)
        return
    several = get_origin(kind) is tuple
    if several and not isinstance(value, tuple):
        raise ValueError(f"{name} must be several numbers, not {value!r}.")
    for number in value if isinstance(value, tuple) else (value,):
        check_number(name, number, get_args(kind)[0] if several else kind, bounds["low"], bounds["high"])


def check_number(name: str, value: Any, kind: Any, low: float, high: float) -> None:
    """Raises ValueError for what is not a finite number of this kind in [low, high]."""
    if kind is bool or kind is str:
        if not isinstance(value, kind):
            raise ValueError(f"{name} must be {'true or false' if kind is bool else 'text'}, not {value!r}.")
        return
    accepted = int if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise ValueError(f"{name} must be {'an integer' if kind is int else 'a number'}, not {value!r}.")
    if not math.isfinite(value) or value < low:
        raise ValueError(f"{name} must be {'finite' if low == -math.inf else f'at least {low}'}, not {value}.")
    if value > high:
        raise ValueError(f"{name} must be at most {high}, not {value}.")
