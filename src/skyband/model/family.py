"""The five families of subscriptions, by name."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.model import covering, geotext, ranges, ranked, window
from skyband.model.settings import UNBOUNDED, Bounds, Settings, Window, WordModel
from skyband.model.sieve import Parsed

Parse = Callable[[pa.Table, Settings], Parsed[Any]]


class Family(NamedTuple):
    """One family: its canonical columns, and how its tables are parsed. Covering has no publications."""

    name: str
    publications: pa.Schema | None
    subscriptions: pa.Schema
    parse_publications: Parse | None
    parse_subscriptions: Parse


FAMILIES: dict[str, Family] = {
    "window": Family(
        "window",
        window.PUBLICATIONS,
        window.SUBSCRIPTIONS,
        window.parse_publications,
        window.parse_subscriptions,
    ),
    "geotext": Family(
        "geotext",
        geotext.PUBLICATIONS,
        geotext.SUBSCRIPTIONS,
        geotext.parse_publications,
        geotext.parse_subscriptions,
    ),
    "ranges": Family(
        "ranges",
        ranges.PUBLICATIONS,
        ranges.SUBSCRIPTIONS,
        ranges.parse_publications,
        ranges.parse_subscriptions,
    ),
    "ranked": Family(
        "ranked",
        ranked.PUBLICATIONS,
        ranked.SUBSCRIPTIONS,
        ranked.parse_publications,
        ranked.parse_subscriptions,
    ),
    "covering": Family("covering", None, covering.SUBSCRIPTIONS, None, covering.parse_subscriptions),
}

# Columns that publications and subscriptions of a family cannot do without, and that tell it from the others.
_SIGNS: dict[str, tuple[set[str], set[str]]] = {
    "window": ({"point"}, {"score"}),
    "geotext": ({"x", "y"}, {"x", "y", "alpha"}),
    "ranges": ({"object", "x", "y"}, {"k", "lo", "hi"}),
    "ranked": ({"point"}, {"lo", "hi"}),
    "covering": ({"lo", "hi"}, {"lo", "hi"}),
}

# Which of the settings each family uses.
_USES: dict[str, set[str]] = {
    "window": {"window"},
    "geotext": {"window", "bounds", "words"},
    "ranges": set(),
    "ranked": set(),
    "covering": set(),
}


def check_settings(family: str, window: Window | None, bounds: Bounds | None, words: WordModel | None) -> None:
    """Raise a ValueError for what the family would not use, rather than leave it unused in silence."""
    if window not in (None, UNBOUNDED) and "window" not in _USES[family]:
        raise ValueError(f"The family {family} has no windows: leave the default window out.")
    if (bounds is not None or words is not None) and not {"bounds", "words"} <= _USES[family]:
        raise ValueError(f"The family {family} has no bounds and no words: leave them out.")


def infer_family(publication_columns: Collection[str], subscription_columns: Collection[str]) -> str:
    """The family that two tables belong to, from their columns, which are empty where there is no such table.

    Boxes without publications are covering subscriptions.
    """
    published, subscribed = set(publication_columns), set(subscription_columns)
    if not published and {"lo", "hi"} <= subscribed and "score" not in subscribed:
        return "covering"
    fits = [name for name in FAMILIES if _fits(name, published, subscribed)]
    if "ranges" in fits and "geotext" in fits:
        fits.remove("geotext")
    if len(fits) == 1:
        return fits[0]
    raise ValueError(_no_family(fits, published, subscribed))


def _fits(name: str, published: set[str], subscribed: set[str]) -> bool:
    needed = zip(_SIGNS[name], (published, subscribed), strict=True)
    return any((published, subscribed)) and all(signs <= found for signs, found in needed if found)


def _no_family(fits: list[str], published: set[str], subscribed: set[str]) -> str:
    verdict = f"fit {' and '.join(fits)} alike" if fits else "fit no family"
    return (
        f"The columns {verdict}; name the family (publications have {_listed(published)}; "
        f"subscriptions have {_listed(subscribed)})."
    )


def _listed(columns: set[str]) -> str:
    return ", ".join(sorted(columns)) or "no columns"
