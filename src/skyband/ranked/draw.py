"""How tests draw events, and weighted intervals."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from skyband.contract import AnyEngine
from skyband.ranked.engine import RankedEngine
from skyband.workload.draw import NUMBERS, Draws, Row, spans

WEIGHTS = st.sampled_from([0.0, 1.0, 1.0, 2.0, 0.1])
DIMS = 3


@st.composite
def _intervals(draw: st.DrawFn) -> Row:
    """Intervals in every dimension, or in those that are listed; open sides and weights of 0 among them."""
    dims = list(range(DIMS))
    row: Row = {"dims": None}
    if draw(st.integers(0, 2)) == 0:
        dims = row["dims"] = draw(st.lists(st.sampled_from(dims), max_size=DIMS, unique=True))
    pairs = [draw(spans()) for _ in dims]
    row["lo"] = [None if pair["lo"] < 0.0 and draw(st.booleans()) else pair["lo"] for pair in pairs]
    row["hi"] = [pair["hi"] for pair in pairs]
    row["weights"] = draw(st.one_of(st.none(), st.tuples(*(WEIGHTS for _ in dims)).map(list)))
    return row | {"budget": draw(st.sampled_from([None, None, None, 0, 1, 2]))}


@st.composite
def _revisions(draw: st.DrawFn) -> Row:
    """Anything that an update may give: intervals, weights, both, or a budget alone; or nothing, which is rejected."""
    row = draw(_intervals())
    if draw(st.booleans()):
        row |= {"lo": None, "hi": None}
        if row["weights"] is None:
            row["dims"] = None
    return row


@st.composite
def _events(draw: st.DrawFn) -> Row:
    point = [draw(st.one_of(st.none(), NUMBERS, NUMBERS)) for _ in range(DIMS)]
    upper = None
    if draw(st.booleans()):
        upper = [None if x is None else draw(st.sampled_from([None, x, x + 1.0, 3.0])) for x in point]
    return {"point": point, "upper": upper, "k": draw(st.sampled_from([None, None, 1, 2, 12]))}


class RankedDraws(Draws):
    """Few ends, and events that lie on them."""

    subscriptions = _intervals()
    publications = _events()
    dims = DIMS
    updates = _revisions()

    def shown(self, engine: AnyEngine, ids: list[Any]) -> list[pa.Table]:
        """What is left of budgets."""
        assert isinstance(engine, RankedEngine)
        return [engine.budgets(), engine.budgets(ids)]


DRAWS = RankedDraws()
