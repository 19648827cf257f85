"""What is of interest to subscriptions: which publications may reach them, told from a few groups of them."""

from typing import Any, NamedTuple, Self

import numpy as np

from skyband.geotext import zoning as geotext
from skyband.geotext.rows import Subscriptions
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.ranges import zoning as ranged
from skyband.ranked import zoning as ranked
from skyband.table import Settings, WindowKind
from skyband.window import zoning as window
from skyband.zoning import vocabulary
from skyband.zoning.array import from_text, to_text
from skyband.zoning.document import read_document, write_document
from skyband.zoning.group import GROUPS, Groups, concatenated, grouped, no_groups, united
from skyband.zoning.vocabulary import Vocabulary, no_words
from skyband.zoning.zoning import FAMILIES

NOUN, VERSION = "an interest", 1


class Interest(NamedTuple):
    """What some subscriptions of a family can be reached by: everything, or what their groups do not rule out."""

    family: str
    is_everything: bool
    groups: Groups
    words: Vocabulary
    diagonal: float

    @classmethod
    def nothing(cls, family: str) -> Self:
        """The interest of nobody."""
        return cls(_known(family), False, no_groups(), no_words(), 0.0)

    @classmethod
    def everything(cls, family: str) -> Self:
        """An interest that rules out nothing."""
        return cls.nothing(family)._replace(is_everything=True)

    def admits(self, publications: Any, now: int) -> Bools:
        """Which publications may be in a top of these subscriptions at any time up to and including `now`.

        What is not admitted is in none of them by then; where no `worst` was given it never is.
        """
        n_rows = len(publications.ids)
        if self.is_everything or n_rows == 0 or len(self.groups.kind) == 0:
            return np.full(n_rows, self.is_everything, np.bool_)
        if self.family == "geotext":
            return geotext.admits(self.groups, self.words, self.diagonal, publications, now)
        family = {"window": window, "ranges": ranged, "ranked": ranked}[self.family]
        admitted: Bools = family.admits(self.groups, publications, now)
        return admitted

    def joined(self, other: Self) -> Self:
        """The interest of the subscriptions of both; in many groups they are grouped again."""
        if self.family != other.family:
            raise ValueError(f"An interest of {self.family} cannot be joined with one of {other.family}.")
        if self.is_everything or other.is_everything:
            return type(self).everything(self.family)
        if len(self.groups.kind) == 0 or len(other.groups.kind) == 0:
            return self if len(other.groups.kind) == 0 else other
        if self.diagonal != other.diagonal:
            raise ValueError("These interests are of spaces with different bounds and cannot be joined.")
        groups = concatenated(self.groups, other.groups)
        if self.family == "geotext":
            most = geotext.most_groups(len(self.words.group) + len(other.words.group))
            features = geotext.features(groups, self.diagonal)
            groups, of = grouped(groups, features, _room(len(groups.kind), most))
            parts = np.split(of, [len(self.groups.kind)])
            words = (vocabulary.renumbered(its.words, part) for its, part in zip((self, other), parts, strict=True))
            return self._replace(groups=groups, words=vocabulary.joined(*words))
        return self._replace(groups=_grouped(self.family, groups, _room(len(groups.kind), GROUPS)))

    def size(self) -> int:
        """About how many bytes it takes."""
        return sum(column.nbytes for column in (*self.groups, *self.words[1:]))

    def to_json(self) -> str:
        """The interest as JSON, which `from_json` reads; numbers are kept to the last bit."""
        content = {
            "family": self.family,
            "is_everything": self.is_everything,
            "diagonal": self.diagonal,
            "shift": self.words.shift,
            "groups": {name: to_text(column) for name, column in self.groups._asdict().items()},
            "words": {name: to_text(getattr(self.words, name)) for name in Vocabulary._fields[1:]},
        }
        return write_document(NOUN, VERSION, content)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        content = read_document(NOUN, VERSION, text, "ask for the interest again")
        groups = Groups(**{name: from_text(column) for name, column in content["groups"].items()})
        words = Vocabulary(content["shift"], **{name: from_text(column) for name, column in content["words"].items()})
        return cls(content["family"], content["is_everything"], groups, words, content["diagonal"])


def interest(
    family: str,
    subscriptions: Any,
    settings: Settings,
    worst: Floats | None = None,
    until: Int64s | None = None,
) -> Interest:
    """The interest of subscriptions: for ever, or tighter if it is known how full their tops are.

    `worst` is the score of the last member of each top, NaN where that is not full, and `until` the time through which
    it can only become better. Both are given or neither; they are of no use to ranges and ranked.
    """
    nothing = Interest.nothing(family)
    n_rows = len(subscriptions.ids)
    if (worst is None) != (until is None):
        raise ValueError("The worst scores of tops and the times until which they hold must be given together.")
    if worst is None or until is None:
        worst, until = np.full(n_rows, np.nan), np.zeros(n_rows, np.int64)
    if len(worst) != n_rows or len(until) != n_rows:
        raise ValueError(f"There must be a worst score and a time for each of the {n_rows} subscriptions.")
    if n_rows == 0:
        return nothing
    if family in ("window", "geotext"):
        by_count = (subscriptions.window.kind == WindowKind.COUNT).any()
        if by_count or settings.window.kind == WindowKind.COUNT:
            return Interest.everything(family)
    if family == "window":
        return nothing._replace(groups=_grouped(family, window.members(subscriptions, worst, until), GROUPS))
    if family == "geotext":
        # On Earth boxes of longitudes and latitudes say nothing of distances: everybody is as near as can be.
        diagonal = np.inf if settings.bounds.is_geographic else settings.bounds.diagonal
        return _of_geotext(nothing._replace(diagonal=diagonal), subscriptions, worst, until)
    if family == "ranked" and ranked.is_reached_by_all(subscriptions):
        return Interest.everything(family)
    members = ranged.members(subscriptions) if family == "ranges" else ranked.members(subscriptions)
    return nothing._replace(groups=_grouped(family, members, GROUPS))


def _room(n_groups: int, most: int) -> int:
    """How many groups may stay of those that were joined: to group them again only now and then keeps them tight."""
    return most if n_groups > 2 * most else 2 * most


def _of_geotext(nothing: Interest, rows: Subscriptions, worst: Floats, until: Int64s) -> Interest:
    members = geotext.members(rows, worst, until)
    groups, of = grouped(members, geotext.features(members, nothing.diagonal), geotext.most_groups(len(rows.terms)))
    owner = np.repeat(np.arange(len(rows.k)), np.diff(rows.offsets))
    return nothing._replace(groups=groups, words=vocabulary.vocabulary(rows.terms, rows.weights, of[owner]))


def _grouped(family: str, members: Groups, most: int) -> Groups:
    """Not too many groups of a family without words."""
    if family == "window":
        return grouped(members, window.features(members), most).groups
    if members.low.shape[1] == 1:
        members = united(members)
    features = ranged.features(members) if family == "ranges" else ranked.features(members)
    return grouped(members, features, most).groups


def _known(family: str) -> str:
    if family not in FAMILIES:
        raise ValueError(f"Interests are for the families {', '.join(FAMILIES)}, not {family!r}.")
    return family
