"""How tests draw rows of one family: rows that collide on purpose, and streams that are hard. Asked of the family.

The module `draw` of a family's room fills it in. Only tests import it, and only they can count on hypothesis.
"""

import math
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from skyband.contract.family import FAMILIES, names_where
from skyband.contract.registry import AnyEngine
from skyband.workload.course import Course

Row = dict[str, Any]
Batch = list[tuple[st.SearchStrategy[int], Row]]

NUMBERS = st.integers(-2, 2).map(float)
KS = st.sampled_from([1, 1, 2, 3, 12])
ENDS = st.sampled_from([-math.inf, 0.0, 1.0, 2.0, 3.0, math.inf])


class Draws:
    """What draws the rows of a family, without ids and times.

    `subscriptions` and `publications` collide on purpose: few distinct numbers, few words, few objects.
    """

    subscriptions: st.SearchStrategy[Row]
    publications: st.SearchStrategy[Row]
    dims: int | None = None
    """How many dimensions these have, where an engine cannot learn it from them."""
    updates: st.SearchStrategy[Row] | None = None
    """What a subscription may be updated with, where its engines have that verb."""
    has_streams: bool = False
    """Whether `question` and `content` are filled in."""

    def batches(self, most: int) -> st.SearchStrategy[Batch]:
        """Publications, each with what draws how much later it is than the latest before it; some may be late."""
        rows = st.lists(self.publications, min_size=1, max_size=most)
        return rows.map(lambda contents: [(st.integers(-7, 4), content) for content in contents])

    def shown(self, engine: AnyEngine, ids: list[Any]) -> list[pa.Table]:
        """What an engine can show besides tops, of all subscriptions and of these; the oracle must show the same."""
        return []

    def question(self, course: Course) -> Row:
        """A subscription of a stream, without its k."""
        raise NotImplementedError

    def content(self, course: Course, i: int) -> Row:
        """The i-th publication of a stream."""
        raise NotImplementedError


@st.composite
def windows(draw: st.DrawFn) -> Row:
    """A window of its own, of either kind, or none."""
    kind = draw(st.sampled_from(["window_us", "window_n", None]))
    return {"window_us": None, "window_n": None} | ({kind: draw(st.integers(1, 8))} if kind else {})


@st.composite
def spans(draw: st.DrawFn) -> Row:
    """From where to where, often without an end."""
    ends = [draw(ENDS), draw(ENDS)]
    return {"lo": min(ends), "hi": max(ends)}


def draws_of(family: str) -> Draws:
    """How rows of a family are drawn."""
    draws: Draws | None = FAMILIES[family].draws
    if draws is None:
        raise ValueError(f"The family {family} has no module draw, so no test can draw its rows.")
    return draws


def families_with_streams() -> list[str]:
    """The names of the families of which streams can be made."""
    return names_where(lambda family: family.draws is not None and family.draws.has_streams)
