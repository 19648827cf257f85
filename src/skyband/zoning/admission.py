"""What is of interest to subscriptions: which publications may reach them, told from a few groups of them."""

from typing import Any, NamedTuple, Self

import numpy as np

from skyband.kernels.array import Bools, Floats, Int64s
from skyband.table import Settings
from skyband.zoning.array import from_text, to_text
from skyband.zoning.division import Wanted, division_of
from skyband.zoning.document import read_document, write_document
from skyband.zoning.group import Groups, no_groups
from skyband.zoning.vocabulary import GroupWords, no_words

NOUN, VERSION = "an interest", 1


class Interest(NamedTuple):
    """What some subscriptions of a family can be reached by: everything, or what their groups do not rule out."""

    family: str
    is_everything: bool
    groups: Groups
    words: GroupWords
    diagonal: float

    @classmethod
    def nothing(cls, family: str) -> Self:
        """The interest of nobody."""
        division_of(family, "Interests")
        return cls(family, False, no_groups(), no_words(), 0.0)

    @classmethod
    def everything(cls, family: str) -> Self:
        """An interest that rules out nothing."""
        return cls.nothing(family)._replace(is_everything=True)

    @property
    def wanted(self) -> Wanted:
        """What the subscriptions want, where that is not everything."""
        return Wanted(self.groups, self.words, self.diagonal)

    def admits(self, publications: Any, now: int) -> Bools:
        """Which publications may be in a top of these subscriptions at any time up to and including `now`.

        What is not admitted is in none of them by then; where no `worst` was given it never is.
        """
        n_rows = len(publications.ids)
        if self.is_everything or n_rows == 0 or len(self.groups.kind) == 0:
            return np.full(n_rows, self.is_everything, np.bool_)
        return division_of(self.family).admits(self.wanted, publications, now)

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
        return self._replace(**division_of(self.family).joined(self.wanted, other.wanted)._asdict())

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
            "words": {name: to_text(getattr(self.words, name)) for name in GroupWords._fields[1:]},
        }
        return write_document(NOUN, VERSION, content)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote."""
        content = read_document(NOUN, VERSION, text, "ask for the interest again")
        groups = Groups(**{name: from_text(column) for name, column in content["groups"].items()})
        words = GroupWords(content["shift"], **{name: from_text(column) for name, column in content["words"].items()})
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
    it can only become better. Both are given or neither; they are of use to families whose publications expire.
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
    wanted = division_of(family).wanted(subscriptions, settings, worst, until)
    return Interest.everything(family) if wanted is None else nothing._replace(**wanted._asdict())
