"""How one family is divided into zones, and what its subscriptions can be reached by: asked of the family.

The module `zoning` of a family's room fills in what differs. A family without one is divided by id, and everything
may reach its subscriptions.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from skyband.contract.family import FAMILIES, published_families
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.table import Settings, WindowKind
from skyband.zoning import group
from skyband.zoning.group import Groups, concatenated
from skyband.zoning.tree import CutTree, divide, one_leaf
from skyband.zoning.vocabulary import GroupWords, no_words

Admits = Callable[[Any, int], Bools]


class Coordinates(NamedTuple):
    """One row of finite numbers for each subscription, and what the columns are called."""

    points: Floats
    names: tuple[str, ...]


class Wanted(NamedTuple):
    """What some subscriptions want: groups of them, with their words and the extent of their space if they have any."""

    groups: Groups
    words: GroupWords
    diagonal: float


class Division:
    """How the subscriptions of a family are divided, and what they can be reached by."""

    kind: str = "id"
    """By what they are divided."""
    may_fail: bool = False
    """Whether zones may be so uneven that dealing out by id is better."""

    def scale(self, rows: Any) -> Floats:
        """What the coordinates of a sample are measured by; kept beside the zones."""
        return np.zeros(0)

    def coordinates(self, rows: Any, scale: Floats) -> Coordinates:
        """Where subscriptions lie."""
        return Coordinates(np.zeros((len(rows.ids), 0)), ())

    def divide(self, rows: Any, points: Floats, loads: Floats, n_zones: int) -> CutTree:
        """The cuts between zones, for subscriptions at these points."""
        return divide(points, loads, n_zones) if points.shape[1] else one_leaf(n_zones)

    def reached(self, rows: Any, publications: Any) -> Floats:
        """How often a sample of publications, which is not empty, reaches each subscription."""
        return np.zeros(len(rows.ids))

    def side(self, name: str, least: float, most: float) -> str:
        """What a cell is in one coordinate that it does not have all of, in words."""
        if most == np.inf:
            return f"{name} from {least:g}"
        return f"{name} from {least:g} to {most:g}" if least > -np.inf else f"{name} below {most:g}"

    def wanted(self, rows: Any, settings: Settings, worst: Floats, until: Int64s) -> Wanted | None:
        """What subscriptions can be reached by; None where that is everything. See `skyband.zoning.interest`."""
        return None

    def grouped(self, members: Groups, most: int) -> Groups:
        """Not too many groups of these."""
        return members

    def wanted_by(self, members: Groups) -> Wanted:
        """What is wanted by members without words, in a few groups."""
        return Wanted(self.grouped(members, group.GROUPS), no_words(), 0.0)

    def joined(self, one: Wanted, other: Wanted) -> Wanted:
        """What is wanted by both; many groups are grouped again."""
        groups = concatenated(one.groups, other.groups)
        return one._replace(groups=self.grouped(groups, room(len(groups.kind), group.GROUPS)))

    def admits(self, wanted: Wanted, publications: Any, now: int) -> Bools:
        """Which publications may be in a top at any time up to `now`."""
        return np.ones(len(publications.ids), np.bool_)

    def together(self, wanted: Sequence[Wanted]) -> Admits:
        """The same for several at once, by publication and what is wanted; here one after the other."""

        def admits(publications: Any, now: int) -> Bools:
            return np.stack([self.admits(each, publications, now) for each in wanted], axis=1)

        return admits


def room(n_groups: int, most: int) -> int:
    """How many groups may stay of those that were joined: to group them again only now and then keeps them tight."""
    return most if n_groups > 2 * most else 2 * most


def is_by_count(rows: Any, settings: Settings) -> bool:
    """Whether any window counts publications, so that all of them matter."""
    return bool((rows.window.kind == WindowKind.COUNT).any()) or settings.window.kind == WindowKind.COUNT


def division_of(family: str, noun: str = "Zones") -> Division:
    """How a family is divided; a ValueError says what the noun is for if it is none with publications."""
    if family not in published_families():
        raise ValueError(f"{noun} are for the families {', '.join(published_families())}, not {family!r}.")
    found: Division | None = FAMILIES[family].division
    return found or Division()
