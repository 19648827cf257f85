"""The families of subscriptions: each is a room of this package, found by its module `family`, never listed."""

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from skyband.table.plain import Row
from skyband.table.settings import UNBOUNDED, Bounds, Settings, Window, WordModel
from skyband.table.sieve import Parsed

Parse = Callable[[pa.Table, Settings], Parsed[Any]]
ReadFew = Callable[[list[Row], Settings], Any]

_PACKAGE = "skyband"

PARTS = {
    "zoning": "DIVISION",
    "workload": "RECIPE",
    "draw": "DRAWS",
    "routing": "ROUTING",
    "explain": "EXPLAINER",
}
"""Modules of a room that a family may have, and what is taken from each; they are imported when it is asked for."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """What a family is, for all who would otherwise have to know it by name. It is named as its room.

    Its canonical columns, how its tables are parsed, and what follows from its name are fields; `division`, `recipe`,
    `draws`, `routing` and `explainer` are other modules of its room, and None where it has no such module.
    """

    name: str
    subscriptions: pa.Schema
    parse_subscriptions: Parse
    publications: pa.Schema | None = None
    """None where there is nothing to publish: subscriptions are held against each other."""
    parse_publications: Parse | None = None
    read_publications: ReadFew | None = None
    """Reads few plain publications without a table in between; None where all of them become one."""
    read_subscriptions: ReadFew | None = None
    """The same for subscriptions."""

    signs: tuple[frozenset[str], frozenset[str]]
    """The columns that its publications and its subscriptions cannot do without and that tell it from others."""
    strange: frozenset[str] = frozenset()
    """Columns of subscriptions without publications that show that another family is meant."""
    yields_to: frozenset[str] = frozenset()
    """Families that are meant rather than this one where the columns fit both."""
    order: int = 100
    """The place in lists of families; equal ones are in the order of their names."""

    has_windows: bool = False
    """Publications expire, by a window of each subscription."""
    has_retractions: bool = False
    """Publications may be withdrawn by their ids before they expire."""
    has_bounds: bool = False
    """Places lie in a space with bounds."""
    has_words: bool = False
    """Rows have the columns of words, which a model may have to weigh."""
    has_dims: bool = False
    """Vectors have a number of dimensions that no single row can tell."""
    has_objects: bool = False
    """Publications tell how objects change, and answers hold objects, by the column `object`."""
    answers_stand: bool = True
    """Subscriptions have tops, and are told how they change; otherwise publications are answered with matches."""

    oracle: str = "oracle"
    """The engine that says what is right."""
    run_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of its engines that a run may be given, with what they are otherwise."""
    keeper: str | None = None
    """A class of the package that keeps its subscriptions, where no engine does."""

    @property
    def room(self) -> str:
        """The package with everything that is its own."""
        return f"{_PACKAGE}.{self.name}"

    @property
    def has_k(self) -> bool:
        """Whether each subscription says how many it wants."""
        return "k" in self.subscriptions.names

    @property
    def has_budgets(self) -> bool:
        """Whether subscriptions may say how often they want an answer at most."""
        return "budget" in self.subscriptions.names

    @cached_property
    def division(self) -> Any:
        """How it is divided into zones, a `skyband.zoning.division.Division`."""
        return self._part("zoning")

    @cached_property
    def recipe(self) -> Any:
        """How its workload is made, a `skyband.workload.Recipe`."""
        return self._part("workload")

    @cached_property
    def draws(self) -> Any:
        """How tests draw its rows, a `skyband.workload.draw.Draws`; needs hypothesis."""
        return self._part("draw")

    @cached_property
    def routing(self) -> Any:
        """How brokers read its rows, a `skyband.covering.routed.RoutedFamily`."""
        return self._part("routing")

    @cached_property
    def explainer(self) -> Any:
        """What it says of its answers, a `skyband.contract.explain.Explainer`."""
        return self._part("explain")

    def named(self, publications: Any) -> pa.Array:
        """The ids by which answers name these publications."""
        return publications.objects if self.has_objects else publications.ids

    def _part(self, module: str) -> Any:
        path = f"{self.room}.{module}"
        return None if find_spec(path) is None else getattr(importlib.import_module(path), PARTS[module])


class Families(Mapping[str, Family]):
    """The families by name, in their order; looked for when first asked for."""

    def __getitem__(self, name: str) -> Family:
        return _families()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_families())

    def __len__(self) -> int:
        return len(_families())


FAMILIES: Mapping[str, Family] = Families()


def names_where(has: Callable[[Family], Any]) -> list[str]:
    """The names of the families that have something, in their order."""
    return [name for name, family in FAMILIES.items() if has(family)]


def published_families() -> list[str]:
    """The names of the families that have publications, so that engines run over them."""
    return names_where(lambda family: family.publications is not None)


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
    its = FAMILIES[family]
    if window not in (None, UNBOUNDED) and not its.has_windows:
        raise ValueError(f"The family {family} has no windows: leave the default window out.")
    if (bounds is not None or words is not None) and not (its.has_bounds and its.has_words):
        raise ValueError(f"The family {family} has no bounds and no words: leave them out.")


def infer_family(publication_columns: Collection[str], subscription_columns: Collection[str]) -> str:
    """The family that two tables belong to, from their columns, which are empty where there is no such table.

    Without publications, a family that has none is meant before others.
    """
    published, subscribed = set(publication_columns), set(subscription_columns)
    fits = [name for name, family in FAMILIES.items() if _fits(family, published, subscribed)]
    fits = [name for name in fits if not FAMILIES[name].yields_to & set(fits)]
    alone = [name for name in fits if FAMILIES[name].publications is None and not FAMILIES[name].strange & subscribed]
    if not published and len(alone) == 1:
        return alone[0]
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
