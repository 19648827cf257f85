"""The short way and the long way: rows and ids of Python, and the same ones that have to become a table first."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skyband.contract import AnyEngine, engines, find_engine
from skyband.table import Settings, Window
from skyband.table.answer_rows import table_of_answer
from skyband.workload.draw import Row
from tests.contract.test_plain import ODD, PLAIN, odd_rows

ENGINES = [kind for kind in engines() if kind.family in ("window", "geotext", "ranked")]
IDS = st.lists(st.sampled_from([0, 1, 2, "0", "1", 7, *ODD]), max_size=3)


def tell(engine: AnyEngine, verb: str, given: Any) -> Any:
    """What an engine answers, or how it refuses."""
    try:
        return table_of_answer(getattr(engine, verb)(given)).to_pylist()
    except ValueError as error:
        return type(error), str(error)


class Pair:
    """Two engines, one of which is given tuples: these are no plain rows, and go the long way."""

    def __init__(self, kind: type[AnyEngine], on_error: Any) -> None:
        settings = Settings() if kind.family == "ranked" else Settings(window=Window.count(3))
        self.short, self.long = (kind(settings, on_error=on_error) for _ in range(2))

    def tell(self, verb: str, given: list[Any]) -> None:
        """Have both answer, and compare all that can be seen of them."""
        if not given:
            return
        assert tell(self.short, verb, given) == tell(self.long, verb, tuple(given))
        assert self.short.rejects == self.long.rejects
        assert self.short.counters == self.long.counters
        assert self.short.now == self.long.now
        assert self.short.settings == self.long.settings
        self.short.check()


def valid(rows: list[Row], now: int) -> list[Row]:
    """Rows whose times go on."""
    return [row | ({"ts": now + i} if type(row.get("ts")) is int else {}) for i, row in enumerate(rows)]


@pytest.mark.parametrize("kind", ENGINES, ids=lambda kind: f"{kind.family} {kind.name}")
@given(data=st.data())
def test_both_ways_are_one(kind: type[AnyEngine], data: st.DataObject) -> None:
    pair, family = Pair(kind, data.draw(st.sampled_from(["raise", "collect"]))), kind.family
    for turn in range(4):
        pair.tell("subscribe", data.draw(odd_rows((family, "subscriptions"))))
        pair.tell("publish", valid(data.draw(odd_rows((family, "publications"))), 3 * turn))
        pair.tell("unsubscribe", data.draw(IDS))
        if family != "ranked":
            pair.tell("retract", data.draw(IDS))


@pytest.mark.parametrize(("family", "engine"), [("window", "blocks"), ("geotext", "blocks"), ("ranked", "scored")])
def test_one_alone_is_a_list_of_one(family: str, engine: str) -> None:
    alone, listed = (find_engine(family, engine)(Settings()) for _ in range(2))
    for noun, verb in (("subscriptions", "subscribe"), ("publications", "publish")):
        row = {"id": "a"} | PLAIN[family, noun][0]
        assert tell(alone, verb, row) == tell(listed, verb, [row])
    assert tell(alone, "unsubscribe", "a") == tell(listed, "unsubscribe", ["a"])
