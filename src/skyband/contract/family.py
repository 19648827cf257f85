"""The families of subscriptions: each is a room of this package, found by its module `family`, never listed."""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

import pyarrow as pa

from skyband.table.settings import UNBOUNDED, Bounds, Settings, Window, WordModel
from skyband.table.sieve import Parsed

Parse = Callable[[pa.Table, Settings], Parsed[Any]]

_PACKAGE = "skyband"


class Family(NamedTuple):
    """One family: its canonical columns, and how its tables are parsed. Covering has no publications.

    `signs` are the columns that its publications and its subscriptions cannot do without and that tell it from other
    families, and `uses` names the settings it has a use for. A family that `yields_to` another is not meant where the
    columns fit both.
    """

    name: str
    publications: pa.Schema | None
    subscriptions: pa.Schema
    parse_publications: Parse | None
    parse_subscriptions: Parse
    signs: tuple[frozenset[str], frozenset[str]]
    uses: frozenset[str] = frozenset()
    yields_to: frozenset[str] = frozenset()
    order: int = 0


class Families(Mapping[str, Family]):
    """The families by name, in their order; looked for when first asked for."""

    def __getitem__(self, name: str) -> Family:
        return _families()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_families())

    def __len__(self) -> int:
        return len(_families())


FAMILIES: Mapping[str, Family] = Families()


def rooms() -> list[str]:
    """The packages that hold a family."""
    package = importlib.import_module(_PACKAGE)
    # Looked for without importing what else there is; this package has a module of that name, and is no room.
    return [
        f"{_PACKAGE}.{name}"
        for finder, name, is_package in pkgutil.iter_modules(package.__path__)
        if is_package
        and f"{_PACKAGE}.{name}" != __package__
        and PathFinder.find_spec("family", [f"{getattr(finder, 'path', '')}/{name}"]) is not None
    ]


@cache
def _families() -> dict[str, Family]:
    found: list[Family] = [importlib.import_module(f"{room}.family").FAMILY for room in rooms()]
    return {family.name: family for family in sorted(found, key=lambda family: (family.order, family.name))}


def check_settings(family: str, window: Window | None, bounds: Bounds | str | None, words: WordModel | None) -> None:
    """Raise a ValueError for what the family would not use, rather than leave it unused in silence."""
    uses = FAMILIES[family].uses
    if window not in (None, UNBOUNDED) and "window" not in uses:
        raise ValueError(f"The family {family} has no windows: leave the default window out.")
    if (bounds is not None or words is not None) and not {"bounds", "words"} <= uses:
        raise ValueError(f"The family {family} has no bounds and no words: leave them out.")


def infer_family(publication_columns: Collection[str], subscription_columns: Collection[str]) -> str:
    """The family that two tables belong to, from their columns, which are empty where there is no such table.

    Boxes without publications are covering subscriptions.
    """
    published, subscribed = set(publication_columns), set(subscription_columns)
    if not published and {"lo", "hi"} <= subscribed and "score" not in subscribed:
        return "covering"
    fits = [name for name in FAMILIES if _fits(FAMILIES[name], published, subscribed)]
    fits = [name for name in fits if not FAMILIES[name].yields_to & set(fits)]
    if len(fits) == 1:
        return fits[0]
    raise ValueError(_no_family(fits, published, subscribed))


def _fits(family: Family, published: set[str], subscribed: set[str]) -> bool:
    needed = zip(family.signs, (published, subscribed), strict=True)
    return any((published, subscribed)) and all(signs <= found for signs, found in needed if found)


def _no_family(fits: list[str], published: set[str], subscribed: set[str]) -> str:
    verdict = f"fit {' and '.join(fits)} alike" if fits else "fit no family"
    return (
        f"The columns {verdict}; name the family (publications have {_listed(published)}; "
        f"subscriptions have {_listed(subscribed)})."
    )


def _listed(columns: set[str]) -> str:
    return ", ".join(sorted(columns)) or "no columns"
