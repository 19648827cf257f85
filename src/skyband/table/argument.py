"""What users give as options: one of some words, a yes or no, an integer or a number in a range, a folder.

Every option is checked here, so that whatever is wrong ends in a ValueError whose sentence names the option, what was
given and what may be given.
"""

import difflib
import math
import numbers
import os
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any, TypeGuard, get_args

import numpy as np

from skyband.table.reject import shorten


def check_choice(name: str, given: object, choices: Any) -> None:
    """Raise unless a word is among the choices, which are a Literal or the words themselves."""
    words = [str(word) for word in get_args(choices) or choices]
    if isinstance(given, str) and given in words:
        return
    near = difflib.get_close_matches(given, words, 1) if isinstance(given, str) else []
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ValueError(f"{name} is {listed(words)}, not {shorten(given)}.{hint}")


def check_choices(name: str, given: object, choices: Any) -> list[str]:
    """Several words, sorted, each of them among the choices."""
    words = [str(word) for word in get_args(choices) or choices]
    if not isinstance(given, list | tuple | Set):
        raise ValueError(f"{name} is a list of words among {', '.join(words)}, not {shorten(given)}.")
    found = list(given)
    for word in found:
        check_choice(f"Each of {name}", word, words)
    return sorted(found)


def check_flag(name: str, given: object) -> bool:
    """A yes or no."""
    if not isinstance(given, bool | np.bool_):
        raise ValueError(f"{name} is True or False, not {shorten(given)}.")
    return bool(given)


def is_data_frame(given: object) -> bool:
    """Whether something is a data frame of pandas or polars, neither of which need be installed."""
    return hasattr(type(given), "columns") and hasattr(type(given), "dtypes")


def is_integer(given: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or numpy, whose durations are a kind of integers too, but not here."""
    return isinstance(given, int | np.integer) and not isinstance(given, bool | np.timedelta64)


def is_number(given: object) -> TypeGuard[float]:
    """Whether a value is a real number of Python or numpy."""
    return isinstance(given, numbers.Real) and not isinstance(given, bool | np.timedelta64)


def check_integer(name: str, given: object, low: int, high: int | None = None) -> int:
    """An integer that is at least `low`, and at most `high` if there is one."""
    if not is_integer(given) or int(given) < low or (high is not None and int(given) > high):
        span = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} is an integer {span}, not {shorten(given)}.")
    return int(given)


def check_integers(name: str, given: object, low: int, high: int) -> tuple[int, ...]:
    """Several integers in a range, in order and once each."""
    try:
        found = None if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) else list(given)
    except TypeError:  # an array without a dimension
        found = None
    if found is None:
        raise ValueError(f"{name} is a list of integers from {low} to {high}, not {shorten(given)}.")
    return tuple(sorted({check_integer(f"Each of {name}", one, low, high) for one in found}))


def check_number(
    name: str, given: object, low: float, high: float, *, above: bool = False, below: bool = False
) -> float:
    """A number from `low` to `high`; above or below means that the end itself is not one."""
    try:
        number = float(given) if is_number(given) else math.nan
    except OverflowError:
        number = math.nan
    fits = (low < number if above else low <= number) and (number < high if below else number <= high)
    if not fits:
        ends = f"from {low:g} to {high:g}"
        if above or below:
            ends = f"{'above' if above else 'of at least'} {low:g} and {'below' if below else 'at most'} {high:g}"
        raise ValueError(f"{name} is a number {ends}, not {shorten(given)}.")
    return number


def check_folder(given: object) -> Path:
    """The path of a folder, which need not exist."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str) or "\0" in text or not is_unicode(text):
        raise ValueError(f"folder is the path of a folder, not {shorten(given)}.")
    return Path(text)


def no_option(whose: str, name: str, known: Iterable[str]) -> ValueError:
    """The error of an option that whoever was given it does not have, with those that there are."""
    words = ", ".join(known)
    return ValueError(f"{whose} has no option {name!r}; {f'its options are {words}' if words else 'it has none'}.")


def is_unicode(text: str) -> bool:
    """Whether a text can be written down; half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(words: list[str]) -> str:
    """Words as a sentence names them: a, b or c."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
