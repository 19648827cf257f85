"""A survey: everything that has a place in some window, held against one subscription.

Engines over sliding windows look at as little as they can. Whoever asks why an answer is as it is wants to know where a
publication stands among all others, so that all of them are scored, once: that takes a pass over what is stored.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.contract.explanation import Bound
from skyband.contract.tops import Id
from skyband.kernels.array import Bools, Floats, Int64s
from skyband.table import Settings, WindowKind
from skyband.topk.rows import TopSubscriptions
from skyband.topk.store import WIDEST

# Less than any time, and as far from it as 64 bits allow.
BEFORE_ALL = -(2**62)


class Survey(NamedTuple):
    """All publications that have a place, the most recent first: the score is NaN where there is none.

    `inside` says which the window of the subscription holds, `reaches` which match it, and `key` orders them, the least
    being the best. What was retracted keeps its place, and competes no more.
    """

    ids: pa.Array
    ts: Int64s
    scores: Floats
    retracted: Bools
    inside: Bools
    reaches: Bools
    key: Floats

    @property
    def competing(self) -> Bools:
        """Which may be in the top."""
        competing: Bools = self.inside & ~self.retracted & self.reaches
        return competing

    def order(self) -> Int64s:
        """The places of those that compete, best first."""
        competing = np.flatnonzero(self.competing)
        # Stable, so that the more recent of equal ones comes first.
        return competing[np.argsort(self.key[competing], kind="stable")]

    def find(self, id: Id) -> int | None:
        """The place of a publication; of several that had this id, the one that has it now, or had it last."""
        if not len(self.ids) or pa.types.is_integer(self.ids.type) != isinstance(id, int):
            return None
        places = np.flatnonzero(np.asarray(pc.equal(self.ids, pa.scalar(id, self.ids.type))))
        live = places[~self.retracted[places]]
        return int((live if len(live) else places)[0]) if len(places) else None

    def n_longer(self, place: int) -> int:
        """How many of those that compete are better than one that does, and more recent, so that they stay longer."""
        better = self.key[:place] <= self.key[place]
        return int(np.count_nonzero(self.competing[:place] & better))


class WantedTop(NamedTuple):
    """What a subscription asks for, whatever its score: a Boolean one has a threshold, which is None for others."""

    id: Id
    k: int
    window: WindowKind
    size: int
    threshold: float | None
    ascending: bool


class Evidence(NamedTuple):
    """What an engine over sliding windows knows about one subscription, `asked` being its row.

    `said` gives the publication at a place of the survey as a row, and `bound` what the engine keeps of it, given
    whether it competes.
    """

    asked: Any
    wanted: WantedTop
    survey: Survey
    settings: Settings
    now: int | None
    said: Callable[[int], Any]
    bound: Callable[[int | None, bool], Bound]


def wanted_by(asked: TopSubscriptions, ascending: bool) -> WantedTop:
    """What one row asks for."""
    threshold, window = float(asked.threshold[0]), WindowKind(int(asked.window.kind[0]))
    is_boolean, size = not np.isnan(threshold), min(int(asked.window.size[0]), WIDEST)
    return WantedTop(asked.ids[0].as_py(), int(asked.k[0]), window, size, threshold if is_boolean else None, ascending)


def survey_of(
    wanted: WantedTop, now: int | None, ids: pa.Array, ts: Int64s, scores: Floats, retracted: Bools
) -> Survey:
    """The survey for a subscription of publications that are given the most recent first."""
    sign = 1.0 if wanted.ascending else -1.0
    is_boolean = wanted.threshold is not None
    limit = np.inf if wanted.threshold is None else sign * wanted.threshold
    key = np.zeros(len(ts)) if is_boolean else sign * scores
    return Survey(ids, ts, scores, retracted, _inside(wanted, now, ts), sign * scores <= limit, key)


def _inside(wanted: WantedTop, now: int | None, ts: Int64s) -> Bools:
    """Which publications the window of a subscription holds."""
    if wanted.window == WindowKind.COUNT:
        return np.arange(len(ts)) < wanted.size
    if wanted.window == WindowKind.TIME and now is not None:
        inside: Bools = ts > max(now - wanted.size, BEFORE_ALL)
        return inside
    return np.ones(len(ts), np.bool_)
